#include "core/session/supervisor/slurm_job.h"

#include "core/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace tilescope::session {

using ::testing::ElementsAre;

namespace {

using Variables = std::map<std::string, std::string>;

/// `0.0 0.1 1.0`: node and local rank of each rank.
std::string placesIn(const Variables& job, int ranks)
{
    std::string text;
    for (const RankPlace& place : placesOf(ranks, [&](const char* name) {
             const auto found = job.find(name);
             return found == job.end() ? std::string() : found->second;
         }))
        text += (text.empty() ? "" : " ") + std::to_string(place.node) + "." +
                std::to_string(place.localRank) + "/" + std::to_string(place.localSize);
    return text;
}

std::string refusalOf(const Variables& job, int ranks)
{
    try {
        placesIn(job, ranks);
    } catch (const Error& error) {
        return error.sentence();
    }
    return {};
}

const Variables kTwoNodes{{"SLURM_NNODES", "2"}, {"SLURM_NODEID", "0"}, {"SLURM_TASKS_PER_NODE", "2(x2)"}};

Variables with(Variables job, const Variables& changes)
{
    for (const auto& [name, value] : changes)
        job[name] = value;
    return job;
}

} // namespace

TEST(TasksPerNode, AreReadAsSlurmWritesThem)
{
    EXPECT_THAT(tasksPerNode("4").value(), ElementsAre(4));
    EXPECT_THAT(tasksPerNode("4(x2),3,1(x1)").value(), ElementsAre(4, 4, 3, 1));
    for (const char* text :
         {"0", "-1", "4(x", "4(x2", "4(x0)", "4(y2)", "four", "4(x99999999)", "4,,3", "1(x100001)"})
        EXPECT_FALSE(tasksPerNode(text)) << text;
}

TEST(RankPlaces, AreOnThisHostOutsideAJobOfSeveralNodes)
{
    EXPECT_EQ(placesIn({}, 3), "0.0/3 0.1/3 0.2/3");
    EXPECT_EQ(placesIn({{"SLURM_NNODES", "1"}, {"SLURM_TASKS_PER_NODE", "1"}}, 2), "0.0/2 0.1/2");
    // Shards of a sweep, one a node.
    EXPECT_EQ(placesIn(with(kTwoNodes, {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_NODEID", "1"}}), 4),
              "0.0/4 0.1/4 0.2/4 0.3/4");
}

TEST(RankPlaces, TakeTheTasksOfTheJobInOrder)
{
    EXPECT_EQ(placesIn(kTwoNodes, 4), "0.0/2 0.1/2 1.0/2 1.1/2");
    EXPECT_EQ(placesIn(kTwoNodes, 3), "0.0/2 0.1/2 1.0/1");
    EXPECT_EQ(placesIn(kTwoNodes, 2), "0.0/2 0.1/2") << "few ranks stay together";
    EXPECT_EQ(placesIn(with(kTwoNodes, {{"SLURM_TASKS_PER_NODE", "1,3"}}), 4), "0.0/1 1.0/3 1.1/3 1.2/3");
}

TEST(RankPlaces, RefuseAJobThatIsTooSmallAndAnotherNode)
{
    EXPECT_EQ(refusalOf(kTwoNodes, 5),
              "gpus: the Slurm job has 4 tasks on 2 nodes, too few for 5 ranks; submit it with "
              "--ntasks=5, or run fewer ranks");
    EXPECT_THAT(refusalOf(with(kTwoNodes, {{"SLURM_NODEID", ""}}), 4), ::testing::HasSubstr("sbatch"));
    EXPECT_EQ(refusalOf(with(kTwoNodes, {{"SLURM_NODEID", ""}}), 2), "") << "they fit on one host";
    EXPECT_THAT(refusalOf(with(kTwoNodes, {{"SLURM_TASKS_PER_NODE", "x"}}), 4),
                ::testing::HasSubstr("SLURM_TASKS_PER_NODE"));
}

} // namespace tilescope::session
