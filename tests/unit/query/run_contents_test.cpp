#include "core/query/runs/run_contents.h"

#include "core/query/runs/run_tables.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_ranks.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tilescope::query {
namespace {

TEST(RunContents, SaysWhatAFileHoldsAndLacks)
{
    const testing::TemporaryFolder folder;
    testing::writeFakeRanks(folder / "ranks.tscope", {.ranks = 2, .steps = 3});
    const store::RunReader reader(folder / "ranks.tscope");
    const RunContents contents = contentsOf(reader, RunId{1});
    const store::EventCounts counts = reader.counts(RunId{1});
    ASSERT_GT(counts.deviceEvents, 0);
    const auto countOf = [&](std::string_view key) {
        const auto kind = std::ranges::find(contents.held, key, &RunContents::Kind::key);
        return kind == contents.held.end() ? 0 : kind->count;
    };
    EXPECT_EQ(countOf("processes"), 2);
    EXPECT_EQ(countOf("gpu_activities"), counts.deviceEvents);
    EXPECT_EQ(countOf("collectives"), 30) << "five in a step of each rank";
    EXPECT_EQ(countOf("memory_events"), 0);
    EXPECT_NE(contents.missing.find("memory events"), std::string::npos) << contents.missing;
    EXPECT_EQ(contents.missing.find("GPU activities"), std::string::npos) << contents.missing;

    const EnvironmentTable facts = environment(reader);
    ASSERT_EQ(facts.rows.size(), contents.held.size() + 1);
    EXPECT_EQ(facts.rows[0].key, "contents.processes");
    EXPECT_EQ(facts.rows[0].value, "2");
    EXPECT_EQ(facts.rows.back().key, "missing");
    EXPECT_EQ(facts.rows.back().value, contents.missing);
}

TEST(RunContents, AMemorySnapshotLacksActivities)
{
    const testing::TemporaryFolder folder;
    StringTable strings;
    store::RunWriter writer(folder / "a.tscope", strings);
    writer.beginRun({"a", std::string(kSnapshotWorkload.name), R"({"workload":"snapshot"})", "hash", "test"});
    writer.endRun({});
    const EnvironmentTable facts = environment(store::RunReader(folder / "a.tscope"));
    ASSERT_FALSE(facts.rows.empty());
    EXPECT_EQ(facts.rows.back().key, "missing");
    EXPECT_TRUE(facts.rows.back().value.starts_with("GPU activities, ")) << facts.rows.back().value;
}

TEST(RunContents, ARunOfASpecHasOnlyTheFactsOfItsMachine)
{
    const testing::TemporaryFolder folder;
    StringTable strings;
    store::RunWriter writer(folder / "a.tscope", strings);
    writer.beginRun({"a", "lm", R"({"workload":"lm"})", "hash", "test"});
    writer.endRun({});
    EXPECT_TRUE(environment(store::RunReader(folder / "a.tscope")).rows.empty());
}

} // namespace
} // namespace tilescope::query
