// No number is cut in any table of any page, however narrow the window is and however long the numbers are.
// The recordings are one of a GPU, a study on a CPU with thousands of ops, one of a million kernels, runs that failed, and a
// run of two ranks.

#include "tests/ui/cpu_fixture.h"
#include "tests/ui/text_recorder.h"
#include "tests/ui/window_fixture.h"
#include "ui/charts/charts_page.h"
#include "ui/kit/controls.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/page.h"
#include "ui/kit/table_view.h"
#include "ui/overview/step_bar_plot.h"
#include "ui/theme/theme.h"
#include "ui/window/run_dock.h"
#include "ui/window/run_tree_model.h"

#include <QAbstractButton>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTreeView>

namespace tilescope::ui {
namespace {

constexpr std::int64_t kEvents = 1'000'000;
constexpr std::array kSizes{QSize(1067, 667), QSize(1280, 720), QSize(1366, 768), QSize(1600, 1000)};

class NumbersTest : public WindowTest {
protected:
    static void SetUpTestSuite()
    {
        files_ = std::make_unique<testing::TemporaryFolder>();
        test::writeStudyFile(*files_ / "study.tscope");
        test::writeLargeFile(*files_ / "large.tscope", kEvents, 3);
        test::writeGpuFile(*files_ / "gpu.tscope");
        test::writeFailedFile(*files_ / "failed.tscope");
        test::writeRanksFile(*files_ / "ranks.tscope");
    }
    static void TearDownTestSuite() { files_.reset(); }

    void SetUp() override
    {
        WindowTest::SetUp();
        for (const char* name :
             {"study.tscope", "large.tscope", "gpu.tscope", "failed.tscope", "ranks.tscope"})
            window_.open({QString::fromStdString((*files_ / name).string())});
        waitUntilSettled();
        // The tests measure columns and record texts; painting on the display would take half of their time.
        window_.setUpdatesEnabled(false);
        window_.resize(kSizes[size_]);
        ASSERT_EQ(window_.workspace().files().size(), 6U);
    }

    // Shows what the window has loaded at each size in turn, the present one first: most of a page's time goes into loading.
    // The next page is loaded at the size that came last, so that in time pages are loaded at every size.
    template <class Look> void atEverySize(const Look& look)
    {
        // On a scaled screen, rounding is what differs: every other size shows it.
        const std::size_t stride = window_.devicePixelRatioF() > 1 ? 2 : 1;
        for (std::size_t i = 0; i < kSizes.size(); i += stride) {
            if (i > 0) {
                size_ = (size_ + stride) % kSizes.size();
                window_.resize(kSizes[size_]);
                waitUntilSettled(); // layouts within scroll areas follow in the next turns
            }
            waitUntilSettled();
            look(" at " + std::to_string(kSizes[size_].width()));
        }
    }

    void select(std::size_t file, const std::vector<std::int64_t>& runs)
    {
        std::vector<RunKey> keys;
        for (const std::int64_t run : runs)
            keys.push_back({window_.workspace().files()[file].id, RunId{run}});
        window_.workspace().select(keys);
        where_ = "file " + std::to_string(file + 1) + ", " + std::to_string(runs.size()) + " runs, ";
    }

    // Numbers of a view's rows, formatted by the rules of drawing.
    void expectWhole(const TableView& view, const std::string& where)
    {
        const TableData& table = view.table();
        for (int c = 0; c < int(table.columns.size()); ++c) {
            const TableColumn& column = table.columns[std::size_t(c)];
            if (view.isColumnHidden(c))
                continue;
            for (const TableRow& row : table.rows) {
                const TableCell& cell = row.cells[std::size_t(c)];
                if (column.kind != TableColumn::Kind::Number && !isNumber(cell.text))
                    continue;
                const int needed =
                    QFontMetrics(TableDelegate::fontOf(row, cell)).horizontalAdvance(cell.text) +
                    TableDelegate::signWidth(cell.tone) + TableDelegate::padding(c);
                ASSERT_LE(needed, view.columnWidth(c))
                    << where << ": '" << cell.text.toStdString() << "' is cut in column '"
                    << column.title.toStdString() << "' of " << view.accessibleName().toStdString();
                ++numbers_;
            }
        }
        // Content that does not fit can be reached by scrolling.
        EXPECT_TRUE(view.horizontalHeader()->length() <= view.viewport()->width() ||
                    view.horizontalScrollBar()->maximum() > 0)
            << where << ": " << view.accessibleName().toStdString() << " ends beyond its view: columns of "
            << view.horizontalHeader()->length() << ", room for " << view.viewport()->width();
    }

