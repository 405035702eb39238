#include "core/predict/predict_time.h"
#include "tests/unit/predict/model_spec.h"

#include <gtest/gtest.h>

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

const TargetDevice kHopper{.isCuda = true, .name = "NVIDIA H200"};

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
    const auto rates = DeviceRates::from(ceilings, kHopper);
    ASSERT_TRUE(rates);
    EXPECT_EQ(rates->fp32, 40e12);
    EXPECT_EQ(rates->bytes, 4.27e12);
    ceilings.erase(ceilings.begin() + 5); // launch
    EXPECT_FALSE(DeviceRates::from(ceilings, kHopper));
    EXPECT_FALSE(DeviceRates::from({}, kHopper));
}

TEST(WorkClock, TakesTheLongerOfDeviceAndHostOnAGpuAndBothOnACpu)
{
    DeviceRates rates{
        .fp32 = 1e12, .bytes = 1e12, .launchForward = 1e-3, .launchBackward = 2e-3, .isCuda = true};
    rates.multiprocessors = 100;
    WorkClock clock(rates);
    for (int i = 0; i < 10; ++i)
        clock.move(0);
    EXPECT_NEAR(clock.takePhase(false, false), 10e-3, 1e-4) << "bound by launches";
    clock.move(7.5e12);
    EXPECT_NEAR(clock.takePhase(false, false), 10, 1e-3) << "bound by three quarters of a copy's bandwidth";
    clock.move(7.5e12);
    for (int i = 0; i < 1000; ++i)
        clock.host(100);
    EXPECT_NEAR(clock.takePhase(true, false), 10, 1e-3) << "a graph waits for no host";
    rates.isCuda = false;
    WorkClock cpu(rates);
    cpu.product(Type::Float32, false, 1, 1000, 1000, 1000);
    EXPECT_NEAR(cpu.takePhase(false, false), 2e-3 + 1e-3, 1e-6);
}

TEST(WorkClock, ProductsThatDoNotFillTheDeviceAreSlower)
{
    DeviceRates rates{.fp32 = 1e12, .bytes = 1e15, .launchForward = 1e-9, .isCuda = true};
    rates.multiprocessors = 132;
    const auto rate = [&](double m, double n, double k) {
        WorkClock clock(rates);
        clock.product(Type::Float32, false, 1, m, n, k);
        return 2 * m * n * k / clock.takePhase(true, false);
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
    const auto rates = DeviceRates::from(h200(), kHopper);
    for (const Measured& point : {Measured{lm(Mode::Forward, Precision::Fp32, 768, 12, 12, 128), 4.556},
                                  Measured{lm(Mode::Train, Precision::Fp32, 768, 12, 12, 512), 45.077},
                                  Measured{lm(Mode::Both, Precision::Bf16, 768, 12, 12, 128), 11.958},
                                  Measured{lm(Mode::Train, Precision::Bf16, 1600, 48, 25, 512), 121.665},
                                  Measured{lm(Mode::Forward, Precision::Bf16, 2560, 32, 32, 128), 14.824},
                                  Measured{lm(Mode::Train, Precision::Bf16, 2560, 32, 32, 512), 151.946},
                                  Measured{lm(Mode::Both, Precision::Fp32, 2560, 32, 32, 512), 917.898}}) {
        const auto time = predictTime(point.spec, kHopper, *rates);
        ASSERT_TRUE(time);
        EXPECT_NEAR(time->stepSeconds * 1e3, point.milliseconds, 0.25 * point.milliseconds);
        EXPECT_GT(time->seconds, (point.spec.warmup + point.spec.steps) * time->stepSeconds);
    }
}

TEST(PredictTime, KnowsWhichPhasesAreTimedAndWhatIsComputedAgain)
{
    const auto rates = DeviceRates::from(h200(), kHopper);
    ExperimentSpec spec = lm(Mode::Both, Precision::Fp32, 1600, 48, 25, 512);
    const auto step = [&] { return predictTime(spec, kHopper, *rates)->stepSeconds; };
    const double both = step();
    spec.mode = Mode::Forward;
    const double forward = step();
    EXPECT_NEAR(both, 3 * forward, 0.15 * both);
    spec.mode = Mode::Both;
    spec.checkpointing = {Checkpointing::Kind::Block};
    EXPECT_NEAR(step(), both + forward, 0.1 * both);
}

} // namespace
} // namespace tilescope::predict
