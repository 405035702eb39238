// The window shows the columns that core/exchange defines: with the titles, units and digits of the terminal.

#include "core/exchange/advice/advice_columns.h"
#include "core/exchange/calls/call_columns.h"
#include "core/exchange/compare/comparison_columns.h"
#include "core/exchange/kernels/kernel_columns.h"
#include "core/exchange/memory/oom_columns.h"
#include "core/exchange/ranks/collective_columns.h"
#include "core/exchange/tables/printed_table.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/work/work_columns.h"
#include "tests/support/fake_memory.h"
#include "ui/kit/run_columns.h"
#include "ui/kit/section_table.h"

#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

/// A title of the terminal as the window writes it: "total (ms)" is "total, ms".
QString titleInTheWindow(const std::string& printed)
{
    QString text = QString::fromStdString(printed);
    text.replace(QStringLiteral(" ("), QStringLiteral(", ")).remove(QLatin1Char(')'));
    return text.replace(QStringLiteral(" - "), QStringLiteral(" − ")).toLower();
}

/// A number of up to four digits, or a dash.
QString numberInTheWindow(const std::string& printed)
{
    QString text = QString::fromStdString(printed).remove(QLatin1Char(','));
    text.replace(QLatin1Char('-'), QChar(0x2212));
    return text == QChar(0x2212) ? notMeasured() : text;
}

template <class Row>
void expectSameColumns(const std::vector<Row>& rows, const std::vector<exchange::ColumnOf<Row>>& definitions)
{
    const auto shared = std::make_shared<const std::vector<Row>>(rows);
    const exchange::ColumnsOf column(shared, *shared);
    exchange::Table table{.rows = rows.size()};
    TableMaker<Row> maker(rows);
    for (const exchange::ColumnOf<Row>& definition : definitions) {
        table.columns.push_back(column(definition));
        maker.add(definition, 60);
    }
    const std::vector<exchange::Printed> terminal = exchange::printed(table, rows.size());
    const TableData window = maker.table(rows, [](const Row&) { return Swatch(); });
    ASSERT_EQ(window.columns.size(), terminal.size());
    for (std::size_t c = 0; c < terminal.size(); ++c) {
        if (terminal[c].hasValues) { // the terminal names no unit where there is no value
            EXPECT_EQ(window.columns[c].title.toLower(), titleInTheWindow(terminal[c].title));
        }
        const bool isNumber = definitions[c].isNumber;
        EXPECT_EQ(window.columns[c].kind == TableColumn::Kind::Number, isNumber);
        for (std::size_t row = 0; row < rows.size(); ++row) {
            QString text = window.rows[row].cells[c].text;
            if (text.startsWith(QLatin1Char('+')))
                text.remove(0, 1);
            const std::string& printed = terminal[c].cells[row];
            EXPECT_EQ(text, isNumber || printed == "-" ? numberInTheWindow(printed)
                                                       : QString::fromStdString(printed))
                << terminal[c].title;
        }
    }
}

