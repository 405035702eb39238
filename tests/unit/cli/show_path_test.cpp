// `show FILE path` of runs of one and of several ranks.

#include "core/query/runs/run_tables.h"
#include "core/store/run_reader.h"
#include "tests/support/fake_ranks.h"
#include "tests/unit/cli/show_fixture.h"

#include <array>
#include <cstdint>
#include <string>

namespace tilescope::cli {

class ShowPath : public ::testing::Test {
protected:
    std::string fileOf(const testing::FakeRanks& facts)
    {
        testing::writeFakeRanks(folder_ / "ranks.tscope", facts);
        return (folder_ / "ranks.tscope").string();
    }
    static json valid(const std::string& schema, std::vector<std::string> arguments)
    {
        arguments.insert(arguments.end(), {"--format", "json"});
        std::ostringstream out;
        EXPECT_EQ(show(arguments, out), 0);
        EXPECT_THAT(testing::schemaOffences(out.str(), std::filesystem::path(TILESCOPE_SOURCE_DIR) /
                                                           "resources/schema" / (schema + ".schema.json")),
                    IsEmpty());
        return json::parse(out.str());
    }

    testing::TemporaryFolder folder_;
};

TEST_F(ShowPath, PartsAddUpToTheWallTime)
{
    const json rows = valid("show-path", {fileOf({.ranks = 4}), "path"});
    ASSERT_EQ(rows.size(), 32U);
    for (const json& row : rows) {
        std::int64_t sum = 0;
        for (const char* part : {"host_ns", "launch_ns", "compute_ns", "memory_ns", "communication_ns",
                                 "data_loading_ns", "synchronization_ns", "unexplained_ns"})
            sum += row[part].get<std::int64_t>();
        EXPECT_EQ(sum, row["wall_ns"]);
    }
}

TEST_F(ShowPath, SegmentsCoverTheStepAndLeadToTheLateRank)
{
    const std::string file = fileOf({.hostIsAhead = true});
    const json rows = valid("show-path-segments", {file, "path", "--step", "2", "--rank", "0"});
    ASSERT_FALSE(rows.empty());
    std::int64_t time = 0;
    bool isOnLateRank = false;
    for (const json& row : rows) {
        EXPECT_EQ(row["path_rank"], 0);
        EXPECT_EQ(row["offset_ns"], time);
        time += row["duration_ns"].get<std::int64_t>();
        isOnLateRank = isOnLateRank || row["rank"] == 1;
    }
    EXPECT_TRUE(isOnLateRank) << "an all-reduce of rank 0 waits for rank 1";
    const json paths = valid("show-path", {file, "path", "--rank", "0"});
    EXPECT_EQ(time, paths[2]["wall_ns"]);
    for (const json& row : rows)
        EXPECT_EQ(row["start_ns"],
                  paths[2]["start_ns"].get<std::int64_t>() + row["offset_ns"].get<std::int64_t>());
}

constexpr std::array kParts{"host_ns",          "launch_ns",       "compute_ns",         "memory_ns",
                            "communication_ns", "data_loading_ns", "synchronization_ns", "unexplained_ns"};

std::int64_t sumOfParts(const json& row)
{
    std::int64_t sum = 0;
    for (const char* part : kParts)
        sum += row[part].get<std::int64_t>();
    return sum;
}

TEST_F(ShowPath, PartsInTwoSpansAddUpToThoseOfTheStep)
{
    const std::string file = fileOf({.hostIsAhead = true});
    const json whole = valid("show-path", {file, "path", "--rank", "0"})[2];
    // --from and --to count from the first event, start_ns from the start of the run.
    const store::RunReader reader(file);
    const auto first =
        (reader.span(RunId{1})->first - query::chooseRun(reader, RunId{1}).clockOrigin).count();
    const auto start = whole["start_ns"].get<std::int64_t>() - first;
    const auto wall = whole["wall_ns"].get<std::int64_t>();
    const auto of = [&](std::int64_t from, std::int64_t to) {
        const json rows = valid("show-path", {file, "path", "--rank", "0", "--from", std::to_string(from),
                                              "--to", std::to_string(to)});
        EXPECT_EQ(rows.size(), 1U);
        EXPECT_EQ(rows.at(0)["step"], whole["step"]);
        EXPECT_EQ(rows.at(0)["wall_ns"], to - from);
        EXPECT_EQ(sumOfParts(rows.at(0)), to - from);
        return rows.at(0);
    };
    const json begin = of(start, start + wall / 3);
    const json rest = of(start + wall / 3, start + wall);
    for (const char* part : kParts)
        EXPECT_EQ(begin[part].get<std::int64_t>() + rest[part].get<std::int64_t>(), whole[part]) << part;
}

TEST_F(ShowPath, OfARangeHasOnlyWhatThePathSpendsThere)
{
    const std::string file = fileOf({.hostIsAhead = true});
    const json whole = valid("show-path", {file, "path", "--rank", "0"});
    const json within = valid("show-path", {file, "path", "--rank", "0", "--range", "step/**"});
    ASSERT_EQ(within.size(), whole.size());
    EXPECT_GT(sumOfParts(within[2]), 0);
    EXPECT_LE(sumOfParts(within[2]), sumOfParts(whole[2]));
    EXPECT_EQ(within[2]["wall_ns"], whole[2]["wall_ns"]);
    const json none = valid("show-path", {file, "path", "--rank", "0", "--range", "step/nothing"});
    EXPECT_EQ(sumOfParts(none[2]), 0);
}

} // namespace tilescope::cli
