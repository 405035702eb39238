// The page Query: statements over the selected file, their rows and charts, and mistakes.

#include "core/store/maintenance/maintenance.h"
#include "tests/ui/window_fixture.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"
#include "ui/query/query_page.h"
#include "ui/query/result_plot.h"
#include "ui/query/result_rows.h"

#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTreeWidget>

#include <vector>

namespace tilescope::ui {
namespace {

store::SqlResult textsAndNumbers()
{
    return {.columns = {"name", "total", "mixed"},
            .values = {std::string("b"), std::int64_t{2}, 0.5,                  //
                       std::string("a"), std::monostate(), std::string("text"), //
                       std::string("c"), std::int64_t{12'000}, std::monostate()}};
}

TEST(ResultRows, NumbersKeepTheirExactValueAndSortAsNumbers)
{
    const TableData data = resultRows(textsAndNumbers());
    ASSERT_EQ(data.columns.size(), 3u);
    EXPECT_EQ(data.columns[0].kind, TableColumn::Kind::Text);
    EXPECT_EQ(data.columns[1].kind, TableColumn::Kind::Number);
    EXPECT_EQ(data.columns[2].kind, TableColumn::Kind::Text);
    EXPECT_EQ(data.rows[2].cells[1].exact, QStringLiteral("12000"));
    EXPECT_EQ(data.rows[2].cells[1].sort, 12'000);
    EXPECT_EQ(data.rows[1].cells[1].text, notMeasured());
    EXPECT_EQ(numberColumns(textsAndNumbers()), std::vector<std::size_t>{1});
}

TEST(ResultRows, ASeriesLeavesOutRowsWithoutNumbersAndLabelsTexts)
{
    const ResultSeries series = seriesOf(textsAndNumbers(), 0, 1);
    EXPECT_EQ(series.labels, QStringList({QStringLiteral("b"), QStringLiteral("c")}));
    EXPECT_EQ(series.keys, (std::vector<double>{0, 1}));
    EXPECT_EQ(series.values, (std::vector<double>{2, 12'000}));
    store::SqlResult many{.columns = {"name", "n"}, .values = {}};
    for (std::int64_t i = 0; i < 50; ++i) {
        many.values.emplace_back(std::to_string(i));
        many.values.emplace_back(i);
    }
    EXPECT_TRUE(seriesOf(many, 0, 1).isCut);
    EXPECT_EQ(seriesOf(many, 1, 1).values.size(), 50u) << "points need no labels";
}

class QueryTest : public WindowTest {
protected:
    QueryPage& page()
    {
        window_.showPage(QStringLiteral("query"));
        waitUntilSettled();
        return *dynamic_cast<QueryPage*>(window_.page(QStringLiteral("query")));
    }
    TableView& rows() { return named<TableView>(QStringLiteral("Rows of the statement")); }
    QString visibleTexts()
    {
        QStringList texts;
        for (const QLabel* label : window_.page(QStringLiteral("query"))->findChildren<QLabel*>())
            if (label->isVisible())
                texts << label->text();
        return texts.join(QLatin1Char('\n'));
    }
};

TEST_F(QueryTest, ShowsRowsAndAChartOfTheStatement)
{
    QueryPage& query = page();
    query.setStatement(
        QStringLiteral("select phase, count(*) as n from samples group by phase order by phase"));
    query.run();
    waitUntilSettled();
    EXPECT_GT(rows().table().rows.size(), 1u);
    EXPECT_EQ(rows().table().columns[1].title, QStringLiteral("n"));
    EXPECT_TRUE(query.findChild<ResultPlot*>()->isVisible());
    EXPECT_TRUE(visibleTexts().contains(QStringLiteral("rows in"))) << visibleTexts().toStdString();
}

TEST_F(QueryTest, ControlAndReturnRunTheStatement)
{
    QueryPage& query = page();
    query.setStatement(QStringLiteral("select 42 as answer"));
    auto& editor = named<QPlainTextEdit>(QStringLiteral("SQL statement"));
    editor.setFocus();
    QTest::keyClick(&editor, Qt::Key_Return, Qt::ControlModifier);
    waitUntilSettled();
    ASSERT_EQ(rows().table().columns.size(), 1U);
    EXPECT_EQ(rows().table().columns[0].title, QStringLiteral("answer"));
}

// Large numbers, for which an axis has room for few labels, and long names.
TEST_F(QueryTest, LabelsOfTheChartLieApartAtAnyWidth)
{
    QueryPage& query = page();
    query.setStatement(QStringLiteral("select 'void at::native::vectorized_elementwise_kernel_' || value as "
                                      "name, value * 132000000 as total_ns "
                                      "from (select 1 as value union select 2 union select 3)"));
    query.run();
    waitUntilSettled();
    const ResultPlot& plot = *query.findChild<ResultPlot*>();
    for (const QSize size : {QSize(1067, 667), QSize(1280, 720), QSize(1600, 1000)}) {
        window_.resize(size);
        ASSERT_TRUE(QTest::qWaitFor([&] { return window_.size() == size; }, kTimeoutMs));
        waitUntilSettled();
        const auto overlap = [&plot] {
            const QFontMetrics metrics(plot.xAxis->tickLabelFont());
            const QVector<double> ticks = plot.xAxis->tickVector();
            for (qsizetype i = 1; i < ticks.size(); ++i) {
                const auto half = [&](qsizetype tick) {
                    return metrics.horizontalAdvance(plot.xAxis->tickVectorLabels()[tick]) / 2.0;
                };
                if (plot.xAxis->coordToPixel(ticks[i]) - plot.xAxis->coordToPixel(ticks[i - 1]) <
                    half(i - 1) + half(i))
                    return true;
            }
            return false;
        };
        EXPECT_TRUE(QTest::qWaitFor([&] { return !overlap(); }, kTimeoutMs)) << size.width();
        EXPECT_GT(plot.axisRect()->width(), plot.width() / 3) << "the names leave room for the bars";
    }
}

TEST_F(QueryTest, EveryExampleRuns)
{
    QueryPage& query = page();
    for (const ExampleStatement& example : exampleStatements()) {
        query.setStatement(statementOf(example, 1));
        query.run();
        waitUntilSettled();
        EXPECT_TRUE(visibleTexts().contains(QStringLiteral(" in ")))
            << example.title << visibleTexts().toStdString();
        EXPECT_FALSE(visibleTexts().contains(QStringLiteral("SQL")))
            << example.title << visibleTexts().toStdString();
    }
}

TEST_F(QueryTest, AMistakeIsShownBesideTheStatementAndKeepsTheRows)
{
    QueryPage& query = page();
    query.setStatement(QStringLiteral("select run from runs"));
    query.run();
    waitUntilSettled();
    const std::size_t before = rows().table().rows.size();
    query.setStatement(QStringLiteral("select * from kernal"));
    query.run();
    waitUntilSettled();
    EXPECT_TRUE(visibleTexts().contains(QStringLiteral("did you mean 'kernel'?")))
        << visibleTexts().toStdString();
    EXPECT_EQ(rows().table().rows.size(), before);
    query.setStatement(QStringLiteral("delete from run"));
    query.run();
    waitUntilSettled();
    EXPECT_TRUE(visibleTexts().contains(QStringLiteral("only a statement that reads")))
        << visibleTexts().toStdString();
}

TEST_F(QueryTest, ALongStatementIsStopped)
{
    QueryPage& query = page();
    query.setStatement(QStringLiteral(
        "with recursive n(i) as (values (1) union all select i + 1 from n) select max(i) from n"));
    query.run();
    query.stop();
    waitUntilSettled();
    EXPECT_TRUE(visibleTexts().contains(QStringLiteral("stopped after"))) << visibleTexts().toStdString();
}

TEST_F(QueryTest, BeginsWithWhatTheFileHas)
{
    page();
    EXPECT_EQ(rows().table().columns[0].title, QStringLiteral("kernel"));
    ASSERT_FALSE(rows().table().rows.empty());
    for (const TableRow& row : rows().table().rows)
        EXPECT_FALSE(row.cells[0].text.contains(QLatin1Char('('))) << "a short name, as on Kernels";
    const auto first = [](const std::filesystem::path& file, std::int64_t run) {
        return firstStatement(file, run).section(QStringLiteral("from "), 1).section(QLatin1Char('\n'), 0, 0);
    };
    const std::filesystem::path gpu = folder_ / "gpu.tscope";
    test::writeGpuFile(gpu);
    EXPECT_EQ(first(gpu, 1), QStringLiteral("kernels"));
    EXPECT_EQ(first(gpu, 3), QStringLiteral("samples")) << "not traced";
    EXPECT_EQ(first(gpu, 9), QStringLiteral("runs")) << "ran out of memory before the first step";
    const std::filesystem::path cpu = folder_ / "cpu.tscope";
    test::writeStudyFile(cpu);
    EXPECT_EQ(first(cpu, 1), QStringLiteral("ops"));
}

TEST_F(QueryTest, AFileWithoutRunsSaysSo)
{
    const std::filesystem::path file = folder_ / "lm.tscope";
    page();
    std::vector<RunId> all;
    for (const query::RunSummary& run : window_.workspace().files().front().snapshot->runs)
        all.push_back(run.run);
    store::deleteRuns(file, all);
    window_.workspace().refresh(window_.workspace().files().front().id);
    waitUntilSettled();
    EXPECT_TRUE(visibleTexts().contains(QStringLiteral("lm.tscope has no runs.")))
        << visibleTexts().toStdString();
}

TEST_F(QueryTest, ListsViewsAndWithoutASelectionSaysWhatToDo)
{
    page();
    auto& sources = named<QTreeWidget>(QStringLiteral("Views and tables of the file"));
    EXPECT_FALSE(sources.findItems(QStringLiteral("kernels"), Qt::MatchExactly).isEmpty());
    window_.workspace().select({});
    waitUntilSettled();
    EXPECT_EQ(sources.topLevelItemCount(), 0);
    EXPECT_TRUE(visibleTexts().contains(
        QStringLiteral("The rows of a SELECT statement over the file appear on this page.")));
    for (const QPushButton* button : window_.page(QStringLiteral("query"))->findChildren<QPushButton*>())
        if (button->isVisible()) {
            EXPECT_FALSE(button->isEnabled()) << button->text().toStdString() << " would do nothing";
        }
}

} // namespace
} // namespace tilescope::ui
