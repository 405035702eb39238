#include "core/analysis/time/step_growth.h"

#include "tests/support/fake_trace.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {

namespace {

using tilescope::testing::FakeTrace;

/// Steps that each allocate a block and leave the given number of bytes allocated.
std::optional<Bytes> growthOf(const std::vector<std::int64_t>& left)
{
    FakeTrace trace;
    std::int64_t time = 0;
    std::uint64_t address = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
        trace.step(static_cast<std::int32_t>(i), time, time + 10);
        ++address;
        trace.alloc(address, 1000, time + 1).free(address, 1000, time + 2);
        if (left[i] > 0)
            trace.alloc(++address, left[i], time + 3);
        if (left[i] < 0)
            trace.free(++address, -left[i], time + 3);
        time += 100;
    }
    StepGrowth growth;
    growth.add(trace.batch().allocEvents);
    return growth.perStep();
}

} // namespace

TEST(StepGrowth, DetectsALeakAndNothingElse)
{
    EXPECT_EQ(growthOf({8, 8, 8}), Bytes{8});
    EXPECT_EQ(growthOf({8, 4, 12, 8}), Bytes{8});
    EXPECT_FALSE(growthOf({8, 8})) << "two steps are too few";
    EXPECT_FALSE(growthOf({8, 0, 8, 8})) << "a step without growth";
    EXPECT_FALSE(growthOf({8, 8, -8, 8}));
    EXPECT_FALSE(growthOf({}));
}

} // namespace tilescope::analysis
