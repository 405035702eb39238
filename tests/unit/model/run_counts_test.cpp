#include "core/model/run_counts.h"

#include <gtest/gtest.h>

namespace tilescope {
namespace {

RunCounts countsOf(std::initializer_list<RunStatus> statuses)
{
    RunCounts counts;
    for (const RunStatus status : statuses)
        counts.add(status);
    return counts;
}

TEST(RunCounts, CountsErrorsAndInterruptedRunsAsFailedAndCancelledOnesApart)
{
    const RunCounts counts = countsOf({RunStatus::Error, RunStatus::Cancelled, RunStatus::Interrupted});
    EXPECT_EQ(counts.failed, 2U);
    EXPECT_EQ(counts.cancelled, 1U);
    EXPECT_EQ(counts.text(), "0 of 3 ok, 2 failed, 1 cancelled");
    EXPECT_EQ(countsOf({RunStatus::Oom, RunStatus::Skipped, RunStatus::Running, RunStatus::Ok}).failed, 0U);
}

TEST(RunCounts, NamesOnlyStatusesThatOccur)
{
    EXPECT_EQ(countsOf({RunStatus::Ok, RunStatus::Ok}).text(), "2 of 2 ok");
    EXPECT_EQ(countsOf({RunStatus::Ok, RunStatus::Oom, RunStatus::Skipped, RunStatus::Error,
                        RunStatus::Running, RunStatus::Error})
                  .text(),
              "1 of 6 ok, 1 out of memory, 1 skipped, 2 failed, 1 running");
}

TEST(RunCounts, CountsPointsThatWereNotRun)
{
    EXPECT_EQ(countsOf({RunStatus::Ok, RunStatus::Oom}).textOf(5), "1 of 5 ok, 1 out of memory");
}

} // namespace
} // namespace tilescope
