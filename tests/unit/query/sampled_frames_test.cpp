#include "core/query/timeline/sampled_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::query {
namespace {

using ::testing::ElementsAre;

HostSample sampleAt(std::int64_t milliseconds, std::uint32_t stack, std::uint32_t state = SampleState::kRan)
{
    return {.time = timestampAt(milliseconds * 1'000'000), .stack = stack, .state = state};
}

std::vector<std::string> textsOf(std::vector<HostSample> samples)
{
    HostSamples all{.stacks = {{kNoStack, "a.py(1): main", 2},
                               {0, "a.py(5): f", 6},
                               {0, "a.py(5): f", 7},
                               {0, "a.py(9): g", 9}},
                    .threads = {{.thread = ThreadId{1}, .samples = std::move(samples)}}};
    std::vector<std::string> texts;
    for (const SampledFrame& frame : sampledFrames(all))
        texts.push_back(frame.function.substr(frame.function.rfind(' ') + 1) + " " +
                        std::to_string(nanosecondsOf(frame.start) / 1'000'000) + "-" +
                        std::to_string(nanosecondsOf(frame.end) / 1'000'000));
    return texts;
}

TEST(SampledFrames, LastFromTheFirstSampleWithThemToTheFirstWithout)
{
    EXPECT_THAT(textsOf({sampleAt(0, 1), sampleAt(2, 2), sampleAt(4, 3), sampleAt(6, 3)}),
                ElementsAre("main 0-6", "f 0-4", "g 4-6"));
}

TEST(SampledFrames, EndWhereSamplesAreFarApart)
{
    EXPECT_THAT(textsOf({sampleAt(0, 1), sampleAt(2, 1), sampleAt(100, 1), sampleAt(102, 1)}),
                ElementsAre("main 0-2", "f 0-2", "main 100-102", "f 100-102"));
}

TEST(SampledFrames, ShowGarbageCollectionBelowTheCallThatItInterrupts)
{
    EXPECT_THAT(textsOf({sampleAt(0, 1), sampleAt(2, 1, SampleState::kCollects), sampleAt(4, 1)}),
                ElementsAre("main 0-4", "f 0-4", "collection 2-4"));
}

TEST(SampledFrames, LeaveLaunchesOut)
{
    EXPECT_THAT(textsOf({sampleAt(0, 1), sampleAt(1, 3, SampleState::kLaunch), sampleAt(2, 1)}),
                ElementsAre("main 0-2", "f 0-2"));
}

} // namespace
} // namespace tilescope::query