    static bool isNumber(const QString& text)
    {
        static const QRegularExpression number(
            QStringLiteral("^[+−±<]?[0-9][0-9.\\x{2009}]*(\\x{2009}\\S{1,4})?$"));
        return number.match(text).hasMatch();
    }

    void expectWhole(const KeyValueTable& facts, const std::string& where)
    {
        for (std::size_t row = 0; row < facts.rows().size(); ++row)
            for (int c = 0; c < facts.rows()[row].values.size(); ++c) {
                const QString& text = facts.rows()[row].values[c];
                if (!isNumber(text) || facts.rows()[row].heading)
                    continue;
                EXPECT_FALSE(facts.isElided(row, c)) << where << ": '" << text.toStdString() << "' of "
                                                     << facts.rows()[row].key.toStdString() << " is cut";
                ++numbers_;
            }
    }

    void expectWholeRunList(const std::string& size)
    {
        for (const QTreeView* tree : window_.dock().findChildren<QTreeView*>()) {
            const QFontMetrics metrics(Theme::instance().body());
            const QAbstractItemModel& model = *tree->model();
            for (int file = 0; file < model.rowCount(); ++file)
                for (int run = 0; run < model.rowCount(model.index(file, 0)); ++run)
                    for (const int c : {int(RunTreeModel::Step), int(RunTreeModel::Peak)}) {
                        const QString text = model.index(run, c, model.index(file, 0)).data().toString();
                        if (!tree->isColumnHidden(c)) {
                            EXPECT_LE(metrics.horizontalAdvance(text) + sizes().of(6), tree->columnWidth(c))
                                << where_ << "run list" << size << ": " << text.toStdString();
                        }
                    }
        }
    }

    void expectWholePage(const QString& name, const std::string& state)
    {
        atEverySize([&](const std::string& size) {
            QWidget& page = *window_.page(name);
            const std::string where = where_ + name.toStdString() + state + size;
            for (const TableView* view : page.findChildren<TableView*>())
                if (view->isVisible())
                    expectWhole(*view, where);
            for (const KeyValueTable* facts : page.findChildren<KeyValueTable*>())
                if (facts->isVisible())
                    expectWhole(*facts, where);
        });
    }

    // Each choice of each row of buttons shows tables of its own.
    void expectWholeHoweverItIsShown(const QString& name)
    {
        window_.showPage(name);
        expectWholePage(name, "");
        if (name == QLatin1String("experiment"))
            return; // its buttons change the spec
        for (SegmentedControl* segments : window_.page(name)->findChildren<SegmentedControl*>()) {
            const QList<QPushButton*> buttons = segments->findChildren<QPushButton*>();
            for (QPushButton* button : buttons)
                if (button->isVisible() && button->isEnabled()) {
                    button->click();
                    expectWholePage(name, ", " + button->text().toStdString());
                }
            if (!buttons.isEmpty())
                buttons.front()->click();
        }
    }

    static bool paintsItsOwnWords(const QWidget& widget)
    {
        for (const char* kind :
             {"KeyFigureCard", "FlagList", "StepBarPlot", "DistributionPlot", "MemoryChart", "MemoryLegend"})
            if (widget.inherits((std::string("tilescope::ui::") + kind).c_str()))
                return true;
        return false;
    }

