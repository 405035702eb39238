// Collectives of ranks with a GPU each, through NCCL, against sums and copies on the CPU. Copies need ranks that are
// processes: tests/gpu/ranks/run compares both.

#include "core/engine/ranks/gpu_ranks.h"

#include "core/base/error.h"
#include "tests/unit/engine/ranks_as_threads.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace tilescope::engine {

using at::Tensor;
using test::Where;

namespace {

Tensor samplesOf(int rank, std::int64_t count, at::ScalarType type)
{
    at::Generator seeded = at::detail::createCPUGenerator(static_cast<std::uint64_t>(rank) + 1);
    return at::randn({count}, seeded).to(type);
}

Tensor onGpu(const Tensor& tensor, const Ranks& ranks)
{
    return tensor.to(at::Device(at::kCUDA, static_cast<at::DeviceIndex>(ranks.rank())));
}

class GpuCollectives : public ::testing::TestWithParam<int> {
protected:
    void SetUp() override
    {
        if (!test::hasDevices(where(), size()))
            GTEST_SKIP() << "needs " << size() << " GPUs";
    }
    static int size() { return GetParam(); }
    static constexpr Where where() { return Where::Gpus; }
};

} // namespace

// Two numbers have one sum.
TEST_P(GpuCollectives, AddUp)
{
    const bool isExact = size() == 2;
    const auto check = [&](Ranks& ranks, std::int64_t count, at::ScalarType type) {
        const at::ScalarType wide = type == at::kDouble ? at::kDouble : at::kFloat;
        Tensor sum = samplesOf(0, count, type).to(wide);
        for (int rank = 1; rank < ranks.size(); ++rank)
            sum += samplesOf(rank, count, type).to(wide);
        const Tensor tensor = onGpu(samplesOf(ranks.rank(), count, type), ranks);
        ranks.allReduce(tensor).wait();
        EXPECT_TRUE(isExact ? at::equal(tensor.cpu(), sum.to(type))
                            : at::allclose(tensor.cpu().to(wide), sum, 0.05, 0.05)) // bf16 has 8 bits
            << type << " " << count;
    };
    test::onRanks(
        size(),
        [&](Ranks& ranks) {
            for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf})
                for (const std::int64_t count : {1, 7, 4'096, 1'000'003})
                    check(ranks, count, type);
        },
        where());
}

TEST_P(GpuCollectives, MoveEachPartToItsPlace)
{
    const std::int64_t part = 100'001;
    const std::int64_t count = part * size();
    test::onRanks(
        size(),
        [&](Ranks& ranks) {
            const int size = ranks.size();
            const Tensor mine = onGpu(samplesOf(ranks.rank(), count, at::kFloat), ranks);
            for (int round = 0; round < 3; ++round) { // memory is used again
                const Tensor gathered = at::empty({count * size}, mine.options());
                ranks.allGather(gathered, mine).wait();
                const Tensor exchanged = at::empty_like(mine);
                ranks.allToAll(exchanged, mine).wait();
                const Tensor scattered = at::empty({part}, mine.options());
                ranks.reduceScatter(scattered, mine).wait();
                Tensor sum = at::zeros({part});
                for (int from = 0; from < size; ++from) {
                    const Tensor theirs = samplesOf(from, count, at::kFloat);
                    EXPECT_TRUE(at::equal(gathered.narrow(0, from * count, count).cpu(), theirs));
                    EXPECT_TRUE(at::equal(exchanged.narrow(0, from * part, part).cpu(),
                                          theirs.narrow(0, ranks.rank() * part, part)));
                    sum += theirs.narrow(0, ranks.rank() * part, part);
                }
                if (size == 2)
                    EXPECT_TRUE(at::equal(scattered.cpu(), sum));
                else
                    EXPECT_TRUE(at::allclose(scattered.cpu(), sum));
            }
            ranks.broadcast(mine, size - 1).wait();
            EXPECT_TRUE(at::equal(mine.cpu(), samplesOf(size - 1, count, at::kFloat)));
        },
        where());
}

TEST_P(GpuCollectives, MoveSeveralTensorsInPlaceAsOneMessage)
{
    test::onRanks(
        size(),
        [&](Ranks& ranks) {
            const int size = ranks.size();
            const double sum = size * (size + 1) / 2.0;
            const Tensor one = onGpu(at::full({3}, ranks.rank() + 1.0), ranks);
            const Tensor other = onGpu(at::full({2, 200}, 10.0 * (ranks.rank() + 1), at::kDouble), ranks);
            ranks.allReduce({one, other}).wait();
            EXPECT_TRUE((one == sum).all().item<bool>());
            EXPECT_TRUE((other == 10 * sum).all().item<bool>());
            const Tensor whole = onGpu(at::full({500 * size}, ranks.rank() + 1.0), ranks);
            const Tensor mine = whole.narrow(0, 500 * ranks.rank(), 500);
            ranks.reduceScatter(mine, whole).wait();
            EXPECT_TRUE((mine == sum).all().item<bool>());
            mine.add_(ranks.rank());
            ranks.allGather(whole, mine).wait();
            for (int rank = 0; rank < size; ++rank)
                EXPECT_TRUE((whole.narrow(0, 500 * rank, 500) == sum + rank).all().item<bool>());
        },
        where());
}

TEST_P(GpuCollectives, FollowTheWorkOfTheCaller)
{
    test::onRanks(
        size(),
        [&](Ranks& ranks) {
            Tensor x = onGpu(at::ones({1 << 20}), ranks);
            for (int i = 0; i < 20; ++i) {
                x = x * 2; // new memory
                ranks.allReduce(x).wait();
                x = x / (2.0 * ranks.size());
            }
            ranks.synchronize();
            EXPECT_TRUE((x == 1).all().item<bool>());
        },
        where());
}

INSTANTIATE_TEST_SUITE_P(OnGpus, GpuCollectives, ::testing::Values(2, 3, 4));

TEST(CollectiveMeans, AreChosenByTheEnvironment)
{
    const auto chosen = [](const char* word) {
        setenv("TILESCOPE_COLLECTIVES", word, 1);
        const CollectiveMeans means = chosenMeans();
        unsetenv("TILESCOPE_COLLECTIVES");
        return means;
    };
    EXPECT_EQ(chosenMeans(), CollectiveMeans::Auto);
    EXPECT_EQ(chosen("auto"), CollectiveMeans::Auto);
    EXPECT_EQ(chosen("nccl"), CollectiveMeans::Nccl);
    EXPECT_EQ(chosen("copy"), CollectiveMeans::Copies);
    try {
        chosen("ring");
        ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.sentence(), "TILESCOPE_COLLECTIVES: unknown means 'ring'; write auto, nccl or copy");
    }
    unsetenv("TILESCOPE_COLLECTIVES");
}

} // namespace tilescope::engine
