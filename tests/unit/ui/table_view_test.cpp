// What a table shows where there is little room: names first.

#include "ui/kit/elided_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/table_delegate.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QScrollBar>

#include <gtest/gtest.h>

#include <set>

namespace tilescope::ui {
namespace {

class TableViewTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        using Kind = TableColumn::Kind;
        Theme::instance().apply(ThemeChoice::Light);
        TableData data;
        data.columns = {makeColumn(QStringLiteral("Kernel"), Kind::Text, 0),
                        makeColumn(QStringLiteral("Family"), Kind::Text, 84, true),
                        makeColumn(QStringLiteral("Total, ms"), Kind::Number, 70),
                        makeColumn({}, Kind::Bar, 100),
                        makeColumn(QStringLiteral("95 %"), Kind::Number, 70, true)};
        for (const char* name : {"xmma gemm bf16 128x128", "softmax"}) {
            TableRow& row = data.rows.emplace_back();
            row.id = std::int64_t(data.rows.size());
            row.cells = {makeWords(QString::fromLatin1(name)), makeWords(QStringLiteral("matmul")),
                         makeWords(QStringLiteral("12.3")), makeBar(1, 2),
                         makeWords(QStringLiteral("± 0.1"))};
        }
        view_.show(data);
        view_.setVisible(true);
    }

    // Which columns are shown at a width, by their first letters; bars as -.
    QString at(double design)
    {
        view_.resize(sizes().of(design), 200);
        QApplication::processEvents();
        QString shown;
        for (int c = 0; c < view_.model()->columnCount(); ++c)
            if (!view_.isColumnHidden(c))
                shown +=
                    c == 3 ? QStringLiteral("-") : view_.model()->headerData(c, Qt::Horizontal).toString()[0];
        return shown;
    }

    bool scrolls() const { return view_.horizontalScrollBar()->maximum() > 0; }

    TableView view_;
};

TEST_F(TableViewTest, AWordThatCannotBeBrokenIsElidedNotCut)
{
    const auto drawn = [this](const QString& text) {
        TableData data;
        data.columns = {makeColumn(QStringLiteral("Kernel"), TableColumn::Kind::Text, 0)};
        data.rows.emplace_back().cells = {makeWords(text)};
        view_.show(data);
        view_.resize(260, 100);
        QApplication::processEvents();
        return view_.viewport()->grab().toImage();
    };
    const QString name =
        QStringLiteral("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x16_stage3_warpsize4");
    const QImage cut = drawn(name);
    const QString shown = elidedText(name, QFontMetrics(Theme::instance().body()), Qt::ElideMiddle,
                                     view_.columnWidth(0) - TableDelegate::padding(0));
    ASSERT_TRUE(shown.contains(QChar(0x2026)));
    EXPECT_EQ(cut, drawn(shown));
}

TEST_F(TableViewTest, GivesUpBarsThenWhatIsDimBeforeNames)
{
    EXPECT_EQ(at(600), QStringLiteral("KFT-9"));
    const int bar = view_.columnWidth(3);
    const int name = view_.columnWidth(0);
    EXPECT_EQ(at(430), QStringLiteral("KFT-9"));
    EXPECT_LT(view_.columnWidth(3), bar) << "the bar gets shorter first";
    EXPECT_FALSE(scrolls());
    EXPECT_EQ(at(345), QStringLiteral("KT-9")) << "the swatch also shows the family";
    EXPECT_FALSE(scrolls());
    EXPECT_EQ(at(260), QStringLiteral("KT-9")) << "numbers lose the space before them";
    EXPECT_EQ(at(220), QStringLiteral("KT-"));
    EXPECT_FALSE(scrolls());
    EXPECT_EQ(at(600), QStringLiteral("KFT-9")) << "all come back";
    EXPECT_EQ(view_.columnWidth(3), bar);
    EXPECT_EQ(view_.columnWidth(0), name);
}

TEST_F(TableViewTest, DifferentNamesNeverLookAlike)
{
    TableData data;
    data.columns = {makeColumn(QStringLiteral("Op"), TableColumn::Kind::Text, 0)};
    const QStringList names{QStringLiteral("aten::_scaled_dot_product_flash_attention_for_cpu"),
                            QStringLiteral("aten::_scaled_dot_product_flash_attention_math_for_cpu"),
                            QStringLiteral("aten::_scaled_dot_product_efficient_attention_for_cpu")};
    for (const QString& name : names)
        data.rows.emplace_back().cells = {makeWords(name)};
    view_.show(data);
    for (const int width : {120, 160, 240, 320}) {
        std::set<QString> shown;
        for (const QString& name : names) {
            const QString text = view_.elided(0, name, width);
            EXPECT_LE(QFontMetrics(Theme::instance().body()).horizontalAdvance(text), width);
            shown.insert(text);
        }
        EXPECT_EQ(shown.size(), 3U) << width;
    }
}

