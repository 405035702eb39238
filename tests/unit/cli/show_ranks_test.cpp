// `show FILE ranks` and `show FILE collectives` of a run of several ranks.

#include "core/exchange/import/importer.h"
#include "core/store/run_reader.h"
#include "tests/support/fake_ranks.h"
#include "tests/unit/cli/show_fixture.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <set>

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

TEST_F(ShowRanks, WaitingNamesTheRankThatAnotherOneWaitsFor)
{
    const std::string file = fileOf({.hasStacks = true});
    const std::string all = run({file, "waiting"});
    EXPECT_THAT(all, HasSubstr("The GPUs were idle for "));
    EXPECT_THAT(all, HasSubstr(", in the mean of 2: from "));
    EXPECT_THAT(
        all,
        HasSubstr(
            "Within collectives, rank 0 waits for rank 1 for 1.60 ms a step (in 8 of 8 steps); a GPU that "
            "waits so is busy: this is not part of the idle time. The costliest line of rank 1 is "
            "train.py:8."));
    const std::string one = run({file, "waiting", "--rank", "0"});
    EXPECT_THAT(one, HasSubstr("The GPU was idle for "));
    EXPECT_THAT(one, HasSubstr("What that one does meanwhile: show waiting --rank 1."));
    EXPECT_THAT(run({file, "waiting", "--rank", "1"}), Not(HasSubstr("Within collectives")));
    for (const json& row : valid({file, "waiting"}))
        EXPECT_EQ(row.at("steps"), 8);
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

TEST_F(ShowRanks, StartsAreThoseOfTheFile)
{
    const std::string file = fileOf({});
    const store::RunReader reader(file);
    const Timestamp origin = reader.runs().front().clockOrigin;
    std::set<std::int64_t> starts; // of ranges and device events, as `sql` prints them
    for (const auto& range : reader.ranges({.run = RunId{1}}))
        starts.insert((range.start - origin).count());
    for (const auto& event : reader.deviceEvents({.run = RunId{1}}))
        starts.insert((event.start - origin).count());
    ASSERT_FALSE(starts.contains(0)) << "the first event is not the start of the run";
    for (const json& row : valid({file, "ranks"}))
        EXPECT_TRUE(starts.contains(row["start_ns"].get<std::int64_t>())) << row;
    for (const json& row : valid({file, "path"}))
        EXPECT_TRUE(starts.contains(row["start_ns"].get<std::int64_t>())) << row;
    for (const json& row : valid({file, "collectives"}))
        for (const json& rank : row["per_rank"])
            EXPECT_TRUE(starts.contains(rank["start_ns"].get<std::int64_t>())) << rank;
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
                HasSubstr("ranks, collectives, path, waiting, inside, metrics and kernels do"));
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

TEST_F(ShowRanks, RowsOfProcessesWithoutRanksCarryTheirProcess)
{
    const auto traceOf = [&](int pid) {
        const std::filesystem::path file = folder_ / (std::to_string(pid) + ".json");
        const std::string base = "2000000000000";
        const std::string host = fmt::format(R"("pid": {0}, "tid": {0})", pid);
        std::ofstream(file) << fmt::format(
            R"json({{"traceEvents": [
{{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", {0}, "ts": {1}100, "dur": 500}},
{{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", {0}, "ts": {1}110,
 "args": {{"Total Allocated": {2}, "Bytes": {2}, "Device Id": {3}, "Device Type": 1, "Addr": 1024}}}},
{{"ph": "C", "name": "queue", {0}, "ts": {1}120, "args": {{"length": {2}}}}},
{{"ph": "C", "name": "queue", {0}, "ts": {1}130, "args": {{"length": {2}}}}},
{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", {0}, "ts": {1}140, "dur": 5, "args": {{"correlation": 1}}}},
{{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "pid": {3}, "tid": 20, "ts": {1}200,
 "dur": 300, "args": {{"device": {3}, "stream": 20, "correlation": 1, "Collective name": "allreduce", "dtype": "Float",
 "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 2, "Process Group Name": "0",
 "Process Group Ranks": [0, 1], "Seq": 1}}}}]}})json",
            host, base, pid, pid - 100);
        return file;
    };
    const std::filesystem::path file = folder_ / "two.tscope";
    exchange::importFiles(std::array{traceOf(100), traceOf(101)}, file);
    const auto pidsOf = [&](const json& rows) {
        std::vector<int> pids;
        for (const json& row : rows) {
            EXPECT_TRUE(row["rank"].is_null());
            EXPECT_EQ(row["process"], row["pid"] == 101 ? 1 : 0);
            pids.push_back(row["pid"]);
        }
        return pids;
    };
    EXPECT_THAT(pidsOf(valid({file, "memory"})), ::testing::UnorderedElementsAre(100, 101));
    EXPECT_THAT(pidsOf(valid({file, "counters"})), ::testing::UnorderedElementsAre(100, 101));
    const json collectives = valid({file, "collectives"});
    ASSERT_EQ(collectives.size(), 1U);
    EXPECT_THAT(pidsOf(collectives[0]["per_rank"]), ElementsAre(100, 101));
    // Tables of one device, step or finding.
    const auto first = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), file);
        arguments.insert(arguments.end(), {"--format", "json"});
        return json::parse(run(arguments)).at(0);
    };
    EXPECT_EQ(first({"memory", "--group", "category"})["pid"], 101); // has the highest peak
    EXPECT_EQ(first({"memory", "--at", "peak"})["pid"], 101);
    EXPECT_EQ(first({"memory", "--at", "peak", "--process", "100"})["pid"], 100);
    EXPECT_EQ(first({"advice", "--process", "100"})["pid"], 100);
    EXPECT_TRUE(first({"advice"})["pid"].is_null());
    EXPECT_TRUE(first({"samples"})["pid"].is_null());

    exchange::importFiles(std::array{folder_ / "100.json"}, folder_ / "one.tscope");
    EXPECT_EQ(valid({folder_ / "one.tscope", "samples"})[0]["pid"], 100);
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
