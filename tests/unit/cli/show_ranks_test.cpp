// `show FILE ranks` and `show FILE collectives` of a run of several ranks.

#include "tests/support/fake_ranks.h"
#include "tests/unit/cli/show_fixture.h"

namespace tilescope::cli {

class ShowRanks : public ::testing::Test {
protected:
    std::string fileOf(const testing::FakeRanks& facts)
    {
        testing::writeFakeRanks(folder_ / "ranks.tscope", facts);
        return (folder_ / "ranks.tscope").string();
    }
    static std::string run(const std::vector<std::string>& arguments)
    {
        std::ostringstream out;
        EXPECT_EQ(show(arguments, out), 0);
        return out.str();
    }
    static json valid(std::vector<std::string> arguments)
    {
        const std::string schema = "show-" + arguments[1] + ".schema.json";
        arguments.insert(arguments.end(), {"--format", "json"});
        const std::string text = run(arguments);
        EXPECT_THAT(testing::schemaOffences(text, std::filesystem::path(TILESCOPE_SOURCE_DIR) /
                                                      "resources/schema" / schema),
                    IsEmpty());
        return json::parse(text);
    }
    static std::string errorOf(const std::vector<std::string>& arguments)
    {
        std::ostringstream out;
        try {
            show(arguments, out);
        } catch (const Error& error) {
            return error.sentence();
        }
        return {};
    }

