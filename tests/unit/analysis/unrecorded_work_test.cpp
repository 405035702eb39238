#include "core/analysis/time/unrecorded_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Timestamp atMicro(std::int64_t micros)
{
    return timestampAt(1'000 * micros);
}

DeviceEvent activity(std::int64_t launched, std::int64_t start, std::int64_t end)
{
    DeviceEvent event;
    event.launched = atMicro(launched);
    event.start = atMicro(start);
    event.end = atMicro(end);
    return event;
}

class UnrecordedWorkOfAProcess : public ::testing::Test {
protected:
    /// A call in µs.
    void launch(std::int64_t start, std::int64_t end)
    {
        work.addCall(ApiKind::Launch, {atMicro(start), atMicro(end)});
    }

    UnrecordedWork work;
};

TEST_F(UnrecordedWorkOfAProcess, DelaysWhatWasLaunchedOntoAnIdleDevice)
{
    launch(100, 105);
    work.addActivity(activity(100, 5'000, 5'100));
    work.addActivity(activity(200, 5'101, 5'200));
    launch(6'000, 6'005);
    work.addActivity(activity(6'000, 6'010, 6'100));
    EXPECT_THAT(work.times(), ElementsAre(Interval{atMicro(100), atMicro(5'000)}));
}

TEST_F(UnrecordedWorkOfAProcess, IsNotWhatAnotherStreamWorksOn)
{
    launch(100, 105);
    work.addActivity(activity(50, 110, 4'950));
    work.addActivity(activity(100, 5'000, 5'100));
    EXPECT_THAT(work.times(), IsEmpty());
}

TEST_F(UnrecordedWorkOfAProcess, BeginsAfterTheLastActivityAndTheReturnOfTheCall)
{
    launch(100, 105);
    launch(10'000, 18'000); // loads the kernel
    work.addActivity(activity(10'000, 18'010, 18'100));
    EXPECT_THAT(work.times(), IsEmpty());
    launch(20'000, 20'005);
    launch(20'100, 20'105);
    work.addActivity(activity(20'000, 20'010, 21'000));
    work.addActivity(activity(20'100, 30'000, 30'100));
    EXPECT_THAT(work.times(), ElementsAre(Interval{atMicro(21'000), atMicro(30'000)}));
}

TEST_F(UnrecordedWorkOfAProcess, IsFoundInAnyOrder)
{
    launch(20'100, 20'105);
    work.addActivity(activity(20'100, 30'000, 30'100));
    work.addActivity(activity(20'000, 20'010, 21'000));
    work.addActivity(activity(20'050, 21'100, 25'000));
    EXPECT_THAT(work.times(), ElementsAre(Interval{atMicro(25'000), atMicro(30'000)}));
}

TEST_F(UnrecordedWorkOfAProcess, IsUnknownWithoutLaunches)
{
    work.addActivity(activity(100, 5'000, 5'100));
    EXPECT_THAT(work.times(), IsEmpty()) << "the call may have taken the time";
    work.addCall(ApiKind::Launch, {atMicro(1), atMicro(2)});
    work.addActivity({.start = atMicro(9'000), .end = atMicro(9'100)});
    EXPECT_EQ(work.times().size(), 1U) << "nobody knows when the second one was launched";
}

} // namespace
} // namespace tilescope::analysis
