// Tables of a time span: the parts of a recording add up to the whole, and each part is what its events say.

#include "core/query/compare/compare_tables.h"
#include "core/query/kernels/kernel_tables.h"
#include "core/query/memory/peak_memory.h"
#include "core/query/overview/run_overview.h"
#include "core/query/steps/step_tables.h"
#include "core/store/run_reader.h"
#include "tests/support/not_cancelled.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/query/random_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace tilescope::query {
namespace {

constexpr int kParts = 7;

class TimeSpans : public ::testing::TestWithParam<int> {
protected:
    void SetUp() override
    {
        writeRandomRun(folder_ / "a.tscope", GetParam());
        reader_.emplace(folder_ / "a.tscope");
        const auto [first, last] = *reader_->span(kOnlyRun);
        origin_ = first;
        for (int part = 0; part < kParts; ++part)
            spans_.push_back({(last - first) * part / kParts,
                              part + 1 < kParts ? (last - first) * (part + 1) / kParts : Nanoseconds::max()});
    }

    // What a device holds at most in a span, from every event: the highest of all devices.
    std::int64_t highest(const TimeSpan& span)
    {
        const store::EventWindow window = windowOf(*reader_, kOnlyRun, span);
        std::map<DeviceIndex, std::int64_t> before;
        std::int64_t most = 0;
        reader_->eachAllocEvent({.run = kOnlyRun}, [&](const AllocEvent& event) {
            if (event.time <= window.from)
                before[event.device] = event.allocated;
            else if (event.time < window.to)
                most = std::max(most, event.allocated);
            return true;
        });
        for (const auto& [device, held] : before)
            most = std::max(most, held);
        return most;
    }

