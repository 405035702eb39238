// The totals that a file stores for a run's traced steps equal those of its events; pages show the same with
// and without them.

#include "core/query/kernels/kernel_sums.h"
#include "core/query/kernels/kernel_tables.h"
#include "core/query/memory/peak_memory.h"
#include "core/query/overview/run_overview.h"
#include "core/query/steps/step_tables.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/run_reader.h"
#include "tests/support/not_cancelled.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/query/random_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace tilescope::query {
namespace {

namespace fs = std::filesystem;

class RunTotals : public ::testing::Test {
protected:
    void write(int steps) { writeRandomRun(file_, steps); }

    testing::TemporaryFolder folder_;
    fs::path file_ = folder_ / "a.tscope";
};

constexpr int kMany = 26; // steps, of some 2,000 events each

TEST_F(RunTotals, OfKernelsAreTheSumsOfTheEvents)
{
    write(kMany);
    const store::RunReader reader(file_);
    const auto totals = reader.totals(kOnlyRun);
    ASSERT_TRUE(totals);
    KernelSums expected;
    reader.eachDeviceEvent({.run = kOnlyRun}, [&](const DeviceEvent& event) {
        if (event.step != kNoStep)
            expected.add(event);
        return true;
    });
    const auto keyOf = [](const store::KernelTotal& total) {
        return std::tuple(total.kind, total.name.value, total.path.value);
    };
    std::map<std::tuple<DeviceEventKind, std::uint32_t, std::uint32_t>, store::KernelTotal> byKey;
    for (const store::KernelTotal& total : totals->kernels)
        EXPECT_TRUE(byKey.emplace(keyOf(total), total).second);
    const std::vector<KernelSum> list = std::move(expected).list();
    ASSERT_EQ(byKey.size(), list.size());
    EXPECT_GT(list.size(), 60u) << "all kinds, several names, many paths and none";
    for (const store::KernelTotal& total : list) {
        ASSERT_TRUE(byKey.contains(keyOf(total)));
        const store::KernelTotal& found = byKey.at(keyOf(total));
        EXPECT_EQ(found.instances, total.instances);
        EXPECT_EQ(found.total, total.total);
        EXPECT_EQ(found.shortest, total.shortest);
        EXPECT_EQ(found.longest, total.longest);
        EXPECT_NEAR(found.squares, total.squares, 1e-9 * total.squares);
    }
}

TEST_F(RunTotals, OfRangesAreTheSumsOfTheEvents)
{
    write(kMany);
    const store::RunReader reader(file_);
    const auto totals = reader.totals(kOnlyRun);
    ASSERT_TRUE(totals);
    const RangesTable expected = ranges(reader, {.run = kOnlyRun});
    ASSERT_EQ(totals->paths.size(), expected.rows.size());
    ASSERT_EQ(expected.rows.size(), 3u + 16u);
    for (std::size_t i = 0; i < expected.rows.size(); ++i) {
        EXPECT_EQ(totals->paths[i].path, expected.rows[i].path) << i;
        EXPECT_EQ(totals->paths[i].instances, expected.rows[i].instances) << i;
        EXPECT_EQ(totals->paths[i].wall, expected.rows[i].wall) << i;
        EXPECT_EQ(totals->paths[i].gpu, expected.rows[i].gpu) << i;
    }
}

TEST_F(RunTotals, PartitionEachStepAsItsEventsDo)
{
    write(kMany);
    const store::RunReader reader(file_);
    const auto totals = reader.totals(kOnlyRun);
    ASSERT_TRUE(totals);
    const std::vector<StepRow> expected = stepsFromEvents(reader, kOnlyRun);
    ASSERT_EQ(totals->steps.size(), std::size_t(kMany));
    ASSERT_EQ(expected.size(), std::size_t(kMany));
    Nanoseconds tracing{0};
    Nanoseconds waiting{0};
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const store::StepTotal& found = totals->steps[i];
        const analysis::StepPartition& parts = expected[i].partition;
        EXPECT_EQ(found.step, expected[i].step);
        EXPECT_EQ(found.start, parts.wall.start);
        EXPECT_EQ(found.end, parts.wall.end);
        EXPECT_EQ(found.gpuBusy, parts.gpuBusy) << i;
        EXPECT_EQ(found.launching, parts.launching) << i;
        EXPECT_EQ(found.synchronizing, parts.synchronizing) << i;
        EXPECT_EQ(found.tracing, parts.tracing) << i;
        EXPECT_EQ(found.unexplained, parts.unexplained) << i;
        tracing += parts.tracing;
        waiting += parts.synchronizing;
    }
    EXPECT_GT(tracing.count(), 0);
    EXPECT_GT(waiting.count(), 0);
}

TEST_F(RunTotals, GiveTheOverviewThatTheEventsGive)
{
    write(kMany);
    const store::RunReader reader(file_);
    ASSERT_TRUE(reader.totals(kOnlyRun));
    const RunOverview overview = runOverview(reader, kOnlyRun, testing::kNotCancelled);
    const StepsTable table = steps(reader, {.run = kOnlyRun});
    ASSERT_TRUE(overview.step);
    double busy = 0;
    for (const StepRow& row : table.rows)
        busy += double(row.partition.gpuBusy.count()) / kMany;
    EXPECT_NEAR(overview.step->gpuBusy, busy, 1e-6 * busy);
    EXPECT_TRUE(overview.step->onGpu);
    std::map<Hue, double> families;
    for (const KernelRow& row : kernels(reader, {.run = kOnlyRun, .grouping = Grouping::Family}).rows)
        families[row.family] += double(row.total.count()) / kMany;
    ASSERT_EQ(overview.families.size(), families.size());
    EXPECT_GE(families.size(), 5u);
    for (const FamilyShare& share : overview.families)
        EXPECT_NEAR(share.perStep, families.at(share.hue), 1e-6 * share.perStep);
    const RangesTable expected = ranges(reader, {.run = kOnlyRun});
    ASSERT_EQ(overview.ranges.rows.size(), expected.rows.size());
    EXPECT_EQ(overview.ranges.gpu, expected.gpu);
    EXPECT_EQ(overview.ranges.gpuInModules, expected.gpuInModules);
    for (std::size_t i = 0; i < expected.rows.size(); ++i)
        EXPECT_NEAR(overview.ranges.rows[i].percent, expected.rows[i].percent, 1e-9);
}

