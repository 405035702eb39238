#include "core/query/kernel_stats.h"
#include "core/query/timeline_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace tilescope::query {
namespace {

bool never()
{
    return false;
}

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
    const auto stats = kernelStats(timeline(), {}, never);
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

TEST(KernelStats, OfOpsCountTheirOwnTime)
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
    const auto all = opStats(made, {}, never);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].name, 0U);
    EXPECT_EQ(all[0].total, 60) << "100 - 50 - 10, and 20";
    EXPECT_EQ(all[0].instances, 2);
    EXPECT_EQ(all[1].total, 50);
    EXPECT_EQ(all[2].total, 10);
    const auto part = opStats(made, Stretch{5, 150}, never);
    ASSERT_EQ(part.size(), 2U) << "linear began before";
    EXPECT_EQ(part[0].name, 1U);
    EXPECT_TRUE(kernelStats(made, {}, never).empty()) << "no device ran anything";
}

TEST(KernelStats, OfAStretchCountWhatStartsInIt)
{
    const auto stats = kernelStats(timeline(), Stretch{30, 100}, never);
    ASSERT_EQ(stats.size(), 2U);
    EXPECT_EQ(stats[0].instances, 1);
    EXPECT_EQ(stats[0].total, 10);
    EXPECT_EQ(stats[1].total, 4);
}

TEST(KernelStats, OfAHueSpreadAsItsMembersDo)
{
    KernelStat a = kernelStats(timeline(), {}, never)[0];
    KernelStat b;
    b.name = 5;
    b.hue = Hue::Matmul;
    b.instances = 1;
    b.total = b.shortest = b.longest = 40;
    b.mean = 40;
    const auto groups = byHue({a, b});
    ASSERT_EQ(groups.size(), 1U);
    EXPECT_EQ(groups[0].total, 100);
    EXPECT_DOUBLE_EQ(groups[0].mean, 25);
    EXPECT_NEAR(groups[0].standardDeviation.value(), 12.9099445, 1e-6); // of 20, 10, 30, 40
}

TEST(KernelStats, LengthsAreThoseOfEveryInstanceWithinTheStretch)
{
    const Timeline made = timeline();
    std::vector<std::int64_t> lengths = lengthsOf(made, {true, false}, {}, never);
    std::sort(lengths.begin(), lengths.end());
    EXPECT_EQ(lengths, (std::vector<std::int64_t>{10, 20, 30}));
    EXPECT_EQ(lengthsOf(made, {true, true}, Stretch{0, 40}, never), (std::vector<std::int64_t>{20, 4}))
        << "of those that start in it";
}

TEST(KernelStats, TheFirstInstanceIsTheEarliestOfAnyLane)
{
    Timeline made = timeline();
    EXPECT_EQ(firstInstance(made, "sgemm_128", never), (TimelineItem{0, 0, 0}));
    std::swap(made.lanes[0], made.lanes[1]);
    EXPECT_EQ(firstInstance(made, "sgemm_128", never), (TimelineItem{1, 0, 0}));
    EXPECT_EQ(firstInstance(made, "vectorized_add", never), (TimelineItem{1, 0, 1}));
    EXPECT_FALSE(firstInstance(made, "no such kernel", never));
    EXPECT_FALSE(firstInstance(made, "sgemm_128", [] { return true; })) << "nobody waits";
}

TEST(Search, FindsByLabelOrNameLongestFirst)
{
    const SearchResult result = search(timeline(), "GEMM", never);
    EXPECT_EQ(result.kernels, 3);
    ASSERT_EQ(result.items.size(), 3U);
    EXPECT_EQ(result.items[0].length, 30);
    EXPECT_EQ(result.items[2].length, 10);
    EXPECT_EQ(search(timeline(), "softmax", never).total(), 0);
}

} // namespace
} // namespace tilescope::query