TEST_F(TableViewTest, LongNamesAreWholeBeforeBarsHaveTheirWholeWidth)
{
    TableData longer = view_.table();
    longer.rows[0].cells[0].text = QStringLiteral("tilescope flash backward fp32, attention (new)");
    const int needed = QFontMetrics(view_.font()).horizontalAdvance(longer.rows[0].cells[0].text);
    at(600);
    view_.show(longer);
    at(900); // the widths are laid out for the names of now
    EXPECT_EQ(view_.columnWidth(3), sizes().of(100));
    const int spare = view_.columnWidth(0) - needed - TableDelegate::padding(0);
    ASSERT_GE(spare, 0);
    // The space before numbers goes first.
    view_.resize(view_.width() - spare - sizes().of(80), 200);
    QApplication::processEvents();
    EXPECT_GE(view_.columnWidth(0), needed + TableDelegate::padding(0));
    EXPECT_LT(view_.columnWidth(3), sizes().of(100));
}

TEST_F(TableViewTest, TextsThatMayWrapGiveAllRowsTheHeightOfTheLongest)
{
    TableData sentences = view_.table();
    sentences.columns.pop_back();
    sentences.columns.pop_back();
    for (TableRow& row : sentences.rows)
        row.cells.resize(3);
    sentences.rows[0].cells[0].text = QStringLiteral(
        "26 products in a step in fp32 run outside of the tensor cores; there, they would take less");
    const QFontMetrics metrics(Theme::instance().body());
    view_.setRowHeight(22);
    view_.show(sentences);
    view_.setMostLines(3);
    int told = 0;
    QObject::connect(&view_, &TableView::rowHeightChanged, [&told](int height) { told = height; });
    at(1200);
    EXPECT_EQ(view_.rowHeight(0), sizes().of(22));
    at(560);
    EXPECT_EQ(view_.rowHeight(1), sizes().of(22) + metrics.lineSpacing());
    EXPECT_EQ(told, view_.rowHeight(1));
    at(300);
    EXPECT_EQ(view_.rowHeight(0), sizes().of(22) + 2 * metrics.lineSpacing()) << "the rest is elided";
    sentences.rows[0].cells[0].text = QStringLiteral("softmax");
    view_.show(sentences);
    EXPECT_EQ(view_.rowHeight(0), sizes().of(22)) << "other texts, other lines";
}

TEST_F(TableViewTest, EachRowMayHaveTheHeightOfItsOwnLines)
{
    TableData facts;
    TableColumn key;
    key.title = QStringLiteral("Fact");
    key.width = 100;
    TableColumn value;
    value.title = QStringLiteral("a.tscope");
    value.sentence = true;
    facts.columns = {key, value};
    const char* const missing =
        "CUDA calls, ranges (steps and modules), Python calls, memory events, counters";
    for (const char* text : {"12", missing}) {
        TableRow& row = facts.rows.emplace_back();
        row.id = std::int64_t(facts.rows.size()) - 1;
        row.cells.resize(2);
        row.cells[0].text = row.id == 0 ? QStringLiteral("ops") : QStringLiteral("missing");
        row.cells[1].text = QString::fromLatin1(text);
    }
    const QFontMetrics metrics(Theme::instance().body());
    view_.setRowHeight(22);
    view_.setMostLinesOfEach(4);
    view_.show(facts);
    at(900);
    EXPECT_EQ(view_.rowHeight(1), sizes().of(22));
    const int halfOfTheText = metrics.horizontalAdvance(QLatin1String(missing)) / 2;
    at(sizes().of(100) + halfOfTheText);
    EXPECT_EQ(view_.rowHeight(0), sizes().of(22));
    EXPECT_GT(view_.rowHeight(1), sizes().of(22));
    view_.sortByColumn(0, Qt::AscendingOrder); // "missing" comes first
    QApplication::processEvents();
    EXPECT_EQ(view_.model()->index(0, 1).data().toString(), QLatin1String(missing));
    EXPECT_GT(view_.rowHeight(0), sizes().of(22));
    EXPECT_EQ(view_.rowHeight(1), sizes().of(22));
}