// The table of a single step is summed from its events, the table of all steps from the totals.
TEST_F(RunTotals, OfAllStepsAreTheSumOfEachStepsKernels)
{
    write(kMany);
    const store::RunReader reader(file_);
    for (const Grouping grouping : {Grouping::Name, Grouping::Family, Grouping::Range, Grouping::Phase}) {
        std::map<std::string, std::pair<std::int64_t, std::int64_t>> sums;
        for (std::int32_t step = 0; step < kMany; ++step)
            for (const KernelRow& row :
                 kernels(reader, {.run = kOnlyRun, .grouping = grouping, .step = step}).rows) {
                sums[row.key].first += row.instances;
                sums[row.key].second += row.total.count();
            }
        const KernelsTable all = kernels(reader, {.run = kOnlyRun, .grouping = grouping});
        ASSERT_EQ(all.rows.size(), sums.size());
        for (const KernelRow& row : all.rows) {
            EXPECT_EQ(row.instances, sums.at(row.key).first) << row.key;
            EXPECT_EQ(row.total.count(), sums.at(row.key).second) << row.key;
        }
    }
}

// Steps are counted from the events; without them, the stored totals are enough.
TEST_F(RunTotals, GiveTheKernelsThatTheEventsGive)
{
    write(kMany);
    const store::RunReader reader(file_);
    for (const Grouping grouping :
         {Grouping::Name, Grouping::Family, Grouping::Range, Grouping::Module, Grouping::Phase})
        for (const char* glob : {"", "step/forward/**"}) {
            const KernelsTable stored = kernels(reader, {.rangeGlob = glob, .grouping = grouping});
            const KernelsTable read =
                kernels(reader, {.rangeGlob = glob, .grouping = grouping, .countSteps = true});
            EXPECT_EQ(stored.events, read.events);
            EXPECT_EQ(stored.outsideSteps, read.outsideSteps);
            EXPECT_EQ(stored.total, read.total);
            std::map<std::string, KernelRow> rows;
            for (const KernelRow& row : read.rows)
                rows[row.key] = row;
            ASSERT_EQ(stored.rows.size(), rows.size());
            for (const KernelRow& row : stored.rows) {
                const KernelRow& other = rows.at(row.key);
                EXPECT_EQ(row.instances, other.instances);
                EXPECT_EQ(row.kernels, other.kernels);
                EXPECT_EQ(row.total, other.total);
                EXPECT_EQ(row.shortest, other.shortest);
                EXPECT_EQ(row.longest, other.longest);
                EXPECT_EQ(row.family, other.family);
                EXPECT_EQ(row.percent, other.percent);
                EXPECT_GT(other.steps, 0);
            }
        }
}

TEST_F(RunTotals, AreOmittedForASmallRun)
{
    write(3);
    EXPECT_FALSE(store::RunReader(file_).totals(kOnlyRun));
}

TEST_F(RunTotals, AreRecomputedInOtherFilesAndDeletedWithTheirRun)
{
    write(kMany);
    const fs::path merged = folder_ / "merged.tscope";
    const fs::path sources[] = {file_};
    store::merge(sources, merged);
    EXPECT_TRUE(store::verify(merged).ok());
    const store::RunReader before(file_);
    const store::RunReader after(merged);
    ASSERT_TRUE(after.totals(kOnlyRun));
    EXPECT_EQ(after.totals(kOnlyRun)->kernels.size(), before.totals(kOnlyRun)->kernels.size());
    EXPECT_EQ(after.totals(kOnlyRun)->paths.size(), before.totals(kOnlyRun)->paths.size());
    store::deleteRuns(file_, std::array{kOnlyRun});
    EXPECT_TRUE(store::verify(file_).ok());
}

TEST_F(RunTotals, TheBlocksAtThePeakAreThoseOfTheWholeHistory)
{
    for (const int steps : {3, kMany}) { // without and with a track that contains the time of the peak
        write(steps);
        const store::RunReader reader(file_);
        const LiveMemoryTable expected = liveMemory(reader, {.run = kOnlyRun}, {});
        const LiveMemoryTable found = memoryAtPeak(reader, kOnlyRun, testing::kNotCancelled);
        EXPECT_EQ(found.history->device, expected.history->device);
        EXPECT_EQ(found.at, expected.at);
        EXPECT_EQ(found.allocated, expected.allocated);
        EXPECT_EQ(found.untraced, expected.untraced);
        ASSERT_EQ(found.blocks.size(), expected.blocks.size());
        ASSERT_GT(found.blocks.size(), 10u);
        for (std::size_t i = 0; i < expected.blocks.size(); ++i) {
            EXPECT_EQ(found.block(i).address, expected.block(i).address) << i;
            EXPECT_EQ(found.block(i).bytes, expected.block(i).bytes) << i;
            EXPECT_EQ(found.history->text(found.block(i).path),
                      expected.history->text(expected.block(i).path));
        }
        fs::remove(file_);
    }
}

} // namespace
} // namespace tilescope::query
