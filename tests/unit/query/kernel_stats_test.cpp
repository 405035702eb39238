#include "core/query/kernels/kernel_stats.h"
#include "core/query/timeline/timeline_search.h"
#include "tests/support/not_cancelled.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <tuple>
#include <utility>

namespace tilescope::query {
namespace {

// Stream 7: gemm 10 to 30, add 30 to 34, gemm 40 to 50; stream 8: gemm 100 to 130.
Timeline timeline()
{
    Timeline made;
    made.names = {{"sgemm_128", "gemm"}, {"vectorized_add", "add"}};
    Lane seven;
    seven.kind = Lane::Kind::Stream;
    TrackBuilder row;
    row.add(10, 30, 0, Hue::Matmul);
    row.add(30, 34, 1, Hue::Elementwise);
    row.add(40, 50, 0, Hue::Matmul);
    seven.rows.push_back(std::move(row).build());
    Lane eight;
    eight.kind = Lane::Kind::Stream;
    TrackBuilder other;
    other.add(100, 130, 0, Hue::Matmul);
    eight.rows.push_back(std::move(other).build());
    made.lanes = {std::move(seven), std::move(eight)};
    made.length = 130;
    return made;
}

TEST(KernelStats, AddUpByNameCostliestFirst)
{
    const auto stats = kernelsWithin(timeline(), {0, 130}, testing::kNotCancelled);
    ASSERT_EQ(stats.size(), 2U);
    EXPECT_EQ(stats[0].name, 0U);
    EXPECT_EQ(stats[0].instances, 3);
    EXPECT_EQ(stats[0].total, 60);
    EXPECT_EQ(stats[0].shortest, 10);
    EXPECT_EQ(stats[0].longest, 30);
    EXPECT_DOUBLE_EQ(stats[0].mean, 20);
    EXPECT_NEAR(stats[0].standardDeviation.value(), 10, 1e-9);
    EXPECT_EQ(stats[1].standardDeviation, std::nullopt);
}

TEST(KernelStats, OfOpsCountSelfTime)
{
    // linear 0 to 100 calls mm 10 to 60 and add 70 to 80; linear 200 to 220 calls nothing.
    Timeline made;
    made.names = {{"aten::linear", "linear"}, {"aten::mm", "mm"}, {"aten::add", "add"}};
    Lane thread;
    thread.kind = Lane::Kind::Thread;
    TrackBuilder outer;
    outer.add(0, 100, 0, Hue::Other);
    outer.add(200, 220, 0, Hue::Other);
    thread.rows.push_back(std::move(outer).build());
    TrackBuilder inner;
    inner.add(10, 60, 1, Hue::Matmul);
    inner.add(70, 80, 2, Hue::Elementwise);
    thread.rows.push_back(std::move(inner).build());
    made.lanes.push_back(std::move(thread));
    made.length = 220;
    const auto all = opsWithin(made, {0, 220}, testing::kNotCancelled);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].name, 0U);
    EXPECT_EQ(all[0].total, 60) << "100 - 50 - 10, and 20";
    EXPECT_EQ(all[0].instances, 2);
    EXPECT_EQ(all[1].total, 50);
    EXPECT_EQ(all[2].total, 10);
    const auto part = opsWithin(made, {5, 75}, testing::kNotCancelled);
    ASSERT_EQ(part.size(), 3U);
    EXPECT_EQ(part[0].name, 1U);
    EXPECT_EQ(part[1].total, 15) << "linear, which began before: 70 less 50 of mm and 5 of add";
    EXPECT_EQ(part[2].total, 5) << "add ends after";
    const auto inside = opsWithin(made, {20, 30}, testing::kNotCancelled);
    ASSERT_EQ(inside.size(), 2U) << "an interval within one op contains it";
    EXPECT_EQ(inside[0].name, 1U);
    EXPECT_EQ(inside[0].total, 10);
    EXPECT_EQ(inside[1].total, 0) << "linear waits for mm all the time";
    EXPECT_TRUE(kernelsWithin(made, {0, 220}, testing::kNotCancelled).empty()) << "no device activity";
}