    // Words of one line that a widget of a tool bar shows, or a label beside other parts; empty if it may be cut.
    static QString wordsOf(const QWidget& widget)
    {
        if (const auto* button = qobject_cast<const QAbstractButton*>(&widget))
            return QString(button->text()).remove(QLatin1Char('&'));
        if (const auto* box = qobject_cast<const QComboBox*>(&widget))
            return box->currentText();
        const auto* label = qobject_cast<const QLabel*>(&widget);
        if (label == nullptr || label->wordWrap() || Qt::mightBeRichText(label->text()) ||
            label->sizePolicy().horizontalPolicy() == QSizePolicy::Ignored)
            return {};
        return label->text();
    }

    static QString withoutSpaces(QString text)
    {
        static const QRegularExpression spaces(QStringLiteral("\\s"));
        return text.remove(spaces);
    }

    // Tools, labels, the keys of lists and legends: what they say is painted whole, within their edges.
    void expectWholeWords(const QString& name, const std::string& where)
    {
        for (QWidget* widget : window_.page(name)->findChildren<QWidget*>()) {
            if (!widget->isVisible())
                continue;
            QStringList wanted{wordsOf(*widget)};
            if (const auto* facts = qobject_cast<KeyValueTable*>(widget))
                for (const KeyValueRow& row : facts->rows())
                    wanted << row.key;
            if (const auto* bars = qobject_cast<StepBarPlot*>(widget))
                wanted << bars->legend();
            if (wanted.join(QString()).isEmpty())
                continue;
            TextRecorder own(widget->size());
            widget->render(&own, {}, {}, QWidget::DrawWindowBackground);
            QString painted;
            for (const TextRecorder::Text& text : own.texts()) {
                painted += text.words;
                EXPECT_GE(text.rect.left(), -1) << where << ": " << text.words.toStdString();
                EXPECT_LE(text.rect.right(), widget->width() + 1)
                    << where << ": " << text.words.toStdString();
                EXPECT_LE(text.rect.bottom(), widget->height() + 2)
                    << where << ": " << text.words.toStdString();
            }
            painted = withoutSpaces(painted);
            for (const QString& words : wanted) {
                EXPECT_TRUE(painted.contains(withoutSpaces(words)))
                    << where << ": '" << words.toStdString() << "' is cut";
                words_ += words.isEmpty() ? 0 : 1;
            }
        }
    }

    // The page as the window paints it: no number is cut in any text, and no subtitle, tool, key or legend is cut at all.
    void expectWholeTexts(const QString& name, const std::string& where)
    {
        static const QRegularExpression cut(QStringLiteral("[0-9]…|…[0-9]"));
        window_.setUpdatesEnabled(true); // render() leaves out what is not updated
        TextRecorder recorder(window_.size());
        window_.render(&recorder);
        EXPECT_GT(recorder.texts().size(), 20U) << where;
        for (const TextRecorder::Text& text : recorder.texts()) {
            elided_ += text.words.contains(QChar(0x2026)) ? 1 : 0;
            EXPECT_FALSE(text.words.contains(cut)) << where << ": " << text.words.toStdString();
        }
        for (const ElidedLabel* label : window_.page(name)->findChildren<ElidedLabel*>()) {
            if (!label->isVisible() ||
                label->parentWidget()->property("kind") != QVariant(QStringLiteral("panelHeader")))
                continue;
            EXPECT_FALSE(label->isCut()) << where << ", subtitle of a panel: " << label->text().toStdString();
            subtitles_ += label->text().isEmpty() ? 0 : 1;
        }
        expectWholeWords(name, where);
        // Widgets that place their words themselves: nothing ends beyond their edge.
        for (QWidget* widget : window_.page(name)->findChildren<QWidget*>()) {
            if (!widget->isVisible() || !paintsItsOwnWords(*widget))
                continue;
            TextRecorder own(widget->size());
            widget->render(&own);
            for (const TextRecorder::Text& text : own.texts()) {
                ++whole_;
                EXPECT_GE(text.rect.left(), -1) << where << ": " << text.words.toStdString();
                EXPECT_LE(text.rect.right(), widget->width() + 1)
                    << where << ": " << text.words.toStdString();
            }
        }
        window_.setUpdatesEnabled(false);
    }