    testing::TemporaryFolder folder_;
};

TEST_F(ShowRanks, PartsAddUpToTheWallTime)
{
    const json rows = valid({fileOf({.ranks = 4, .lateRank = 3}), "ranks"});
    ASSERT_EQ(rows.size(), 32U);
    for (const json& row : rows) {
        std::int64_t sum = 0;
        for (const char* part :
             {"compute_ns", "exposed_communication_ns", "exposed_copy_ns", "host_ns", "idle_ns"})
            sum += row[part].get<std::int64_t>();
        EXPECT_EQ(sum, row["wall_ns"]);
        EXPECT_EQ(row["last"], row["rank"] == 3);
        EXPECT_EQ(row["late_ns"], row["rank"] == 3 ? 2'000'000 : 0);
    }
}

TEST_F(ShowRanks, CollectivesNameTheLateRankAndItsLateness)
{
    const json rows = valid({fileOf({}), "collectives", "--step", "2"});
    ASSERT_EQ(rows.size(), 5U);
    const json& delayed = rows[3];
    EXPECT_EQ(delayed["sequence"], 13);
    EXPECT_EQ(delayed["op"], "all_reduce");
    EXPECT_EQ(delayed["range"], "step/backward/layers.1");
    EXPECT_EQ(delayed["late_rank"], 1);
    EXPECT_EQ(delayed["late_ns"], 2'000'000);
    EXPECT_EQ(delayed["wait_ns"], 2'000'000);
    EXPECT_EQ(delayed["transfer_ns"], 400'000);
    EXPECT_EQ(delayed["bytes"], 48 << 20);
    EXPECT_DOUBLE_EQ(delayed["bus_gb_s"].get<double>(), (48 << 20) / 400'000.0);
    EXPECT_EQ(delayed["per_rank"][0]["duration_ns"], 2'400'000);
    EXPECT_EQ(delayed["missing_ranks"], json::array());
    EXPECT_TRUE(delayed["slack_ns"].is_null());
    EXPECT_EQ(rows[0]["op"], "all_gather");
    EXPECT_EQ(rows[0]["slack_ns"], 5'000);
    EXPECT_EQ(rows[0]["slack_rule"], "module");
}

TEST_F(ShowRanks, MissingRanksAreNamedAndNobodyIsLate)
{
    const json rows = valid({fileOf({.ranks = 3, .unrecorded = 1}), "collectives"});
    EXPECT_EQ(rows[0]["missing_ranks"], json::array({2}));
    EXPECT_EQ(rows[0]["missing_count"], 1);
    EXPECT_TRUE(rows[0]["late_rank"].is_null());
    EXPECT_THAT(run({fileOf({.ranks = 3, .unrecorded = 1}), "collectives"}),
                HasSubstr("40 collectives were not recorded on all ranks"));
}

TEST_F(ShowRanks, ARankIsSelectedByNumberOrProcess)
{
    const std::string file = fileOf({});
    EXPECT_EQ(valid({file, "ranks", "--rank", "1", "--step", "0"}).size(), 1U);
    EXPECT_EQ(valid({file, "ranks", "--process", "101"}).size(), 8U);
    EXPECT_EQ(valid({file, "collectives", "--rank", "1"})[3]["wait_ns"], 0);
    EXPECT_EQ(errorOf({file, "ranks", "--rank", "7"}), "--rank: run 1 has no rank 7; it has: 0, 1");
    EXPECT_THAT(errorOf({file, "ranks", "--device", "0"}),
                HasSubstr("choose a process: --rank or --process"));
    EXPECT_THAT(errorOf({file, "ops", "--step", "0"}),
                HasSubstr("ranks, collectives, path, waiting, metrics and kernels do"));
    EXPECT_THAT(errorOf({file, "ranks", "--step", "x"}), HasSubstr("not a whole number"));
}

TEST_F(ShowRanks, RowsOfSumsNameTheirProcess)
{
    const std::string file = fileOf({});
    for (const std::string section : {"ranges", "kernels"}) {
        const json all = valid({file, section});
        ASSERT_FALSE(all.empty());
        for (const char* key : {"rank", "process", "pid"})
            EXPECT_TRUE(all[0][key].is_null()) << section;
        const json one = valid({file, section, "--rank", "1"});
        ASSERT_FALSE(one.empty());
        EXPECT_EQ(one[0]["rank"], 1);
        EXPECT_EQ(one[0]["process"], 1);
        EXPECT_EQ(one[0]["pid"], 101);
        EXPECT_EQ(2 * one[0]["instances"].get<int>(), all[0]["instances"]) << section;
        EXPECT_EQ(valid({file, section, "--process", "101"}), one);
    }
    EXPECT_THAT(errorOf({file, "ranges", "--device", "0"}), HasSubstr("--rank or --process"));
    // After the others: it is the same file.
    EXPECT_EQ(valid({fileOf({.ranks = 1}), "ranges"})[0]["process"], 0);
}

TEST_F(ShowRanks, KernelsOfTheStepsAddUpToThoseOfAll)
{
    const std::string file = fileOf({});
    const auto totalOf = [&](const std::vector<std::string>& options) {
        std::vector<std::string> words{file, "kernels"};
        words.insert(words.end(), options.begin(), options.end());
        std::int64_t total = 0;
        for (const auto& row : valid(words))
            total += row["total_ns"].get<std::int64_t>();
        return total;
    };
    std::int64_t sum = 0;
    for (int step = 0; step < 8; ++step)
        sum += totalOf({"--step", std::to_string(step)});
    EXPECT_GT(sum, 0);
    EXPECT_EQ(sum, totalOf({}));
}

TEST_F(ShowRanks, TextSaysTheVerdictAndWhatAddsUp)
{
    const std::string table = run({fileOf({}), "ranks"});
    EXPECT_THAT(table, HasSubstr("host and idle add up to the wall."));
    EXPECT_THAT(table, HasSubstr("Straggler: rank 1, last in 8 of 8 steps"));
    EXPECT_THAT(run({fileOf({.steps = 2}), "ranks"}), HasSubstr("2 steps allow no straggler verdict"));
    EXPECT_THAT(run({fileOf({}), "collectives"}),
                HasSubstr("0 of 8 all-gathers ended before they were needed."));
}

TEST_F(ShowRanks, MarkdownIsATableAndItsNotes)
{
    const std::string text = run({fileOf({.steps = 2}), "ranks", "--format", "md"});
    EXPECT_THAT(text, HasSubstr("| ---: |"));
    EXPECT_THAT(text, HasSubstr("| rank 1 |"));
    EXPECT_THAT(text, HasSubstr("2 steps allow no straggler verdict"));
}

TEST_F(Show, ARunOfOneProcessHasPartsButNoLateness)
{
    const json rows = valid({"ranks", "--run", "1"}, "ranks");
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_TRUE(rows[0]["rank"].is_null());
    EXPECT_TRUE(rows[0]["late_ns"].is_null());
    EXPECT_EQ(rows[0]["compute_ns"], 60);
    EXPECT_THAT(run({"ranks", "--run", "1"}),
                HasSubstr("The run has one process: no other rank can be late."));
    EXPECT_THAT(run({"collectives", "--run", "1"}), HasSubstr("Run 1 recorded no collectives."));
    EXPECT_EQ(valid({"ranks", "--run", "2"}, "ranks")[0]["compute_ns"], 40);
    EXPECT_EQ(valid({"ranks", "--run", "3"}, "ranks"), json::array());
}

} // namespace tilescope::cli
