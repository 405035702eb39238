#include "core/analysis/work/roofline.h"

#include "core/analysis/work/device_sheets.h"
#include "core/base/error.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <fstream>

namespace tilescope::analysis {

namespace {

using namespace tilescope::literals;

/// 100 FLOP/ns and 10 B/ns: the ridge is at 10 FLOP per byte.
constexpr Ceilings kRoof{.flops = 100e9, .bytes = 10e9};

} // namespace

TEST(Roofline, TheLargerOfTheTwoMinimumTimesIsTheBound)
{
    const auto compute = placeUnder(kRoof, {{4000}, {100}}, 80_ns);
    ASSERT_TRUE(compute);
    EXPECT_EQ(compute->bound, Bound::Compute);
    EXPECT_DOUBLE_EQ(compute->fraction, 0.5); // 40 ns of arithmetic, 10 of traffic, in 80
    const auto memory = placeUnder(kRoof, {{400}, {100}}, 40_ns);
    EXPECT_EQ(memory->bound, Bound::Memory);
    EXPECT_DOUBLE_EQ(memory->fraction, 0.25);
}

TEST(Roofline, ACopyNeedsNoArithmeticAndNoCeilingOfIt)
{
    const auto copy = placeUnder({.bytes = 10e9}, {{0}, {100}}, 20_ns);
    ASSERT_TRUE(copy);
    EXPECT_EQ(copy->bound, Bound::Memory);
    EXPECT_DOUBLE_EQ(copy->fraction, 0.5);
}

TEST(Roofline, UnknownWorkHasNoPlace)
{
    EXPECT_FALSE(placeUnder({.bytes = 10e9}, {{5}, {100}}, 20_ns));
    EXPECT_FALSE(placeUnder({.flops = 1e9}, {{5}, {100}}, 20_ns));
    EXPECT_FALSE(placeUnder(kRoof, {}, 20_ns));
    EXPECT_FALSE(placeUnder(kRoof, {{5}, {5}}, 0_ns));
    EXPECT_FALSE(flopsPerSecond({{5}, {5}}, 0_ns));
    EXPECT_FALSE(intensityOf({{5}, {0}}));
    EXPECT_DOUBLE_EQ(*flopsPerSecond({{5}, {3}}, 2_ns), 2.5e9);
    EXPECT_DOUBLE_EQ(*bytesPerSecond({{5}, {3}}, 2_ns), 1.5e9);
    EXPECT_DOUBLE_EQ(*intensityOf({{6}, {3}}), 2);
}

TEST(DeviceSheets, AreFoundByTheDriversName)
{
    const auto nameOf = [](std::string_view driver) {
        const DeviceSheet* sheet = DeviceSheets::standard().find(driver);
        return sheet ? sheet->name : "none";
    };
    EXPECT_EQ(nameOf("NVIDIA H200"), "H200 SXM");
    EXPECT_EQ(nameOf("NVIDIA H200 NVL"), "H200 NVL");
    EXPECT_EQ(nameOf("NVIDIA H100 80GB HBM3"), "H100 SXM");
    EXPECT_EQ(nameOf("NVIDIA H100 PCIe"), "H100 PCIe");
    EXPECT_EQ(nameOf("NVIDIA A100-SXM4-80GB"), "A100 SXM 80 GB");
    EXPECT_EQ(nameOf("NVIDIA A100-PCIE-40GB"), "A100 PCIe 40 GB");
    EXPECT_EQ(nameOf("NVIDIA L4"), "L4");
    EXPECT_EQ(nameOf("NVIDIA L40S"), "L40S");
    EXPECT_EQ(nameOf("NVIDIA A10"), "A10");
    EXPECT_EQ(nameOf("NVIDIA GeForce RTX 4090"), "RTX 4090");
    EXPECT_EQ(nameOf("NVIDIA RTX 6000 Ada Generation"), "RTX 6000 Ada");
    EXPECT_EQ(nameOf("Tesla T4"), "T4");
    EXPECT_EQ(nameOf("some processor"), "none");
}

TEST(DeviceSheets, ContainRatesInBaseUnitsAndMissingCapabilities)
{
    const DeviceSheet* h200 = DeviceSheets::standard().find("NVIDIA H200");
    ASSERT_TRUE(h200);
    EXPECT_DOUBLE_EQ(*h200->ceilings(Precision::Bf16).flops, 989.4e12);
    EXPECT_DOUBLE_EQ(*h200->ceilings(Precision::Fp32).flops, 66.9e12);
    EXPECT_DOUBLE_EQ(*h200->ceilings(Precision::Fp32).bytes, 4.8e12);
    EXPECT_FALSE(DeviceSheets::standard().find("Tesla T4")->ceilings(Precision::Bf16).flops);
    for (const DeviceSheet& sheet : DeviceSheets::standard().all()) {
        EXPECT_FALSE(sheet.source.empty()) << sheet.name;
        EXPECT_TRUE(sheet.bytes) << sheet.name;
    }
}

TEST(DeviceSheets, AnInvalidEntryIsReportedWithItsPosition)
{
    const testing::TemporaryFolder folder;
    const auto file = folder / "devices.yaml";
    std::ofstream(file) << "devices:\n  - {name: X, match: [X], fp23: 1}\n";
    try {
        DeviceSheets::load(file);
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(error.sentence().find("devices.yaml:2:"), std::string::npos);
        EXPECT_NE(error.sentence().find("did you mean 'fp32'?"), std::string::npos);
    }
}

} // namespace tilescope::analysis
