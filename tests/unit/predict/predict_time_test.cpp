#include "core/predict/predict_time.h"

#include "core/model/generation.h"
#include "tests/unit/predict/model_spec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

namespace tilescope::predict {
namespace {

Ceiling ceiling(const char* kind, double value, std::int64_t when = 1)
{
    Ceiling measured;
    measured.device = "GPU-1";
    measured.deviceName = "NVIDIA H200";
    measured.kind = kind;
    measured.value = value;
    measured.measuredUnixNs = when;
    return measured;
}

const TargetDevice kH200{.isCuda = true, .name = "NVIDIA H200"};

std::vector<Ceiling> h200()
{
    return {ceiling("matmul_fp32", 51.2e12), ceiling("matmul_tf32", 344e12), ceiling("matmul_bf16", 671e12),
            ceiling("matmul_fp16", 643e12),  ceiling("copy", 4.27e12),       ceiling("launch", 178e3)};
}

ExperimentSpec lm(Mode mode, Precision precision, std::int64_t width, std::int64_t layers, std::int64_t heads,
                  std::int64_t context)
{
    ExperimentSpec spec = modelSpec(mode, precision, width, layers, heads);
    spec.context = context;
    return spec;
}

TEST(DeviceRates, AreTheLatestOfThisDeviceAndNoneWhereSomethingIsMissing)
{
    std::vector<Ceiling> ceilings = h200();
    ceilings.push_back(ceiling("matmul_fp32", 40e12, 2));
    Ceiling other = ceiling("copy", 1e12, 3);
    other.device = "GPU-2";
    other.deviceName = "NVIDIA L4";
    ceilings.push_back(other);
    const auto rates = DeviceRates::from(ceilings, kH200);
    ASSERT_TRUE(rates);
    EXPECT_EQ(rates->fp32, 40e12);
    EXPECT_EQ(rates->bytes, 4.27e12);
    ceilings.erase(ceilings.begin() + 5); // launch
    EXPECT_FALSE(DeviceRates::from(ceilings, kH200));
    EXPECT_FALSE(DeviceRates::from({}, kH200));
}

TEST(DeviceRates, TheCalibrationContainsTheNumberOfMultiprocessors)
{
    std::vector<Ceiling> ceilings = h200();
    EXPECT_FALSE(multiprocessorsOf(ceilings, kH200));
    ceilings.push_back(ceiling("multiprocessors", 108, 2));
    EXPECT_EQ(multiprocessorsOf(ceilings, kH200), 108);
    ceilings.push_back(ceiling("multiprocessors", -1, 3)); // a file from others
    EXPECT_FALSE(multiprocessorsOf(ceilings, kH200));
    EXPECT_FALSE(multiprocessorsOf({}, kH200));
}

/// A device that takes a second for a TFLOP or a TB, and whose host takes a millisecond for an operation.
DeviceRates simpleDevice()
{
    DeviceRates rates{.fp32 = 1e12, .bytes = 1e12, .launch = 1e-3, .isCuda = true, .multiprocessors = 100};
    rates.figures.forwardOps = rates.figures.backwardOps = 1;
    rates.figures.coldShare = 0;
    rates.figures.streamShare = 1;
    return rates;
}

TEST(PlayedSeconds, TheHostRunsAheadOfABusyDeviceAndIsWaitedForByAnIdleOne)
{
    const DeviceRates rates = simpleDevice();
    WorkLog log(rates);
    const auto played = [&](Replay how) { return playedSeconds(log.take(), rates, how, false).wall; };
    for (int i = 0; i < 10; ++i)
        log.move(0);
    EXPECT_NEAR(played(Replay::Eager), 10e-3, 1e-4) << "bound by the host";
    for (int i = 0; i < 10; ++i)
        log.move(1e12);
    EXPECT_NEAR(played(Replay::Eager), 10 + 1e-3, 1e-3) << "bound by bandwidth, after one operation";
    // A long kernel at the end begins when the host launches it; at the beginning it hides the others.
    for (int i = 0; i < 99; ++i)
        log.move(0);
    log.move(0.1e12);
    EXPECT_NEAR(played(Replay::Eager), 0.2, 1e-3);
    log.move(0.1e12);
    for (int i = 0; i < 99; ++i)
        log.move(0);
    EXPECT_NEAR(played(Replay::Eager), 0.101, 1e-3);
    log.move(0.1e12);
    log.views(1e6);
    EXPECT_NEAR(played(Replay::Graph), 0.1, 1e-3) << "a graph waits for no host";
}

TEST(PlayedSeconds, AreTheSumOfBothOnACpu)
{
    DeviceRates rates = simpleDevice();
    rates.isCuda = false;
    WorkLog log(rates);
    log.product(Type::Float32, false, 1, 1000, 1000, 1000);
    EXPECT_NEAR(playedSeconds(log.take(), rates, Replay::Eager, false).wall, 2e-3 + 1e-3, 1e-6);
}

TEST(PlayedSeconds, TheFirstOperationsOfAPhaseFindTheCachesCold)
{
    DeviceRates rates = simpleDevice();
    rates.figures.coldShare = 1;
    rates.figures.coldOps = 10;
    const auto perOperation = [&](int count) {
        WorkLog log(rates);
        for (int i = 0; i < count; ++i)
            log.move(0);
        return playedSeconds(log.take(), rates, Replay::Eager, false).host / count;
    };
    EXPECT_GT(perOperation(1), 1.9e-3);
    EXPECT_NEAR(perOperation(10), (1 + 1 - std::exp(-1)) * 1e-3, 1e-6);
    EXPECT_NEAR(perOperation(10000), 1e-3, 1e-5);
}

TEST(PlayedSeconds, ProductsThatDoNotFillTheDeviceAreSlower)
{
    DeviceRates rates = simpleDevice();
    rates.bytes = 1e15;
    rates.multiprocessors = 132;
    const auto rate = [&](double m, double n, double k) {
        WorkLog log(rates);
        log.product(Type::Float32, false, 1, m, n, k);
        return 2 * m * n * k / playedSeconds(log.take(), rates, Replay::Graph, false).device;
    };
    EXPECT_GT(rate(8192, 8192, 8192), 0.95e12);
    EXPECT_LT(rate(512, 768, 8192), 0.7e12);
    EXPECT_GT(rate(512, 768, 8192), 0.3e12);
}

struct Measured {
    ExperimentSpec spec;
    double milliseconds;
};

// Medians of four timed steps; a step that waits for the host varies by a third from run to run.
TEST(PredictTime, IsWithinAQuarterOfWhatAnH200Took)
{
    const auto rates = DeviceRates::from(h200(), kH200);
    for (const Measured& point : {Measured{lm(Mode::Forward, Precision::Fp32, 768, 12, 12, 128), 4.556},
                                  Measured{lm(Mode::Train, Precision::Fp32, 768, 12, 12, 512), 45.077},
                                  Measured{lm(Mode::Both, Precision::Bf16, 768, 12, 12, 128), 11.958},
                                  Measured{lm(Mode::Train, Precision::Bf16, 1600, 48, 25, 512), 121.665},
                                  Measured{lm(Mode::Forward, Precision::Bf16, 2560, 32, 32, 128), 14.824},
                                  Measured{lm(Mode::Train, Precision::Bf16, 2560, 32, 32, 512), 151.946},
                                  Measured{lm(Mode::Both, Precision::Fp32, 2560, 32, 32, 512), 917.898}}) {
        const auto time = predictTime(point.spec, kH200, *rates);
        ASSERT_TRUE(time);
        EXPECT_NEAR(time->stepSeconds * 1e3, point.milliseconds, 0.25 * point.milliseconds);
        EXPECT_GT(time->seconds, (point.spec.warmup + point.spec.steps) * time->stepSeconds);
    }
}

/// Medians of steps of compile: fused that were captured as a whole, on an H100.
TEST(PredictTime, IsWithinAQuarterOfFusedStepsOnAnH100)
{
    const TargetDevice h100{.isCuda = true, .name = "NVIDIA H100 80GB HBM3"};
    std::vector<Ceiling> ceilings{ceiling("matmul_fp32", 51.9e12), ceiling("matmul_tf32", 356e12),
                                  ceiling("matmul_bf16", 714e12),  ceiling("matmul_fp16", 660e12),
                                  ceiling("copy", 3.02e12),        ceiling("launch", 133e3)};
    for (Ceiling& each : ceilings)
        each.deviceName = h100.name;
    ExperimentSpec spec = lm(Mode::Both, Precision::Fp8, 2560, 32, 32, 128);
    spec.compile.kind = CompileRequest::Kind::Fused;
    spec.backend = Backend::Flash;
    EXPECT_FALSE(predictTime(spec, h100, *DeviceRates::from(ceilings, h100))) << "the rate of fp8 is unknown";
    ceilings.push_back(ceiling("matmul_fp8", 1.3e15));
    ceilings.back().deviceName = h100.name;
    const auto rates = DeviceRates::from(ceilings, h100);
    for (const auto& [mode, precision, milliseconds] :
         {std::tuple{Mode::Both, Precision::Fp32, 233.868}, std::tuple{Mode::Both, Precision::Tf32, 49.915},
          std::tuple{Mode::Both, Precision::Bf16, 22.752}, std::tuple{Mode::Both, Precision::Fp8, 19.950},
          std::tuple{Mode::Forward, Precision::Fp8, 4.766}, std::tuple{Mode::Train, Precision::Fp32, 244.836},
          std::tuple{Mode::Train, Precision::Bf16, 54.211},
          std::tuple{Mode::Train, Precision::Fp32x6, 161.688},
          std::tuple{Mode::Train, Precision::Fp8, 58.149}}) {
        spec.mode = mode;
        spec.precision = precision;
        spec.loss = LossKind::CrossEntropy;
        EXPECT_NEAR(predictTime(spec, h100, *rates)->stepSeconds * 1e3, milliseconds, 0.25 * milliseconds)
            << static_cast<int>(mode) << ' ' << static_cast<int>(precision);
    }
}

TEST(PredictTime, KnowsWhichPhasesAreTimedAndWhatIsComputedAgain)
{
    const auto rates = DeviceRates::from(h200(), kH200);
    ExperimentSpec spec = lm(Mode::Both, Precision::Fp32, 1600, 48, 25, 512);
    const auto step = [&] { return predictTime(spec, kH200, *rates)->stepSeconds; };
    const double both = step();
    spec.mode = Mode::Forward;
    const double forward = step();
    EXPECT_NEAR(both, 3 * forward, 0.15 * both);
    spec.mode = Mode::Both;
    spec.checkpointing = {Checkpointing::Kind::Block};
    EXPECT_NEAR(step(), both + forward, 0.1 * both);
}

// A token of generation reads all weights for few operations.
TEST(PredictTime, OfATokenIsThatOfItsBytes)
{
    const auto rates = DeviceRates::from(h200(), kH200);
    ASSERT_TRUE(rates);
    for (const std::int64_t batch : {1, 16}) {
        ExperimentSpec spec = lm(Mode::Generate, Precision::Bf16, 2560, 32, 32, 2048);
        spec.backend = Backend::Flash;
        spec.compile.kind = CompileRequest::Kind::Fused;
        spec.loss = LossKind::Sum;
        spec.batch = batch;
        spec.newTokens = spec.steps = 128;
        const auto predicted = predictTime(spec, kH200, *rates);
        ASSERT_TRUE(predicted);
        const double seconds = meanDecodedBytes(spec) / rates->bytes;
        EXPECT_GE(predicted->stepSeconds, 0.95 * seconds) << batch;
        const double gaps = 32 * 12 * rates->figures.kernelSeconds; // between the kernels of the layers
        EXPECT_LE(predicted->stepSeconds, 1.4 * seconds + gaps) << batch;
        // The first token is not part of the step, but of the run.
        ASSERT_EQ(predicted->phases.size(), 3U);
        EXPECT_EQ(predicted->phases.front().first, Phase::Prefill);
        EXPECT_GT(predicted->phases.front().second.wall, predicted->stepSeconds);
        EXPECT_GT(predicted->seconds, 2 * 127 * predicted->stepSeconds); // warm-up and the timed generation
    }
}

} // namespace
} // namespace tilescope::predict
