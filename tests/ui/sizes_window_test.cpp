// Every page on a small and on a large screen: nothing is cut, nothing lies over anything else.

#include "tests/ui/window_fixture.h"
#include "ui/kit/controls.h"
#include "ui/kit/page.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"
#include "ui/theme/unbroken_text.h"
#include "ui/window/run_dock.h"

#include <QAbstractButton>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScreen>
#include <QScrollArea>
#include <QSettings>
#include <QTreeView>

namespace tilescope::ui {
namespace {

class ScreenTest : public WindowTest {
protected:
    void expectWholeText(const QString& page, const QWidget& widget, const QString& text)
    {
        const int needed = widget.fontMetrics().horizontalAdvance(text);
        EXPECT_LE(needed, widget.width()) << page.toStdString() << ": '" << text.toStdString() << "' is cut";
    }

    // The problem with the positions of a bar's tools; empty if there is none.
    static std::string misplacedIn(const ToolBar& bar)
    {
        std::vector<QWidget*> parts;
        for (QWidget* part : bar.findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
            if (part->isVisible())
                parts.push_back(part);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (!bar.rect().contains(parts[i]->geometry()))
                return "tool " + std::to_string(i) + " ends beyond its bar";
            if (parts[i]->width() < parts[i]->minimumSizeHint().width())
                return "tool " + std::to_string(i) + " is narrower than its contents";
            for (std::size_t j = 0; j < i; ++j)
                if (parts[i]->geometry().intersects(parts[j]->geometry()))
                    return "tools " + std::to_string(j) + " and " + std::to_string(i) + " overlap";
        }
        return {};
    }

    // A bar is laid out anew some turns of the event loop after one of its tools has changed.
    void expectApart(const QString& page, const ToolBar& bar)
    {
        EXPECT_TRUE(QTest::qWaitFor([&bar] { return misplacedIn(bar).empty(); }, kTimeoutMs))
            << page.toStdString() << ": " << misplacedIn(bar);
    }

    // Columns fit their numbers, and the viewport fits the columns.
    void expectWholeNumbers(const QString& page, const TableView& table)
    {
        const TableData& shown = table.table();
        int width = 0;
        for (int c = 0; c < int(shown.columns.size()); ++c) {
            if (table.isColumnHidden(c))
                continue;
            width += table.columnWidth(c);
            if (shown.columns[std::size_t(c)].kind == TableColumn::Kind::Text) {
                const QString& title = shown.columns[std::size_t(c)].title;
                EXPECT_LE(QFontMetrics(Theme::instance().small()).horizontalAdvance(title) + sizes().of(12),
                          table.columnWidth(c))
                    << page.toStdString() << ": the title " << title.toStdString() << " of "
                    << table.accessibleName().toStdString() << " is cut";
            }
            if (shown.columns[std::size_t(c)].kind != TableColumn::Kind::Number)
                continue;
            for (const TableRow& row : shown.rows) {
                const QFontMetrics metrics(row.strong ? Theme::instance().bold() : Theme::instance().body());
                const QString& text = row.cells[std::size_t(c)].text;
                EXPECT_LE(metrics.horizontalAdvance(text) + sizes().of(12), table.columnWidth(c))
                    << page.toStdString() << ": " << text.toStdString() << " of "
                    << table.accessibleName().toStdString() << " is cut";
            }
        }
        EXPECT_LE(width, table.viewport()->width())
            << page.toStdString() << ": " << table.accessibleName().toStdString()
            << " is wider than its place";
    }

    // Every page of two runs, at the window's size.
    void expectNoPageCut()
    {
        const QSize size = window_.size();
        const int file = window_.workspace().files()[0].id;
        window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
        for (const QString& name : window_.pageNames()) {
            window_.showPage(name);
            waitUntilSettled();
            ASSERT_TRUE(QTest::qWaitFor([&] { return window_.size() == size; }, kTimeoutMs))
                << name.toStdString() << " makes the window larger"; // the display server answers some time
            expectNotCut(name);
        }
    }

