#include "core/predict/onednn_matmul.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

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

// The same, on a processor with AMX.
TEST(ProductScratch, IsWhatOneDnnTakesWithTiles)
{
    struct Measured {
        CpuProduct product;
        int threads;
        std::int64_t bytes;
    };
    const auto product = [](std::int64_t batch, std::int64_t rows, std::int64_t columns, std::int64_t inner,
                            bool isFirstTransposed) {
        return CpuProduct{.type = Type::BFloat16,
                          .batch = batch,
                          .rows = rows,
                          .columns = columns,
                          .inner = inner,
                          .isFirstTransposed = isFirstTransposed};
    };
    const std::vector<Measured> all{
        {product(1, 256, 64, 865, false), 1, 120832},    {product(2, 8, 2, 784, false), 1, 105472},
        {product(1, 336, 824, 565, false), 1, 79872},    {product(8, 497, 424, 4, false), 1, 9216},
        {product(1, 32, 208, 93, true), 1, 33280},       {product(3, 128, 128, 672, true), 1, 263296},
        {product(1, 2, 379, 144, true), 1, 29568},       {product(2, 229, 368, 296, true), 1, 232320},
        {product(1, 523, 704, 8, false), 2, 18048},      {product(1, 240, 576, 1, false), 2, 83840},
        {product(1, 16, 999, 32, true), 2, 20224},       {product(3, 1, 1106, 1123, true), 2, 306816},
        {product(1, 512, 775, 256, true), 2, 337664},    {product(1, 400, 16, 1045, false), 4, 564096},
        {product(1, 642, 534, 240, false), 4, 154496},   {product(1, 1104, 689, 193, true), 4, 673920},
        {product(1, 16, 1264, 1232, true), 4, 931968},   {product(1, 1104, 128, 1116, false), 8, 1193344},
        {product(1, 656, 144, 1232, false), 8, 1324416}, {product(3, 8, 432, 896, false), 8, 955776},
        {product(1, 645, 1024, 64, true), 8, 300544},    {product(1, 128, 968, 430, true), 8, 1153664},
    };
    for (const Measured& one : all)
        EXPECT_EQ(productScratch(one.product, processor(CpuInstructionSet::Amx, one.threads)), one.bytes)
            << one.product.batch << " x " << one.product.rows << " x " << one.product.columns << " x "
            << one.product.inner << ", " << one.threads << " threads";
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
