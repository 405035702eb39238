// What is asked of Slurm, and what its answers mean.

#include "core/hosts/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::hosts {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;

class Sbatch : public ::testing::Test {
protected:
    std::vector<std::string> words(int tasks, int gpus, const std::vector<std::string>& options = {}) const
    {
        return sbatchWords(folder, {"/a b/tilescope", "serve"}, options, "/work", tasks, gpus);
    }
    const JobFolder folder{"/jobs/50%a"};
};

TEST_F(Sbatch, SubmitsOneTaskOrAnArray)
{
    EXPECT_THAT(words(1, 1), AllOf(Contains("--parsable"), Not(Contains(StartsWith("--array"))),
                                   Contains("--output=/jobs/50%%a/node"), Contains("--chdir=/work"),
                                   Contains("--wrap=exec '/a b/tilescope' 'serve'")));
    EXPECT_THAT(words(8, 1), AllOf(Contains("--array=0-7"), Contains("--output=/jobs/50%%a/node-%a")));
}

TEST_F(Sbatch, AsksForTheGpusOfRanksUnlessTheHostDoes)
{
    EXPECT_THAT(words(1, 1), Not(Contains(StartsWith("--gres"))));
    EXPECT_THAT(words(1, 4), AllOf(Contains("--gres=gpu:4"), Contains("--nodes=1")));
    EXPECT_THAT(words(1, 16, {"--nodes=2", "--ntasks-per-node=8"}),
                AllOf(Contains("--nodes=2"), Not(Contains("--nodes=1")), Not(Contains("--gres=gpu:16"))));
    EXPECT_THAT(words(1, 4, {"--gres=gpu:h100:4"}), Not(Contains("--gres=gpu:4")));
    EXPECT_THAT(words(1, 4, {"--partition=gpu"}), Contains("--gres=gpu:4"));
}

TEST(SlurmTasks, AreReadFromSqueue)
{
    const SlurmTasks tasks =
        parseSlurmTasks("0|RUNNING|None\n12|PENDING|Resources\nslurm_load_jobs error\n|\n");
    ASSERT_EQ(tasks.size(), 2u);
    EXPECT_EQ(tasks.at(12).reason, "Resources");
    EXPECT_FALSE(tasks.at(0).hasEnded());
    EXPECT_TRUE(parseSlurmTasks("N/A|TIMEOUT|TimeLimit").at(0).wasEndedBySlurm()) << "no array";
    EXPECT_TRUE(parseSlurmTasks("0|CANCELLED|None").at(0).hasEnded());
    EXPECT_FALSE(parseSlurmTasks("0|COMPLETED|None").at(0).wasEndedBySlurm());
}

TEST(SlurmTasks, AreSummedUp)
{
    EXPECT_EQ(queueText(parseSlurmTasks("N/A|PENDING|Priority"), 1), "PENDING Priority");
    EXPECT_EQ(queueText(parseSlurmTasks("N/A|RUNNING|None"), 1), "RUNNING");
    EXPECT_EQ(
        queueText(parseSlurmTasks("0|RUNNING|None\n1|COMPLETING|None\n2|PENDING|Resources\n3|COMPLETED|None"),
                  4),
        "RUNNING 2 of 4 tasks, others PENDING Resources");
    EXPECT_EQ(queueText(parseSlurmTasks("0|COMPLETED|None"), 1), "");
}

} // namespace tilescope::hosts
