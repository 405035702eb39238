#include "core/store/maintenance/maintenance.h"

#include "child.h"
#include "core/base/error.h"
#include "core/model/memory.h"
#include "store_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <thread>

namespace tilescope::store {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Maintenance : public ::testing::Test {
protected:
    /// Appends a run whose events carry `mark`, so that a mix-up shows.
    std::string writeRun(const fs::path& file, const std::string& mark,
                         std::optional<std::int64_t> point = {})
    {
        // Another order of strings in each file: ids must not be taken over.
        StringTable strings;
        strings.intern("filler of " + mark);
        Builder make(strings);
        RunWriter writer(file, strings);
        RunHeader head = header("sweep");
        head.specHash = mark;
        head.point = point;
        writer.beginRun(head);
        const std::string uid = writer.uid();
        const EnvironmentEntry environment[] = {{"gpu", mark}};
        writer.writeEnvironment(environment);
        const Sample samples[] = {{.step = 0, .wall = Nanoseconds(mark.size())}};
        writer.writeSamples(samples);
        TraceBatch batch;
        for (std::uint32_t i = 0; i < 600; ++i) {
            batch.ranges.push_back(make.range(i, "step/" + mark, i, i + 1));
            Op op = make.op(i, "op " + mark, i, i + 1);
            op.parent = i > 0 ? OpId{i - 1} : OpId::none();
            op.range = RangeId{i};
            batch.ops.push_back(op);
            DeviceEvent kernel = make.kernel("void ns::kernel_" + mark + "<float>(int)", i, i + 1);
            kernel.op = OpId{i};
            kernel.launch.grid[0] = static_cast<std::uint32_t>(mark.size() + i % 3);
            batch.deviceEvents.push_back(kernel);
            batch.allocEvents.push_back(make.allocation(AllocAction::FreeCompleted, i, 512, i));
        }
        DeviceEvent copy = batch.deviceEvents.back();
        copy.kind = DeviceEventKind::Memset;
        copy.bytes = 77;
        batch.deviceEvents.push_back(copy);
        ApiCall call;
        call.name = strings.intern("api " + mark);
        call.kind = ApiKind::Launch;
        call.start = call.end = make.at(3);
        batch.apiCalls = {call};
        batch.threads = {{ThreadId{5}, strings.intern("thread " + mark)}};
        batch.losses = {{strings.intern("loss"), LossSeverity::Warning, 3, strings.intern(mark)}};
        batch.recordsChecked = 9;
        addProcessEvents(batch, strings, make, mark);
        writer.write(batch);
        writer.writeTopology(topologyOf(mark));
        const CounterValue counters[] = {{"step/" + mark, "sm_active", 12.5, "%", 3, 1}};
        writer.writeCounters(counters);
        writer.writeCounterTracks(std::array{trackOf(mark)});
        MemoryFacts facts;
        facts.places = {placeOf(mark)};
        writer.writeMemory(facts);
        RunResult result;
        result.clockOffsetStart = Nanoseconds(1'900 + mark.size());
        writer.endRun(result);
        return uid;
    }

    static CounterTrack trackOf(const std::string& mark)
    {
        return {.name = "SM clock of " + mark,
                .unit = "Hz of " + mark,
                .device = DeviceIndex{1},
                .failed = 2,
                .end = timestampAt(9),
                .points = {{timestampAt(4), 1'980'000}, {timestampAt(7), -5}}};
    }

    static CodePlace placeOf(const std::string& mark)
    {
        return {"step/" + mark, "core/" + mark + ".cpp", static_cast<std::int64_t>(mark.size()),
                "f::" + mark};
    }

    static void expectProcesses(const RunReader& reader, RunId run, const std::string& mark)
    {
        const RunTopology expected = topologyOf(mark);
        const RunTopology read = reader.topology(run);
        EXPECT_EQ(read.clocks, expected.clocks);
        EXPECT_EQ(read.processes, expected.processes);
        EXPECT_EQ(read.devices, expected.devices);
        EXPECT_EQ(read.streams, expected.streams);
        const auto collectives = reader.collectives(run);
        ASSERT_EQ(collectives.size(), 2u);
        EXPECT_EQ(reader.text(collectives[0].op), "all_reduce");
        EXPECT_EQ(reader.text(collectives[0].group), "group " + mark);
        EXPECT_EQ(reader.text(collectives[0].ranks), "0,1");
        EXPECT_EQ(reader.text(collectives[0].dtype), "float");
        EXPECT_EQ(reader.text(collectives[0].path), "step/" + mark);
        EXPECT_EQ(collectives[0].range, RangeId{2});
        EXPECT_EQ(reader.waits(run).size(), 2u);
        const auto frames = reader.frames({.run = run});
        ASSERT_EQ(frames.size(), 1u);
        EXPECT_EQ(reader.text(frames[0].name), "train.py(96): " + mark);
        EXPECT_EQ(reader.text(reader.threads(run).at(1).name), "autograd of " + mark);
    }

    /// Everything of the run that writeRun() made carries its mark.
    void expectRun(const fs::path& file, RunId run, const std::string& mark)
    {
        SCOPED_TRACE("run " + std::to_string(run.value) + " as " + mark);
        const RunReader reader(file);
        const auto record = reader.run(run);
        ASSERT_TRUE(record);
        EXPECT_EQ(record->specHash, mark);
        EXPECT_EQ(record->recordsChecked, 9);
        EXPECT_EQ(record->result.clockOffsetStart, Nanoseconds(1'900 + mark.size()));
        EXPECT_FALSE(record->result.clockOffsetEnd);
        const CounterValue counter{"step/" + mark, "sm_active", 12.5, "%", 3, 1};
        EXPECT_THAT(reader.counters(run), ElementsAre(counter));
        EXPECT_THAT(reader.counterTracks(run), ElementsAre(trackOf(mark)));
        EXPECT_THAT(reader.memory(run).places, ElementsAre(placeOf(mark)));
        ASSERT_EQ(reader.environment(run).size(), 1u);
        EXPECT_EQ(reader.environment(run)[0].value, mark);
        EXPECT_EQ(reader.samples(run).at(0).wall, Nanoseconds(mark.size()));
        EXPECT_EQ(reader.losses(run).at(0).detail, mark);
        EXPECT_EQ(reader.text(reader.threads(run).at(0).name), "thread " + mark);
        expectProcesses(reader, run, mark);
        const auto ranges = reader.ranges({.run = run});
        ASSERT_EQ(ranges.size(), 600u);
        const auto ops = reader.ops({.run = run});
        ASSERT_EQ(ops.size(), 600u);
        const auto events = reader.deviceEvents({.run = run});
        ASSERT_EQ(events.size(), 601u);
        for (std::uint32_t i = 0; i < 600; ++i) {
            EXPECT_EQ(ranges[i].id, RangeId{i});
            EXPECT_EQ(reader.text(ranges[i].path), "step/" + mark);
            EXPECT_EQ(ops[i].id, OpId{i});
            EXPECT_EQ(ops[i].parent, i > 0 ? OpId{i - 1} : OpId::none());
            EXPECT_EQ(ops[i].range, RangeId{i});
            EXPECT_EQ(reader.text(ops[i].name), "op " + mark);
            EXPECT_EQ(reader.text(events[i].name), "void ns::kernel_" + mark + "<float>(int)");
            EXPECT_EQ(events[i].op, OpId{i});
            EXPECT_EQ(events[i].launch.grid[0], mark.size() + i % 3);
        }
        EXPECT_EQ(events[600].kind, DeviceEventKind::Memset);
        EXPECT_EQ(events[600].bytes, 77);
        EXPECT_EQ(reader.text(reader.apiCalls({.run = run}).at(0).name), "api " + mark);
        const auto allocations = reader.allocEvents({.run = run});
        ASSERT_EQ(allocations.size(), 600u);
        EXPECT_EQ(allocations[5].action, AllocAction::FreeCompleted);
    }

    std::vector<std::string> marks(const fs::path& file)
    {
        std::vector<std::string> result;
        for (const RunRecord& run : RunReader(file).runs())
            result.push_back(run.specHash);
        return result;
    }

    void expectSound(const fs::path& file)
    {
        const VerifyReport report = verify(file);
        EXPECT_TRUE(report.ok()) << report.problems.at(0);
    }

    TemporaryFolder folder;
    fs::path a = folder / "a.tscope";
    fs::path b = folder / "b.tscope";
    fs::path all = folder / "all.tscope";
};

TEST_F(Maintenance, MergingKeepsEachRunWhole)
{
    const std::string first = writeRun(a, "one");
    const std::string second = writeRun(a, "three");
    const std::string third = writeRun(b, "sixsix");
    const fs::path sources[] = {a, b};
    EXPECT_EQ(merge(sources, all).added, 3);
    expectRun(all, RunId{1}, "one");
    expectRun(all, RunId{2}, "three");
    expectRun(all, RunId{3}, "sixsix");
    const auto runs = RunReader(all).runs();
    EXPECT_EQ(runs[0].uid, first);
    EXPECT_EQ(runs[1].uid, second);
    EXPECT_EQ(runs[2].uid, third);
    expectSound(all);
}

TEST_F(Maintenance, MergingAgainChangesNothing)
{
    writeRun(a, "one");
    writeRun(b, "two2");
    const fs::path sources[] = {a, b, a};
    merge(sources, all);
    const MergeOutcome again = merge(sources, all);
    EXPECT_EQ(again.added, 0);
    EXPECT_EQ(again.present, 3);
    EXPECT_THAT(marks(all), ElementsAre("one", "two2"));
    fs::create_hard_link(all, folder / "other name");
    for (const fs::path& own : {all, folder / "other name"})
        try {
            merge(std::array{a, own}, all);
            ADD_FAILURE();
        } catch (const Error& error) {
            EXPECT_THAT(error.sentence(), HasSubstr("is the target, too"));
        }
    expectSound(all);
}

TEST_F(Maintenance, MergedShardsStandInTheOrderOfTheirPoints)
{
    writeRun(a, "p0", 0);
    writeRun(a, "p2", 2);
    writeRun(b, "p1", 1);
    writeRun(b, "p3", 3);
    const fs::path sources[] = {a, b};
    merge(sources, all);
    EXPECT_THAT(marks(all), ElementsAre("p0", "p1", "p2", "p3"));
}

TEST_F(Maintenance, MergingRefusesARunThatIsNotTheSame)
{
    writeRun(a, "one");
    fs::copy_file(a, b);
    const fs::path sources[] = {a, b};
    setNote(b, RunId{1}, "a note is no difference");
    EXPECT_EQ(merge(sources, all).added, 1);
    fs::remove(all);

    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(b.c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, "update run set parameters = 5", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
    try {
        merge(sources, all);
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.exitCode(), 2);
        EXPECT_THAT(error.sentence(), HasSubstr("is not the same"));
        EXPECT_THAT(error.sentence(), HasSubstr(b.string()));
    }
    EXPECT_FALSE(fs::exists(all));
}

TEST_F(Maintenance, MergingRefusesAFileThatIsBeingWritten)
{
    StringTable strings;
    RunWriter writer(a, strings);
    const fs::path sources[] = {a};
    try {
        merge(sources, all);
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("is being written"));
    }
    EXPECT_FALSE(fs::exists(all));
}

TEST_F(Maintenance, MergingADamagedFileChangesNothing)
{
    writeRun(a, "one");
    writeRun(b, "two2");
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(b.c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, "update op set duration = 9 where id = 300", nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(database);
    const fs::path sources[] = {a, b};
    EXPECT_THROW(merge(sources, all), Error);
    EXPECT_FALSE(fs::exists(all));
    writeRun(all, "three");
    EXPECT_THROW(merge(sources, all), Error);
    EXPECT_THAT(marks(all), ElementsAre("three"));
    expectRun(all, RunId{1}, "three");
    expectSound(all);
}

// A copy of a file that is still written elsewhere.
TEST_F(Maintenance, MergingCanWaitForTheEndOfARun)
{
    writeRun(a, "one");
    writeRun(a, "two");
    const auto setStatus = [this](const char* status) {
        sqlite3* database = nullptr;
        ASSERT_EQ(sqlite3_open(a.c_str(), &database), SQLITE_OK);
        const std::string change = std::string("update run set status = '") + status + "' where id = 2";
        ASSERT_EQ(sqlite3_exec(database, change.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
        sqlite3_close(database);
    };
    setStatus("running");
    EXPECT_EQ(merge(std::array{a}, all, RunNumbers::Next, MergedRuns::Ended).added, 1);
    EXPECT_THAT(marks(all), ElementsAre("one"));
    setStatus("ok");
    EXPECT_EQ(merge(std::array{a}, all, RunNumbers::Next, MergedRuns::Ended).added, 1);
    EXPECT_THAT(marks(all), ElementsAre("one", "two"));
}

TEST_F(Maintenance, AKilledMergeAddsAllRunsOrNone)
{
    constexpr std::size_t kRuns = 30;
    for (std::size_t run = 0; run < kRuns; ++run)
        writeRun(a, "run " + std::to_string(run));
    for (const bool isNew : {true, false})
        for (const int milliseconds : {0, 1, 3, 10, 30, 100}) {
            fs::remove(all);
            if (!isNew)
                writeRun(all, "one");
            Child merging([this](int to) {
                say(to, "begins");
                merge(std::array{a}, all);
            });
            merging.line();
            std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
            merging.kill();
            const std::size_t before = isNew ? 0 : 1;
            const std::size_t runs = fs::exists(all) ? marks(all).size() : 0;
            EXPECT_TRUE(runs == before || runs == before + kRuns) << runs;
            if (fs::exists(all))
                expectSound(all);
            EXPECT_EQ(merge(std::array{a}, all).added + static_cast<std::int64_t>(runs - before),
                      static_cast<std::int64_t>(kRuns));
            expectSound(all);
        }
}

TEST_F(Maintenance, RestoredRunsHaveTheirNumbers)
{
    for (const char* mark : {"one", "two2", "three", "four"})
        writeRun(a, mark);
    snapshot(a, b);
    deleteRuns(b, std::array{RunId{1}, RunId{4}});
    deleteRuns(a, std::array{RunId{2}, RunId{3}});
    const RunReader reader(a);
    EXPECT_EQ(merge(std::array{b}, a, RunNumbers::OfSources).added, 2);
    for (const auto& [run, mark] :
         {std::pair(1, "one"), std::pair(2, "two2"), std::pair(3, "three"), std::pair(4, "four")})
        expectRun(a, RunId{run}, mark);
    EXPECT_EQ(reader.counts(RunId{3}).total(), 2403) << "a reader that was open sees it too";
    expectSound(a);
    // The number of another run is not taken from it.
    EXPECT_EQ(merge(std::array{b}, all, RunNumbers::OfSources).added, 2);
    writeRun(all, "five");
    EXPECT_EQ(merge(std::array{a}, all, RunNumbers::OfSources).added, 2);
    EXPECT_THAT(marks(all), ElementsAre("one", "two2", "three", "five", "four"));
    expectSound(all);
}

TEST_F(Maintenance, DeletingARunLeavesTheOthersAndItsNumber)
{
    writeRun(a, "one");
    writeRun(a, "two2");
    writeRun(a, "three");
    const RunReader reader(a);
    EXPECT_EQ(reader.counts(RunId{3}).total(), 2403);
    deleteRuns(a, std::array{RunId{3}});
    EXPECT_EQ(reader.runs().size(), 2u) << "a reader that was open sees it too";
    EXPECT_EQ(reader.counts(RunId{3}).total(), 0);
    deleteRuns(a, std::array{RunId{1}});
    expectRun(a, RunId{2}, "two2");
    expectSound(a);
    writeRun(a, "four");
    EXPECT_EQ(RunReader(a).runs().at(1).run, RunId{4});
    expectRun(a, RunId{4}, "four");
    EXPECT_THROW(deleteRuns(a, std::array{RunId{1}}), Error);
    expectSound(a);
}

TEST_F(Maintenance, CeilingsAreKeptOnce)
{
    const Ceiling matmul{"GPU-1", "NVIDIA H200", "matmul_bf16", 7.1e14, "FLOP/s", 20, 2e12, 1'000, "test"};
    Ceiling copy = matmul;
    copy.kind = "copy";
    copy.value = 4.1e12;
    for (const auto& [file, ceilings] :
         {std::pair(a, std::vector{matmul}), std::pair(b, std::vector{matmul, copy})}) {
        StringTable strings;
        RunWriter writer(file, strings);
        writer.writeCeilings(ceilings); // no run is open
        writer.commit();
    }
    writeRun(b, "one");
    const fs::path sources[] = {a, b};
    for (int twice = 0; twice < 2; ++twice) {
        merge(sources, all);
        EXPECT_THAT(RunReader(all).ceilings(), ElementsAre(matmul, copy));
    }
    deleteRuns(all, std::array{RunId{1}});
    compact(all);
    EXPECT_THAT(RunReader(all).ceilings(), ElementsAre(matmul, copy));
    expectSound(all);
}

TEST_F(Maintenance, CompactingShrinksAndKeepsNumbers)
{
    for (const char* mark : {"one", "two2", "three", "four"})
        writeRun(a, mark);
    setNote(a, RunId{4}, "keep me");
    setTag(a, RunId{4}, "paper");
    deleteRuns(a, std::array{RunId{1}, RunId{2}, RunId{3}});
    const CompactOutcome outcome = compact(a);
    EXPECT_LT(outcome.after.count, outcome.before.count * 2 / 3) << "four runs were there";
    EXPECT_EQ(outcome.after.count, static_cast<std::int64_t>(fs::file_size(a)));
    expectRun(a, RunId{4}, "four");
    EXPECT_EQ(RunReader(a).run(RunId{4})->note, "keep me");
    EXPECT_EQ(RunReader(a).run(RunId{4})->tag, "paper");
    EXPECT_FALSE(RunReader(a).find("op one")) << "texts of deleted runs go";
    expectSound(a);
    writeRun(a, "five");
    EXPECT_EQ(RunReader(a).runs().back().run, RunId{5});
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder.path()))
        names.push_back(entry.path().filename());
    EXPECT_THAT(names, ElementsAre("a.tscope"));
}

TEST_F(Maintenance, NotesAndTagsAreKeptAndNothingElseChanges)
{
    writeRun(a, "one");
    setNote(a, RunId{1}, "first with \"quotes\" and ünicode");
    setTag(a, RunId{1}, "baseline");
    expectRun(a, RunId{1}, "one");
    const auto run = RunReader(a).run(RunId{1});
    EXPECT_EQ(run->note, "first with \"quotes\" and ünicode");
    EXPECT_EQ(run->tag, "baseline");
    expectSound(a);
    try {
        setNote(a, RunId{7}, "x");
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("no run 7"));
    }
    EXPECT_THROW(setNote(b, RunId{1}, "x"), Error);
    EXPECT_FALSE(fs::exists(b)) << "a note makes no file";
}

} // namespace tilescope::store