    void expectNotCut(const QString& name)
    {
        QWidget& page = *window_.page(name);
        for (const ToolBar* bar : page.findChildren<ToolBar*>())
            expectApart(name, *bar);
        for (const TableView* table : page.findChildren<TableView*>())
            if (table->isVisible())
                expectWholeNumbers(name, *table);
        for (const QAbstractButton* button : page.findChildren<QAbstractButton*>())
            if (button->isVisible() && !button->text().contains(QLatin1Char('\n')))
                expectWholeText(name, *button, QString(button->text()).remove(QLatin1Char('&')));
        for (const QLabel* label : page.findChildren<QLabel*>()) {
            const bool gives = label->sizePolicy().horizontalPolicy() == QSizePolicy::Ignored;
            const bool plain =
                !label->text().contains(QLatin1Char('<')) && !label->text().contains(QLatin1Char('\n'));
            if (label->isVisible() && !label->wordWrap() && !gives && plain)
                expectWholeText(name, *label, label->text());
            if (label->isVisible() && label->wordWrap() && plain) {
                EXPECT_EQ(label->text(), unbroken(label->text()))
                    << name.toStdString() << ": a line may end within an option";
            }
        }
    }
};

class SizesTest : public ScreenTest, public ::testing::WithParamInterface<QSize> {};

TEST_P(SizesTest, NoPageIsCut)
{
    window_.resize(GetParam());
    ASSERT_TRUE(QTest::qWaitFor([this] { return window_.size() == GetParam(); }, kTimeoutMs));
    waitUntilSettled();
    expectNoPageCut();
    if (window_.dock().isVisible()) {
        EXPECT_GE(window_.dock().width(), std::min(sizes().dock, GetParam().width() / 4))
            << "a page takes the run list's room";
        for (const QString& name : window_.pageNames())
            EXPECT_LE(window_.page(name)->minimumSizeHint().width(),
                      window_.width() - window_.dock().width() - sizes().rail)
                << name.toStdString();
    }
    for (const QTreeView* tree : window_.dock().findChildren<QTreeView*>()) {
        const QFontMetrics metrics(Theme::instance().small());
        for (int c = 1; c < tree->header()->count(); ++c) {
            if (tree->isColumnHidden(c))
                continue;
            const QString title = tree->model()->headerData(c, Qt::Horizontal).toString();
            EXPECT_LE(metrics.horizontalAdvance(title) + 4, tree->columnWidth(c)) << title.toStdString();
        }
    }
}

// Also run on a small screen and with a scale factor: see CMakeLists.txt.
TEST_F(ScreenTest, TheFirstWindowFitsItsScreenAndCutsNothing)
{
    const QRect screen = window_.screen()->availableGeometry();
    EXPECT_TRUE(QTest::qWaitFor([&] { return screen.contains(window_.frameGeometry()); }, kTimeoutMs))
        << window_.frameGeometry().width() << " x " << window_.frameGeometry().height() << " on "
        << screen.width() << " x " << screen.height();
    expectNoPageCut();
    const QStatusBar& status = *window_.statusBar();
    EXPECT_TRUE(screen.contains(QRect(status.mapToGlobal(QPoint()), status.size())));
    for (const QString& name : window_.pageNames()) {
        window_.showPage(name);
        waitUntilSettled();
        const QRect page(window_.page(name)->mapTo(&window_, QPoint()), window_.page(name)->size());
        EXPECT_TRUE(window_.rect().contains(page)) << name.toStdString();
    }
}

TEST_F(ScreenTest, AWindowOfALargerScreenComesBackWithinThisOne)
{
    const QString key = QStringLiteral("window/geometry");
    const QVariant before = QSettings().value(key);
    const QRect screen = window_.screen()->availableGeometry();
    window_.resize(screen.size() + QSize(600, 400));
    window_.move(screen.left() + 100, screen.top() + 100);
    ASSERT_TRUE(QTest::qWaitFor([&] { return window_.width() > screen.width(); }, kTimeoutMs));
    QSettings().setValue(key, window_.saveGeometry());
    MainWindow again;
    again.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&again, kTimeoutMs));
    EXPECT_TRUE(QTest::qWaitFor([&] { return screen.contains(again.frameGeometry()); }, kTimeoutMs))
        << again.x() << ' ' << again.y() << ' ' << again.width() << ' ' << again.height();
    QSettings().setValue(key, before);
}

TEST_F(ScreenTest, ANarrowWindowFoldsTheRunListAndGivesItBack)
{
    const QSize before = window_.size();
    auto& runs = *window_.findChild<QPushButton*>(QStringLiteral("showRuns"));
    const auto resized = [this](const QSize& size) {
        window_.resize(size);
        const bool done = QTest::qWaitFor([&] { return window_.size() == size; }, kTimeoutMs);
        waitUntilSettled();
        return done;
    };
    if (before.width() < sizes().of(1100))
        GTEST_SKIP() << "the screen is narrow itself";
    ASSERT_TRUE(window_.dock().isVisible());
    EXPECT_FALSE(runs.isVisible());
    ASSERT_TRUE(resized({sizes().of(1000), 600}));
    EXPECT_FALSE(window_.dock().isVisible());
    ASSERT_TRUE(runs.isVisible());
    QTest::mouseClick(&runs, Qt::LeftButton);
    EXPECT_TRUE(window_.dock().isVisible());
    EXPECT_FALSE(runs.isVisible());
    window_.dock().hide();
    ASSERT_TRUE(resized(before));
    EXPECT_TRUE(window_.dock().isVisible());
}

INSTANTIATE_TEST_SUITE_P(Screens, SizesTest,
                         ::testing::Values(QSize(1067, 640), QSize(1200, 700), QSize(1280, 720),
                                           QSize(1366, 768), QSize(1920, 1080)),
                         [](const auto& size) { return "At" + std::to_string(size.param.width()); });

} // namespace
} // namespace tilescope::ui
