// The view Inside of the page Kernels: one run, two runs, and a run whose kernels were not sampled.

#include "tests/ui/window_fixture.h"
#include "ui/kernels/inside_view.h"
#include "ui/kernels/kernels_page.h"
#include "ui/kit/table_view.h"

#include <QLabel>

namespace tilescope::ui {
namespace {

class InsideViewTest : public WindowTest {
protected:
    /// Shows runs of a recording of an attention kernel on an H200, by their numbers.
    void showSampled(std::initializer_list<int> runs)
    {
        window_.open({QStringLiteral(TILESCOPE_SOURCE_DIR "/tests/data/inside/attention.tscope")});
        waitUntilSettled();
        std::vector<RunKey> keys;
        for (const int run : runs)
            keys.push_back({window_.workspace().files().back().id, RunId{run}});
        window_.workspace().select(keys);
        clickRail(QStringLiteral("Kernels"));
        page<KernelsPage>("kernels").showInside(true);
        waitUntilSettled();
    }
    InsideView& inside() { return page<KernelsPage>("kernels").inside(); }
    /// The row of the source with this line; null: it has none.
    const TableRow* sourceRow(int line)
    {
        for (const TableRow& row : inside().source().table().rows)
            if (row.cells.at(1).text == QString::number(line))
                return &row;
        return nullptr;
    }
    QString shownText()
    {
        QStringList texts;
        for (const QLabel* label : inside().findChildren<QLabel*>())
            if (label->isVisible())
                texts << label->text();
        return texts.join(QLatin1Char('\n'));
    }
};

TEST_F(InsideViewTest, ShowsTheSourceOfTheSampledKernelWithItsShares)
{
    showSampled({1});
    EXPECT_EQ(inside().kernel(), "flash_fwd");
    const TableRow* line = sourceRow(14);
    ASSERT_NE(line, nullptr);
    EXPECT_TRUE(line->cells.at(2).text.contains(QStringLiteral("tl.exp")))
        << line->cells.at(2).text.toStdString();
    EXPECT_FALSE(line->cells.at(3).stack.empty());
    double share = 0;
    for (const TableRow& row : inside().source().table().rows)
        share += std::isnan(row.cells.at(4).sort) ? 0 : row.cells.at(4).sort;
    EXPECT_NEAR(share, 100, 0.5) << "of this file, with what is inlined";
    EXPECT_EQ(inside().hot().table().rows.front().cells.at(0).text, QStringLiteral("attention.py:14"));
    EXPECT_TRUE(shownText().contains(QStringLiteral("of the issue slots are used")))
        << shownText().toStdString();
    EXPECT_FALSE(inside().instructions().table().rows.empty());
    EXPECT_TRUE(page<KernelsPage>("kernels").command().contains(QStringLiteral("inside --kernel flash_fwd")));
}

TEST_F(InsideViewTest, UnfoldsInlinedLines)
{
    showSampled({1});
    std::size_t folded = 0;
    TableView& source = inside().source();
    while (folded < source.table().rows.size() && source.table().rows[folded].cells.at(0).text.isEmpty())
        ++folded;
    ASSERT_LT(folded, source.table().rows.size());
    const auto before = source.table().rows.size();
    const bool isOpen = source.table().rows[folded].cells.at(0).text == QStringLiteral("▾");
    emit source.activatedRow(std::int64_t(folded));
    EXPECT_EQ(source.table().rows.size() > before, !isOpen);
    emit source.activatedRow(std::int64_t(folded));
    EXPECT_EQ(source.table().rows.size(), before);
}

TEST_F(InsideViewTest, ComparesTheSecondRunWithTheFirst)
{
    showSampled({1, 2});
    const TableData& table = inside().source().table();
    ASSERT_EQ(table.columns.size(), 6U);
    EXPECT_TRUE(table.columns.back().title.startsWith(QStringLiteral("B - A")))
        << table.columns.back().title.toStdString();
    double change = 0;
    for (const TableRow& row : table.rows)
        change += std::isnan(row.cells.at(5).sort) ? 0 : row.cells.at(5).sort;
    EXPECT_NEAR(change, 38'000, 4'000) << "ns: the difference of the mean times";
    EXPECT_EQ(inside().states().table().columns.size(), 5U);
}

TEST_F(InsideViewTest, SaysHowToRecordWhereNothingWasSampled)
{
    clickRail(QStringLiteral("Kernels"));
    page<KernelsPage>("kernels").showInside(true);
    waitUntilSettled();
    EXPECT_TRUE(shownText().contains(QStringLiteral("record with --inside"))) << shownText().toStdString();
}

} // namespace
} // namespace tilescope::ui
