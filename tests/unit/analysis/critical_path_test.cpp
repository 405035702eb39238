#include "core/analysis/path/critical_path.h"

#include "core/analysis/stats/random.h"
#include "tests/unit/analysis/intervals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

namespace tilescope::analysis {

namespace {

struct Recorded {
    std::vector<Activity> activities;
    std::vector<Dependency> dependencies;

    ActivityGraph graph() const { return {activities, dependencies}; }
};

/// Activities that start when all that they depend on allow it, after a lag of each dependency.
Recorded randomRecording(Random& random)
{
    constexpr std::size_t kCausesUsed = 4;
    Recorded recorded;
    const std::size_t count = 2 + random.below(8);
    for (std::uint32_t i = 0; i < count; ++i) {
        std::int64_t start = 0;
        bool isRoot = true;
        for (std::uint32_t from = 0; from < i; ++from) {
            if (random.below(3) != 0)
                continue;
            recorded.dependencies.push_back({from, i, static_cast<Cause>(random.below(kCausesUsed))});
            // A lag may be negative, but nothing starts before what it depends on.
            const Interval& before = recorded.activities[from].time;
            start = std::max({start, nanosecondsOf(before.start),
                              nanosecondsOf(before.end) + static_cast<std::int64_t>(random.below(20)) - 4});
            isRoot = false;
        }
        if (isRoot)
            start = static_cast<std::int64_t>(random.below(30));
        const auto length = static_cast<std::int64_t>(random.below(40));
        recorded.activities.push_back(
            {between(start, start + length), static_cast<PathPart>(random.below(7)), i});
    }
    return recorded;
}

/// Brute force: the latest end over all paths that lead to `to`, each as long as its durations and lags.
Timestamp longestPathTo(const ActivityGraph& graph, std::uint32_t to,
                        const std::vector<Nanoseconds>& durations, Nanoseconds lagChange)
{
    Timestamp latest = Timestamp::min();
    for (const ActivityGraph::Constraint& each : graph.constraintsOf(to))
        latest =
            std::max(latest, longestPathTo(graph, each.from, durations, lagChange) + each.lag + lagChange);
    if (graph.constraintsOf(to).empty())
        latest = graph.activities()[to].time.start;
    return latest + durations[to];
}

std::vector<Nanoseconds> recordedDurations(const ActivityGraph& graph)
{
    std::vector<Nanoseconds> durations;
    for (const Activity& each : graph.activities())
        durations.push_back(each.time.length());
    return durations;
}

class CriticalPathProperty : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(CriticalPathProperty, IsTheLongestOfAllPaths)
{
    Random random(GetParam());
    for (int round = 0; round < 200; ++round) {
        const ActivityGraph graph = randomRecording(random).graph();
        const std::vector<Nanoseconds> durations = recordedDurations(graph);
        for (std::uint32_t last = 0; last < graph.activities().size(); ++last)
            ASSERT_EQ(longestPathTo(graph, last, durations, Nanoseconds(0)),
                      graph.activities()[last].time.end)
                << "seed " << GetParam() << ", round " << round << ", activity " << last;
    }
}

TEST_P(CriticalPathProperty, CoversTheWallTimeAlongDependencies)
{
    Random random(GetParam());
    for (int round = 0; round < 200; ++round) {
        const ActivityGraph graph = randomRecording(random).graph();
        const auto last = static_cast<std::uint32_t>(random.below(graph.activities().size()));
        const Timestamp end = graph.activities()[last].time.end;
        const Interval wall{timestampAt(static_cast<std::int64_t>(random.below(30))), end};
        if (wall.start >= wall.end)
            continue;
        const std::vector<PathSegment> path = criticalPath(graph, last, wall);
        Timestamp time = wall.start;
        for (const PathSegment& segment : path) {
            ASSERT_EQ(segment.time.start, time);
            ASSERT_GT(segment.time.end, segment.time.start);
            time = segment.time.end;
            if (segment.activity) {
                const Activity& each = graph.activities()[*segment.activity];
                EXPECT_LE(each.time.start, segment.time.start);
                EXPECT_GE(each.time.end, segment.time.end);
                EXPECT_EQ(each.part, segment.part);
            }
        }
        EXPECT_EQ(time, wall.end);
        EXPECT_EQ(partsOf(path).sum(), wall.length());
        // What follows each other on the path depends on each other.
        std::optional<std::uint32_t> before;
        for (const PathSegment& segment : path) {
            if (!segment.activity)
                continue;
            std::uint32_t at = *segment.activity;
            while (before && at != *before) { // activities of no length have no segment
                const ActivityGraph::Constraint* const binding = graph.bindingOf(at);
                ASSERT_TRUE(binding);
                at = binding->from;
            }
            before = segment.activity;
        }
    }
}

TEST_P(CriticalPathProperty, SimulationAgreesWithTheLongestPath)
{
    Random random(GetParam());
    for (int round = 0; round < 200; ++round) {
        const ActivityGraph graph = randomRecording(random).graph();
        std::vector<Nanoseconds> durations = recordedDurations(graph);
        const auto same = graph.simulate([&](std::uint32_t i) { return durations[i]; },
                                         [](const auto& each, std::uint32_t) { return each.lag; });
        for (std::size_t i = 0; i < same.size(); ++i)
            ASSERT_EQ(same[i], graph.activities()[i].time);
        for (Nanoseconds& duration : durations)
            duration = Nanoseconds(static_cast<std::int64_t>(random.below(60)));
        const auto changed =
            graph.simulate([&](std::uint32_t i) { return durations[i]; },
                           [](const auto& each, std::uint32_t) { return each.lag + Nanoseconds(3); });
        for (std::uint32_t i = 0; i < changed.size(); ++i)
            ASSERT_EQ(changed[i].end, longestPathTo(graph, i, durations, Nanoseconds(3)))
                << "seed " << GetParam() << ", round " << round << ", activity " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CriticalPathProperty, ::testing::Range<std::uint64_t>(1, 11));

} // namespace

TEST(ActivityGraph, TellsALaunchFromTheKernelBeforeByTheirUsualLags)
{
    // Kernels usually follow each other after 1 ns and their launch after 6.
    Recorded recorded;
    const auto add = [&recorded](std::int64_t start, std::int64_t end) {
        recorded.activities.push_back({between(start, end), PathPart::Compute, 0});
        return static_cast<std::uint32_t>(recorded.activities.size() - 1);
    };
    std::uint32_t before = add(0, 10);
    for (int i = 0; i < 4; ++i) {
        const std::uint32_t next = add(11 + i * 11, 21 + i * 11);
        recorded.dependencies.push_back({before, next, Cause::Stream});
        before = next;
    }
    for (int i = 0; i < 4; ++i) {
        const std::uint32_t host = add(100 + i * 100, 110 + i * 100);
        recorded.dependencies.push_back({host, add(116 + i * 100, 120 + i * 100), Cause::Launch});
    }
    // It ended later than the launch began, but the kernel started when the launch usually allows it.
    const std::uint32_t host = add(900, 1000);
    const std::uint32_t earlier = add(990, 1002);
    const std::uint32_t kernel = add(1006, 1020);
    recorded.dependencies.push_back({host, kernel, Cause::Launch});
    recorded.dependencies.push_back({earlier, kernel, Cause::Stream});
    const ActivityGraph graph = recorded.graph();
    ASSERT_TRUE(graph.bindingOf(graph.numberOf(kernel)));
    EXPECT_EQ(graph.bindingOf(graph.numberOf(kernel))->cause, Cause::Launch);
    EXPECT_EQ(graph.usualLag(Cause::Launch), Nanoseconds(6));
    EXPECT_EQ(graph.usualLag(Cause::Stream), Nanoseconds(1));
}

TEST(ActivityGraph, LearnsTheStepFromKernelToKernelFromTheOnesThatNoLaunchHeldBack)
{
    // Every launch takes 6 ns. Nine kernels of ten wait for it and begin 4 ns after the one before; one follows after 1.
    Recorded recorded;
    const auto add = [&recorded](std::int64_t start, std::int64_t end, PathPart part) {
        recorded.activities.push_back({between(start, end), part, 0});
        return static_cast<std::uint32_t>(recorded.activities.size() - 1);
    };
    std::optional<std::uint32_t> before;
    std::int64_t end = 0;
    for (int i = 0; i < 100; ++i) {
        const bool isQueued = i % 10 == 9;
        const std::int64_t start = end + (isQueued ? 1 : 4);
        const std::int64_t launched = isQueued ? start - 20 : start - 6;
        const std::uint32_t host = add(launched - 1, launched, PathPart::Host);
        end = start + 30;
        const std::uint32_t kernel = add(start, end, PathPart::Compute);
        recorded.dependencies.push_back({host, kernel, Cause::Launch});
        if (before)
            recorded.dependencies.push_back({*before, kernel, Cause::Stream});
        before = kernel;
    }
    const ActivityGraph graph = recorded.graph();
    EXPECT_EQ(graph.usualLag(Cause::Stream), Nanoseconds(1));
    // With free launches, each kernel follows 1 ns after the one before.
    const auto times = graph.simulate(
        [&](std::uint32_t i) {
            return graph.activities()[i].part == PathPart::Host ? Nanoseconds(0) : Nanoseconds(30);
        },
        [](const ActivityGraph::Constraint& each, auto...) {
            return each.cause == Cause::Launch ? Nanoseconds(-1'000) : each.lag;
        });
    EXPECT_LE(times.back().end - times.front().end, Nanoseconds(100 * 31 + 10));
}

TEST(ActivityGraph, LeavesOutDependenciesOnWhatStartsLater)
{
    const ActivityGraph graph({{between(10, 20), PathPart::Host, 0}, {between(0, 5), PathPart::Host, 1}},
                              {{0, 1, Cause::Stream}});
    EXPECT_TRUE(graph.constraintsOf(0).empty());
    EXPECT_TRUE(graph.constraintsOf(1).empty());
    EXPECT_EQ(graph.activities()[0].source, 1U);
}

TEST(ActivityGraph, AnArrivalPrecedesTheTransferThatBeginsThen)
{
    // The transfer of the rank that waits is listed before the arrival of the late one.
    const ActivityGraph graph({{between(0, 0), PathPart::Communication, 0},
                               {between(50, 60), PathPart::Communication, 1},
                               {between(50, 50), PathPart::Communication, 2}},
                              {{0, 1, Cause::Collective}, {2, 1, Cause::Collective}});
    const ActivityGraph::Constraint* const binding = graph.bindingOf(graph.numberOf(1));
    ASSERT_TRUE(binding);
    EXPECT_EQ(binding->from, graph.numberOf(2));
}

TEST(CriticalPath, ALaunchCallExplainsTheWaitForIt)
{
    const ActivityGraph graph({{between(0, 1'000), PathPart::Host, 0},
                               {between(301'000, 302'000), PathPart::Compute, 1, timestampAt(201'000)}},
                              {{0, 1, Cause::Launch}});
    const PathParts parts = partsOf(criticalPath(graph, 1, between(0, 302'000)));
    EXPECT_EQ(parts[PathPart::Launch], Nanoseconds(200'000 + 50'000));
    EXPECT_EQ(parts[PathPart::Unexplained], Nanoseconds(50'000));
    EXPECT_EQ(parts.sum(), Nanoseconds(302'000));
}

TEST(CriticalPath, ALongLagIsUnexplained)
{
    const ActivityGraph graph(
        {{between(0, 1'000), PathPart::Compute, 0}, {between(61'000, 62'000), PathPart::Compute, 1}},
        {{0, 1, Cause::Stream}});
    const PathParts parts = partsOf(criticalPath(graph, 1, between(-500, 63'000)));
    EXPECT_EQ(parts[PathPart::Compute], Nanoseconds(2'000));
    EXPECT_EQ(parts[PathPart::Launch], Nanoseconds(20'000));
    EXPECT_EQ(parts[PathPart::Unexplained], Nanoseconds(40'000 + 500 + 1'000));
}

} // namespace tilescope::analysis
