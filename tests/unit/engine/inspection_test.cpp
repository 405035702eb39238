#include "core/engine/common/inspection.h"

#include "tests/unit/engine/fixtures.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tilescope::engine {
namespace {

std::map<std::string, std::string> factsOf(Workload workload)
{
    StringTable strings;
    Engine engine(strings);
    test::Recorder recorder;
    ExperimentSpec spec;
    spec.workload = workload;
    spec.device.kind = DeviceRequest::Kind::Cpu;
    const RunResult result = engine.runPoint(spec, recorder, {});
    EXPECT_EQ(result.status, RunStatus::Ok) << result.reason;
    EXPECT_TRUE(recorder.samples.empty());
    std::map<std::string, std::string> facts;
    for (const EnvironmentEntry& entry : recorder.facts)
        facts[entry.key] = entry.value;
    return facts;
}

} // namespace

TEST(Inspection, AccumulationOnTheDeviceIsWhatRoundingSaysItIs)
{
    const auto facts = factsOf(Workload::Accumulation);
    for (const char* way : {"fp32_into_fp32", "fp16_into_fp16", "fp16_into_fp32", "fp16_cast_into_fp32"}) {
        const std::string key = std::string("result.") + way;
        EXPECT_EQ(facts.at(key), facts.at(key + ".arithmetic")) << way;
    }
    EXPECT_EQ(facts.at("result.fp32_into_fp32"), "10.0001335");
    EXPECT_EQ(facts.at("result.fp16_into_fp16"), "9.953125");
    EXPECT_EQ(facts.at("result.fp16_into_fp32"), "10.0021362");
}

// Each term and each sum is rounded at most once, so the error relative to the sum of the absolute terms is at most K
// roundoffs of fp32, and in bf16 three of bf16 more: those of the factors and of the result. Three parts of 8 bits hold a whole
// fp32 number, and the terms that fp32x6 leaves out are below one roundoff.
TEST(Inspection, ErrorsOfProductsAreThoseOfTheirRoundings)
{
    const auto facts = factsOf(Workload::Products);
    for (const std::string distribution : {"normal", "positive", "wide"})
        for (const int terms : {64, 1024, 16'384}) {
            const auto error = [&](const char* precision) {
                return std::stod(facts.at("result.product." + distribution + "." + std::to_string(terms) +
                                          "." + precision));
            };
            const double roundings = (terms + 8) * 0x1p-24;
            EXPECT_GT(error("fp32"), 0);
            EXPECT_LE(error("fp32"), roundings) << distribution << terms;
            EXPECT_LE(error("fp32x6"), roundings) << distribution << terms;
            EXPECT_LE(error("bf16"), 3.1 * 0x1p-8 + roundings) << distribution << terms;
            EXPECT_GT(error("bf16"), 10 * error("fp32x6")) << distribution << terms;
            // Two factors rounded to four bits; of `wide`, the smallest also become 0.
            for (const char* fp8 : {"fp8", "fp8_gradient", "fp8_by_matrix"}) {
                EXPECT_GT(error(fp8), distribution == "normal" ? 4 * error("bf16") : 0)
                    << distribution << terms;
                EXPECT_LE(error(fp8), 2.2 * 0x1p-4) << distribution << terms;
            }
            EXPECT_EQ(facts.count("result.product." + distribution + "." + std::to_string(terms) + ".tf32"),
                      0U);
        }
}

TEST(Inspection, RoundingIsThatOfTheHardware)
{
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> exponents(-30, 17);
    for (int i = 0; i < 20'000; ++i) {
        const double value = (i % 2 == 0 ? 1 : -1) * std::exp2(exponents(random));
        EXPECT_EQ(roundedTo(value, 24, -126, 127), static_cast<double>(static_cast<float>(value)));
        const auto single = static_cast<float>(value);
        EXPECT_EQ(roundedTo(single, 11, -14, 15), static_cast<double>(static_cast<float>(c10::Half(single))))
            << single;
    }
    EXPECT_EQ(roundedTo(0, 11, -14, 15), 0);
}

TEST(Inspection, AutocastLeavesParametersAndGradientsInFp32)
{
    const auto facts = factsOf(Workload::Dtypes);
    for (const std::string type : {"fp16", "bf16"}) {
        EXPECT_EQ(facts.at("result." + type + ".parameters"), "fp32");
        EXPECT_EQ(facts.at("result." + type + ".first_layer"), type);
        EXPECT_EQ(facts.at("result." + type + ".logits"), type);
        EXPECT_EQ(facts.at("result." + type + ".gradients"), "fp32");
    }
    EXPECT_LT(std::stod(facts.at("result.norm.fp32")), std::stod(facts.at("result.norm.fp16")));
    EXPECT_LT(std::stod(facts.at("result.norm.fp16")), std::stod(facts.at("result.norm.bf16")));
}

} // namespace tilescope::engine
