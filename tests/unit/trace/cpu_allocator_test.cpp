#include "core/trace/allocators/cpu_allocator.h"

#include <gtest/gtest.h>

namespace tilescope::trace {
namespace {

using namespace literals;

class CpuAllocatorTest : public ::testing::Test {
protected:
    void SetUp() override { CpuAllocator::install(); }
    void TearDown() override { CpuAllocator::clearLimit(); }
};

TEST_F(CpuAllocatorTest, CountsTensorsWhileTheyLive)
{
    const Bytes before = CpuAllocator::current();
    {
        const at::Tensor tensor = at::empty({1000, 3}, at::kFloat);
        EXPECT_EQ(CpuAllocator::current() - before, 12'000_B);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 64, 0U) << "LibTorch counts on it";
    }
    EXPECT_EQ(CpuAllocator::current(), before);
}

TEST_F(CpuAllocatorTest, KeepsThePeakUntilItIsReset)
{
    const Bytes before = CpuAllocator::current();
    CpuAllocator::resetPeak();
    {
        const at::Tensor tensor = at::zeros({1 << 20}, at::kByte);
    }
    EXPECT_EQ(CpuAllocator::peak() - before, 1_MiB);
    CpuAllocator::resetPeak();
    EXPECT_EQ(CpuAllocator::peak(), before);
}

TEST_F(CpuAllocatorTest, GrowsAndCopiesStoragesLikeTheAllocatorItWraps)
{
    at::Tensor tensor = at::arange(10, at::kInt);
    tensor.resize_({1000});
    EXPECT_EQ(tensor[9].item<int>(), 9);
    EXPECT_EQ(tensor.clone()[9].item<int>(), 9);
    EXPECT_EQ(at::empty({0}).numel(), 0);
}

TEST_F(CpuAllocatorTest, ThrowsAboveTheLimitWithTheRequestedSize)
{
    const Bytes before = CpuAllocator::current();
    CpuAllocator::setLimit(before + 1_MiB);
    const at::Tensor fits = at::empty({1 << 19}, at::kByte);
    EXPECT_THROW(at::empty({1 << 20}, at::kByte), c10::OutOfMemoryError);

    const auto failure = CpuAllocator::lastFailure();
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->requested, 1_MiB);
    EXPECT_EQ(failure->allocated, before + Bytes{1 << 19});
    EXPECT_EQ(failure->limit, before + 1_MiB);
    EXPECT_EQ(CpuAllocator::current(), before + Bytes{1 << 19}) << "what failed is not held";

    CpuAllocator::clearLimit();
    EXPECT_NO_THROW(at::empty({1 << 20}, at::kByte));
}

TEST_F(CpuAllocatorTest, ReportsTheSystemsRefusalAsTheSameError)
{
    const Bytes before = CpuAllocator::current();
    const std::int64_t tooMuch = std::int64_t{1} << 52;
    EXPECT_THROW(at::empty({tooMuch}, at::kByte), c10::OutOfMemoryError);
    EXPECT_EQ(CpuAllocator::lastFailure()->requested.count, tooMuch);
    EXPECT_FALSE(CpuAllocator::lastFailure()->limit.has_value());
    EXPECT_EQ(CpuAllocator::current(), before);
}

} // namespace
} // namespace tilescope::trace
