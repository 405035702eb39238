#include "core/model/parallelism.h"

#include <gtest/gtest.h>

namespace tilescope {

namespace {

RankGrid gridOf(Parallel parallel, int gpus)
{
    ExperimentSpec spec;
    spec.workload = Workload::Lm;
    spec.parallel = parallel;
    spec.gpus = gpus;
    return gridOf(spec);
}

} // namespace

TEST(RankGrid, DividesLayersBetweenRanksOfARow)
{
    EXPECT_EQ(gridOf(Parallel::Ddp, 6), (RankGrid{.data = 6, .tensor = 1}));
    EXPECT_EQ(gridOf(Parallel::Tp, 6), (RankGrid{.data = 1, .tensor = 6}));
    EXPECT_EQ(gridOf(Parallel::FsdpTp, 4), (RankGrid{.data = 2, .tensor = 2}));
    EXPECT_EQ(gridOf(Parallel::FsdpTp, 6), (RankGrid{.data = 3, .tensor = 2}));
    EXPECT_EQ(gridOf(Parallel::FsdpTp, 16), (RankGrid{.data = 4, .tensor = 4}));
    EXPECT_EQ(gridOf(Parallel::FsdpTp, 5), (RankGrid{.data = 5, .tensor = 1})) << "a prime has no grid";
}

TEST(RankGrid, NumbersRanksByRow)
{
    const RankGrid grid{.data = 3, .tensor = 2};
    EXPECT_EQ(grid.ranks(), 6);
    EXPECT_EQ(grid.dataOf(3), 1);
    EXPECT_EQ(grid.tensorOf(3), 1);
    EXPECT_EQ(grid.dataOf(4), 2);
    EXPECT_EQ(grid.tensorOf(4), 0);
}

} // namespace tilescope
