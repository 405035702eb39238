// Databases that are damaged, forged, or no exports at all: each is a sentence, none runs anything.

#include "core/store/sql_query.h"
#include "tests/unit/exchange/nsys_fixture.h"

#include <gmock/gmock.h>

#include <fstream>
#include <random>

namespace tilescope::exchange {

using ::testing::HasSubstr;
using ::testing::SizeIs;

namespace {

std::string bytesOf(const std::filesystem::path& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

TEST_F(Nsys, IsNotMistakenForAnotherDatabase)
{
    auto& other = newFile("other.sqlite");
    other.run("create table people (name text)");
    EXPECT_THAT(refusalOf(other), HasSubstr("is a SQLite database, but none of"));
    // A recording of Tilescope is a database too.
    auto& file = newFile();
    file.run(kOldTables).run(launch(77, 77, 5, 1000));
    file.close();
    const std::filesystem::path recording = folder_ / "recording.tscope";
    const std::vector<std::filesystem::path> inputs{file.path()};
    importFiles(inputs, recording);
    EXPECT_THROW(importerFor(recording), Error);
}

TEST_F(Nsys, IgnoresViewsTriggersAndGeneratedColumns)
{
    auto& file = newFile();
    file.run(kOldTables).run(launch(77, 77, 5, 1000));
    // Views that look like tables of an export, one of them endless.
    file.run("create view NVTX_EVENTS as with recursive c(i) as (select 1 union all select i + 1 from c) "
             "select i as start, i as end, 59 as eventType, 'x' as text, 1 as globalTid from c");
    file.run("create table CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start integer, end integer, deviceId integer, "
             "streamId integer generated always as (length(hex(zeroblob(100000000)))) virtual)");
    file.run("insert into CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId) values (5, 6, 0)");
    file.run("create trigger t after insert on StringIds begin delete from StringIds; end");
    const ImportedRun run = imported(file);
    EXPECT_THAT(run.ranges, SizeIs(0));
    EXPECT_THAT(run.activities, SizeIs(2));
}

TEST_F(Nsys, ReadsTextInUtf16)
{
    auto& file = newFile();
    file.run("pragma encoding = 'UTF-16le'").run(kOldTables).run(kNvtxTable).run(launch(77, 77, 5, 1000));
    file.run("insert into NVTX_EVENTS (start, end, eventType, text, globalTid) values (900, 2000, 59, "
             "'Schritt größer', " +
             globalTid(77, 77) + ")");
    const ImportedRun run = imported(file);
    ASSERT_THAT(run.activities, SizeIs(1));
    EXPECT_EQ(run.text(run.activities[0].name), "void gemm<float>(float*)");
    ASSERT_THAT(run.ranges, SizeIs(1));
    EXPECT_EQ(run.text(run.ranges[0].name), "Schritt größer");
    EXPECT_EQ(run.loss("source_text"), 0);
}

TEST_F(Nsys, RepairsTextThatIsNotUtf8)
{
    auto& file = newFile();
    file.run(kOldTables).run("update StringIds set value = cast(x'67656d6dff' as text) where id in (2, 3)");
    file.run(launch(77, 77, 5, 1000)).run(launch(77, 77, 6, 2000));
    const ImportedRun run = imported(file);
    ASSERT_THAT(run.activities, SizeIs(2));
    EXPECT_EQ(run.text(run.activities[0].name), "gemm?");
    EXPECT_EQ(run.loss("source_text"), 2);
}

TEST_F(Nsys, RefusesADatabaseThatIsBeingWritten)
{
    auto& file = newFile();
    file.run("pragma journal_mode = wal").run(kOldTables).run(launch(77, 77, 5, 1000));
    const std::vector<std::filesystem::path> inputs{file.path()};
    try {
        importFiles(inputs, folder_ / "out.tscope");
        FAIL() << "was imported";
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("write-ahead log"));
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.tscope"));
}

TEST_F(Nsys, EndsWithAResultOrAnErrorWhateverTheBytes)
{
    auto& file = newFile();
    file.run("pragma page_size = 512").run(kOldTables).run(kNvtxTable);
    for (int i = 0; i < 40; ++i)
        file.run(launch(77, 77, 5 + i, 1000 * (i + 1)));
    file.close();
    const std::string whole = bytesOf(file.path());
    constexpr unsigned kSeed = 20'261;
    std::mt19937 random(kSeed);
    int refused = 0;
    constexpr int kTries = 60;
    for (int i = 0; i < kTries; ++i) {
        std::string bytes = whole;
        if (i % 3 == 0)
            bytes.resize(100 + random() % (bytes.size() - 100));
        for (int flips = 0; flips < 12; ++flips)
            bytes[16 + random() % (bytes.size() - 16)] = static_cast<char>(random());
        const std::filesystem::path mutated = folder_ / ("mutated" + std::to_string(i) + ".sqlite");
        std::ofstream(mutated, std::ios::binary) << bytes;
        const std::filesystem::path output = folder_ / ("mutated" + std::to_string(i) + ".tscope");
        const std::vector<std::filesystem::path> inputs{mutated};
        try {
            importFiles(inputs, output);
            EXPECT_TRUE(std::filesystem::exists(output));
        } catch (const Error& error) {
            ++refused;
            EXPECT_NE(error.sentence(), "");
            EXPECT_FALSE(std::filesystem::exists(output)) << "seed " << kSeed << ", try " << i;
        }
    }
    EXPECT_GT(refused, 0);
}

TEST_F(Nsys, ManyKernelsKeepTheirOrderAndTheirLaunches)
{
    constexpr int kKernels = 20'000;
    auto& file = newFile();
    file.run(kOldTables).run("begin");
    for (int i = 0; i < kKernels; ++i)
        file.run(launch(77, 77 + i % 2, i + 1, 1000 * (kKernels - i)));
    file.run("commit");
    const ImportedRun run = imported(file);
    ASSERT_THAT(run.activities, SizeIs(kKernels));
    ASSERT_THAT(run.calls, SizeIs(kKernels));
    for (int i = 0; i < kKernels; ++i) {
        const auto index = static_cast<std::size_t>(i);
        const auto correlation = static_cast<std::uint32_t>(kKernels - i);
        ASSERT_EQ(run.activities[index].correlation, CorrelationId{correlation});
        ASSERT_EQ(run.calls[index].correlation, CorrelationId{correlation});
        ASSERT_EQ(run.activities[index].launched, run.calls[index].start);
        ASSERT_EQ(run.activities[index].start - run.calls[index].start, Nanoseconds(100));
    }
    EXPECT_THAT(run.losses, SizeIs(0));
}

TEST_F(Nsys, ImportsOfOneFileAreEqual)
{
    auto& file = newFile();
    file.run(kOldTables).run("begin");
    for (int i = 0; i < 30'000; ++i)
        file.run(launch(77, 77, i + 1, 1000 * i));
    file.run("commit");
    file.close();
    const std::vector<std::filesystem::path> inputs{file.path()};
    const std::filesystem::path first = folder_ / "first.tscope";
    const std::filesystem::path second = folder_ / "second.tscope";
    importFiles(inputs, first);
    importFiles(inputs, second);
    for (const std::string sql :
         {"select * from api_call", "select * from kernel", "select * from string", "select * from launch",
          "select * from track", "select id, hex(data) from track_data", "select * from kernel_total",
          "select * from chunk where source not in ('run', 'file')"}) {
        const store::SqlResult rows = store::runSql(first, sql);
        EXPECT_GT(rows.rows(), 0u) << sql;
        EXPECT_EQ(rows.values, store::runSql(second, sql).values) << sql;
    }
}

TEST_F(Nsys, ReportWithoutNsysSaysHowToExport)
{
    const std::filesystem::path report = folder_ / "r.nsys-rep";
    std::ofstream(report) << "NVIDIA Tegra Profiler Report 1.\n";
    const char* before = std::getenv("PATH");
    const std::string path = before ? before : "";
    setenv("PATH", folder_.path().c_str(), 1);
    const std::vector<std::filesystem::path> inputs{report};
    std::string sentence;
    try {
        importFiles(inputs, folder_ / "out.tscope");
    } catch (const Error& error) {
        sentence = error.sentence();
    }
    setenv("PATH", path.c_str(), 1);
    EXPECT_THAT(sentence, HasSubstr("nsys export --type sqlite"));
}

TEST_F(Nsys, ReportIsExportedByTheInstalledNsys)
{
    auto& file = newFile("exported.sqlite");
    file.run(kOldTables).run(launch(77, 77, 5, 1000));
    file.close();
    const std::filesystem::path report = folder_ / "my report.nsys-rep";
    std::ofstream(report) << "NVIDIA Tegra Profiler Report 1.\n";
    // Stands for nsys: copies the export to where --output says, and refuses the newer option.
    const std::filesystem::path program = folder_ / "nsys";
    std::ofstream(program)
        << "#!/bin/sh\n"
           "for word; do case $word in --include-blobs*) echo unknown option; exit 1;; esac; done\n"
           "[ \"$8\" = '" +
               report.string() + "' ] && cp '" + file.path().string() + "' \"$7\"\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    const char* before = std::getenv("PATH");
    const std::string path = before ? before : "";
    setenv("PATH", (folder_.path().string() + ":" + path).c_str(), 1);
    const std::vector<std::filesystem::path> inputs{report};
    const std::filesystem::path output = folder_ / "out.tscope";
    const ImportResult result = importFiles(inputs, output);
    setenv("PATH", path.c_str(), 1);
    EXPECT_THAT(ImportedRun(output, result).activities, SizeIs(1));
}

} // namespace tilescope::exchange
