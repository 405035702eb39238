#include "core/engine/common/device.h"
#include "core/engine/common/experiment.h"
#include "core/engine/common/failure.h"
#include "core/engine/ranks/collectives.h"
#include "core/engine/ranks/shared_memory_ranks.h"
#include "tests/unit/engine/fixtures.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <map>
#include <thread>

namespace tilescope::engine {

using namespace std::chrono_literals;

namespace {

constexpr std::array kKinds{Parallel::DdpNaive, Parallel::DdpFlat, Parallel::Ddp};

/// Tensors by category and name.
using Held = std::map<std::pair<MemoryCategory, std::string>, at::Tensor>;

ExperimentSpec trained(LossKind loss, int ranks, Parallel parallel)
{
    ExperimentSpec spec = test::tinyLm();
    spec.mode = loss == LossKind::CrossEntropy ? Mode::Train : Mode::Both;
    spec.loss = loss;
    spec.gpus = ranks;
    spec.parallel = parallel;
    spec.bucket = Bytes{8 << 10}; // several buckets
    return spec;
}

/// The weights that an experiment begins with, and its parameters and gradients after some steps.
struct Course {
    Held first;
    Held last;
};

/// \param weights  to begin with; empty: the experiment's own
Course courseOf(const ExperimentSpec& spec, Ranks* ranks, const Held& weights = {})
{
    const Device device{at::Device(at::kCPU)};
    const auto experiment = makeExperiment(spec, device, ranks);
    Course course;
    experiment->visitHeld([&](MemoryCategory category, const std::string& name, const at::Tensor& tensor) {
        if (category != MemoryCategory::Parameters)
            return;
        if (const auto given = weights.find({category, name}); given != weights.end())
            tensor.detach().copy_(given->second);
        course.first[{category, name}] = tensor.detach().clone();
    });
    Held& held = course.last;
    for (int step = 0; step < 3; ++step) {
        experiment->prepare();
        for (const Phase phase : kPhasesInOrder)
            if (experiment->has(phase))
                experiment->run(phase);
        experiment->visitHeld(
            [&](MemoryCategory category, const std::string& name, const at::Tensor& tensor) {
                const bool isMessage = name.starts_with("message");
                if ((category == MemoryCategory::Parameters || category == MemoryCategory::Gradients) &&
                    !isMessage)
                    held[{category, name}] = tensor.detach().clone();
            });
        experiment->finish();
    }
    return course;
}

/// Of each rank, on a thread of its own.
std::vector<Course> coursesOf(const ExperimentSpec& spec)
{
    std::vector<Course> courses(static_cast<std::size_t>(spec.gpus));
    std::vector<std::thread> threads;
    const std::string meeting = "/tilescope-ddp-" + std::to_string(getpid());
    for (int rank = 0; rank < spec.gpus; ++rank)
        threads.emplace_back([&, rank] {
            const auto ranks = joinThroughSharedMemory(
                {.rank = rank, .size = spec.gpus, .meeting = meeting, .patience = 10min});
            courses[static_cast<std::size_t>(rank)] = courseOf(spec, ranks.get());
        });
    for (std::thread& thread : threads)
        thread.join();
    return courses;
}

double distance(const at::Tensor& one, const at::Tensor& other)
{
    return ((one - other).abs().max() / other.abs().max().clamp_min(1e-6)).item<double>();
}

} // namespace

class DataParallel : public ::testing::TestWithParam<std::tuple<int, Parallel, LossKind>> {};

TEST_P(DataParallel, EqualsOneProcessWithTheBatchesOfAllRanks)
{
    const auto [size, parallel, loss] = GetParam();
    const std::vector<Course> ranks = coursesOf(trained(loss, size, parallel));
    ExperimentSpec whole = trained(loss, 1, Parallel::None);
    whole.batch *= size;
    // Ranks that are threads draw their weights by turns, so one process gets those of rank 0.
    const Held one = courseOf(whole, nullptr, ranks[0].first).last;
    ASSERT_EQ(ranks[0].last.size(), one.size());
    for (const auto& [key, tensor] : one)
        EXPECT_LT(distance(ranks[0].last.at(key), tensor), 1e-4) << key.second;
    for (const Course& rank : ranks) {
        for (const auto& [key, tensor] : rank.last)
            EXPECT_TRUE(at::equal(tensor, ranks[0].last.at(key))) << key.second;
        for (const auto& [key, tensor] : rank.first)
            EXPECT_TRUE(at::equal(tensor, ranks[0].first.at(key))) << key.second;
    }
}

INSTANTIATE_TEST_SUITE_P(OnTheCpu, DataParallel,
                         ::testing::Combine(::testing::Values(2, 4), ::testing::ValuesIn(kKinds),
                                            ::testing::Values(LossKind::CrossEntropy, LossKind::Sum)));

} // namespace tilescope::engine