TEST_F(TableViewTest, NoNumberIsCutWhateverTheRoomIsAndWhateverComesLater)
{
    const auto expectWhole = [this] {
        for (int c = 0; c < view_.model()->columnCount(); ++c)
            for (const TableRow& row : view_.table().rows)
                if (view_.table().columns[std::size_t(c)].kind == TableColumn::Kind::Number &&
                    !view_.isColumnHidden(c)) {
                    const TableCell& cell = row.cells[std::size_t(c)];
                    EXPECT_GE(view_.columnWidth(c),
                              QFontMetrics(TableDelegate::fontOf(row, cell)).horizontalAdvance(cell.text) +
                                  TableDelegate::signWidth(cell.tone) + TableDelegate::padding(c))
                        << cell.text.toStdString() << " at " << view_.width();
                }
    };
    TableData longer = view_.table();
    longer.rows[1].cells[2].text = QStringLiteral("13\u2009916\u2009244");
    longer.rows[1].cells[2].tone = Tone::Better;
    longer.rows[1].strong = true;
    at(600);
    view_.show(longer); // the columns are those that were there
    for (const double width : {900, 600, 430, 345, 260, 140, 60}) {
        at(width);
        expectWhole();
    }
    EXPECT_TRUE(scrolls()) << "what has no place is reached by scrolling";
    // Nor can it be dragged so narrow; a width that leaves it whole is kept.
    at(600);
    view_.horizontalHeader()->resizeSection(2, 30);
    expectWhole();
    view_.horizontalHeader()->resizeSection(2, 190);
    view_.show(longer);
    at(800);
    EXPECT_EQ(view_.columnWidth(2), 190);
}

// Columns that end beyond the view show a scroll bar, which takes room from the rows and by another scroll bar from
// the columns: widths that do not add up never come to rest.
TEST_F(TableViewTest, ColumnsEndWithinTheViewAtEveryWidthThatHasRoomForThem)
{
    TableData counted = view_.table();
    counted.columns[4] = makeColumn(QStringLiteral("n"), TableColumn::Kind::Number, 70, true);
    for (TableRow& row : counted.rows)
        row.cells[4] = makeWords(QStringLiteral("7")); // narrower than any column
    view_.show(counted);
    const int height = sizes().header + int(counted.rows.size()) * sizes().of(24) + 2;
    for (int width = sizes().of(600); width >= sizes().of(220); --width) {
        view_.resize(width, height);
        QApplication::processEvents();
        ASSERT_LE(view_.horizontalHeader()->length(), view_.viewport()->width()) << "at " << width;
        ASSERT_FALSE(scrolls()) << "at " << width;
    }
}

TEST_F(TableViewTest, ANameTakesBackTheRoomThatShortNumbersDoNotNeed)
{
    at(345);
    const int name = view_.columnWidth(0);
    TableData longer = view_.table();
    longer.rows[0].cells[2].text = QStringLiteral("1\u2009234\u2009567");
    view_.show(longer);
    EXPECT_LT(view_.columnWidth(0), name) << "the name gives";
    longer.rows[0].cells[2].text = QStringLiteral("12.3");
    view_.show(longer);
    EXPECT_EQ(view_.columnWidth(0), name);
}

TEST_F(TableViewTest, AColumnThatTookThePlaceOfADroppedOneIsShown)
{
    using Kind = TableColumn::Kind;
    EXPECT_EQ(at(345), QStringLiteral("KT-9"));
    TableData other = view_.table();
    other.columns[1] = makeColumn(QStringLiteral("A, MiB"), Kind::Number, 58);
    view_.show(other);
    EXPECT_FALSE(view_.isColumnHidden(1));
    EXPECT_GE(view_.columnWidth(1), view_.numberWidth(1));
    EXPECT_EQ(at(600), QStringLiteral("KAT-9"));
}

TEST_F(TableViewTest, ACopiedNumberHasItsUnit)
{
    TableData data = view_.table();
    data.rows[0].cells[2] = makeNumber(12.3e6, Unit{1e6, "ms"}, exactTime);
    data.rows[1].cells[2] = makeNumber(12.3e6, Unit{1e6, "ms"});
    view_.show(data);
    const auto copied = [this](int row, int column) {
        return view_.model()->index(row, column).data(TableModel::ExactRole).toString();
    };
    EXPECT_EQ(copied(0, 2), QStringLiteral("12\u2009300\u2009000\u2009ns"))
        << "all digits where they are known";
    EXPECT_EQ(copied(1, 2), QStringLiteral("12.3\u2009ms"));
    EXPECT_EQ(copied(0, 1), QStringLiteral("matmul"));
}

TEST_F(TableViewTest, WhatIsCopiedHasEveryColumnHoweverNarrowTheViewIs)
{
    at(260);
    EXPECT_EQ(view_.shown().columns.size(), 5U);
    EXPECT_TRUE(tableText(view_.shown(), QLatin1Char('\t')).contains(QStringLiteral("± 0.1")));
}

} // namespace
} // namespace tilescope::ui
