#include "core/machine/metric_choice.h"

#include "core/base/error.h"
#include "core/model/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tilescope::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> keysOf(const std::vector<ChosenMetric>& metrics)
{
    std::vector<std::string> names;
    for (const ChosenMetric& metric : metrics)
        names.push_back(metric.name);
    return names;
}

const auto kUsual = static_cast<std::size_t>(std::ranges::count_if(kMetrics, &MetricInfo::isUsual));

/// A GPU with all metrics, of which it measures so many at once.
PassesOf atOnce(std::size_t most)
{
    return [most](std::span<const std::string> metrics) {
        return static_cast<std::int64_t>((metrics.size() + most - 1) / most);
    };
}

} // namespace

TEST(MetricChoice, TakesAllThatFitInTheOrderOfPreference)
{
    EXPECT_EQ(chooseMetrics({}, atOnce(100)).metrics.size(), kUsual);
    const MetricChoice few = chooseMetrics({}, atOnce(2));
    EXPECT_THAT(keysOf(few.metrics), ElementsAre("SM active", "Tensor pipe active"));
    EXPECT_EQ(few.left.size(), kUsual - 2);
    EXPECT_THAT(few.unavailable, IsEmpty());
}

TEST(MetricChoice, TakesTheNameThatFitsOnePass)
{
    const PassesOf passes = [](std::span<const std::string> metrics) -> std::int64_t {
        const auto has = [&](std::string_view part, bool expected) {
            return std::ranges::any_of(metrics, [&](const std::string& name) {
                return (name.find(part) != std::string::npos) == expected;
            });
        };
        return has("Triage", true) ? 0 : has("_realtime", false) ? 2 : 1;
    };
    const std::vector<std::string> requested{"tensor_active"};
    EXPECT_THAT(chooseMetrics(requested, passes).metrics,
                ElementsAre(ChosenMetric{
                    "Tensor pipe active", "%",
                    "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed"}));
}

TEST(MetricChoice, SkipsWhatDoesNotFitAndGoesOn)
{
    // DRAM read and write exclude each other.
    const PassesOf passes = [](std::span<const std::string> metrics) -> std::int64_t {
        return std::ranges::count_if(
                   metrics, [](const std::string& name) { return name.find("dram") != std::string::npos; }) >
                       1
                   ? 2
                   : 1;
    };
    const std::vector<std::string> requested{"dram_read", "dram_write", "sm_active"};
    const MetricChoice choice = chooseMetrics(requested, passes);
    EXPECT_THAT(keysOf(choice.metrics), ElementsAre("DRAM read", "SM active"));
    EXPECT_THAT(choice.left, ElementsAre("dram_write"));
}

TEST(MetricChoice, TellsWhatTheGpuLacksOnlyIfItWasAskedFor)
{
    const PassesOf passes = [](std::span<const std::string> metrics) -> std::int64_t {
        return std::ranges::any_of(
                   metrics, [](const std::string& name) { return name.find("nvl") != std::string::npos; })
                   ? 0
                   : 1;
    };
    const MetricChoice all = chooseMetrics({}, passes);
    EXPECT_EQ(all.metrics.size(), kUsual - 2);
    EXPECT_THAT(all.unavailable, IsEmpty());
    const std::vector<std::string> requested{"nvlink_in", "lts__t_sectors.sum.per_second"};
    const MetricChoice asked = chooseMetrics(requested, passes);
    EXPECT_THAT(asked.unavailable, ElementsAre("nvlink_in"));
    EXPECT_THAT(asked.metrics, ElementsAre(ChosenMetric{"lts__t_sectors.sum.per_second", "",
                                                        "lts__t_sectors.sum.per_second"}));
}

TEST(MetricChoice, ReadsAList)
{
    EXPECT_THAT(requestedMetrics(""), IsEmpty());
    EXPECT_THAT(requestedMetrics("sm_active,dram_read,sm_active"), ElementsAre("sm_active", "dram_read"));
    EXPECT_THAT(requestedMetrics("pcie__read_bytes.sum.per_second"),
                ElementsAre("pcie__read_bytes.sum.per_second"));
    for (const char* list : {"sm_actve", "sm_active,", "sm__x y", "*"})
        try {
            requestedMetrics(list);
            EXPECT_STREQ(list, "sm_active,") << "it was accepted";
        } catch (const Error& error) {
            EXPECT_EQ(error.exitCode(), 2);
            EXPECT_THAT(error.sentence(), HasSubstr("--metrics: there is no metric"));
        }
    EXPECT_THROW(requestedMetrics("sm_active,,dram_read"), Error);
}

} // namespace tilescope::machine
