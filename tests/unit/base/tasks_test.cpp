#include "core/base/tasks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace tilescope {
namespace {

TEST(Tasks, RunsEachJobOnce)
{
    for (const std::size_t threads : {1, 2, 7, 0}) {
        std::vector<std::atomic<int>> runs(5'000);
        Tasks tasks(threads);
        for (std::atomic<int>& each : runs)
            tasks.add([&each] { ++each; });
        tasks.finish();
        for (const std::atomic<int>& each : runs)
            ASSERT_EQ(each, 1) << threads << " threads";
    }
}

TEST(Tasks, FinishWaitsForJobsOfOtherThreads)
{
    Tasks tasks(4);
    std::atomic<bool> goes = false;
    std::atomic<int> ended = 0;
    for (int i = 0; i < 3; ++i)
        tasks.add([&] {
            while (!goes)
                std::this_thread::yield();
            ++ended;
        });
    tasks.add([&goes] { goes = true; });
    tasks.finish();
    EXPECT_EQ(ended, 3);
}

TEST(Tasks, FinishThrowsWhatAJobThrew)
{
    Tasks tasks(3);
    for (int i = 0; i < 100; ++i)
        tasks.add([i] {
            if (i == 40)
                throw std::runtime_error("job 40");
        });
    EXPECT_THROW(tasks.finish(), std::runtime_error);
    int ran = 0;
    tasks.add([&ran] { ++ran; });
    tasks.finish();
    EXPECT_EQ(ran, 1) << "it goes on afterwards";
}

TEST(Tasks, TheEndDropsJobsThatHaveNotBegun)
{
    std::atomic<int> ran = 0;
    {
        Tasks tasks(1);
        for (int i = 0; i < 10; ++i)
            tasks.add([&ran] { ++ran; });
    }
    EXPECT_EQ(ran, 0);
}

} // namespace
} // namespace tilescope
