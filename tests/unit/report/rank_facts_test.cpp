#include "core/report/rank_facts.h"

#include "tests/support/fake_ranks.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

namespace tilescope::report {
namespace {

using testing::FakeRanks;

class RankFacts : public ::testing::Test {
protected:
    RankFacts()
    {
        const std::filesystem::path file = folder_ / "ranks.tscope";
        testing::writeFakeRanks(file, {});
        table_ = query::ranks(store::RunReader(file), {});
    }
    double of(std::string_view which) const
    {
        const Fact fact = collectiveFact(table_, which);
        const auto* value = std::get_if<Measured>(&fact);
        return value ? value->value : -1;
    }
    double ofRanks(std::string_view which) const
    {
        const Fact fact = ranksFact(table_, which);
        const auto* value = std::get_if<Measured>(&fact);
        return value ? value->value : -1;
    }

    testing::TemporaryFolder folder_;
    query::RanksTable table_;
};

TEST_F(RankFacts, CollectivesAreCountedByStep)
{
    EXPECT_EQ(of("count"), FakeRanks::kCollectives);
    EXPECT_EQ(std::get<std::string>(collectiveFact(table_, "op")), "all_gather, all_reduce");
    EXPECT_EQ(of("message"), FakeRanks::kBytes);
    EXPECT_DOUBLE_EQ(of("transfer"), FakeRanks::kTransfer / 1e6);
    // Two ranks: an all-reduce sends its message once, an all-gather half of what it gathers.
    EXPECT_DOUBLE_EQ(of("sent"), 4.5 * FakeRanks::kBytes);
    EXPECT_DOUBLE_EQ(of("bus"), static_cast<double>(FakeRanks::kBytes) / FakeRanks::kTransfer);
    EXPECT_DOUBLE_EQ(of("link_share"), 100 * of("bus") / 450);
}

TEST_F(RankFacts, GathersAreThoseWithWorkThatNeedsThem)
{
    EXPECT_EQ(of("gathers"), 1);
    EXPECT_EQ(of("late_gathers"), 1);
    EXPECT_DOUBLE_EQ(of("stall"), 5e-3);
}

TEST_F(RankFacts, PartsOfTheMeanStepAddUpToItsWall)
{
    EXPECT_NEAR(ofRanks("compute") + ofRanks("exposed") + ofRanks("copies") + ofRanks("host") +
                    ofRanks("idle"),
                ofRanks("wall"), 1e-9);
    EXPECT_DOUBLE_EQ(ofRanks("communication"), ofRanks("exposed") + ofRanks("overlapped"));
    EXPECT_DOUBLE_EQ(ofRanks("exposed_share"), 100 * ofRanks("exposed") / ofRanks("wall"));
    EXPECT_TRUE(std::get<std::string>(ranksFact(table_, "late")).starts_with("Straggler: rank 1"));
    EXPECT_TRUE(std::holds_alternative<std::monostate>(ranksFact(table_, "unknown")));
}

} // namespace
} // namespace tilescope::report
