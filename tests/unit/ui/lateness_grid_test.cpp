// The heat map of lateness and the lanes of many ranks: which of them a search finds, and what their rows then show.

#include "ui/ranks/lateness_grid.h"
#include "ui/ranks/rank_lanes.h"
#include "ui/ranks/rank_rows.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace tilescope::ui {
namespace {

constexpr int kRanks = 24;
constexpr int kOfHost = 8;

ProcessIndex processOf(int rank)
{
    return ProcessIndex{rank};
}

/// One step with two collectives, each of which rank r enters r microseconds after the first.
query::RanksTable tableOfRanks()
{
    query::RanksTable table;
    table.rankCount = kRanks;
    for (int rank = 0; rank < kRanks; ++rank) {
        query::RankRow row{
            .step = 0, .process = processOf(rank), .title = "rank " + std::to_string(rank), .rank = rank};
        row.host = "node" + std::to_string(rank / kOfHost);
        row.parts.wall = {Timestamp{}, Timestamp{} + Nanoseconds(1'000 * (rank + 1))};
        row.parts.compute = row.parts.wall.length();
        table.rows.push_back(row);
    }
    for (int number = 0; number < 2; ++number) {
        query::CollectiveRow row{.step = 0, .sequence = number, .op = "all_reduce"};
        for (int rank = 0; rank < kRanks; ++rank)
            row.ranks.push_back({.process = processOf(rank),
                                 .title = "rank " + std::to_string(rank),
                                 .rank = rank,
                                 .start = Timestamp{} + Nanoseconds(1'000'000 * number + 1'000 * rank),
                                 .duration = Nanoseconds(100'000)});
        row.transfer = Nanoseconds(70'000);
        row.last = row.ranks.back().title;
        table.collectives.push_back(row);
    }
    return table;
}

TEST(RankSearch, FindsNumbersTitlesAndHosts)
{
    const query::RanksTable table = tableOfRanks();
    EXPECT_FALSE(foundRanks(table, "  "));
    EXPECT_EQ(*foundRanks(table, " 2 "), std::set{processOf(2)}) << "a number is that rank, not 12 or 20";
    EXPECT_EQ(foundRanks(table, "rank 2")->size(), 5U) << "2 and 20 to 23";
    const auto ofHost = foundRanks(table, "NODE1");
    ASSERT_TRUE(ofHost);
    EXPECT_EQ(ofHost->size(), 8U);
    EXPECT_TRUE(ofHost->contains(processOf(8)) && ofHost->contains(processOf(15)));
    EXPECT_TRUE(foundRanks(table, "node7")->empty());
}

TEST(RankSearch, LeavesTheLatenessOfTheRanksItFindsAsItIs)
{
    const query::RanksTable table = tableOfRanks();
    const LatenessGrid all = latenessGrid(table, {});
    ASSERT_EQ(all.ranks.size(), std::size_t(kRanks));
    EXPECT_EQ(all.ranks.front().title, QStringLiteral("rank 23")) << "the latest comes first";
    const LatenessGrid found = latenessGrid(table, {}, foundRanks(table, "node1"));
    ASSERT_EQ(found.ranks.size(), std::size_t(kOfHost));
    ASSERT_EQ(found.collectives.size(), 2U);
    EXPECT_EQ(found.ranks.front().title, QStringLiteral("rank 15"));
    for (std::size_t row = 0; row < found.ranks.size(); ++row)
        for (std::size_t column = 0; column < 2; ++column)
            EXPECT_EQ(found.at(row, column), 1'000.0 * double(15 - row)) << "after the first of all ranks";
    const std::vector<StepBar> bars = rankBars(table, {}, foundRanks(table, "node1"));
    ASSERT_EQ(bars.size(), std::size_t(kOfHost));
    EXPECT_EQ(bars.front().title, QStringLiteral("rank 8"));
}

TEST(LatenessGrid, ARowHasTheMedianOfItsCollectives)
{
    query::RanksTable table = tableOfRanks();
    table.collectives.push_back(table.collectives.back()); // a third one, at which rank 23 is much later
    table.collectives.back().ranks.back().start += Nanoseconds(500'000);
    table.collectives[0].transfer.reset(); // its ranks do not overlap: not measured
    const LatenessGrid grid = latenessGrid(table, {});
    ASSERT_EQ(grid.ranks.front().title, QStringLiteral("rank 23"));
    EXPECT_EQ(grid.ranks.front().median, std::optional<double>((23'000 + 523'000) / 2.0));
    EXPECT_EQ(grid.ranks.back().median, std::optional<double>(0));
    table.collectives[1].transfer.reset();
    table.collectives[2].transfer.reset();
    EXPECT_EQ(latenessGrid(table, {}).ranks.front().median, std::nullopt);
}

TEST(RankLanes, OfManyRanksTheLateOnesAreShownInTheirOrder)
{
    const query::RanksTable table = tableOfRanks();
    const RankLanes lanes = rankLanes(table, {});
    ASSERT_EQ(lanes.ranks.size(), RankLanes::kMost);
    EXPECT_EQ(lanes.omitted, kRanks - RankLanes::kMost);
    EXPECT_EQ(lanes.ranks.front().title, QStringLiteral("rank 8"));
    EXPECT_EQ(lanes.ranks.back().title, QStringLiteral("rank 23"));
    EXPECT_EQ(lanes.step, 0);
    const RankLanes found = rankLanes(table, {}, foundRanks(table, "node0"));
    ASSERT_EQ(found.ranks.size(), std::size_t(kOfHost));
    EXPECT_EQ(found.omitted, 0U);
    EXPECT_EQ(found.ranks.front().title, QStringLiteral("rank 0"));
}

TEST(RankLanes, APartWaitsUntilTheLastRankStarts)
{
    query::RanksTable table = tableOfRanks();
    for (query::CollectiveRow& row : table.collectives) {
        row.late = Nanoseconds(1'000);
        for (query::CollectiveRank& rank : row.ranks)
            rank.wait = row.ranks.back().start - rank.start;
    }
    const RankLanes lanes = rankLanes(table, 0);
    ASSERT_EQ(lanes.collectives.size(), 2U);
    EXPECT_EQ(lanes.collectives[1].first, 1'000'000);
    EXPECT_EQ(lanes.collectives[1].afterFirst, 23'000) << "after the first of all ranks, shown or not";
    const RankLanes::Part* part = lanes.partOf(0, 1); // of rank 8
    ASSERT_NE(part, nullptr);
    EXPECT_EQ(part->start, 1'008'000);
    EXPECT_EQ(part->ready, 1'023'000);
    EXPECT_EQ(part->end, 1'108'000);
    EXPECT_EQ(lanes.words(0, *part), QStringLiteral("all_reduce 1: rank 8 waits 15.0\u2009µs for rank 23"));
    EXPECT_EQ(lanes.words(15, *lanes.partOf(15, 1)),
              QStringLiteral("all_reduce 1: rank 23 starts last, 23.0\u2009µs after the first"));
}

} // namespace
} // namespace tilescope::ui
