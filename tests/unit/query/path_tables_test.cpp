// Critical paths and predictions of recordings whose events do not fit into memory at once.

#include "core/query/path/path_tables.h"

#include "core/query/path/what_if_table.h"
#include "core/store/run_writer.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace tilescope::query {
namespace {

constexpr std::int64_t kOpLength = 20'000; // ns
constexpr std::int64_t kKernelLength = 50'000;
constexpr int kOps = 100; // of a step

/// Steps that launch kernels, which take longer than their launches, and then wait for them.
class PathTables : public ::testing::Test {
protected:
    /// \param isMarked  the steps have ranges
    store::RunReader fileOf(int steps, bool isMarked)
    {
        StringTable strings;
        store::RunWriter writer(file_, strings);
        const Timestamp origin = TraceClock::now();
        store::RunHeader header{"test", isMarked ? "lm" : "trace", "{}", "hash", "test"};
        header.clockOrigin = origin;
        writer.beginRun(header);
        TraceBatch batch;
        std::int64_t host = 1'000;
        std::int64_t device = 0;
        std::uint32_t number = 0;
        const auto at = [origin](std::int64_t time) { return origin + Nanoseconds(time); };
        for (int step = 0; step < steps; ++step) {
            const std::int32_t ofStep = isMarked ? step : kNoStep;
            const std::int64_t begin = host;
            for (int i = 0; i < kOps; ++i) {
                Op op{.id = OpId{number}, .name = strings.intern("aten::mm"), .thread = ThreadId{1}};
                op.step = ofStep;
                op.start = at(host);
                op.end = at(host += kOpLength);
                batch.ops.push_back(op);
                device = std::max(device + 1'000, host);
                DeviceEvent kernel{.name =
                                       strings.intern(i % 2 == 0 ? "sm90_xmma_gemm" : "softmax_warp_forward"),
                                   .device = DeviceIndex{0},
                                   .stream = StreamId{7},
                                   .correlation = CorrelationId{++number},
                                   .op = op.id,
                                   .launchThread = ThreadId{1},
                                   .step = ofStep};
                kernel.launched = at(host - 5'000);
                kernel.start = at(device);
                kernel.end = at(device += kKernelLength);
                batch.deviceEvents.push_back(kernel);
            }
            ApiCall wait{.name = strings.intern("cudaDeviceSynchronize"), .kind = ApiKind::Synchronize};
            wait.thread = ThreadId{1};
            wait.step = ofStep;
            wait.start = at(host);
            wait.end = at(host = device + 2'000);
            batch.apiCalls.push_back(wait);
            Range range{.id = RangeId{static_cast<std::uint32_t>(step)},
                        .path = strings.intern("step"),
                        .thread = ThreadId{1}};
            range.step = step;
            range.start = at(begin);
            range.end = at(host);
            if (isMarked)
                batch.ranges.push_back(range);
        }
        writer.write(batch);
        if (timed_ > Nanoseconds(0))
            writer.writeSamples(std::vector{Sample{.wall = timed_}});
        writer.endRun({});
        return store::RunReader(file_);
    }

    /// Half of the time of products.
    WhatIfQuery fasterProducts(std::int64_t mostEvents) const
    {
        WhatIfQuery query{.scales = {workScaleOf("matmul=0.5")}};
        query.mostEvents = mostEvents;
        return query;
    }

    /// What runs where pieces meet may be unexplained: one activity a piece.
    static void expectNear(const analysis::PathParts& found, const analysis::PathParts& whole, int pieces)
    {
        for (std::size_t i = 0; i < analysis::kPathParts; ++i) {
            const auto part = static_cast<analysis::PathPart>(i);
            EXPECT_LE(std::abs((found[part] - whole[part]).count()), pieces * kKernelLength) << wordOf(part);
        }
    }

    Nanoseconds timed_{0}; ///< a step without tracing; 0: none
    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "path.tscope";
};

TEST_F(PathTables, InPiecesAreThoseOfTheWholeStep)
{
    const store::RunReader reader = fileOf(3, true);
    PathQuery query{.step = 1};
    const PathTable whole = criticalPaths(reader, query);
    query.mostEvents = 50; // cut three times in halves
    const PathTable pieces = criticalPaths(reader, query);
    ASSERT_EQ(whole.rows.size(), 1u);
    ASSERT_EQ(pieces.rows.size(), 1u);
    EXPECT_EQ(pieces.rows[0].wall, whole.rows[0].wall);
    EXPECT_EQ(pieces.rows[0].parts.sum(), whole.rows[0].wall.length());
    expectNear(pieces.rows[0].parts, whole.rows[0].parts, 8);
    Nanoseconds next{0};
    for (const PathSegmentRow& segment : pieces.rows[0].segments) {
        EXPECT_EQ(segment.start, next);
        next = segment.start + segment.duration;
    }
    EXPECT_EQ(next, whole.rows[0].wall.length());
}

TEST_F(PathTables, OfManyStepsAreThoseOfEachStep)
{
    constexpr int kSteps = 1'000; // 202,000 events: several threads follow the paths
    const store::RunReader reader = fileOf(kSteps, true);
    const PathTable all = criticalPaths(reader, {});
    ASSERT_EQ(all.rows.size(), std::size_t{kSteps});
    for (const int step : {0, 1, 499, 998, 999}) {
        const PathTable one = criticalPaths(reader, {.step = step});
        const PathRow& row = all.rows[static_cast<std::size_t>(step)];
        ASSERT_EQ(one.rows.size(), 1u);
        EXPECT_EQ(row.step, step);
        EXPECT_EQ(row.wall, one.rows[0].wall);
        EXPECT_EQ(row.parts.sum(), row.wall.length());
        for (std::size_t i = 0; i < analysis::kPathParts; ++i) {
            const auto part = static_cast<analysis::PathPart>(i);
            EXPECT_EQ(row.parts[part], one.rows[0].parts[part]) << wordOf(part);
        }
    }
}

TEST_F(PathTables, OfManyStepsInLittleMemoryAreTheSame)
{
    const store::RunReader reader = fileOf(1'000, true);
    const PathTable all = criticalPaths(reader, {});
    const PathTable little = criticalPaths(reader, {.mostEvents = 203}); // a step has 202
    ASSERT_EQ(little.rows.size(), all.rows.size());
    for (std::size_t i = 0; i < all.rows.size(); ++i)
        EXPECT_EQ(little.rows[i].parts.sum(), all.rows[i].wall.length());
}

TEST_F(PathTables, OfManyStepsEndEarlyIfCancelled)
{
    const store::RunReader reader = fileOf(1'000, true);
    int asked = 0; // once for each of 1,000 ranges, then for each step
    EXPECT_TRUE(criticalPaths(reader, {}, [&asked] { return ++asked > 1'400; }).rows.empty());
    EXPECT_GT(asked, 1'400);
}

TEST_F(PathTables, OfALongRecordingWithoutStepsCoverIt)
{
    const store::RunReader reader = fileOf(5, false);
    const PathTable whole = criticalPaths(reader, {});
    const PathTable pieces = criticalPaths(reader, {.mostEvents = 300}); // of 1,005: cut twice in halves
    ASSERT_EQ(pieces.rows.size(), 1u);
    EXPECT_EQ(pieces.rows[0].parts.sum(), whole.rows[0].wall.length());
    expectNear(pieces.rows[0].parts, whole.rows[0].parts, 4);
}

TEST_F(PathTables, PredictionsOfGroupsOfStepsAreThoseOfAllSteps)
{
    const store::RunReader reader = fileOf(9, true);
    const WhatIfTable whole = whatIf(reader, fasterProducts(kMostPathEvents));
    const WhatIfTable groups = whatIf(reader, fasterProducts(3 * (2 * kOps + 2)));
    ASSERT_EQ(groups.rows.size(), 1u);
    ASSERT_EQ(groups.rows[0].steps.size(), 9u);
    EXPECT_EQ(groups.changed, whole.changed);
    for (std::size_t i = 0; i < 9; ++i) {
        EXPECT_EQ(groups.rows[0].steps[i].step, std::int32_t(i));
        EXPECT_EQ(groups.rows[0].steps[i].wall, whole.rows[0].steps[i].wall);
        EXPECT_EQ(groups.rows[0].steps[i].predicted, whole.rows[0].steps[i].predicted) << i;
    }
    EXPECT_LT(groups.rows[0].ratio.median, 0.8);
}

// A piece begins with the kernel that runs then, which another piece has too: it is not shorter there.
TEST_F(PathTables, PredictionsOfPiecesAreNearThoseOfTheWhole)
{
    const store::RunReader reader = fileOf(5, false);
    const WhatIfTable whole = whatIf(reader, fasterProducts(kMostPathEvents));
    const WhatIfTable pieces = whatIf(reader, fasterProducts(400));
    ASSERT_EQ(pieces.rows.size(), 1u);
    ASSERT_EQ(pieces.rows[0].steps.size(), 1u);
    EXPECT_EQ(pieces.rows[0].steps[0].wall, whole.rows[0].steps[0].wall);
    EXPECT_NEAR(pieces.rows[0].ratio.median, whole.rows[0].ratio.median, 0.02);
    WhatIfQuery same{.scales = {workScaleOf("matmul=1")}};
    same.mostEvents = 400;
    EXPECT_EQ(whatIf(reader, same).rows[0].steps[0].predicted, whole.rows[0].steps[0].wall);
}

/// Tracing lengthens the host's part of a step, which free launches take away.
TEST_F(PathTables, PredictionsWithFreeLaunchesHoldForTimedSteps)
{
    constexpr double kMs = 1e6;
    for (const int nanoseconds : {100'000'000, 1'000'000}) {
        SCOPED_TRACE(nanoseconds);
        timed_ = Nanoseconds(nanoseconds);
        std::filesystem::remove(file_);
        const store::RunReader reader = fileOf(3, true);
        const WhatIfTable table = whatIf(reader, {.freeLaunches = true});
        ASSERT_EQ(table.rows.size(), 1u);
        const WhatIfRow& row = table.rows[0];
        constexpr double kKernelsMs = 100 * 0.05 + 0.002; // the call that waits returns 2 us later
        EXPECT_GE(row.predictedMs.median, kKernelsMs);
        EXPECT_DOUBLE_EQ(row.predictedTimedMs.value(), std::min(kKernelsMs, nanoseconds / kMs));
    }
}

} // namespace
} // namespace tilescope::query
