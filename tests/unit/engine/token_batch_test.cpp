#include "core/engine/lm/token_batch.h"

#include "tests/unit/engine/fixtures.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace tilescope::engine {
namespace {

using at::Tensor;

ExperimentSpec markovSpec()
{
    ExperimentSpec spec = test::tinyLm();
    spec.data = TokenData::Markov;
    return spec;
}

Tensor tokensOf(TokenBatch& batch)
{
    batch.refresh();
    return at::stack({batch.tokens(), batch.targets()});
}

TEST(TokenBatch, DrawsOtherTokensForEachStep)
{
    TokenBatch batch(markovSpec(), at::kCPU);
    TokenBatch same(markovSpec(), at::kCPU);
    const Tensor first = tokensOf(batch);
    EXPECT_TRUE(at::equal(first, tokensOf(same)));
    const Tensor second = tokensOf(batch);
    EXPECT_FALSE(at::equal(first, second));
    EXPECT_TRUE(at::equal(second, tokensOf(same)));
}

TEST(TokenBatch, GivesRanksTogetherTheTokensOfOneProcess)
{
    const ExperimentSpec spec = markovSpec();
    TokenBatch first(spec, at::kCPU, 0, 2);
    TokenBatch second(spec, at::kCPU, 1, 2);
    TokenBatch alone(spec, at::kCPU);
    EXPECT_TRUE(at::equal(tokensOf(first), tokensOf(alone)));
    EXPECT_TRUE(at::equal(tokensOf(second), tokensOf(alone)));
}

TEST(TokenBatch, StatesTheEntropyOfItsData)
{
    ExperimentSpec spec = markovSpec();
    const TokenBatch chain(spec, at::kCPU);
    ASSERT_EQ(chain.facts().size(), 1U);
    EXPECT_EQ(chain.facts()[0].key, "result.entropy");
    EXPECT_EQ(chain.facts()[0].unit, "nat");
    spec.data = TokenData::Random;
    EXPECT_TRUE(TokenBatch(spec, at::kCPU).facts().empty());
}

} // namespace
} // namespace tilescope::engine
