// Files of earlier versions of the program, kept in tests/data/store: what was in them is read as it was,
// without a change to the file, and stays so when the file is upgraded.

#include "core/base/error.h"
#include "core/store/file/file_check.h"
#include "core/store/file/schema.h"
#include "core/store/host_sample_reader.h"
#include "core/store/kernel_sample_reader.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/tracks/call_totals.h"
#include "store_fixture.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::store {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kEvents = 520; ///< of each kind in the first run

int newestVersion()
{
    return static_cast<int>(embeddedMigrations().size());
}

void expectFirstRun(const RunReader& reader)
{
    const RunId run{1};
    const RunRecord record = reader.run(run).value();
    EXPECT_EQ(record.name, "version-1");
    EXPECT_EQ(record.specHash, "00112233");
    EXPECT_EQ(record.note, "kept from version 1");
    EXPECT_EQ(record.recordsChecked, 5 * kEvents);
    EXPECT_EQ(record.result.parameters, 1'234'567);
    EXPECT_EQ(record.result.peakReserved, Bytes{1 << 22});
    EXPECT_THAT(record.result.flags, ElementsAre("throttled"));
    EXPECT_FALSE(record.result.clockOffsetStart) << "not measured by that program";
    EXPECT_EQ(reader.environment(run).at(1).value, "150754820096");
    ASSERT_EQ(reader.samples(run).size(), 3u);
    EXPECT_EQ(reader.samples(run)[1].gpu, Nanoseconds(3'600'000));
    EXPECT_EQ(reader.losses(run).at(0).count, 4);
    EXPECT_EQ(reader.text(reader.threads(run).at(0).name), "main");
    EXPECT_TRUE(reader.counters(run).empty());
    EXPECT_TRUE(reader.ceilings().empty());
}

void expectFirstRunsEvents(const RunReader& reader)
{
    const EventWindow all{.run = RunId{1}};
    const auto ranges = reader.ranges(all);
    const auto ops = reader.ops(all);
    const auto calls = reader.apiCalls(all);
    const auto device = reader.deviceEvents(all);
    const auto allocations = reader.allocEvents(all);
    ASSERT_EQ(ranges.size(), kEvents);
    ASSERT_EQ(ops.size(), kEvents);
    ASSERT_EQ(calls.size(), kEvents);
    ASSERT_EQ(device.size(), kEvents + kEvents / 4);
    ASSERT_EQ(allocations.size(), kEvents);
    EXPECT_EQ(reader.text(ranges[519].path), "step/backward/layers.0/mlp");
    EXPECT_EQ(ranges[519].parent, RangeId{510});
    EXPECT_EQ(ops[519].step, 5);
    EXPECT_EQ(reader.text(ops[519].shapes), "[4, 128] [128, 64]");
    EXPECT_EQ(calls[519].correlation, CorrelationId{520});
    std::uint32_t i = 0;
    for (const DeviceEvent& event : device) {
        if (event.kind != DeviceEventKind::Kernel)
            continue;
        EXPECT_EQ(event.launch.grid[0], 4 + i % 3);
        EXPECT_EQ((event.end - event.start).count(), 700 + i);
        EXPECT_EQ((event.start - event.launched).count(), 790);
        EXPECT_EQ(event.op, OpId{i});
        ++i;
    }
    EXPECT_EQ(i, kEvents);
    EXPECT_EQ(allocations[518].address, 0x7f0000000000ULL + 512 * 259);
    EXPECT_EQ(reader.text(allocations[518].category), "activations");
}

void expectContents(const fs::path& file)
{
    const RunReader reader(file);
    ASSERT_EQ(reader.runs().size(), 2u);
    expectFirstRun(reader);
    expectFirstRunsEvents(reader);
    const RunRecord oom = reader.run(RunId{2}).value();
    EXPECT_EQ(oom.result.status, RunStatus::Oom);
    EXPECT_EQ(oom.result.oom->requested, Bytes{1LL << 40});
    EXPECT_EQ(oom.tag, "large");
}

} // namespace

class FirstVersion : public ::testing::Test {
protected:
    void SetUp() override
    {
        copyOf("version-1.tscope", file);
        ASSERT_EQ(readHeader(file).version, 1);
    }

