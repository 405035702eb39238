#include "core/engine/lm/adamw.h"

#include <gtest/gtest.h>
#include <torch/optim/adamw.h>

namespace tilescope::engine {
namespace {

using at::Tensor;

std::vector<Tensor> parametersOf(int seed)
{
    at::manual_seed(seed);
    std::vector<Tensor> parameters{at::randn({3, 5}), at::randn({7}), at::randn({6, 4}).t()};
    for (Tensor& parameter : parameters)
        parameter.set_requires_grad(true);
    return parameters;
}

std::vector<NamedTensor> named(const std::vector<Tensor>& parameters)
{
    std::vector<NamedTensor> all;
    for (const Tensor& parameter : parameters)
        all.push_back({"parameter " + std::to_string(all.size()), parameter});
    return all;
}

void giveGradients(const std::vector<Tensor>& parameters, int seed, double scale = 1)
{
    at::manual_seed(seed);
    for (const Tensor& parameter : parameters)
        parameter.mutable_grad() = at::randn_like(parameter) * scale;
}

TEST(AdamW, UpdatesLikeTorch)
{
    const auto ours = parametersOf(1);
    const auto theirs = parametersOf(1);
    AdamW optimizer(named(ours), at::kCPU, false);
    torch::optim::AdamW reference(theirs, torch::optim::AdamWOptions(1e-3));
    for (int step = 0; step < 5; ++step) {
        giveGradients(ours, 10 + step);
        giveGradients(theirs, 10 + step);
        optimizer.step();
        reference.step();
    }
    for (std::size_t i = 0; i < ours.size(); ++i)
        EXPECT_LE((ours[i] - theirs[i]).abs().max().item<double>(), 1e-7);
}

TEST(AdamW, UnscalesTheGradientsOfAScaledLoss)
{
    const auto plain = parametersOf(1);
    const auto scaled = parametersOf(1);
    AdamW plainOptimizer(named(plain), at::kCPU, false);
    AdamW scaledOptimizer(named(scaled), at::kCPU, true);
    const double scale = scaledOptimizer.lossGradient().item<double>();
    EXPECT_EQ(scale, 65536);
    giveGradients(plain, 5);
    giveGradients(scaled, 5, scale);
    plainOptimizer.step();
    scaledOptimizer.step();
    for (std::size_t i = 0; i < plain.size(); ++i)
        EXPECT_LE((plain[i] - scaled[i]).abs().max().item<double>(), 1e-7);
}

TEST(AdamW, SkipsAnUpdateWithAnInfinityAndHalvesTheScale)
{
    const auto parameters = parametersOf(1);
    const auto before = parametersOf(1);
    AdamW optimizer(named(parameters), at::kCPU, true);
    giveGradients(parameters, 5);
    parameters[1].mutable_grad()[2] = std::numeric_limits<float>::infinity();
    optimizer.step();
    for (std::size_t i = 0; i < parameters.size(); ++i)
        EXPECT_TRUE(at::equal(parameters[i], before[i]));
    EXPECT_EQ(optimizer.lossGradient().item<double>(), 32768);

    // The next update is the first that counts: as if the skipped one had not been.
    AdamW fresh(named(before), at::kCPU, true);
    giveGradients(parameters, 6, 32768);
    giveGradients(before, 6, 65536);
    optimizer.step();
    fresh.step();
    for (std::size_t i = 0; i < parameters.size(); ++i)
        EXPECT_LE((parameters[i] - before[i]).abs().max().item<double>(), 1e-7);
}

} // namespace
} // namespace tilescope::engine
