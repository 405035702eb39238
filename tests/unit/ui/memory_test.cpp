#include "ui/models/memory_rows.h"
#include "ui/plots/step_points.h"

#include <QAbstractItemModelTester>

#include <gtest/gtest.h>

#include <algorithm>
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

query::LiveMemoryTable liveBlocks()
{
    constexpr std::int64_t kMiB = 1 << 20;
    query::LiveMemoryTable live;
    for (const std::int64_t mib : {30, 20, 4}) {
        AllocEvent event;
        event.bytes = mib * kMiB;
        event.path = StringId{1};
        event.category = StringId{2};
        event.op = OpId{std::uint32_t(mib)};
        live.blocks.push_back({std::uint64_t(mib), Bytes{event.bytes}, live.from.events.size()});
        live.from.events.push_back(event);
    }
    live.from.texts = {{StringId{1}, "step/forward/ffn"}, {StringId{2}, "activations"}};
    live.from.ops = {{OpId{30}, "aten::mm"}};
    live.untraced = Bytes{60 * kMiB};
    return live;
}

TEST(MemoryRows, SayWhereEachBlockIsFromAndKeepWhatIsOlderLast)
{
    const TableData rows = memoryRows(liveBlocks(), 1000);
    ASSERT_EQ(rows.rows.size(), 4U);
    const std::vector<TableCell>& first = rows.rows.front().cells;
    EXPECT_EQ(first[std::size_t(MemoryColumn::Path)].text, QStringLiteral("step/forward/ffn"));
    EXPECT_EQ(first[std::size_t(MemoryColumn::Op)].text, QStringLiteral("aten::mm"));
    EXPECT_EQ(first[std::size_t(MemoryColumn::Category)].text, QStringLiteral("activations"));
    EXPECT_EQ(first[std::size_t(MemoryColumn::Bytes)].text, QStringLiteral("30.0"));
    EXPECT_EQ(rows.columns[std::size_t(MemoryColumn::Bytes)].title, QStringLiteral("MiB"));
    EXPECT_DOUBLE_EQ(first[std::size_t(MemoryColumn::Bar)].bar, 0.5) << "of the greatest, which is older";
    EXPECT_TRUE(rows.rows.back().section);
    EXPECT_EQ(rows.rows.back().cells[std::size_t(MemoryColumn::Bytes)].text, QStringLiteral("60.0"));
    EXPECT_EQ(memoryRows(liveBlocks(), 2).rows.size(), 3U);
}

TEST(MemoryRows, TheirModelKeepsItsPromisesWhileRunsAreChangedAndFiltered)
{
    constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::Fatal;
    TableModel model;
    TableFilter filter;
    filter.setSourceModel(&model);
    const QAbstractItemModelTester tester(&model, kFatal);
    const QAbstractItemModelTester filterTester(&filter, kFatal);
    model.setData(memoryRows(liveBlocks(), 1000));
    filter.sort(int(MemoryColumn::Bytes), Qt::AscendingOrder);
    EXPECT_EQ(filter.index(0, int(MemoryColumn::Bytes)).data().toString(), QStringLiteral("4.00"));
    filter.setWords(QStringLiteral("aten::mm"));
    EXPECT_EQ(filter.index(0, int(MemoryColumn::Op)).data().toString(), QStringLiteral("aten::mm"));
    model.setData({});
    EXPECT_EQ(model.rowCount(), 0);
}

} // namespace
} // namespace tilescope::ui
