#include "core/trace/counters/counter_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tilescope::trace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

/// A kernel with named values of the plan's metrics; 0 where not named.
KernelCounters kernel(const CounterPlan& plan, const std::string& path,
                      const std::map<std::string, double>& values)
{
    KernelCounters made{.path = path, .values = std::vector<double>(plan.metrics().size())};
    for (const auto& [metric, value] : values) {
        const auto found = std::ranges::find(plan.metrics(), metric);
        if (found == plan.metrics().end())
            throw std::invalid_argument(metric);
        made.values[static_cast<std::size_t>(found - plan.metrics().begin())] = value;
    }
    return made;
}

double valueOf(const std::vector<CounterValue>& values, std::string_view path, std::string_view metric)
{
    for (const CounterValue& value : values) {
        if (value.path == path && value.metric == metric)
            return value.value;
    }
    throw std::out_of_range(std::string(path));
}

TEST(CounterPlan, ReadsEachMetricOnce)
{
    const std::vector<std::string> names = {"tensor_active", "sm_active", "dram_read",
                                            "dram__bytes_read.sum"};
    EXPECT_THAT(CounterPlan(names).metrics(),
                ElementsAre("gpu__time_duration.sum",
                            "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
                            "sm__cycles_active.sum", "sm__cycles_elapsed.sum", "dram__bytes_read.sum"));
}

TEST(CounterPlan, TensorCoresAreActiveAtMostAllTheTime)
{
    const std::vector<std::string> names = {"tensor_active"};
    const CounterPlan plan(names);
    const std::string& tensor = plan.metrics().back();
    const auto values =
        plan.values(std::vector{kernel(plan, "step", {{"gpu__time_duration.sum", 30}, {tensor, 100}}),
                                kernel(plan, "step", {{"gpu__time_duration.sum", 10}, {tensor, 20}})},
                    {}, 1);
    EXPECT_EQ(valueOf(values, "step", "tensor_active"), 80);
    EXPECT_EQ(values[0].unit, "%");
}

TEST(CounterPlan, ARangeHasWhatItsInnerRangesHave)
{
    const std::vector<std::string> names = {"dram_read", "l2_hit"};
    const CounterPlan plan(names);
    const auto values = plan.values(std::vector{kernel(plan, "step/forward/layers.0",
                                                       {{"dram__bytes_read.sum", 100},
                                                        {"lts__t_tag_requests.sum", 10},
                                                        {"lts__t_tag_requests_hit.sum", 9}}),
                                                kernel(plan, "step/forward",
                                                       {{"dram__bytes_read.sum", 11},
                                                        {"lts__t_tag_requests.sum", 90},
                                                        {"lts__t_tag_requests_hit.sum", 0}}),
                                                kernel(plan, "", {{"dram__bytes_read.sum", 1000}})},
                                    {{"step/forward/layers.0", 4}}, 1);
    EXPECT_EQ(valueOf(values, "step/forward/layers.0", "dram_read"), 100);
    EXPECT_EQ(valueOf(values, "step/forward", "dram_read"), 111);
    EXPECT_EQ(valueOf(values, "step", "dram_read"), 111) << "values outside any range do not count";
    EXPECT_EQ(valueOf(values, "step/forward/layers.0", "l2_hit"), 90);
    EXPECT_EQ(valueOf(values, "step", "l2_hit"), 9) << "of all requests, not the mean of the kernels' shares";
    EXPECT_THAT(values, Contains(CounterValue{"step/forward/layers.0", "dram_read", 100, "B", 4, 1}));
    EXPECT_THAT(values, Contains(CounterValue{"step/forward", "l2_hit", 9, "%", 1, 1}));
}

TEST(CounterPlan, OtherMetricsAreAddedUpOrAveragedOverTime)
{
    const std::vector<std::string> names = {"sm__inst_executed.sum",
                                            "sm__throughput.avg.pct_of_peak_sustained_elapsed"};
    const CounterPlan plan(names);
    const auto values = plan.values(
        std::vector{kernel(plan, "step", {{"gpu__time_duration.sum", 30}, {names[0], 5}, {names[1], 80}}),
                    kernel(plan, "step", {{"gpu__time_duration.sum", 10}, {names[0], 7}, {names[1], 20}})},
        {}, 8);
    EXPECT_EQ(valueOf(values, "step", names[0]), 12);
    EXPECT_EQ(valueOf(values, "step", names[1]), 65);
    EXPECT_EQ(values[0].passes, 8);
}

TEST(CounterPlan, ZeroCountsDoNotDivideByZero)
{
    const std::vector<std::string> names = {"tensor_active"};
    const CounterPlan plan(names);
    EXPECT_EQ(valueOf(plan.values(std::vector{kernel(plan, "step", {})}, {}, 1), "step", "tensor_active"), 0);
}

} // namespace
} // namespace tilescope::trace
