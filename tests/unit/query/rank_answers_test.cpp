#include "core/query/advice/rank_answers.h"

#include "core/query/advice/advice_table.h"
#include "tests/support/fake_ranks.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::query {
namespace {

using testing::FakeRanks;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RankAnswers : public ::testing::Test {
protected:
    store::RunReader fileOf(const FakeRanks& facts)
    {
        testing::writeFakeRanks(file_, facts);
        return store::RunReader(file_);
    }
    static std::string sentence(const store::RunReader& reader, const std::string& name)
    {
        return answers(reader, {}, name).rows.at(0).sentence;
    }

    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "ranks.tscope";
};

TEST_F(RankAnswers, MeansAreOfTypicalSteps)
{
    RanksTable table;
    const auto row = [](std::int64_t end, const char* leftOut) {
        RankRow row{.leftOut = leftOut};
        row.parts.wall = {timestampAt(0), timestampAt(end)};
        row.parts.host = Nanoseconds(end);
        return row;
    };
    table.rows = {row(9'000, "starts up"), row(100, ""), row(300, "")};
    EXPECT_EQ(table.meanRows().size(), 2U);
    EXPECT_EQ(table.meanStep()->wall.length(), Nanoseconds(200));
    EXPECT_EQ(table.meanStep()->host, Nanoseconds(200));
    table.rows = {row(9'000, "starts up")};
    EXPECT_EQ(table.meanStep()->wall.length(), Nanoseconds(9'000)) << "there is no other one";
}

TEST_F(RankAnswers, SumUpTheTableOfRanks)
{
    const store::RunReader reader = fileOf(FakeRanks{});
    const RanksTable table = ranks(reader, {});
    const auto mean = table.meanStep();
    ASSERT_TRUE(mean);
    EXPECT_EQ(mean->wall.length(),
              mean->compute + mean->exposedCommunication + mean->exposedCopies + mean->host + mean->idle);
    const AnswersTable exposed = answers(reader, {}, "exposed-communication");
    ASSERT_EQ(exposed.rows.size(), 1U);
    EXPECT_EQ(exposed.rows[0].figures.at(2).value, static_cast<double>(mean->exposedCommunication.count()));
    EXPECT_THAT(exposed.rows[0].command, HasSubstr(" ranks --run 1"));
    EXPECT_THAT(sentence(reader, "late-rank"), StartsWith("Straggler: rank 1"));
    EXPECT_EQ(
        sentence(reader, "gather-in-time"),
        "No: 8 of 8 all-gathers end after they are needed; the one of step/forward/layers.0 is waited for "
        "longest, 5.00 µs.");
}

TEST_F(RankAnswers, CompareBandwidthWithTheLinkOfTheDataSheet)
{
    const store::RunReader reader = fileOf(FakeRanks{});
    const RanksTable table = ranks(reader, {});
    ASSERT_TRUE(table.link);
    EXPECT_EQ(table.link->bytesPerSecond, 450e9);
    EXPECT_EQ(table.link->source, "data sheet of H200 SXM");
    const CollectiveRow& row = table.collectives.at(1);
    ASSERT_EQ(row.op, "all_reduce");
    EXPECT_DOUBLE_EQ(table.linkPercent(row).value(), 100 * row.bandwidth->bus / 450);
    EXPECT_THAT(sentence(reader, "link-use"), HasSubstr("all_reduce 126 GB/s (28 % of the link)"));
}

TEST_F(RankAnswers, AdviseOnAStragglerAndOnLateGathers)
{
    using analysis::AdviceRule;
    const store::RunReader reader = fileOf(FakeRanks{});
    const AdviceTable table = advice(reader, {}, {.rank = 0});
    const auto late = std::ranges::find(table.rows, AdviceRule::LateRank, &Advice::rule);
    ASSERT_NE(late, table.rows.end());
    EXPECT_THAT(late->sentence, StartsWith("rank 1 is last in 8 of 8 steps; waiting for late ranks takes "));
    EXPECT_EQ(late->evidence.at(0).name, "rank 1");
    // 5 µs of a step are too few for a finding.
    EXPECT_EQ(std::ranges::find(table.rows, AdviceRule::LateGather, &Advice::rule), table.rows.end());
    const AdviceTable few = advice(fileOf(FakeRanks{.steps = 2}), {}, {.rank = 0});
    const auto unjudged = std::ranges::find(few.unjudged, AdviceRule::LateRank, &UnjudgedRule::rule);
    ASSERT_NE(unjudged, few.unjudged.end());
    EXPECT_THAT(unjudged->why, HasSubstr("6 steps"));
}

} // namespace
} // namespace tilescope::query