    static void copyOf(const std::string& name, const fs::path& to)
    {
        fs::copy_file(fs::path(TILESCOPE_TEST_DATA) / "store" / name, to);
        fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write);
    }

    void expectSound(const fs::path& path)
    {
        const VerifyReport report = verify(path);
        EXPECT_TRUE(report.ok()) << report.problems.at(0);
    }

    TemporaryFolder folder;
    fs::path file = folder / "version-1.tscope";
    StringTable strings;
};

TEST_F(FirstVersion, IsReadWithoutAChange)
{
    const std::string before = contentsOf(file);
    expectContents(file);
    expectSound(file);
    EXPECT_EQ(contentsOf(file), before);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << "and leaves nothing beside it";
}

TEST_F(FirstVersion, IsReadWhereNothingMayBeWritten)
{
    fs::permissions(file, fs::perms::owner_read);
    fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
    expectContents(file);
    fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST_F(FirstVersion, IsUpgradedByAWriter)
{
    Builder make(strings);
    {
        RunWriter writer(file, strings);
        writer.beginRun(header("new"));
        TraceBatch batch;
        for (std::uint32_t i = 0; i < 10; ++i)
            batch.ops.push_back(make.op(i, "aten::mm", i, i + 1));
        writer.write(batch);
        const CounterValue counters[] = {{"step/forward", "tensor_active", 41.5, "%", 3, 2}};
        writer.writeCounters(counters);
        RunResult result;
        result.clockOffsetStart = Nanoseconds(2'100);
        result.clockOffsetEnd = Nanoseconds(2'350);
        writer.endRun(result);
    }
    EXPECT_EQ(readHeader(file).version, newestVersion());
    const RunReader reader(file);
    expectFirstRun(reader);
    expectFirstRunsEvents(reader);
    EXPECT_EQ(reader.ops({.run = RunId{3}}).size(), 10u);
    EXPECT_EQ(reader.run(RunId{3})->result.clockOffsetEnd, Nanoseconds(2'350));
    EXPECT_EQ(reader.counters(RunId{3}).at(0).value, 41.5);
    expectSound(file);
}

TEST_F(FirstVersion, IsUpgradedByANote)
{
    setNote(file, RunId{2}, "still here");
    EXPECT_EQ(readHeader(file).version, newestVersion());
    EXPECT_EQ(RunReader(file).run(RunId{2})->note, "still here");
    expectContents(file);
    expectSound(file);
}

TEST_F(FirstVersion, IsMergedAndCompacted)
{
    const fs::path merged = folder / "merged.tscope";
    const fs::path sources[] = {file};
    EXPECT_EQ(merge(sources, merged).added, 2);
    EXPECT_EQ(readHeader(file).version, 1) << "a source stays as it is";
    expectContents(merged);
    expectSound(merged);
    compact(file);
    expectContents(file);
    expectSound(file);
    EXPECT_EQ(merge(sources, merged).present, 2) << "the same runs, though of another version";
}

// Version 5 did not know expandable segments: its rows are read, copied and add up as before.
TEST_F(FirstVersion, SegmentsOfVersionFiveAreNotExpandable)
{
    const fs::path older = folder / "version-5.tscope";
    copyOf("version-7.tscope", older);
    SQLite::Database(older.string(), SQLite::OPEN_READWRITE)
        .exec("drop view code_places; drop table code_place; delete from tally where source = 'code_place'; "
              "delete from chunk where source = 'code_place'; "
              "alter table memory_segment drop column expandable; pragma user_version = 5");
    const std::string before = contentsOf(older);
    const auto expectSegment = [](const fs::path& path) {
        const MemoryFacts facts = RunReader(path).memory(RunId{1});
        ASSERT_EQ(facts.segments.size(), 1u);
        EXPECT_EQ(facts.segments[0].pool, 3u);
        EXPECT_FALSE(facts.segments[0].isExpandable);
    };
    expectSegment(older);
    expectSound(older);
    EXPECT_EQ(contentsOf(older), before);
    const fs::path merged = folder / "merged.tscope";
    merge(std::vector{older}, merged);
    expectSegment(merged);
    expectSound(merged);
    setNote(older, RunId{1}, "upgraded");
    EXPECT_EQ(readHeader(older).version, newestVersion());
    expectSegment(older);
    expectSound(older);
}

// Versions up to 12 had checksums by other rules. They are not read: rows are counted until a writer adds checksums.
TEST_F(FirstVersion, ChecksumsOfOlderFilesAreMadeWhenTheyAreWrittenTo)
{
    for (const int version : {1, 7, 8, 9, 10, 11, 12}) {
        SCOPED_TRACE(version);
        const std::string name = "version-" + std::to_string(version) + ".tscope";
        const fs::path older = folder / ("of-" + name);
        copyOf(name, older);
        ASSERT_EQ(readHeader(older).version, version);
        const std::string before = contentsOf(older);
        VerifyReport report = verify(older);
        EXPECT_TRUE(report.ok()) << report.problems.at(0);
        EXPECT_FALSE(report.hasChecksums);
        EXPECT_EQ(contentsOf(older), before);

        SQLite::Database(older.string(), SQLite::OPEN_READWRITE).exec("delete from op where id = 7");
        EXPECT_FALSE(verify(older).ok());
        EXPECT_THROW(RunReader{older}, Error);
        const std::string damaged = contentsOf(older);
        EXPECT_THROW(setNote(older, RunId{1}, "hides the damage"), Error);
        EXPECT_EQ(contentsOf(older), damaged);

        std::ofstream(older, std::ios::binary) << before;
        setTag(older, RunId{1}, "upgraded");
        EXPECT_EQ(readHeader(older).version, newestVersion());
        report = verify(older);
        EXPECT_TRUE(report.ok()) << report.problems.at(0);
        EXPECT_TRUE(report.hasChecksums);
        SQLite::Database(older.string(), SQLite::OPEN_READWRITE)
            .exec("update op set duration = duration + 1 where id = 7");
        EXPECT_FALSE(verify(older).ok());
        EXPECT_THROW(RunReader(older).ops({.run = RunId{1}}), Error);
    }
}

// Version 12 called a file damaged whose kernels have names that ops had before: their ids do not grow.
TEST_F(FirstVersion, FilesOfVersionTwelveAreNotDamagedByTheOrderOfTheirNames)
{
    const fs::path older = folder / "version-12.tscope";
    copyOf("version-12.tscope", older);
    expectSound(older);
    const fs::path merged = folder / "merged.tscope";
    const std::int64_t runs = merge(std::array{older}, merged).added;
    expectSound(merged);
    setTag(older, RunId{1}, "upgraded");
    expectSound(older);
    EXPECT_EQ(merge(std::array{older}, merged).present, runs);
    deleteRuns(older, std::array{RunId{1}});
    expectSound(older);
    compact(older);
    expectSound(older);
    EXPECT_EQ(std::ssize(RunReader(older).runs()), runs - 1);
}

// Up to version 13 the views with Nsight Systems' names had one process for all that have no number.
TEST_F(FirstVersion, ProcessesWithoutANumberDifferOnceAFileOfVersionThirteenIsWrittenTo)
{
    const fs::path older = folder / "version-13.tscope";
    copyOf("version-13.tscope", older);
    const auto processes = [&] {
        SQLite::Database database(older.string());
        return database.execAndGet("select count(distinct globalPid) from CUPTI_ACTIVITY_KIND_KERNEL")
            .getInt();
    };
    EXPECT_TRUE(verify(older).hasChecksums);
    EXPECT_EQ(RunReader(older).topology(RunId{1}).processes.size(), 2u);
    EXPECT_EQ(processes(), 1);
    setTag(older, RunId{1}, "upgraded");
    EXPECT_EQ(readHeader(older).version, newestVersion());
    EXPECT_EQ(processes(), 2);
    expectSound(older);
}

// Up to version 8 a file holds sums of its tracks in a table that version 9 removes.
TEST_F(FirstVersion, FilesOfVersionEightAreReadUpgradedAndEdited)
{
    const fs::path older = folder / "version-8.tscope";
    copyOf("version-8.tscope", older);
    const std::string before = contentsOf(older);
    const auto expectTracks = [this](const fs::path& path, RunId run) {
        const RunReader reader(path);
        std::int64_t boxes = 0;
        for (const TrackInfo& track : reader.tracks(run))
            boxes += track.kind == LaneKind::Stream ? track.events : 0;
        EXPECT_EQ(boxes, 400);
        EXPECT_EQ(reader.deviceEvents({.run = run}).size(), 400u);
        expectSound(path);
    };
    expectTracks(older, RunId{1});
    EXPECT_EQ(contentsOf(older), before);
    const fs::path merged = folder / "merged.tscope";
    EXPECT_EQ(merge(std::array{older}, merged).added, 2);
    setTag(older, RunId{1}, "upgraded");
    EXPECT_EQ(readHeader(older).version, newestVersion());
    EXPECT_EQ(merge(std::array{older}, merged).present, 2)
        << "the tag and the version do not make another run";
    expectTracks(older, RunId{1});
    deleteRuns(older, std::array{RunId{1}});
    EXPECT_EQ(RunReader(older).runs().size(), 1u);
    expectSound(older);
    compact(older);
    expectSound(older);
}

// Files of version 9 know one process and one device.
TEST_F(FirstVersion, FilesOfVersionNineHaveNoProcessesUntilTheyAreUpgraded)
{
    const fs::path older = folder / "version-9.tscope";
    copyOf("version-9.tscope", older);
    const std::string before = contentsOf(older);
    const auto expectNoProcesses = [this](const fs::path& path) {
        const RunReader reader(path);
        EXPECT_TRUE(reader.topology(RunId{1}).empty());
        EXPECT_TRUE(reader.collectives(RunId{1}).empty());
        EXPECT_TRUE(reader.waits(RunId{1}).empty());
        EXPECT_TRUE(reader.frames({.run = RunId{1}}).empty());
        for (const ThreadName& thread : reader.threads(RunId{1})) {
            EXPECT_FALSE(thread.process);
            EXPECT_EQ(thread.native, -1);
        }
        expectSound(path);
    };
    expectNoProcesses(older);
    EXPECT_EQ(contentsOf(older), before);
    {
        RunWriter writer(older, strings);
        writer.beginRun(header("new"));
        writer.writeTopology(topologyOf("new"));
        writer.endRun({});
    }
    EXPECT_EQ(readHeader(older).version, newestVersion());
    expectNoProcesses(older);
    EXPECT_EQ(RunReader(older).topology(RunId{3}).processes, topologyOf("new").processes);
}

// Files of version 10 have no counters over time.
TEST_F(FirstVersion, FilesOfVersionTenHaveNoCounterTracksUntilTheyAreUpgraded)
{
    const fs::path older = folder / "version-10.tscope";
    copyOf("version-10.tscope", older);
    const std::string before = contentsOf(older);
    EXPECT_TRUE(RunReader(older).counterTracks(RunId{1}).empty());
    expectSound(older);
    EXPECT_EQ(contentsOf(older), before);
    const CounterTrack track{
        .name = "Power", .unit = "W", .end = timestampAt(9), .points = {{timestampAt(4), 5}}};
    RunId added;
    {
        RunWriter writer(older, strings);
        added = writer.beginRun(header("new"));
        writer.writeCounterTracks(std::array{track});
        writer.endRun({});
    }
    EXPECT_EQ(readHeader(older).version, newestVersion());
    EXPECT_TRUE(RunReader(older).counterTracks(RunId{1}).empty());
    EXPECT_THAT(RunReader(older).counterTracks(added), ElementsAre(track));
    expectSound(older);
}

// Files of version 11 have no totals of calls.
TEST_F(FirstVersion, FilesOfVersionElevenAreReadWithoutTotalsOfCalls)
{
    const fs::path older = folder / "version-11.tscope";
    copyOf("version-11.tscope", older);
    ASSERT_EQ(readHeader(older).version, 11);
    const std::string before = contentsOf(older);
    const auto expectEvents = [this](const fs::path& path) {
        const RunReader reader(path);
        EXPECT_EQ(std::ssize(reader.deviceEvents({.run = RunId{1}})), reader.counts(RunId{1}).deviceEvents);
        EXPECT_EQ(std::ssize(reader.ops({.run = RunId{3}})), reader.counts(RunId{3}).ops);
        EXPECT_EQ(reader.counterTracks(RunId{3}).size(), 2u);
        EXPECT_FALSE(reader.callTotals(RunId{1}));
        expectSound(path);
    };
    expectEvents(older);
    EXPECT_EQ(contentsOf(older), before);
    setTag(older, RunId{2}, "upgraded");
    EXPECT_EQ(readHeader(older).version, newestVersion());
    expectEvents(older);
    const fs::path merged = folder / "merged.tscope";
    EXPECT_EQ(merge(std::array{older}, merged).added, 3);
    expectEvents(merged);
}

// Files of version 13 have no host samples.
TEST_F(FirstVersion, FilesOfVersionThirteenAreReadWithoutHostSamples)
{
    const fs::path older = folder / "version-13.tscope";
    copyOf("version-13.tscope", older);
    ASSERT_EQ(readHeader(older).version, 13);
    const std::string before = contentsOf(older);
    EXPECT_TRUE(hostSamples(older, RunId{1}).empty());
    EXPECT_TRUE(kernelSamples(older, RunId{1}, true).empty());
    expectSound(older);
    EXPECT_EQ(contentsOf(older), before);
    const HostSamples samples{.stacks = {{kNoStack, "train.py(1): step", 2}},
                              .threads = {{.thread = ThreadId{7}, .samples = {{timestampAt(4), 0, 0}}}}};
    RunId added;
    {
        RunWriter writer(older, strings);
        added = writer.beginRun(header("new"));
        writer.writeHostSamples(std::array{samples});
        writer.endRun({});
    }
    EXPECT_EQ(readHeader(older).version, newestVersion());
    EXPECT_TRUE(hostSamples(older, RunId{1}).empty());
    EXPECT_THAT(hostSamples(older, added), ElementsAre(samples));
    expectSound(older);
}

// Files of version 16 have an index of their texts.
TEST_F(FirstVersion, FilesOfVersionSixteenKeepTheirTextsWithoutAnIndex)
{
    const auto textsOf = [](const fs::path& path) {
        SQLite::Database database(path.string());
        SQLite::Statement row(database, "select id, text from string order by id");
        std::vector<std::pair<std::int64_t, std::string>> texts;
        while (row.executeStep())
            texts.emplace_back(row.getColumn(0).getInt64(), row.getColumn(1).getString());
        return texts;
    };
    const auto indexesOf = [](const fs::path& path) {
        SQLite::Database database(path.string());
        SQLite::Statement row(database, "select count(*) from pragma_index_list('string')");
        row.executeStep();
        return row.getColumn(0).getInt();
    };
    const fs::path older = folder / "version-16.tscope";
    copyOf("version-16.tscope", older);
    ASSERT_EQ(readHeader(older).version, 16);
    ASSERT_EQ(indexesOf(older), 1);
    const auto texts = textsOf(older);
    const auto expectRun = [&](const fs::path& path) {
        const RunReader reader(path);
        const auto kernels = reader.deviceEvents({.run = RunId{1}});
        ASSERT_EQ(kernels.size(), 4u);
        EXPECT_EQ(reader.text(kernels[3].name), "void gemm<float, 1>(float*)");
        EXPECT_EQ(reader.find("aten::mm"), reader.ops({.run = RunId{1}}).at(0).name);
        expectSound(path);
    };
    const std::string before = contentsOf(older);
    expectRun(older);
    EXPECT_EQ(contentsOf(older), before);
    setTag(older, RunId{1}, "upgraded");
    EXPECT_EQ(readHeader(older).version, newestVersion());
    EXPECT_EQ(indexesOf(older), 0);
    const auto kept = textsOf(older);
    ASSERT_GE(kept.size(), texts.size());
    EXPECT_TRUE(std::equal(texts.begin(), texts.end(), kept.begin()));
    expectRun(older);
    const fs::path merged = folder / "merged.tscope";
    EXPECT_EQ(merge(std::array{older}, merged).added, 1);
    expectRun(merged);
    expectSound(merged);
}

TEST_F(FirstVersion, ANewerFileIsRefused)
{
    {
        const int version = newestVersion();
        std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
        out.seekp(63); // the last byte of user_version
        out.put(static_cast<char>(version + 1));
    }
    const std::string before = contentsOf(file);
    for (const bool writing : {false, true}) {
        try {
            if (writing)
                RunWriter(file, strings);
            else
                RunReader{file};
            FAIL() << "opened a file of the future";
        } catch (const Error& error) {
            EXPECT_THAT(error.sentence(), HasSubstr("was written by a newer Tilescope"));
        }
    }
    EXPECT_EQ(contentsOf(file), before);
}

} // namespace tilescope::store