// Two steps of a thread: linear 0 to 100 calls mm 10 to 60; linear 200 to 220 calls nothing. Between them add 150
// to 160.
std::shared_ptr<const Timeline> stepsOfOps()
{
    auto made = std::make_shared<Timeline>();
    made->names = {{"aten::linear", "linear"}, {"aten::mm", "mm"}, {"aten::add", "add"}};
    Lane thread;
    thread.kind = Lane::Kind::Thread;
    TrackBuilder outer;
    outer.add(0, 100, 0, Hue::Other);
    outer.add(150, 160, 2, Hue::Elementwise);
    outer.add(200, 220, 0, Hue::Other);
    thread.rows.push_back(std::move(outer).build());
    TrackBuilder inner;
    inner.add(10, 60, 1, Hue::Matmul);
    thread.rows.push_back(std::move(inner).build());
    made->lanes.push_back(std::move(thread));
    made->length = 220;
    for (const auto& [number, from, to] : {std::tuple(0, 0, 120), {1, 190, 220}})
        made->steps.push_back({.step = number, .start = from, .end = to, .hostStart = from, .hostEnd = to});
    return made;
}

TEST(KernelStats, OfOpsOfStepsCountThoseThatStartInThem)
{
    const auto made = stepsOfOps();
    const auto all = opStats(*made, hostSteps(made, {}), testing::kNotCancelled);
    ASSERT_EQ(all.size(), 2U) << "add is in no step";
    EXPECT_EQ(all[0].name, 0U);
    EXPECT_EQ(all[0].instances, 2);
    EXPECT_EQ(all[0].total, 70);
    EXPECT_EQ(all[0].shortest, 20);
    EXPECT_EQ(all[0].longest, 50);
    EXPECT_EQ(all[1].total, 50);
    const auto second = opStats(*made, hostSteps(made, 1), testing::kNotCancelled);
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second[0].total, 20);
    EXPECT_EQ(opStats(*made, {everywhere()}, testing::kNotCancelled).size(), 3U);
    const auto linear = [](std::uint32_t name, Hue) { return name == 0; };
    std::vector<std::int64_t> times = selfTimesOf(*made, linear, hostSteps(made, {}), testing::kNotCancelled);
    std::sort(times.begin(), times.end());
    EXPECT_EQ(times, (std::vector<std::int64_t>{20, 50}));
    EXPECT_TRUE(selfTimesOf(*made, linear, {everywhere()}, [] { return true; }).empty()) << "cancelled";
}

TEST(KernelStats, AKernelThatExceedsTheIntervalCountsWithItsPartInside)
{
    const auto stats = kernelsWithin(timeline(), {20, 45}, testing::kNotCancelled);
    ASSERT_EQ(stats.size(), 2U);
    EXPECT_EQ(stats[0].instances, 2);
    EXPECT_EQ(stats[0].total, 10 + 5);
    EXPECT_EQ(stats[1].total, 4);
    const auto inside = kernelsWithin(timeline(), {105, 110}, testing::kNotCancelled);
    ASSERT_EQ(inside.size(), 1U);
    EXPECT_EQ(inside[0].total, 5);
}

// A lane of random events: consecutive on a stream, nested on a thread.
class RandomLane {
public:
    RandomLane(Lane::Kind kind, int events, std::mt19937& random)
    {
        lane_.kind = kind;
        RowsBuilder rows;
        std::int64_t time = 0;
        std::vector<std::int64_t> open; // ends of the events that are still open
        for (int i = 0; i < events; ++i) {
            time += std::int64_t(random() % 6);
            while (!open.empty() && open.back() <= time)
                open.pop_back();
            std::int64_t end = time + std::int64_t(random() % 40);
            if (!open.empty())
                end = std::min(end, open.back());
            rows.add(time, end, std::uint32_t(random() % kNames), Hue::Other);
            if (kind == Lane::Kind::Thread)
                open.push_back(end);
            else
                time = end;
        }
        lane_.rows = std::move(rows).build();
    }

    static constexpr std::uint32_t kNames = 5;
    const Lane& lane() const { return lane_; }

    // Brute force: assigns each instant of the interval to the innermost event that covers it.
    std::vector<std::int64_t> timesOf(Stretch stretch) const
    {
        std::vector<std::int64_t> times(kNames);
        for (std::int64_t at = stretch.first; at < stretch.second; ++at) {
            const auto covering = [at](const Track& row) {
                for (std::size_t i = 0; i < row.size(); ++i)
                    if (row.start(i) <= at && at < row.end(i))
                        return std::optional(row.name(i));
                return std::optional<std::uint32_t>();
            };
            std::optional<std::uint32_t> innermost;
            for (const Track& row : lane_.rows)
                if (const auto name = covering(row))
                    innermost = name;
            if (innermost)
                ++times[*innermost];
        }
        return times;
    }

private:
    Lane lane_;
};

