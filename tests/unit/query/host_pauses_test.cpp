#include "core/query/timeline/host_pauses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::query {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<HostStack> kStacks{
    {.function = "train.py(1): <module>", .line = 3},
    {.caller = 0, .function = "<frozen importlib._bootstrap>(1349): _find_and_load", .line = 1360},
    {.caller = 1, .function = "model.py(1): <module>", .line = 2},
    {.caller = 2, .function = "<frozen importlib._bootstrap>(1349): _find_and_load", .line = 1360},
    {.caller = 3, .function = "numpy/__init__.py(1): <module>", .line = 9},
    {.caller = 0, .function = "train.py(5): step", .line = 7},
    {.caller = 0, .function = "train.py(5): step", .line = 8},
    {.caller = 5, .function = "torch/_dynamo/convert_frame.py(1): compile", .line = 1}};

HostSample sampleAfter(std::int64_t milliseconds, std::uint32_t stack,
                       std::uint32_t state = SampleState::kRan)
{
    return {.time = timestampAt(milliseconds * 1'000'000), .stack = stack, .state = state};
}

/// "name from to" in milliseconds.
std::vector<std::string> pausesOf(std::vector<HostSample> samples)
{
    std::vector<std::string> texts;
    for (const HostPause& pause :
         hostPauses({.stacks = kStacks, .threads = {{.thread = ThreadId{1}, .samples = std::move(samples)}}}))
        texts.push_back(pause.name + " " + std::to_string(nanosecondsOf(pause.start) / 1'000'000) + " " +
                        std::to_string(nanosecondsOf(pause.end) / 1'000'000));
    return texts;
}

TEST(HostPauses, AreFromTheFirstSampleToTheFirstWithout)
{
    EXPECT_THAT(pausesOf({sampleAfter(0, 5), sampleAfter(2, 2), sampleAfter(4, 4), sampleAfter(6, 5),
                          sampleAfter(8, 5, SampleState::kCollects), sampleAfter(10, 6), sampleAfter(12, 7),
                          sampleAfter(14, 7), sampleAfter(16, 5)}),
                ElementsAre("import model.py 2 6", "garbage collection 8 10", "compilation 12 16"));
    EXPECT_THAT(pausesOf({sampleAfter(0, 7), sampleAfter(2, 7), sampleAfter(900, 7), sampleAfter(902, 7)}),
                ElementsAre("compilation 0 2", "compilation 900 902"))
        << "nothing is known of the time between";
    EXPECT_THAT(pausesOf({sampleAfter(0, 5), sampleAfter(2, 6), sampleAfter(4, 5)}), IsEmpty());
}

TEST(HostPauses, NameWhatTookLongTheFirstTime)
{
    constexpr std::uint32_t kLaunch = SampleState::kLaunch;
    std::vector<HostSample> launches{sampleAfter(0, 5, kLaunch), sampleAfter(60, 6, kLaunch)};
    for (std::int64_t i = 1; i < 5; ++i) {
        launches.push_back(sampleAfter(100 * i, 5, kLaunch));
        launches.push_back(sampleAfter(100 * i + 1, 6, kLaunch));
    }
    EXPECT_THAT(pausesOf(launches), ElementsAre("first time at train.py:8 0 60"));
    launches[1].time = timestampAt(5'000'000); // five times as long
    EXPECT_THAT(pausesOf(launches), IsEmpty());
}

} // namespace
} // namespace tilescope::query
