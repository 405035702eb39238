// verify detects any changed value in any table of a sealed file.

#include "core/base/error.h"
#include "core/model/host_samples.h"
#include "core/model/kernel_samples.h"
#include "core/model/memory.h"
#include "core/store/file/schema.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/rows/chunks.h"
#include "core/store/rows/row_inserter.h"
#include "core/store/tracks/path_totals.h"
#include "store_fixture.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

namespace tilescope::store {

using namespace testing;
namespace fs = std::filesystem;

namespace {

/// A run with rows in every table that a run of its size has.
/// \param events  allocations; from 50,000 on what a viewer draws is stored too
void writeRun(const fs::path& file, std::uint32_t events)
{
    StringTable strings;
    Builder make(strings);
    RunWriter writer(file, strings);
    const Ceiling ceiling{"GPU-1", "NVIDIA H200", "copy", 4.1e12, "B/s", 20, 2e12, 1'000, "test"};
    writer.writeCeilings(std::array{ceiling});
    writer.beginRun(header());
    writer.writeEnvironment(std::array{EnvironmentEntry{"gpu", "H200"}, EnvironmentEntry{"empty", ""}});
    writer.writeSamples(std::array{Sample{.step = 0, .wall = Nanoseconds(5)},
                                   Sample{.step = 1, .wall = Nanoseconds(6), .gpu = Nanoseconds(0)}});
    TraceBatch batch;
    Range step = make.range(0, "step", 0, 100'000);
    step.step = 0;
    batch.ranges = {step};
    for (std::uint32_t i = 0; i < 30; ++i) {
        Op op = make.op(i, "aten::mm", 10 * i, 10 * i + 3);
        op.step = 0;
        batch.ops.push_back(op);
        DeviceEvent kernel = make.kernel("void gemm<float>(int)", 10 * i, 10 * i + 5);
        kernel.step = 0;
        batch.deviceEvents.push_back(kernel);
    }
    DeviceEvent copy = batch.deviceEvents.back();
    copy.kind = DeviceEventKind::Memset;
    copy.bytes = 77;
    batch.deviceEvents.push_back(copy);
    for (std::uint32_t i = 0; i < events; ++i)
        batch.allocEvents.push_back(make.allocation(AllocAction::Alloc, 4096 * i, 512, i));
    ApiCall call;
    call.name = strings.intern("cuLaunchKernel");
    call.kind = ApiKind::Launch;
    call.start = call.end = make.at(3);
    batch.apiCalls = {call};
    batch.threads = {{ThreadId{5}, strings.intern("main")}};
    batch.losses = {{strings.intern("dropped"), LossSeverity::Warning, 3, strings.intern("some")}};
    addProcessEvents(batch, strings, make, "a");
    writer.write(batch);
    writer.writeTopology(topologyOf("a"));
    writer.writeCounters(std::array{CounterValue{"step", "sm_active", 12.5, "%", 3, 1}});
    writer.writeCounterTracks(std::array{CounterTrack{.name = "Power",
                                                      .unit = "W",
                                                      .end = timestampAt(9),
                                                      .points = {{timestampAt(4), 5}, {timestampAt(7), 6}}}});
    MemoryFacts facts;
    facts.segments = {{.device = DeviceIndex{0}, .address = 4096, .bytes = 2 << 20, .pool = 3}};
    facts.blocks = {{.time = make.at(0), .device = DeviceIndex{0}, .address = 9, .bytes = 9, .size = 10}};
    facts.readings = {{.time = make.at(0)}};
    facts.saved = {{.path = "step", .op = "aten::mm", .tensor = "out"}};
    facts.places = {{"step", "core/engine/lm/lm.cpp", 7, "f"}};
    writer.writeMemory(facts);
    writer.writeHostSamples(std::array{HostSamples{
        .process = ProcessIndex{1},
        .stacks = {{kNoStack, "train.py(1): step", 2}, {0, "train.py(9): load", 10}},
        .threads = {{.thread = ThreadId{7}, .samples = {{timestampAt(4), 1, 0}, {timestampAt(9), 0, 1}}}}}});
    writer.writeKernelSamples(
        {.kernels = {{.device = DeviceIndex{0}, .name = "gemm", .symbol = "gemm", .cubin = 5}},
         .instructions = {{.kernel = 0,
                           .offset = 16,
                           .text = "FFMA",
                           .line = {"a.cu", 4},
                           .caller = {"b.cu", 2},
                           .inlined = "half"}},
         .reasons = {"barrier"},
         .stalls = {{.instruction = 0, .reason = 0, .samples = 3, .unissued = 1}},
         .code = {{.cubin = 5, .code = "code"}},
         .sources = {{.file = "a.cu", .digest = "12", .text = "text"}}});
    writer.endRun({});
}

class Mutator {
public:
    Mutator(fs::path file, std::uint64_t seed)
        : file_(std::move(file)), database_(file_.string(), SQLite::OPEN_READWRITE), random_(seed)
    {
        database_.exec("pragma ignore_check_constraints = on");
    }

    std::vector<std::string> tables()
    {
        std::vector<std::string> names;
        SQLite::Statement row(database_, "select name from sqlite_schema where type = 'table'");
        while (row.executeStep())
            names.push_back(row.getColumn(0).getString());
        return names;
    }

    /// Changes one value of each column of a table, `changes` times each, and has each change noticed.
    /// \return how many changes were possible
    int mutate(const std::string& table, int changes)
    {
        int made = 0;
        SQLite::Statement columns(database_, "select name from pragma_table_info('" + table + "')");
        while (columns.executeStep()) {
            const std::string column = columns.getColumn(0).getString();
            std::vector<std::string> values = candidates(column);
            std::ranges::shuffle(values, random_);
            int wanted = changes;
            for (const std::string& value : values)
                if (wanted > 0 && change(table, column, value)) {
                    --wanted;
                    ++made;
                }
        }
        return made;
    }

    /// Has the loss of a row be noticed.
    void remove(const std::string& table)
    {
        database_.exec("begin; create temp table kept as select * from main." + table + " limit 1 offset " +
                       std::to_string(random_() % rowsOf(table)) + "; commit");
        database_.exec("delete from main." + table + " where id = (select id from temp.kept)");
        expectNoticed("a row of " + table + " is gone");
        database_.exec("insert into main." + table + " select * from temp.kept; drop table temp.kept");
    }

    std::int64_t rowsOf(const std::string& table)
    {
        SQLite::Statement row(database_, "select count(*) from main." + table);
        row.executeStep();
        return row.getColumn(0).getInt64();
    }

private:
    static std::vector<std::string> candidates(const std::string& column)
    {
        return {"null",      "-9223372036854775807 - 1",
                "0",         "''",
                "x''",       "'text'",
                "x'00'",     "1.5",
                "-1",        column + " + 1",
                "'null'",    "1",
                "2",         "cast(" + column + " as blob)",
                "987654321", column + " || ' '"};
    }

    /// False where the table does not take the value, or it is the one that is there.
    bool change(const std::string& table, const std::string& column, const std::string& value)
    {
        SQLite::Statement pick(database_,
                               "select quote(id), quote(" + column + ") from " + table + " limit 1 offset " +
                                   std::to_string(random_() % static_cast<std::uint64_t>(rowsOf(table))));
        pick.executeStep();
        const std::string row = pick.getColumn(0).getString();
        const std::string before = pick.getColumn(1).getString();
        pick.reset();
        const std::string where = " where id = " + row;
        std::string after;
        std::string there = row;
        try {
            SQLite::Statement update(database_, "update " + table + " set " + column + " = " + value + where +
                                                    " returning quote(" + column + "), quote(id)");
            update.executeStep();
            after = update.getColumn(0).getString();
            there = update.getColumn(1).getString();
            while (update.executeStep()) {
            }
        } catch (const SQLite::Exception&) {
            return false; // not null, unique, an id that is not an integer
        }
        if (after != before)
            expectNoticed(table + "." + column + " of row " + row + ": " + before + " -> " + after);
        database_.exec("update " + table + " set " + column + " = " + before + " where id = " + there);
        return after != before;
    }

    void expectNoticed(const std::string& what)
    {
        try {
            EXPECT_FALSE(verify(file_).ok()) << what;
        } catch (const Error&) {
        }
    }

    fs::path file_;
    SQLite::Database database_;
    std::mt19937_64 random_;
};

constexpr std::uint64_t kSeed = 20'261'123;

} // namespace

TEST(RowDigest, DependsOnTypes)
{
    const auto digest = [](auto&& add) {
        RowDigest row;
        add(row);
        return row.value();
    };
    const std::set<std::uint64_t> all{
        digest([](RowDigest& row) { row.addNull(); }),
        digest([](RowDigest& row) { row.add(std::numeric_limits<std::int64_t>::min()); }),
        digest([](RowDigest& row) { row.add(std::int64_t{0}); }),
        digest([](RowDigest& row) { row.add(0.0); }),
        digest([](RowDigest& row) { row.add(std::string_view()); }),
        digest([](RowDigest& row) { row.addBlob({}); }),
        digest([](RowDigest& row) { row.add(std::string_view("a")); }),
        digest([](RowDigest& row) { row.addBlob("a"); }),
    };
    EXPECT_EQ(all.size(), 8u);
    // As SQLite gives them back.
    EXPECT_EQ(digest([](RowDigest& row) { row.add(-0.0); }), digest([](RowDigest& row) { row.add(0.0); }));
    EXPECT_EQ(digest([](RowDigest& row) { row.add(std::numeric_limits<double>::quiet_NaN()); }),
              digest([](RowDigest& row) { row.addNull(); }));
}

TEST(Mutation, OfAnyValueIsNoticed)
{
    SCOPED_TRACE("seed " + std::to_string(kSeed));
    const TemporaryFolder folder;
    const fs::path file = folder / "a.tscope";
    writeRun(file, 30);
    writeRun(file, 5);
    ASSERT_TRUE(verify(file).ok());
    // Made for large runs only: see below.
    const std::set<std::string> large{"track",          "track_data",       "kernel_total",
                                      "range_total",    "step_total",       "op_total",
                                      "activity_total", "allocation_total", "path_total"};
    Mutator mutator(file, kSeed);
    for (const std::string& table : mutator.tables()) {
        if (large.contains(table))
            continue;
        ASSERT_GT(mutator.rowsOf(table), 0) << table << " is empty: nothing is known of it";
        EXPECT_GT(mutator.mutate(table, 4), 3) << table;
        mutator.remove(table);
    }
    const VerifyReport report = verify(file);
    EXPECT_TRUE(report.ok()) << "every change was undone: " << report.problems.at(0);
}

TEST(Mutation, OfWhatIsDrawnIsNoticed)
{
    SCOPED_TRACE("seed " + std::to_string(kSeed));
    const TemporaryFolder folder;
    const fs::path file = folder / "a.tscope";
    writeRun(file, 50'000);
    writePathTotals(file, RunId{1}, std::array{StepPathTotal{.step = 0, .process = ProcessIndex{2}}});
    Mutator mutator(file, kSeed);
    for (const char* table : {"track", "track_data", "kernel_total", "range_total", "step_total", "op_total",
                              "activity_total", "allocation_total", "path_total"}) {
        ASSERT_GT(mutator.rowsOf(table), 0) << table;
        EXPECT_GT(mutator.mutate(table, 1), 3) << table;
    }
    EXPECT_TRUE(verify(file).ok());
}

/// What was committed by a writer that died is covered as well.
TEST(Mutation, OfTheChunksOfAFileWithoutASealIsNoticed)
{
    const TemporaryFolder folder;
    const fs::path file = folder / "a.tscope";
    const fs::path left = folder / "left.tscope";
    StringTable strings;
    RunWriter writer(file, strings);
    writer.beginRun(header());
    writer.writeSamples(std::array{Sample{.step = 0, .wall = Nanoseconds(5)}});
    writer.commit();
    snapshot(file, left);
    ASSERT_TRUE(verify(left).ok());
    Mutator mutator(left, kSeed);
    for (const char* table : {"file", "next_id", "chunk"}) {
        mutator.mutate(table, 3);
        mutator.remove(table);
    }
    EXPECT_TRUE(verify(left).ok());
}

TEST(Mutation, AFileWhoseWriterDiedBeforeItsFirstCommitIsWhole)
{
    const TemporaryFolder folder;
    const fs::path file = folder / "new.tscope";
    {
        SQLite::Database database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        migrate(database, 0, embeddedMigrations());
    }
    EXPECT_TRUE(verify(file).ok());
    {
        SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
        database.exec("insert into next_id (source, next) values ('run', 2)");
    }
    EXPECT_FALSE(verify(file).ok());
}

/// The chunks of a writer that fails agree with the committed data.
TEST(Mutation, ChunksAgreeAfterAWriterGaveUp)
{
    const TemporaryFolder folder;
    const fs::path file = folder / "a.tscope";
    writeRun(file, 30);
    writeRun(file, 30);
    EXPECT_THROW(deleteRuns(file, std::array{RunId{1}, RunId{7}}), Error);
    EXPECT_TRUE(verify(file).ok());
    EXPECT_EQ(RunReader(file).runs().size(), 2u);
    // A damaged source is noticed when part of it has been copied.
    const fs::path source = folder / "source.tscope";
    writeRun(source, 30);
    SQLite::Database(source.string(), SQLite::OPEN_READWRITE)
        .exec("update allocation set bytes = 1 where id = 30");
    EXPECT_THROW(merge(std::array{source}, file), Error);
    const VerifyReport report = verify(file);
    EXPECT_TRUE(report.ok()) << report.problems.at(0);
    EXPECT_EQ(report.runs, 2);
}

/// A kernel may have a name that an op had before, so ids of names do not grow.
TEST(Verify, AcceptsKernelsNamedLikeEarlierOps)
{
    const TemporaryFolder folder;
    const fs::path file = folder / "a.tscope";
    StringTable strings;
    Builder make(strings);
    {
        RunWriter writer(file, strings);
        writer.beginRun(header());
        TraceBatch batch;
        for (const char* name : {"triton_1", "triton_2"})
            batch.ops.push_back(make.op(static_cast<std::uint32_t>(batch.ops.size()), name, 0, 1));
        for (const char* name : {"void gemm<float>(int)", "triton_2", "void mm<int>(int)", "triton_1"})
            batch.deviceEvents.push_back(make.kernel(name, 0, 1));
        writer.write(batch);
        writer.endRun({});
    }
    const VerifyReport report = verify(file);
    EXPECT_TRUE(report.ok()) << report.problems.at(0);
    EXPECT_EQ(merge(std::array{file}, folder / "merged.tscope").added, 1);
    EXPECT_TRUE(verify(folder / "merged.tscope").ok());
}

/// Every table of the schema is read, also one that the program does not know.
TEST(Verify, CoversATableThatItDoesNotKnow)
{
    const TemporaryFolder folder;
    const fs::path file = folder / "a.tscope";
    SQLite::Database database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    migrate(database, 0, embeddedMigrations());
    database.exec("create table novel (id integer primary key, run integer not null, value real, text text)");
    {
        ChunkWriter chunks(database);
        RowInserter rows(database, chunks, "novel", {"id", "run", "value", "text"});
        for (std::int64_t i = 0; i < 2'000; ++i)
            rows.insert(i / 700, {i / 700, 0.5 * static_cast<double>(i), std::string_view("some text")});
        chunks.flush();
    }
    const auto problems = [&] {
        VerifyReport report;
        verifyTables(database, static_cast<int>(embeddedMigrations().size()), report);
        return report.problems;
    };
    EXPECT_TRUE(problems().empty()) << problems().at(0);
    database.exec("update novel set value = value + 1 where id = 1500");
    EXPECT_EQ(problems().size(), 1u);
    database.exec("update novel set value = value - 1 where id = 1500; delete from novel where id = 3");
    EXPECT_EQ(problems().size(), 1u);
}

} // namespace tilescope::store