TEST(Columns, OfKernelsAreThoseOfTheTerminal)
{
    const exchange::KernelColumns of;
    const exchange::WorkColumns<query::KernelRow> work;
    query::KernelRow gemm{
        .key = "gemm", .shortName = "gemm", .instances = 3, .total = Nanoseconds(3'600'000)};
    gemm.shortest = Nanoseconds(900'000);
    gemm.longest = Nanoseconds(1'500'000);
    gemm.percent = 99.4;
    gemm.work = analysis::Work{analysis::Flops{2'000'000'000}, Bytes{1 << 20}};
    gemm.counted = gemm.total;
    query::KernelRow copy{.key = "copy", .instances = 1, .total = Nanoseconds(20'500), .hasRange = false};
    copy.percent = 0.56;
    expectSameColumns<query::KernelRow>({gemm, copy}, {of.shortName, of.family, of.instances, of.total,
                                                       of.percent, of.mean, of.shortest, of.longest});
    expectSameColumns<query::KernelRow>(
        {gemm, copy}, {work.flops, work.bytes, work.flopRate, work.byteRate, work.intensity});
}

TEST(Columns, OfOpsAndRangesAreThoseOfTheTerminal)
{
    const exchange::OpColumns ops;
    query::KernelRow linear{.key = "aten::linear", .instances = 4, .total = Nanoseconds(1'200)};
    linear.withCalls = Nanoseconds(3'600'000);
    linear.percent = 12.5;
    expectSameColumns<query::KernelRow>({linear}, {ops.total, ops.self, ops.mean, ops.percent});
    const exchange::RangeColumns ranges(false);
    expectSameColumns<analysis::RangeTotal>(
        {{.path = "step/forward", .instances = 2, .wall = Nanoseconds(1'640'000), .percent = 31.5}},
        {ranges.path, ranges.instances, ranges.wall, ranges.gpu, ranges.percent});
}

TEST(Columns, OfTheRooflineAreThoseOfTheTerminal)
{
    const exchange::RooflineColumns of(true);
    query::RooflineRow row{.key = "matmul", .op = "aten::mm", .instances = 3, .time = Nanoseconds(2'000'000)};
    row.counted = Nanoseconds(1'000'000);
    row.measured = {analysis::Bound::Memory, 0.815};
    const exchange::WorkColumns<query::RooflineRow> work;
    expectSameColumns<query::RooflineRow>(
        {row, query::RooflineRow{.op = "aten::copy_"}},
        {of.op, of.shapes, of.instances, of.time, of.counted, work.bound, work.ofMeasured, work.ofSheet});
}

TEST(Columns, OfBlocksAndChangesAreThoseOfTheTerminal)
{
    testing::FakeMemory memory;
    memory.step(1, 5, 100).older(9, 8 << 20, "bias");
    memory.op("aten::mm", "f32[8]").alloc(1, 30 << 20, 20, "step/forward").free(1, 60);
    query::OomReport report{.allocated = Bytes{38 << 20}, .history = memory.history()};
    const exchange::HolderColumns of(report);
    expectSameColumns<std::uint32_t>({0, 1}, {of.bytes, of.category, of.range, of.op, of.tensor, of.shape,
                                              of.since, of.lifetime, of.address, of.device, of.percent});
    const exchange::ChangeColumns change(Bytes{8 << 20});
    query::FittingChange flash{{{{"backend", "flash"}}, Bytes{4 << 20}, Bytes{5 << 20}}, 0.25};
    expectSameColumns<query::FittingChange>({flash}, {change.flags, change.peakAllocated, change.peakReserved,
                                                      change.peak, change.left, change.step});
}

TEST(Columns, OfAComparisonAreThoseOfTheTerminal)
{
    const exchange::GroupDifferenceColumns of("name", "kernel");
    query::ComparedGroup slower{
        .difference = {.key = "gemm", .a = 5.1e6, .b = 5.9e6, .instancesA = 2, .instancesB = 2},
        .family = "matmul"};
    slower.difference.ratio = 5.9 / 5.1;
    slower.difference.difference95 = analysis::ConfidenceInterval{0.6e6, 1e6};
    slower.difference.verdict = analysis::GroupVerdict::Slower;
    const query::ComparedGroup gone{.difference = {.key = "softmax", .a = 300e3, .instancesA = 1}};
    expectSameColumns<query::ComparedGroup>({slower, gone},
                                            {of.name, of.family, of.times.a, of.times.b, of.times.change,
                                             of.spread, of.ratio, of.instancesA, of.instancesB, of.verdict});
    const exchange::MemoryDifferenceColumns memory("allocated");
    expectSameColumns<query::ComparedMemory>(
        {{"peak_allocated", Bytes{5 << 20}, Bytes{3 << 20}}, {"reserved", Bytes{1 << 20}, {}}},
        {memory.words, memory.a, memory.b, memory.change, memory.ratio});
}

TEST(Columns, OfCollectivesAreThoseOfTheTerminal)
{
    const query::RanksTable table;
    const exchange::CollectiveColumns of(table);
    query::CollectiveRow row{.step = 1, .sequence = 7, .op = "all_reduce", .bytes = Bytes{6 << 20}};
    row.transfer = Nanoseconds(1'250'000);
    row.last = "rank 1";
    row.late = Nanoseconds(40'000);
    row.bandwidth = Bandwidth{.algorithm = 120.5, .bus = 180.75};
    expectSameColumns<query::CollectiveRow>({row, query::CollectiveRow{.op = "barrier"}},
                                            {of.step, of.sequence, of.op, of.bytes, of.transfer, of.last,
                                             of.late, of.wait, of.busRate, of.exposed, of.slack, of.stall});
}

TEST(Columns, OfRunsAreThoseOfTheTerminal)
{
    const exchange::RunColumns<NamedRun> of;
    query::RunSummary timed;
    timed.step = analysis::summarise(std::vector<double>{9, 10, 10.5, 11, 11.5, 12, 12.5});
    timed.result.status = RunStatus::Ok;
    timed.result.peakAllocated = Bytes{3LL << 30};
    query::RunSummary failed;
    failed.result.status = RunStatus::Oom;
    failed.workload = "lm";
    failed.result.flags = {"drift: 3 %", "noisy"};
    expectSameColumns<NamedRun>({{{}, {}, &timed}, {{}, {}, &failed}},
                                {of.workload, of.status, of.step, of.interval, of.samples, of.beforeBackward,
                                 of.peakAllocated, of.peakReserved, of.flags});
}

TEST(Columns, OfCallsAreThoseOfTheTerminal)
{
    query::CallTreeRow kernel;
    kernel.kind = query::CallKind::Kernel;
    kernel.self = kernel.total = 3'600'000;
    kernel.count = 3;
    kernel.percent = 99.4;
    query::CallTreeRow process;
    process.self = process.total = 20'500;
    const exchange::CallColumns of(query::CallTreeTable{.onGpu = true});
    expectSameColumns<query::CallTreeRow>({kernel, process},
                                          {of.kind, of.total, of.percent, of.self, of.count});
}

TEST(Columns, OfGroupsOfMemoryAreThoseOfTheTerminal)
{
    const exchange::MemoryGroupColumns of("category");
    expectSameColumns<query::MemoryGroupRow>(
        {{.key = "activations", .held = Bytes{30 << 20}}, {.key = "reserved_free", .held = Bytes{1 << 20}}},
        {of.name, of.held});
}

TEST(Columns, OfFindingsAreThoseOfTheTerminal)
{
    query::AdviceTable table{.steps = 4, .wall = Nanoseconds(8'000'000)};
    const query::Advice finding{
        .atStake = Nanoseconds(2'000'000), .sentence = "Launches wait.", .remedy = "Compile."};
    const exchange::AdviceColumns of(table);
    expectSameColumns<query::Advice>({finding}, {of.rule, of.atStake, of.percent, of.sentence, of.remedy});
}

TEST(Columns, OfASectionThatAreComparedHaveOneUnit)
{
    exchange::Table table{.rows = 1};
    for (const double time : {834e3, 803e3, 1.58e6})
        table.columns.push_back({.title = "time",
                                 .cell = [time](std::size_t) { return exchange::Cell(time); },
                                 .unit = quantity::Unit::Nanoseconds,
                                 .unitGroup = 1});
    const TableData window = sectionTable(table);
    ASSERT_EQ(window.columns.size(), 3U);
    for (const TableColumn& column : window.columns)
        EXPECT_EQ(column.title, QStringLiteral("Time, ms"));
    EXPECT_EQ(window.rows[0].cells[0].text, QStringLiteral("0.834"));
    EXPECT_EQ(window.rows[0].cells[2].text, QStringLiteral("1.58"));
}

} // namespace
} // namespace tilescope::ui
