// `show FILE advice` in all formats.

#include "tests/support/fake_ranks.h"
#include "tests/unit/cli/show_fixture.h"

#include <cmath>
#include <limits>

namespace tilescope::cli {

/// Ranks that communicate beside nothing for at least 0.8 ms of each step.
class ShowAdvice : public Show {
protected:
    ShowAdvice() { testing::writeFakeRanks(ranks_, {}); }

    std::string runRanks(std::vector<std::string> arguments) const
    {
        arguments.insert(arguments.begin(), {ranks_.string(), "advice"});
        std::ostringstream out;
        EXPECT_EQ(show(arguments, out), 0);
        return out.str();
    }
    json ofRanks(std::vector<std::string> arguments) const
    {
        arguments.insert(arguments.end(), {"--format", "json"});
        const std::string text = runRanks(std::move(arguments));
        EXPECT_THAT(testing::schemaOffences(text, std::string(TILESCOPE_SOURCE_DIR) +
                                                      "/resources/schema/show-advice.schema.json"),
                    IsEmpty())
            << text;
        return json::parse(text);
    }
    static const json& ruleOf(const json& rows, const std::string& rule)
    {
        for (const json& row : rows)
            if (row["rule"] == rule)
                return row;
        static const json none;
        ADD_FAILURE() << "no row of " << rule;
        return none;
    }

private:
    testing::TemporaryFolder ranksFolder_;
    std::filesystem::path ranks_ = ranksFolder_ / "ranks.tscope";
};

TEST_F(ShowAdvice, RowsOfEvidenceAddUpToWhatIsAtStake)
{
    const json rows = ofRanks({});
    std::int64_t before = std::numeric_limits<std::int64_t>::max();
    for (const json& row : rows) {
        if (row["at_stake_total_ns"].is_null())
            continue;
        const std::int64_t atStake = row["at_stake_total_ns"];
        EXPECT_LE(atStake, before) << "ranked";
        before = atStake;
        std::int64_t sum = 0;
        for (const json& evidence : row["evidence"])
            sum += evidence["at_stake_ns"].get<std::int64_t>();
        EXPECT_EQ(sum, atStake) << row["rule"];
        EXPECT_EQ(row["at_stake_ns"], std::llround(static_cast<double>(atStake) / 16))
            << "8 steps of 2 ranks";
        EXPECT_DOUBLE_EQ(row["percent"],
                         100.0 * static_cast<double>(atStake) / row["wall_total_ns"].get<double>());
        EXPECT_EQ(row["denominator"], "traced steps");
        EXPECT_TRUE(row["rank"].is_null()) << "the mean of both";
    }
    const json& exposed = ruleOf(rows, "exposed-communication");
    EXPECT_EQ(exposed["evidence"][0]["kind"], "kernel");
    EXPECT_THAT(exposed["command"], ::testing::EndsWith("collectives --run 1"));
    for (const json& row : ofRanks({"--rank", "1"}))
        EXPECT_EQ(row["rank"], 1);
}

TEST_F(ShowAdvice, SaysWhatCannotBeJudgedAndWhy)
{
    const json rows = ofRanks({});
    const json& row = ruleOf(rows, "fragmentation");
    EXPECT_EQ(row["why"], "no allocations of a GPU were recorded");
    EXPECT_TRUE(row["at_stake_ns"].is_null());
    EXPECT_EQ(row["evidence"], json::array());
    EXPECT_THAT(runRanks({}),
                HasSubstr("Not judged: fragmentation, because no allocations of a GPU were recorded."));
    EXPECT_THAT(run({"advice", "--run", "2"}), HasSubstr("because no GPU activity was recorded."));
}

TEST_F(ShowAdvice, TextNamesDenominatorEvidenceAndRemedy)
{
    const std::string text = runRanks({});
    EXPECT_THAT(text, HasSubstr("Shares are of the mean wall time of 16 traced steps, "));
    EXPECT_THAT(text, HasSubstr("; mean of 2 ranks."));
    EXPECT_THAT(text, HasSubstr("exposed-communication: "));
    EXPECT_THAT(text, HasSubstr("Remedy: Start collectives as soon as"));
    EXPECT_THAT(text, HasSubstr("At stake: the time of communication in which no compute kernel runs"));
    EXPECT_THAT(runRanks({"--rank", "1"}), HasSubstr("; rank 1."));
}

TEST_F(ShowAdvice, IsATableForMarkdownAndCsv)
{
    EXPECT_THAT(runRanks({"--format", "md"}), HasSubstr("| rule | at stake"));
    EXPECT_THAT(runRanks({"--format", "md"}), HasSubstr("Shares are of the mean wall time"));
    EXPECT_THAT(runRanks({"--format", "csv"}), HasSubstr("run,rank,rule,at_stake_ns,percent,"));
}

TEST_F(ShowAdvice, RunsWithoutEventsHaveNone)
{
    EXPECT_EQ(valid({"advice", "--run", "3"}, "advice"), json::array());
    EXPECT_THAT(run({"advice", "--run", "3"}), HasSubstr("has no events"));
    EXPECT_THAT(errorOf({file(), "advice", "--device", "0"}), HasSubstr("choose a process"));
}

} // namespace tilescope::cli
