#include "core/model/run_workload.h"

#include <gtest/gtest.h>

namespace tilescope {
namespace {

TEST(RunWorkload, HasDefaultsForWorkloadsOfASpec)
{
    for (const char* name : {"lm", "attention", "not known"}) {
        EXPECT_FALSE(runWorkload(name).isImported) << name;
        EXPECT_FALSE(runWorkload(name).coversRecording) << name;
        EXPECT_EQ(runWorkload(name).heldWord(), "allocated") << name;
    }
}

TEST(RunWorkload, DistinguishesTracesFromSnapshots)
{
    EXPECT_TRUE(runWorkload("trace").isImported);
    EXPECT_TRUE(runWorkload("trace").coversRecording);
    EXPECT_FALSE(runWorkload("trace").isMemoryOnly);
    EXPECT_TRUE(runWorkload("snapshot").isImported);
    EXPECT_TRUE(runWorkload("snapshot").isMemoryOnly);
    EXPECT_EQ(runWorkload("snapshot").heldWord(), "requested");
}

} // namespace
} // namespace tilescope
