#include "core/engine/run/engine.h"

#include <gtest/gtest.h>

#include <map>

namespace tilescope::engine {

TEST(Ceilings, OfTheCpuAreRatesWithAUnitAndASpread)
{
    StringTable strings;
    Engine engine(strings);
    std::map<std::string, Ceiling> byKind;
    for (const Ceiling& ceiling : engine.measureCeilings({DeviceRequest::Kind::Cpu}))
        byKind[ceiling.kind] = ceiling;
    ASSERT_EQ(byKind.size(), 8u);
    for (const auto& [kind, unit] :
         {std::pair("matmul_fp32", "FLOP/s"), std::pair("matmul_bf16", "FLOP/s"), std::pair("copy", "B/s"),
          std::pair("launch", "1/s"), std::pair("attention_flash_fp32_forward", "FLOP/s"),
          std::pair("attention_flash_fp32_backward", "FLOP/s"),
          std::pair("attention_processor_fp32_forward", "FLOP/s"),
          std::pair("attention_processor_fp32_backward", "FLOP/s")}) {
        EXPECT_GT(byKind[kind].value, 0) << kind;
        EXPECT_EQ(byKind[kind].unit, unit);
        EXPECT_GE(byKind[kind].n, 5);
        EXPECT_GE(byKind[kind].spread, 0);
    }
    // No processor multiplies faster than this, none that runs LibTorch slower.
    EXPECT_GT(byKind["matmul_fp32"].value, 1e8);
    EXPECT_LT(byKind["matmul_fp32"].value, 1e14);
    EXPECT_GT(byKind["copy"].value, 1e8);
    EXPECT_LT(byKind["copy"].value, 1e13);
}

} // namespace tilescope::engine