TEST(KernelStats, OfAnIntervalAssignEachInstantToTheInnermostEvent)
{
    constexpr std::uint32_t kSeed = 20261;
    SCOPED_TRACE(kSeed);
    std::mt19937 random(kSeed);
    for (int round = 0; round < 60; ++round) {
        Timeline made;
        made.names.resize(RandomLane::kNames);
        const RandomLane thread(Lane::Kind::Thread, 60, random);
        const RandomLane other(Lane::Kind::Thread, 60, random);
        const RandomLane stream(Lane::Kind::Stream, 20, random);
        made.lanes = {thread.lane(), other.lane(), stream.lane()};
        made.length = 700;
        const auto from = std::int64_t(random() % 150);
        const Stretch stretch{from, from + 1 + std::int64_t(random() % 150)};
        const auto totals = [](const std::vector<KernelStat>& stats) {
            std::vector<std::int64_t> times(RandomLane::kNames);
            for (const KernelStat& stat : stats)
                times[stat.name] = stat.total;
            return times;
        };
        std::vector<std::int64_t> ops = thread.timesOf(stretch);
        const std::vector<std::int64_t> more = other.timesOf(stretch);
        for (std::size_t i = 0; i < ops.size(); ++i)
            ops[i] += more[i];
        EXPECT_EQ(totals(opsWithin(made, stretch, testing::kNotCancelled)), ops) << round;
        EXPECT_EQ(totals(kernelsWithin(made, stretch, testing::kNotCancelled)), stream.timesOf(stretch))
            << round;
        EXPECT_EQ(totals(opStats(made, {everywhere()}, testing::kNotCancelled)),
                  totals(opsWithin(made, {INT64_MIN / 2, INT64_MAX / 2}, testing::kNotCancelled)))
            << round;
        std::int64_t sum = 0;
        for (const KernelStat& stat : kernelsWithin(made, stretch, testing::kNotCancelled))
            sum += stat.total;
        EXPECT_EQ(sum, stream.lane().rows.front().covered(stretch.first, stretch.second))
            << "kernels of one stream add up to its busy time";
    }
}

TEST(KernelStats, LengthsAreThoseOfEveryInstanceWithinTheInterval)
{
    const Timeline made = timeline();
    const auto first = [](std::uint32_t name, Hue) { return name == 0; };
    const auto all = [](std::uint32_t, Hue) { return true; };
    std::vector<std::int64_t> lengths = lengthsOf(made, first, everywhere(), testing::kNotCancelled);
    std::sort(lengths.begin(), lengths.end());
    EXPECT_EQ(lengths, (std::vector<std::int64_t>{10, 20, 30}));
    EXPECT_EQ(lengthsOf(made, all, everywhere(Stretch{0, 40}), testing::kNotCancelled),
              (std::vector<std::int64_t>{20, 4}))
        << "of instances that start in it";
}

TEST(KernelStats, TheLongestInstanceIsOfAnyLane)
{
    Timeline made = timeline();
    EXPECT_EQ(longestInstance(made, "sgemm_128", testing::kNotCancelled), (TimelineItem{1, 0, 0}));
    std::swap(made.lanes[0], made.lanes[1]);
    EXPECT_EQ(longestInstance(made, "sgemm_128", testing::kNotCancelled), (TimelineItem{0, 0, 0}));
    EXPECT_EQ(longestInstance(made, "vectorized_add", testing::kNotCancelled), (TimelineItem{1, 0, 1}));
    EXPECT_FALSE(longestInstance(made, "no such kernel", testing::kNotCancelled));
    EXPECT_FALSE(longestInstance(made, "sgemm_128", [] { return true; })) << "cancelled";
}

TEST(Search, FindsByLabelOrNameLongestFirst)
{
    const SearchResult result = search(timeline(), "GEMM", testing::kNotCancelled);
    EXPECT_EQ(result.kernels, 3);
    ASSERT_EQ(result.items.size(), 3U);
    EXPECT_EQ(result.items[0].length, 30);
    EXPECT_EQ(result.items[2].length, 10);
    EXPECT_EQ(search(timeline(), "softmax", testing::kNotCancelled).total(), 0);
}

} // namespace
} // namespace tilescope::query
