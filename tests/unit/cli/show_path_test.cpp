// `show FILE path` of runs of one and of several ranks.

#include "tests/support/fake_ranks.h"
#include "tests/unit/cli/show_fixture.h"

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

} // namespace tilescope::cli
