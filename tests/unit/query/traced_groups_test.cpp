#include "core/query/compare/traced_groups.h"

#include "core/analysis/time/range_totals.h"
#include "core/query/compare/step_groups.h"
#include "core/query/runs/selection.h"
#include "core/query/steps/traced_steps.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/query/random_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace tilescope::query {

namespace {

/// Time by step of each key, and instances a step.
using Groups = std::map<std::string, std::pair<std::vector<double>, double>>;

Groups byKey(const std::vector<analysis::GroupTimes>& list)
{
    Groups groups;
    for (const analysis::GroupTimes& group : list)
        groups[group.key] = {group.runs.front(), group.instancesPerStep};
    return groups;
}

/// Kernels and ranges by reading one step after the other.
std::pair<Groups, Groups> expectedGroups(const store::RunReader& reader)
{
    std::pair<Groups, Groups> expected;
    std::size_t steps = 0;
    const auto add = [&steps](Groups& groups, const std::string& key, Nanoseconds time, double instances) {
        auto& [times, count] = groups[key];
        times.resize(steps);
        times.back() += static_cast<double>(time.count());
        count += instances;
    };
    eachTracedStep(reader, kOnlyRun, [&](const TracedStep& step) {
        ++steps;
        for (const DeviceEvent& event : step.device)
            add(expected.first, std::string(reader.text(event.name)), event.end - event.start, 1);
        for (const analysis::RangeTotal& total :
             analysis::rangeTotals(step.ranges, step.ops, step.device, textsOf(reader)))
            add(expected.second, total.path, total.gpu ? *total.gpu : total.wall.value_or(Nanoseconds{0}),
                static_cast<double>(total.instances));
    });
    for (Groups* groups : {&expected.first, &expected.second})
        for (auto& [key, group] : *groups) {
            group.first.resize(steps);
            group.second /= static_cast<double>(steps);
        }
    return expected;
}

double timeOf(const std::vector<analysis::GroupTimes>& list)
{
    double sum = 0;
    for (const analysis::GroupTimes& group : list)
        for (const double time : group.runs.front())
            sum += time;
    return sum;
}

class TracedGroupsOf : public ::testing::Test {
protected:
    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "a.tscope";
};

} // namespace

TEST_F(TracedGroupsOf, AGpuAreTheSumsOfItsSteps)
{
    writeRandomRun(file_, 30);
    const store::RunReader reader(file_);
    const TracedGroups groups = tracedGroups(reader, std::vector{kOnlyRun});
    const auto [kernels, ranges] = expectedGroups(reader);
    EXPECT_TRUE(groups.onGpu);
    EXPECT_EQ(byKey(groups.kernels), kernels);
    EXPECT_EQ(byKey(groups.ranges), ranges);
    EXPECT_EQ(timeOf(groups.families), timeOf(groups.kernels));
    EXPECT_GT(groups.families.size(), 2u);
    EXPECT_LE(groups.families.size(), groups.kernels.size());
}

TEST_F(TracedGroupsOf, AGpuCountHostTimeWhereAStepHasNoActivity)
{
    StringTable strings;
    {
        store::RunWriter writer(file_, strings);
        writer.beginRun({"test", "lm", "{}", "hash", "test"});
        testing::FakeTrace trace(strings);
        trace.step(0, 0, 900);
        trace.op("aten::mm", 100, 300).at("step/forward");
        trace.kernel("gemm", 400, 600).at("step/forward");
        trace.step(1, 1000, 1900);
        trace.op("aten::mm", 1100, 1350).at("step/forward");
        writer.write(trace.batch());
        writer.endRun({});
    }
    const store::RunReader reader(file_);
    const TracedGroups groups = tracedGroups(reader, std::vector{kOnlyRun});
    const Groups ranges = byKey(groups.ranges);
    EXPECT_EQ(ranges, expectedGroups(reader).second);
    EXPECT_EQ(ranges.at("step").first, (std::vector<double>{200, 900}));
    EXPECT_EQ(ranges.at("step/forward").first, (std::vector<double>{200, 250}));
}

TEST_F(TracedGroupsOf, AGpuDoNotDependOnTheOrderOfEvents)
{
    writeRandomRun(file_, 12);
    const store::RunReader reader(file_);
    std::vector<DeviceEvent> device = reader.deviceEvents({.run = kOnlyRun});
    const unsigned seed = 7;
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::ranges::shuffle(device, random);
    StepGroups groups(reader, kOnlyRun, {});
    for (const Range& range : reader.ranges({.run = kOnlyRun}))
        groups.add(range);
    for (const Op& op : reader.ops({.run = kOnlyRun}))
        groups.add(op);
    for (const DeviceEvent& event : device)
        groups.add(event);
    const RunGroups shuffled = groups.take();
    const auto [kernels, ranges] = expectedGroups(reader);
    EXPECT_EQ(shuffled.steps, 12u);
    EXPECT_EQ(byKey(shuffled.kernels), kernels);
    EXPECT_EQ(byKey(shuffled.ranges), ranges);
}

} // namespace tilescope::query
