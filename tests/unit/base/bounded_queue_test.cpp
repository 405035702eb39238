#include "core/base/bounded_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

namespace tilescope {

TEST(BoundedQueue, HandsEverythingOverInOrderAndHoldsFew)
{
    constexpr int kValues = 10'000;
    constexpr int kMost = 3;
    BoundedQueue<int> queue(kMost);
    std::atomic<int> taken = 0;
    int farthest = 0;
    std::thread maker([&] {
        for (int i = 0; i < kValues; ++i) {
            EXPECT_TRUE(queue.push(int{i}));
            // One more may have left the queue and not be counted yet.
            farthest = std::max(farthest, i + 1 - taken.load());
        }
        queue.close();
    });
    for (int expected = 0; const auto value = queue.pop(); ++expected) {
        EXPECT_EQ(*value, expected);
        ++taken;
    }
    maker.join();
    EXPECT_EQ(taken, kValues);
    EXPECT_LE(farthest, kMost + 1);
    EXPECT_FALSE(queue.push(1)) << "it is closed";
}

TEST(BoundedQueue, ClosingEndsAMakerThatWaits)
{
    BoundedQueue<int> queue(1);
    EXPECT_TRUE(queue.push(1));
    std::thread maker([&queue] { EXPECT_FALSE(queue.push(2)); });
    queue.close();
    maker.join();
    EXPECT_EQ(queue.pop(), 1);
    EXPECT_EQ(queue.pop(), std::nullopt);
}

} // namespace tilescope
