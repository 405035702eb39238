#include "core/model/generation.h"

#include <gtest/gtest.h>

namespace tilescope {

namespace {

ExperimentSpec generationSpec()
{
    ExperimentSpec spec;
    spec.workload = Workload::Lm;
    spec.mode = Mode::Generate;
    spec.precision = Precision::Bf16;
    spec.dModel = 64;
    spec.dFf = 100;
    spec.layers = 3;
    spec.heads = 4;
    spec.kvHeads = 2;
    spec.vocab = 50;
    spec.batch = 5;
    spec.context = 20;
    spec.newTokens = spec.steps = 7;
    return spec;
}

} // namespace

TEST(Generation, TheCacheHoldsTheKeysAndValuesThatAreRead)
{
    ExperimentSpec spec = generationSpec();
    EXPECT_EQ(cachedTokens(spec), 26); // nothing reads those of the last token
    // Keys and values, 3 layers, 5 sequences, 2 heads of 16, 26 tokens, 2 bytes.
    EXPECT_EQ(cacheBytes(spec).count, 2 * 3 * 5 * 2 * 16 * 26 * 2);
    spec.cache = CacheKind::Paged;
    spec.page = 8;
    EXPECT_EQ(pagesOfSequence(spec), 4);
    EXPECT_EQ(cacheBytes(spec).count, 2 * 3 * 5 * 2 * 16 * 32 * 2);
    spec.precision = Precision::Fp32;
    EXPECT_EQ(cacheBytes(spec).count, 2 * 3 * 5 * 2 * 16 * 32 * 4);
}

TEST(Generation, ATokenReadsTheWeightsAndAllEarlierKeysAndValues)
{
    ExperimentSpec spec = generationSpec();
    // qkv 64 x 128, projection 64 x 64, gate and up 64 x 200, down 100 x 64; head 64 x 50.
    const std::int64_t maps = 3 * (64 * 128 + 64 * 64 + 64 * 200 + 100 * 64) + 64 * 50;
    const std::int64_t rows = 64 * (2 * 3 + 1 + 5); // norms, one embedding per sequence
    EXPECT_EQ(decodedWeightBytes(spec).count, 2 * (maps + rows));
    const std::int64_t ofPosition = 2 * 3 * 5 * 2 * 16 * 2;
    EXPECT_EQ(decodedBytes(spec, 20).count, 2 * (maps + rows) + 21 * ofPosition);
    // Six further tokens, at positions 20 to 25.
    EXPECT_DOUBLE_EQ(meanDecodedBytes(spec), static_cast<double>(2 * (maps + rows)) + 23.5 * ofPosition);

    spec.weights = WeightFormat::Fp8;
    const std::int64_t scales = 4 * (3 * (128 + 64 + 200 + 64) + 50);
    EXPECT_EQ(decodedWeightBytes(spec).count, maps + scales + 2 * rows);

    spec.newTokens = 1;
    EXPECT_EQ(meanDecodedBytes(spec), 0);
}

} // namespace tilescope
