#include "core/predict/onednn_matmul.h"

#include <gtest/gtest.h>

namespace tilescope::predict {

namespace {

TargetDevice processor(CpuInstructionSet set, int threads = 1)
{
    return {.threads = threads, .instructionSet = set};
}

std::int64_t inBf16(std::int64_t batch, std::int64_t rows, std::int64_t columns, std::int64_t inner,
                    const TargetDevice& device, bool isFirstTransposed = false)
{
    return productScratch({.type = Type::BFloat16,
                           .batch = batch,
                           .rows = rows,
                           .columns = columns,
                           .inner = inner,
                           .isFirstTransposed = isFirstTransposed},
                          device);
}

} // namespace

// The sizes are those of recorded allocations of LibTorch 2.11; the environment variable ONEDNN_MAX_CPU_ISA turns off
// instructions.
TEST(ProductScratch, IsWhatOneDnnTakesWithBf16Instructions)
{
    const TargetDevice device = processor(CpuInstructionSet::Avx512Bf16);
    EXPECT_EQ(inBf16(2, 51, 17, 32, device), 8588);
    EXPECT_EQ(inBf16(2, 51, 32, 17, device), 11648);
    EXPECT_EQ(inBf16(2, 32, 17, 51, device, true), 15616);
    EXPECT_EQ(inBf16(1, 96, 288, 96, device), 37888);
    EXPECT_EQ(inBf16(1, 96, 96, 777, device), 91136) << "blocks of 512";
    EXPECT_EQ(inBf16(1, 400, 96, 96, device, true), 103040);
    EXPECT_EQ(inBf16(1, 256, 32, 64, device, true), 74880);
    EXPECT_EQ(inBf16(1, 256, 32, 64, processor(CpuInstructionSet::Avx512Bf16, 2), true), 83712);
}

TEST(ProductScratch, IsThatOfSumsInFp32WithoutBf16Instructions)
{
    const TargetDevice device = processor(CpuInstructionSet::Avx512);
    EXPECT_EQ(inBf16(6, 17, 17, 32, device), 1408);
    EXPECT_EQ(inBf16(6, 17, 32, 17, device), 2432);
    EXPECT_EQ(inBf16(1, 96, 288, 96, device), 110720);
    EXPECT_EQ(inBf16(1, 96, 784, 96, device), 301184);
}

TEST(ProductScratch, IsNoneWhereLibTorchDoesNotUseOneDnn)
{
    EXPECT_EQ(inBf16(1, 96, 288, 96, processor(CpuInstructionSet::Avx2)), 0);
    EXPECT_EQ(inBf16(1, 16, 16, 16, processor(CpuInstructionSet::Avx512Bf16)), 0);
    EXPECT_GT(inBf16(1, 16, 16, 17, processor(CpuInstructionSet::Avx512Bf16)), 0);
    TargetDevice gpu;
    gpu.isCuda = true;
    EXPECT_EQ(inBf16(1, 96, 288, 96, gpu), 0);
    for (const Type type : {Type::Float32, Type::Float16})
        EXPECT_EQ(productScratch({.type = type, .rows = 96, .columns = 288, .inner = 96},
                                 processor(CpuInstructionSet::Avx512Bf16)),
                  0);
    for (const CpuInstructionSet set : {CpuInstructionSet::Avx512Fp16, CpuInstructionSet::Amx})
        EXPECT_GT(
            productScratch({.type = Type::Float16, .rows = 96, .columns = 288, .inner = 96}, processor(set)),
            0)
            << "with AVX512_FP16";
}

} // namespace tilescope::predict
