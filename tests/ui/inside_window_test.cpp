// The view Inside of the page Kernels: one run, two runs, and a run whose kernels were not sampled.

#include "core/query/kernels/inside_difference.h"
#include "core/store/run_reader.h"
#include "tests/ui/window_fixture.h"
#include "ui/compare/compare_page.h"
#include "ui/kernels/inside_view.h"
#include "ui/kernels/kernels_page.h"
#include "ui/kit/controls.h"
#include "ui/kit/table_view.h"

#include <QLabel>
#include <QPushButton>

#include <cmath>
#include <filesystem>

namespace tilescope::ui {
namespace {

class InsideViewTest : public WindowTest {
protected:
    /// Shows runs of a recording on an H200, by their numbers.
    /// \param file  attention.tscope: a kernel in Triton; known.tscope: kernels in CUDA C++
    void showSampled(std::initializer_list<int> runs, const char* file = "attention.tscope")
    {
        window_.open({QStringLiteral(TILESCOPE_SOURCE_DIR "/tests/data/inside/") + QLatin1String(file)});
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
        return texts.join(QLatin1Char('\n')).remove(QChar(0x2060)); // keeps options on one line
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
    EXPECT_NEAR(share, 78.65, 0.1) << "of this file; the other samples are of lines of Triton";
    EXPECT_EQ(inside().hot().table().rows.front().cells.at(0).text, QStringLiteral("attention.py:14"));
    EXPECT_TRUE(shownText().contains(QStringLiteral("of the issue slots are used")))
        << shownText().toStdString();
    EXPECT_FALSE(inside().instructions().table().rows.empty());
    const QString command = page<KernelsPage>("kernels").command();
    EXPECT_TRUE(command.contains(QStringLiteral(" inside "))) << command.toStdString();
    EXPECT_TRUE(command.contains(QStringLiteral("--kernel flash_fwd"))) << command.toStdString();
}

TEST_F(InsideViewTest, UnfoldsInlinedLines)
{
    showSampled({1}, "known.tscope");
    inside().showKernel("tensor_cores(float*, int)");
    waitUntilSettled();
    EXPECT_EQ(inside().kernel(), "tensor_cores(float*, int)");
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

// As a finding of the advice does, which has the short name in words.
TEST_F(InsideViewTest, OpensOnTheKernelOfALink)
{
    showSampled({1}, "known.tscope");
    emit window_.workspace().targetWanted(
        QStringLiteral("kernels"),
        {.kind = PageTarget::Kind::Kernel, .text = QStringLiteral("pointer chase"), .isInside = true});
    waitUntilSettled();
    EXPECT_EQ(inside().kernel(), "pointer_chase(unsigned int const*, unsigned int*, int)");
    EXPECT_EQ(inside().hot().table().rows.front().cells.at(0).text, QStringLiteral("known.cu:98"));
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
    const std::filesystem::path file(TILESCOPE_SOURCE_DIR "/tests/data/inside/attention.tscope");
    const store::RunReader reader(file);
    double expected = 0;
    for (const query::InsideDifferenceRow& row :
         query::insideDifference(reader, {.run = RunId{1}}, reader,
                                 {.run = RunId{2}, .group = query::InsideGroup::Line})
             .rows)
        if (row.lineB.file.ends_with("attention.py"))
            expected += row.delta().value_or(0);
    EXPECT_GT(expected, 0);
    EXPECT_NEAR(change, expected, 100) << "ns, of the lines of this file";
    EXPECT_EQ(inside().states().table().columns.size(), 5U);
}

TEST_F(InsideViewTest, PageCompareListsLinesAndStatesThatChanged)
{
    showSampled({1, 2});
    clickRail(QStringLiteral("Compare"));
    waitUntilSettled();
    auto& compare = page<ComparePage>("compare");
    const auto choose = [&](const QString& word) {
        for (SegmentedControl* level : compare.findChildren<SegmentedControl*>())
            if (level->accessibleName() == QStringLiteral("What is compared"))
                for (QPushButton* button : level->findChildren<QPushButton*>())
                    if (button->text() == word)
                        button->click();
        waitUntilSettled();
    };
    TableView* table = nullptr;
    for (TableView* each : compare.findChildren<TableView*>())
        if (each->accessibleName() == QStringLiteral("Kernels by difference"))
            table = each;
    ASSERT_NE(table, nullptr);
    ASSERT_FALSE(table->table().columns.empty());
    EXPECT_EQ(table->table().columns.at(1).title, QStringLiteral("Line"))
        << "a recording without steps has no kernels to compare";
    // The time of the rows adds up to the difference of the kernel's mean times: from 162 to 200 us.
    const auto changeOf = [&](std::size_t column) {
        double sum = 0;
        for (const TableRow& row : table->table().rows)
            sum += std::isnan(row.cells.at(column).sort) ? 0 : row.cells.at(column).sort;
        return sum;
    };
    choose(QStringLiteral("lines"));
    ASSERT_EQ(table->table().columns.size(), 7U);
    EXPECT_EQ(table->table().columns.at(1).title, QStringLiteral("Line"));
    EXPECT_EQ(table->table().rows.front().cells.at(1).text, QStringLiteral("standard.py:170"));
    EXPECT_NEAR(changeOf(5), 38'000, 4'000);
    choose(QStringLiteral("states"));
    ASSERT_EQ(table->table().columns.size(), 6U);
    EXPECT_NEAR(changeOf(4), 38'000, 4'000);
    choose(QStringLiteral("kernels"));
    EXPECT_FALSE(table->isVisible());
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
