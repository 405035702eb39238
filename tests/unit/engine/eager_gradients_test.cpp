#include "core/engine/lm/eager_gradients.h"

#include "tests/unit/engine/fixtures.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace tilescope::engine {
namespace {

TEST(RoundingBound, LiesBetweenTheErrorsOfPrecisions)
{
    ExperimentSpec spec = test::tinyLm();
    EXPECT_LT(roundingBound(spec), 1e-3);
    spec.precision = Precision::Bf16;
    EXPECT_LT(roundingBound(spec), 0.3);
    EXPECT_GT(roundingBound(spec), 0.01);
}

TEST(RelativeDifference, IsThatOfNorms)
{
    const at::Tensor b = at::full({4}, 2.0);
    EXPECT_EQ(relativeDifference(b, b), 0);
    EXPECT_NEAR(relativeDifference(b + 1, b), 0.5, 1e-7);
    EXPECT_EQ(relativeDifference(at::zeros({4}), at::zeros({4})), 0);
}

} // namespace
} // namespace tilescope::engine
