#include "core/engine/lm/fp8_accuracy.h"
#include "core/engine/run/engine.h"
#include "tests/unit/engine/fixtures.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace tilescope::engine {
namespace {

class Fp8Lm : public ::testing::Test {
protected:
    Fp8Lm()
    {
        spec_.compile.kind = CompileRequest::Kind::Fused;
        spec_.backend = Backend::Flash;
        spec_.mode = Mode::Train;
        spec_.loss = LossKind::CrossEntropy;
        spec_.precision = Precision::Fp8;
        spec_.trace = TraceLevel::Off;
    }

    RunResult run()
    {
        RunResult result = engine_.runPoint(spec_, recorder_, {});
        EXPECT_EQ(result.status, RunStatus::Ok) << result.reason;
        return result;
    }

    std::map<std::string, double> figures() const
    {
        std::map<std::string, double> found;
        for (const EnvironmentEntry& fact : recorder_.facts)
            if (fact.key.starts_with("result.fp8."))
                found[fact.key.substr(std::string_view("result.fp8.").size())] = std::stod(fact.value);
        return found;
    }

    StringTable strings_;
    Engine engine_{strings_};
    test::Recorder recorder_;
    ExperimentSpec spec_ = test::tinyLm();
};

TEST_F(Fp8Lm, RunsEveryModeWithAndWithoutCheckpointing)
{
    for (const Mode mode : {Mode::Forward, Mode::Backward, Mode::Both, Mode::Train})
        for (const auto kind : {Checkpointing::Kind::None, Checkpointing::Kind::Block}) {
            spec_.mode = mode;
            spec_.checkpointing = {kind, 1};
            run();
        }
}

TEST_F(Fp8Lm, LearnsLikeBf16FromTheSameTokens)
{
    spec_.steps = 60;
    spec_.data = TokenData::Markov;
    spec_.vocab = 32;
    const double fp8 = run().finalLoss().value();
    spec_.precision = Precision::Bf16;
    const double bf16 = run().finalLoss().value();
    EXPECT_NE(fp8, bf16);
    EXPECT_NEAR(fp8, bf16, 0.05);
    // It has learnt something: the loss began above ln 32.
    EXPECT_LT(fp8, std::log(32.0) - 0.5);
}

// AdamW sets the quantised weights too: otherwise the model would multiply by its initial weights for ever, and the loss of
// phase by phase updates would differ from that of updates during backward.
TEST_F(Fp8Lm, LearnsTheSameIfAdamWRunsDuringBackward)
{
    spec_.steps = 10;
    const auto after = run().finalLoss();
    spec_.timing = StepTiming::Step;
    EXPECT_EQ(run().finalLoss(), after);
}

TEST_F(Fp8Lm, ReportsHowFarProductsAndGradientsAreFromBf16)
{
    spec_.mode = Mode::Both;
    run();
    const auto found = figures();
    for (const std::string direction : {"forward", "backward"})
        for (const std::string weight : {"qkv", "projection", "gate_up", "down"}) {
            const std::string product = direction + "." + weight;
            // Two factors, each rounded by at most 2^-4 of a value, mostly in the middle of that.
            EXPECT_GT(found.at("error." + product), 0x1p-8) << product;
            EXPECT_LT(found.at("error." + product), 2 * 0x1p-4) << product;
            EXPECT_LT(found.at("flushed." + product), 0.05) << product;
            // Each row has a value of the largest magnitude.
            EXPECT_GT(found.at("largest." + product), 1.0 / 200) << product;
        }
    for (const char* group : {"", ".layers.0", ".layers.1", ".embedding", ".norm", ".lm_head"}) {
        EXPECT_GT(found.at(std::string("gradient_cosine") + group), 0.98) << group;
        EXPECT_LT(found.at(std::string("gradient_cosine") + group), 1) << group;
        EXPECT_NEAR(found.at(std::string("gradient_norm") + group), 1, 0.1) << group;
    }
}

TEST_F(Fp8Lm, DoesNotChangeTheTokensByComparing)
{
    // A run in bf16, which compares nothing, sees the same tokens: the losses of the first step are close.
    spec_.warmup = 0;
    spec_.steps = 1;
    const double fp8 = run().finalLoss().value();
    spec_.precision = Precision::Bf16;
    EXPECT_NEAR(run().finalLoss().value(), fp8, 0.02);
    spec_.seed += 1;
    EXPECT_GT(std::abs(run().finalLoss().value() - fp8), 0.02);
}

TEST_F(Fp8Lm, CountsTheQuantisedWeightsAsParameters)
{
    spec_.trace = ExperimentSpec{}.trace;
    run();
    std::int64_t held = 0;
    for (const MemoryFacts& facts : recorder_.memory)
        for (const MemoryBlock& block : facts.blocks)
            if (block.category == MemoryCategory::Parameters)
                held += block.bytes;
    const std::int64_t linear = spec_.layers * (4LL * 32 * 32 + 3 * 32 * 64);
    const std::int64_t scales = spec_.layers * (96 + 32 + 128 + 64);
    const std::int64_t parameters = 2LL * 100 * 32 + linear + spec_.layers * 2 * 32 + 32;
    EXPECT_EQ(held, 4 * parameters + 2 * linear + 4 * scales);
}

TEST_F(Fp8Lm, LearnsOnAGpuAsInBf16)
{
    if (!at::hasCUDA())
        GTEST_SKIP() << "needs a GPU";
    spec_.device = {DeviceRequest::Kind::Cuda};
    spec_.steps = 60;
    spec_.data = TokenData::Markov;
    spec_.vocab = 32;
    for (const StepTiming timing : {StepTiming::Phase, StepTiming::Step}) {
        spec_.timing = timing;
        spec_.precision = Precision::Fp8;
        const double fp8 = run().finalLoss().value();
        spec_.precision = Precision::Bf16;
        EXPECT_NEAR(fp8, run().finalLoss().value(), 0.05);
        EXPECT_LT(fp8, std::log(32.0) - 0.5);
    }
}

} // namespace

TEST(Fp8, NeedsTensorCoresForE4m3)
{
    EXPECT_FALSE(multipliesE4m3(8, 6));
    EXPECT_TRUE(multipliesE4m3(8, 9));
    EXPECT_TRUE(multipliesE4m3(9, 0));
    EXPECT_TRUE(multipliesE4m3(10, 0));
    EXPECT_FALSE(multipliesE4m3(7, 9));
}

} // namespace tilescope::engine