    static std::unique_ptr<testing::TemporaryFolder> files_;
    std::string where_;
    std::size_t size_ = 0; // of kSizes
    std::int64_t words_ = 0;
    std::int64_t numbers_ = 0;
    int elided_ = 0;
    int whole_ = 0;
    int subtitles_ = 0;
};

std::unique_ptr<testing::TemporaryFolder> NumbersTest::files_;

TEST_F(NumbersTest, NoneIsCutInAnyTable)
{
    const std::vector<std::pair<std::size_t, std::vector<std::int64_t>>> selections{
        {0, {1, 2}}, {1, {1, 2}}, {1, {1, 2, 3, 4, 5, 6, 7, 8}}, {1, {9}},
        {2, {1}},    {4, {2}},    {4, {1, 2, 3, 4, 5, 6}},       {5, {1}}};
    for (const auto& [file, runs] : selections) {
        select(file, runs);
        atEverySize([this](const std::string& size) { expectWholeRunList(size); });
        for (const QString& name : window_.pageNames())
            expectWholeHoweverItIsShown(name);
    }
    ChartRecipe recipe;
    recipe.fit = ChartRecipe::Fit::Power;
    select(1, {3, 4, 5, 6, 7, 8});
    page<ChartsPage>("charts").setRecipe(recipe);
    expectWholeHoweverItIsShown(QStringLiteral("charts"));
    EXPECT_GT(numbers_, 1000);
}

TEST_F(NumbersTest, NoneIsCutInAnyPaintedTextAndNoToolKeyLegendOrSubtitleAtAll)
{
    const std::vector<std::pair<std::size_t, std::vector<std::int64_t>>> selections{
        {0, {1, 2}},
        {1, {1, 2}},
        {1, {1, 2, 3, 4, 5, 6, 7, 8}},
        {1, {9}},
        {3, {1}},
        {3, {3, 4}},
        {3, {1, 2, 3, 4, 5, 6, 7, 8}},
        {3, {9}},
        {4, {2}},
        {4, {3}},
        {4, {4}},
        {4, {5}},
        {4, {6}},
        {4, {1, 2, 3, 4, 5, 6}},
        {5, {1}}};
    for (const auto& [file, runs] : selections) {
        select(file, runs);
        for (const QString& name : window_.pageNames()) {
            window_.showPage(name);
            atEverySize(
                [&](const std::string& size) { expectWholeTexts(name, where_ + name.toStdString() + size); });
        }
    }
    EXPECT_GT(elided_, 0) << "nothing that could be cut";
    EXPECT_GT(whole_, 100);
    EXPECT_GT(subtitles_, 20);
    EXPECT_GT(words_, 500);
}

TEST_F(NumbersTest, ThoseOfAMillionKernelsHaveSixDigitsInTheTablesOfTheTimelineAndTheKernels)
{
    select(2, {1});
    for (const auto& [page, table] : {std::pair("kernels", "Kernels"), {"timeline", "Kernels of the span"}}) {
        window_.showPage(QString::fromLatin1(page));
        waitUntilSettled();
        bool isLong = false;
        for (const TableView* view : window_.page(QString::fromLatin1(page))->findChildren<TableView*>())
            for (const TableRow& row : view->table().rows)
                for (const TableCell& cell : row.cells)
                    isLong = isLong || (isNumber(cell.text) && cell.sort > 99'999);
        EXPECT_TRUE(isLong) << table << " has nothing that could be cut";
    }
}

} // namespace
} // namespace tilescope::ui
