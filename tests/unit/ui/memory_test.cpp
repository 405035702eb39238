#include "core/exchange/import/snapshot_import.h"
#include "tests/support/fake_memory.h"
#include "ui/kit/table_delegate.h"
#include "ui/memory/memory_axis.h"
#include "ui/memory/memory_rows.h"
#include "ui/memory/step_points.h"
#include "ui/theme/palette.h"

#include <QAbstractItemModelTester>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace tilescope::ui {
namespace {

TEST(StepPoints, FewChangesAreDrawnOneByOne)
{
    const query::StepCurve curve({10, 20, 30}, {5, 9, 2});
    const std::vector<StepPoint> whole = {{10, 5}, {20, 9}, {30, 2}, {40, 2}};
    EXPECT_EQ(stepPoints(curve, 40, {0, 100}, 100), whole)
        << "nothing before the first change or after the end";
    const std::vector<StepPoint> part = {{15, 5}, {20, 9}, {25, 9}};
    EXPECT_EQ(stepPoints(curve, 40, {15, 25}, 100), part) << "what holds at the left edge is carried in";
    EXPECT_TRUE(stepPoints(curve, 40, {50, 60}, 100).empty());
    EXPECT_TRUE(stepPoints({}, 40, {0, 100}, 100).empty());
}

TEST(StepPoints, AMillionChangesKeepEveryPixelsExtremesInFewPoints)
{
    constexpr int kChanges = 1'000'000;
    constexpr int kPixels = 1000;
    std::mt19937 random(7);
    std::vector<std::int64_t> times(kChanges);
    std::vector<std::int64_t> values(kChanges);
    for (int i = 0; i < kChanges; ++i) {
        times[std::size_t(i)] = 10LL * i;
        values[std::size_t(i)] = 1000 + std::int64_t(random() % 1000);
    }
    values[123'456] = 50'000; // one event high: it must not be lost
    values[654'321] = 3;
    const query::StepCurve curve(times, values);
    const double length = 10.0 * kChanges;
    const std::vector<StepPoint> points = stepPoints(curve, std::int64_t(length), {0, length}, kPixels);
    EXPECT_LE(points.size(), 3U * kPixels + 2);
    EXPECT_TRUE(std::is_sorted(points.begin(), points.end(),
                               [](const StepPoint& a, const StepPoint& b) { return a.time < b.time; }));
    const auto byValue = [](const StepPoint& a, const StepPoint& b) { return a.value < b.value; };
    const auto [least, greatest] = std::minmax_element(points.begin(), points.end(), byValue);
    EXPECT_EQ(greatest->value, 50'000);
    EXPECT_NEAR(greatest->time, 1'234'560, length / kPixels);
    EXPECT_EQ(least->value, 3);
    EXPECT_NEAR(least->time, 6'543'210, length / kPixels);
}

constexpr std::int64_t kMiB = 1 << 20;

/// 30 + 20 + 4 MiB of activations and 60 MiB of unknown purpose, at 40 ns; the 4 MiB are freed at 60.
MemoryRun someRun(testing::FakeMemory& memory)
{
    memory.opened("step/forward/layers.3/ffn", "core/engine/lm/lm.cpp", 209, "tilescope::engine::Lm::ffn");
    memory.unrecorded(60 * kMiB).step(1, 5, 100).older(9, 8 * kMiB, "layers.0/ffn/down");
    memory.op("aten::mm", "f32[8]").alloc(1, 30 * kMiB, 20, "step/forward/layers.3/ffn");
    memory.op("", "").alloc(2, 20 * kMiB, 30, "step/backward", MemoryCategory::Gradients);
    memory.op("aten::add", "").alloc(3, 4 * kMiB, 40, "").free(3, 60);
    MemoryRun run{.letter = {}, .title = {}, .history = memory.history(query::MemoryParts::WithoutOps)};
    run.ops = memory.ops(*run.history);
    run.steps = memory.steps(run.history->origin);
    return run;
}

QString cell(const TableData& table, std::size_t row, int column)
{
    return table.rows[row].cells[std::size_t(column)].text;
}

TEST(MemoryRows, BlocksSayWhatTheyAreAndWhoHoldsThem)
{
    testing::FakeMemory memory;
    const MemoryRun run = someRun(memory);
    const BlockList alive = blockRows(run, {.time = run.history->peakTime});
    EXPECT_EQ(alive.blocks, 4U);
    EXPECT_EQ(alive.bytes, 62 * kMiB);
    ASSERT_EQ(alive.table.rows.size(), alive.blocks)
        << "as many as are counted: what is in no block has no row";
    EXPECT_EQ(cell(alive.table, 0, int(BlockColumn::Name)), QStringLiteral("layers.3/ffn mm"));
    EXPECT_EQ(cell(alive.table, 0, int(BlockColumn::Category)), QStringLiteral("activations"));
    EXPECT_EQ(cell(alive.table, 0, int(BlockColumn::Bytes)), QStringLiteral("30.0"));
    EXPECT_EQ(cell(alive.table, 0, int(BlockColumn::Range)), QStringLiteral("forward/layers.3/ffn"));
    EXPECT_EQ(alive.table.columns[std::size_t(BlockColumn::Bytes)].title, QStringLiteral("Bytes, MiB"));
    EXPECT_EQ(cell(alive.table, 2, int(BlockColumn::Name)), QStringLiteral("layers.0/ffn/down"));
    EXPECT_EQ(cell(alive.table, 2, int(BlockColumn::Since)), QStringLiteral("before"));
    EXPECT_EQ(cell(alive.table, 3, int(BlockColumn::Name)), QStringLiteral("add"));
    EXPECT_EQ(cell(alive.table, 0, int(BlockColumn::Lives)), QStringLiteral("stays"));
    EXPECT_EQ(cell(alive.table, 3, int(BlockColumn::Lives)), QStringLiteral("20"));
    EXPECT_EQ(cell(alive.table, 0, int(BlockColumn::Op)), QStringLiteral("aten::mm"));
    EXPECT_EQ(cell(alive.table, 0, int(BlockColumn::Address)), QStringLiteral("0x1"));
    EXPECT_EQ(blockRows(run, {.time = run.history->length}).blocks, 3U) << "one is freed by then";
    EXPECT_EQ(blockRows(run, {}).blocks, 4U) << "at any time";
    EXPECT_EQ(blockRows(run, {.time = {}, .most = 2}).table.rows.size(), 2U);

    const auto block = std::uint32_t(alive.table.rows[0].id);
    std::map<QString, QString> facts;
    for (const auto& [key, value, dim] : blockFacts(run, block))
        facts[key] = value;
    EXPECT_EQ(facts[QStringLiteral("Made by")], QStringLiteral("aten::mm"));
    EXPECT_EQ(facts[QStringLiteral("Given")], QStringLiteral("f32[8]"));
    EXPECT_EQ(facts[QStringLiteral("Module")], QStringLiteral("layers.3/ffn"));
    EXPECT_EQ(facts[QStringLiteral("Opened in")],
              QStringLiteral("tilescope::engine::Lm::ffn, core/engine/lm/lm.cpp:209"));
    EXPECT_EQ(facts[QStringLiteral("Step")], QStringLiteral("1"));
    EXPECT_EQ(facts[QStringLiteral("Address")], QStringLiteral("0x1"));
    EXPECT_TRUE(facts[QStringLiteral("Lives")].endsWith(QStringLiteral("beyond the trace")));
    EXPECT_EQ(blockGroup(*run.history, block), QStringLiteral("forward/layers.*/ffn\nactivations"));
}

TEST(MemoryRows, SharesAddUpToTheAllocatorsCountHoweverTheyAreGrouped)
{
    testing::FakeMemory memory;
    memory.unrecorded(3000).older(0x9, 77, "embedding").random(3000, 11);
    MemoryRun run{.letter = {}, .title = {}, .history = memory.history(query::MemoryParts::WithoutOps)};
    run.ops = memory.ops(*run.history);
    for (const MemoryTable by :
         {MemoryTable::Category, MemoryTable::Phase, MemoryTable::Module, MemoryTable::Op}) {
        const auto groups =
            by == MemoryTable::Op ? nullptr : query::memoryGroups(run.history, query::MemoryGrouping(by));
        for (std::int64_t time = 1; time < run.history->length; time += 977) {
            const MemoryShares shares = memoryShareRows(run, by, groups.get(), time);
            std::int64_t sum = 0;
            for (const TableRow& row : shares.table.rows)
                sum += row.id < 0 ? 0 : std::int64_t(row.cells[std::size_t(MemoryShareColumn::Bytes)].sort);
            ASSERT_EQ(sum, run.history->allocated.at(time)) << "by " << int(by) << " at " << time;
            ASSERT_EQ(shares.sum, shares.allocated);
        }
    }
}

TEST(MemoryRows, OpsOfAnInstantAreTheirBlocksOps)
{
    testing::FakeMemory memory;
    const MemoryRun run = someRun(memory);
    const MemoryShares shares = memoryShareRows(run, MemoryTable::Op, nullptr, run.history->peakTime);
    ASSERT_EQ(shares.table.rows.size(), 6U);
    EXPECT_EQ(shares.keys, (std::vector<std::string>{"unattributed", "aten::mm", "outside any op",
                                                     "before the trace", "aten::add"}));
    EXPECT_EQ(cell(shares.table, 1, int(MemoryShareColumn::Blocks)), QStringLiteral("1"));
    EXPECT_TRUE(shares.table.rows.back().strong);
    EXPECT_EQ(cell(shares.table, 5, int(MemoryShareColumn::Share)), QStringLiteral("100"));
}

TEST(MemoryRows, SegmentsSayHowMuchOfThemIsUsed)
{
    testing::FakeMemory memory;
    memory.segment(0x200000, 2 * kMiB).freeBlock(0x200000, 2 * kMiB).alloc(0x200000, 1000, 10, "");
    const auto history = memory.history();
    EXPECT_TRUE(segmentRows(*history, history->length).summary.contains(QStringLiteral("1 segment")));
    const TableData rows = segmentRows(*history, history->length).table;
    ASSERT_EQ(rows.rows.size(), 1U);
    EXPECT_EQ(rows.rows[0].cells[int(SegmentColumn::Used)].sort, 1024) << "rounded up";
    EXPECT_EQ(rows.rows[0].cells[int(SegmentColumn::Free)].sort, double(2 * kMiB - 1024));
    EXPECT_EQ(rows.rows[0].cells[int(SegmentColumn::LargestFree)].sort, double(2 * kMiB - 1024));
    EXPECT_EQ(cell(rows, 0, int(SegmentColumn::Blocks)), QStringLiteral("1"));
    EXPECT_EQ(cell(rows, 0, int(SegmentColumn::Stream)), QStringLiteral("–")) << "unknown";
    EXPECT_EQ(cell(rows, 0, int(SegmentColumn::Kind)), QStringLiteral("small"));
}

TEST(MemoryRows, ASnapshotsBytesAreThoseAskedForAndPyTorchsCountIsBesideThem)
{
    for (const char* workload : {"snapshot", "lm"}) {
        testing::FakeMemory memory(workload);
        memory.segment(0x200000, 2 * kMiB).freeBlock(0x200000, 2 * kMiB).alloc(0x200000, 1000, 10, "");
        const MemoryRun run{.letter = {}, .title = {}, .history = memory.history()};
        const MemoryShares shares = memoryShareRows(run, MemoryTable::Op, nullptr, run.history->length);
        EXPECT_EQ(shares.allocated, 1000);
        QStringList totals;
        for (const TableRow& row : shares.table.rows)
            if (row.strong)
                totals << row.cells[0].text + QLatin1Char(' ') +
                              QString::number(row.cells[std::size_t(MemoryShareColumn::Bytes)].sort);
        const bool isSnapshot = std::string_view(workload) == "snapshot";
        EXPECT_EQ(totals, isSnapshot ? QStringList({QStringLiteral("requested 1000"),
                                                    QStringLiteral("allocated, with rounding 1024")})
                                     : QStringList{QStringLiteral("allocated 1000")});
        EXPECT_EQ(shares.allocatedSize, isSnapshot ? std::optional<std::int64_t>(1024) : std::nullopt);
    }
}

TEST(MemoryRows, ARealSnapshotEndsWithTheAllocatedSizeThatPyTorchCounts)
{
    testing::TemporaryFolder folder;
    const std::filesystem::path source = TILESCOPE_SOURCE_DIR;
    exchange::importSnapshotFile(source / "tests/data/memory_small2_train.pickle", folder / "t.tscope");
    const MemoryRun run{.letter = {},
                        .title = {},
                        .history = query::memoryHistory(store::RunReader(folder / "t.tscope"), RunId{1})};
    EXPECT_EQ(run.countWord(), QStringLiteral("requested"));
    EXPECT_EQ(run.allocatedSize(run.history->length), 926'824'960);
    EXPECT_LT(run.history->allocated.at(run.history->length), 926'824'960) << "without the rounding";
}

TEST(MemoryRows, TheirModelsKeepTheirPromisesWhileTheyAreChangedAndFiltered)
{
    constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::Fatal;
    testing::FakeMemory memory;
    const MemoryRun run = someRun(memory);
    TableModel model;
    TableFilter filter;
    filter.setSourceModel(&model);
    const QAbstractItemModelTester tester(&model, kFatal);
    const QAbstractItemModelTester filterTester(&filter, kFatal);
    model.setData(blockRows(run, {}).table);
    filter.sort(int(BlockColumn::Bytes), Qt::AscendingOrder);
    EXPECT_EQ(filter.index(0, int(BlockColumn::Bytes)).data().toString(), QStringLiteral("4.00"));
    filter.setWords(QStringLiteral("ffn mm"));
    EXPECT_EQ(filter.rowCount(), 1);
    EXPECT_EQ(filter.index(0, 0).data().toString(), QStringLiteral("layers.3/ffn mm"));
    filter.setWords({});
    model.setData(memoryShareRows(run, MemoryTable::Op, nullptr, 0).table);
    model.setData(segmentRows(*run.history, 0).table);
    model.setData({});
    EXPECT_EQ(model.rowCount(), 0);
}

TEST(MemoryGroups, KeepTheirColoursWhereverTheyAreShown)
{
    using query::MemoryGrouping;
    const auto swatches = [](MemoryGrouping grouping, const std::vector<std::string>& names) {
        query::MemoryGroups groups;
        groups.grouping = grouping;
        groups.names = names;
        return swatchesOf(groups);
    };
    EXPECT_EQ(swatches(MemoryGrouping::Category, {"gradients"})[0].category, QStringLiteral("gradients"));
    EXPECT_EQ(swatches(MemoryGrouping::Phase, {"unattributed"})[0].category, QStringLiteral("unattributed"));
    const auto modules = swatches(MemoryGrouping::Module, {"made up", "attention_norm", "attention"});
    EXPECT_EQ(modules[1].hue, query::Hue::Norm);
    EXPECT_EQ(modules[2].hue, query::Hue::Attention);
    EXPECT_EQ(modules[0].hue,
              swatches(MemoryGrouping::Module, {"made up", "attention_norm", "attention"})[0].hue);
}

TEST(MemoryGroups, ShareNoColour)
{
    using query::MemoryGrouping;
    const std::vector<std::string> names[] = {
        {"before the trace", "forward", "loss", "backward", "optimizer", "outside the phases", "attention"},
        {"attention", "scores", "softmax", "loss", "mlp", "block", "act", "proj", "wte", "wpe", "q", "k"},
        {"aten::mm", "aten::addmm", "aten::linear", "aten::bmm", "aten::empty", "aten::zeros"}};
    const MemoryGrouping groupings[] = {MemoryGrouping::Phase, MemoryGrouping::Module, MemoryGrouping::Op};
    for (std::size_t i = 0; i < std::size(groupings); ++i) {
        query::MemoryGroups groups;
        groups.grouping = groupings[i];
        groups.names = names[i];
        const std::vector<Swatch> swatches = swatchesOf(groups);
        for (const Palette* palette : {&Palette::light(), &Palette::darkOne()})
            for (std::size_t a = 0; a < swatches.size(); ++a)
                for (std::size_t b = a + 1; b < swatches.size(); ++b)
                    EXPECT_NE(colourOf(swatches[a], *palette).name(), colourOf(swatches[b], *palette).name())
                        << names[i][a] << " and " << names[i][b];
    }
}

TEST(MemoryAxis, RemembersWindowsAndKeepsThemNearTheData)
{
    MemoryAxis axis;
    axis.start({0, 10'000});
    const TimeWindow whole = axis.window();
    axis.setWindow({1000, 2000});
    axis.setWindow({1200, 1300});
    axis.back();
    EXPECT_EQ(axis.window(), (TimeWindow{1000, 2000}));
    axis.forward();
    EXPECT_EQ(axis.window(), (TimeWindow{1200, 1300}));
    axis.back();
    axis.back();
    EXPECT_EQ(axis.window(), whole);
    EXPECT_FALSE(axis.canGoBack());
    axis.setWindow({900'000, 901'000});
    EXPECT_LE(axis.window().from, whole.to);
    axis.setWindow({5, 6});
    EXPECT_GE(axis.window().length(), 100);
}

} // namespace
} // namespace tilescope::ui
