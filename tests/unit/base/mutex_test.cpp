#include "core/base/mutex.h"

#include <gtest/gtest.h>

#include <thread>

namespace tilescope {

using namespace std::chrono_literals;

namespace {

struct Shared {
    Mutex mutex;
    Condition changed;
    StoppableCondition woken;
    int value GUARDED_BY(mutex) = 0;
};

} // namespace

TEST(Mutex, KeepsAdditionsOfTwoThreadsApart)
{
    constexpr int kEach = 10'000;
    Shared shared;
    const auto add = [&shared] {
        for (int i = 0; i < kEach; ++i) {
            const MutexLock lock(shared.mutex);
            ++shared.value;
        }
    };
    std::jthread other(add);
    add();
    other.join();
    const MutexLock lock(shared.mutex);
    EXPECT_EQ(shared.value, 2 * kEach);
}

TEST(Condition, WaitsForWhatAnotherThreadChanges)
{
    Shared shared;
    const std::jthread other([&shared] {
        {
            const MutexLock lock(shared.mutex);
            shared.value = 1;
        }
        shared.changed.notifyAll();
    });
    MutexLock lock(shared.mutex);
    shared.changed.wait(lock, [&shared]() REQUIRES(shared.mutex) { return shared.value == 1; });
    EXPECT_EQ(shared.value, 1);
}

TEST(Condition, SaysWhetherTheTimePassedFirst)
{
    Shared shared;
    MutexLock lock(shared.mutex);
    EXPECT_FALSE(shared.changed.waitFor(lock, 1ms, [] { return false; }));
    EXPECT_TRUE(shared.changed.waitFor(lock, 1ms, [] { return true; }));
}

TEST(StoppableCondition, AStopRequestEndsEveryWait)
{
    Shared shared;
    std::stop_source stop;
    const std::jthread other([&stop] { stop.request_stop(); });
    MutexLock lock(shared.mutex);
    shared.woken.sleep(lock, stop.get_token(), 1h);
    shared.woken.wait(lock, stop.get_token(), [] { return false; });
    EXPECT_TRUE(stop.stop_requested());
}

} // namespace tilescope