    testing::TemporaryFolder folder_;
    std::optional<store::RunReader> reader_;
    Timestamp origin_{};
    std::vector<TimeSpan> spans_;
};

TEST_P(TimeSpans, PartsOfStepsAddUpToTheSteps)
{
    std::map<std::int32_t, analysis::StepPartition> sums;
    std::map<std::int32_t, Nanoseconds> walls;
    for (const TimeSpan& span : spans_)
        for (const StepRow& row : steps(*reader_, {.run = kOnlyRun}, span).rows) {
            EXPECT_GT(row.partition.wall.length().count(), 0) << "a step outside has no row";
            EXPECT_GE(row.partition.wall.start, origin_ + span.from);
            analysis::StepPartition& sum = sums[row.step];
            walls[row.step] += row.partition.wall.length();
            for (Nanoseconds analysis::StepPartition::*part :
                 {&analysis::StepPartition::gpuBusy, &analysis::StepPartition::launching,
                  &analysis::StepPartition::synchronizing, &analysis::StepPartition::tracing,
                  &analysis::StepPartition::unexplained})
                sum.*part += row.partition.*part;
        }
    const std::vector<StepRow> whole = stepsOf(*reader_, kOnlyRun);
    ASSERT_EQ(sums.size(), whole.size());
    for (const StepRow& row : whole) {
        EXPECT_EQ(walls[row.step], row.partition.wall.length());
        EXPECT_EQ(sums[row.step].gpuBusy, row.partition.gpuBusy);
        EXPECT_EQ(sums[row.step].launching, row.partition.launching);
        EXPECT_EQ(sums[row.step].synchronizing, row.partition.synchronizing);
        EXPECT_EQ(sums[row.step].tracing, row.partition.tracing);
        EXPECT_EQ(sums[row.step].unexplained, row.partition.unexplained);
    }
}

TEST_P(TimeSpans, PartsOfRangesAddUpToTheRanges)
{
    std::map<std::string, std::pair<Nanoseconds, Nanoseconds>> sums;
    for (const TimeSpan& span : spans_)
        for (const analysis::RangeTotal& row : ranges(*reader_, {.run = kOnlyRun}, span).rows) {
            sums[row.path].first += row.wall.value_or(Nanoseconds{0});
            sums[row.path].second += row.gpu.value_or(Nanoseconds{0});
        }
    const RangesTable whole = ranges(*reader_, {.run = kOnlyRun});
    ASSERT_EQ(sums.size(), whole.rows.size());
    for (const analysis::RangeTotal& row : whole.rows) {
        EXPECT_EQ(sums.at(row.path).first, row.wall.value_or(Nanoseconds{0})) << row.path;
        EXPECT_EQ(sums.at(row.path).second, row.gpu.value_or(Nanoseconds{0})) << row.path;
    }
}

TEST_P(TimeSpans, ThePeakIsTheHighestOfTheSpan)
{
    for (const TimeSpan& span : spans_) {
        const LiveMemoryTable live = memoryAtPeak(*reader_, kOnlyRun, testing::kNotCancelled, span);
        if (!reader_->totals(kOnlyRun)) // without a track the history is of one device
            continue;
        EXPECT_EQ(live.allocated.count, highest(span));
        EXPECT_GE(live.at, span.from.count());
        EXPECT_LT(live.at, span.to.count());
        std::int64_t inBlocks = live.untraced.count;
        for (std::size_t row = 0; row < live.blocks.size(); ++row)
            inBlocks += live.block(row).bytes;
        EXPECT_EQ(inBlocks, live.allocated.count);
    }
}

TEST_P(TimeSpans, TheOverviewHasTheFiguresOfTheTables)
{
    const TimeSpan span = spans_[2];
    const RunOverview overview = runOverview(*reader_, kOnlyRun, testing::kNotCancelled, span);
    ASSERT_TRUE(overview.step);
    EXPECT_EQ(overview.step->steps, 1) << "one process";
    double wall = 0;
    double busy = 0;
    for (const StepRow& row : steps(*reader_, {.run = kOnlyRun}, span).rows) {
        wall += double(row.partition.wall.length().count());
        busy += double(row.partition.gpuBusy.count());
    }
    EXPECT_DOUBLE_EQ(overview.step->wall, wall);
    EXPECT_DOUBLE_EQ(overview.step->gpuBusy, busy);
    double families = 0;
    for (const FamilyShare& share : overview.families)
        families += share.total;
    EXPECT_DOUBLE_EQ(families, double(kernels(*reader_, {.run = kOnlyRun, .span = span}).total.count()));
    EXPECT_FALSE(overview.utilisation) << "of timed steps";
    const TimeSpan none{Nanoseconds(0), Nanoseconds(0)};
    EXPECT_FALSE(runOverview(*reader_, kOnlyRun, testing::kNotCancelled, none).step);
}

TEST_P(TimeSpans, AreComparedByWhatIsInThem)
{
    const Comparison compared = compareSpans(*reader_, kOnlyRun, *reader_, kOnlyRun, {spans_[1], spans_[4]});
    EXPECT_TRUE(compared.isLimited());
    EXPECT_TRUE(compared.times.empty());
    EXPECT_FALSE(compared.change);
    std::map<std::string, std::pair<double, double>> expected;
    for (const KernelRow& row : kernels(*reader_, {.run = kOnlyRun, .span = spans_[1]}).rows)
        expected[row.key].first = double(row.total.count());
    for (const KernelRow& row : kernels(*reader_, {.run = kOnlyRun, .span = spans_[4]}).rows)
        expected[row.key].second = double(row.total.count());
    ASSERT_EQ(compared.kernels.size(), expected.size());
    for (const ComparedGroup& group : compared.kernels) {
        EXPECT_EQ(group.difference.a.value_or(0), expected.at(group.difference.key).first);
        EXPECT_EQ(group.difference.b.value_or(0), expected.at(group.difference.key).second);
    }
    ASSERT_EQ(compared.memory.size(), 1u);
    EXPECT_EQ(compared.memory[0].a,
              memoryAtPeak(*reader_, kOnlyRun, testing::kNotCancelled, spans_[1]).allocated);
}

INSTANTIATE_TEST_SUITE_P(WithoutAndWithStoredTotals, TimeSpans, ::testing::Values(3, 26));

} // namespace
} // namespace tilescope::query
