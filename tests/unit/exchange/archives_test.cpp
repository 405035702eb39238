// What people try to import: archives of traces, the same trace twice, and formats that are not read.

#include "core/exchange/import/archives/zip_file.h"
#include "tests/unit/exchange/kineto_fixture.h"
#include "tests/unit/exchange/snapshot_fixture.h"

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <zlib.h>

#include <array>
#include <random>

namespace tilescope::exchange {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

namespace {

void appendNumber(std::string& bytes, std::uint64_t value, int width)
{
    for (int i = 0; i < width; ++i)
        bytes += i < 8 ? static_cast<char>(value >> (8 * i) & 0xff) : '\0';
}

std::string deflated(const std::string& text)
{
    z_stream stream = {};
    deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    std::string packed(deflateBound(&stream, text.size()), '\0');
    std::string source = text;
    stream.next_in = reinterpret_cast<Bytef*>(source.data());
    stream.avail_in = static_cast<uInt>(source.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

/// A ZIP archive of files with these names and contents.
std::string zipped(const std::vector<std::pair<std::string, std::string>>& files, bool isDeflated = true)
{
    std::string bytes;
    std::string directory;
    for (const auto& [name, text] : files) {
        const std::string packed = isDeflated ? deflated(text) : text;
        std::string facts;
        appendNumber(facts, 20, 2);
        appendNumber(facts, 0, 2);
        appendNumber(facts, isDeflated ? 8 : 0, 2);
        appendNumber(facts, 0, 4);
        appendNumber(
            facts, crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())), 4);
        appendNumber(facts, packed.size(), 4);
        appendNumber(facts, text.size(), 4);
        appendNumber(facts, name.size(), 2);
        appendNumber(facts, 0, 2);
        directory += "PK\x01\x02";
        appendNumber(directory, 20, 2);
        directory += facts;
        appendNumber(directory, 0, 10);
        appendNumber(directory, bytes.size(), 4);
        directory += name;
        bytes += "PK\x03\x04" + facts + name + packed;
    }
    const std::size_t offset = bytes.size();
    bytes += directory + "PK\x05\x06";
    appendNumber(bytes, 0, 4);
    appendNumber(bytes, files.size(), 2);
    appendNumber(bytes, files.size(), 2);
    appendNumber(bytes, directory.size(), 4);
    appendNumber(bytes, offset, 4);
    appendNumber(bytes, 0, 2);
    return bytes;
}

std::vector<std::string> rankEvents(int rank, int kernels)
{
    std::vector<std::string> events;
    for (int i = 1; i <= kernels; ++i) {
        events.push_back(launch(i, std::to_string(100 * i)));
        events.push_back(kernel(i, std::to_string(100 * i + 10), std::to_string(rank + 1)));
    }
    return events;
}

std::string rankTrace(int rank, int kernels = 2)
{
    return trace(rankEvents(rank, kernels),
                 R"("distributedInfo": {"rank": )" + std::to_string(rank) + R"(, "world_size": 8})");
}

/// A message of field 1, as Perfetto's packets are.
std::string packet(const std::string& body)
{
    return "\x0a" + std::string(1, static_cast<char>(body.size())) + body;
}

/// A text in ASCII as UTF-16.
std::string wide(const std::string& text, bool isLittle, bool hasMark)
{
    std::string bytes = !hasMark ? "" : isLittle ? "\xff\xfe" : "\xfe\xff";
    for (const char c : text)
        bytes.append(isLittle ? std::string{c, '\0'} : std::string{'\0', c});
    return bytes;
}

} // namespace

class Archives : public Kineto {
protected:
    std::string refusalOfFiles(const std::vector<fs::path>& files)
    {
        try {
            importedFiles(files);
        } catch (const Error& error) {
            return error.sentence();
        }
        return {};
    }
};

TEST_F(Archives, ATraceIsFoundInEveryWrapping)
{
    const std::string text = rankTrace(0);
    const std::pair<std::string, std::string> files[] = {
        {"twice.json.gz", gzipped(gzipped(text))},
        {"trace.zip", zipped({{"trace.json", text}})},
        {"stored.zip", zipped({{"a/b/trace.json", text}}, false)},
        {"packed.zip",
         zipped({{"trace.json.gz", gzipped(text)}, {"notes.txt", "none"}, {"__MACOSX/._trace.json", text}})},
        {"zip.gz", gzipped(zipped({{"trace.json", text}}))},
        {"zip.zip", zipped({{"inner.zip", zipped({{"trace.json", text}})}})},
    };
    for (const auto& [name, bytes] : files) {
        const ImportedRun run = importedFiles({written(bytes, name)});
        EXPECT_EQ(run.activities.size(), 2U) << name;
        EXPECT_EQ(run.topology.processes.front().rank, 0) << name;
    }
}

TEST_F(Archives, ATraceIsReadInUtf16)
{
    const std::string text = rankTrace(3);
    for (const bool isLittle : {true, false})
        for (const bool hasMark : {true, false})
            for (const bool isPacked : {true, false}) {
                const std::string bytes = wide(text, isLittle, hasMark);
                const ImportedRun run =
                    importedFiles({written(isPacked ? gzipped(bytes) : bytes, "trace.json")});
                EXPECT_EQ(run.activities.size(), 2U) << isLittle << hasMark << isPacked;
                EXPECT_EQ(run.topology.processes.front().rank, 3);
                EXPECT_TRUE(run.losses.empty());
            }
    // A text that is cut within a character is a trace that ends early.
    const std::string bytes = wide(text, true, true);
    const ImportedRun cut = importedFiles({written(bytes.substr(0, bytes.size() / 2 | 1), "cut.json")});
    EXPECT_EQ(cut.loss("source_cut"), 1);
}

TEST_F(Archives, EventsOnLinesOfTheirOwnAreATrace)
{
    const std::vector<std::string> events = rankEvents(0, 3);
    for (const std::string end : {"\n", "\r\n", ",\n"}) {
        std::string text;
        for (const std::string& event : events)
            text += event + end;
        const ImportedRun run = importedFiles({written(text, "trace.ndjson")});
        EXPECT_EQ(run.activities.size(), 3U);
        EXPECT_TRUE(run.losses.empty());
        // The last event is cut; another one is damaged.
        const ImportedRun cut = importedFiles({written(text.substr(0, text.size() - 20), "cut.ndjson")});
        EXPECT_EQ(cut.activities.size(), 2U);
        EXPECT_EQ(cut.loss("source_cut"), 1);
        text.insert(text.find("gemm"), "\"");
        const ImportedRun damaged = importedFiles({written(text, "damaged.ndjson")});
        EXPECT_EQ(damaged.activities.size(), 2U);
        EXPECT_EQ(damaged.loss("source_not_json"), 1);
    }
}

TEST_F(Archives, AnArchiveOfRanksIsOneRun)
{
    const ImportedRun run = importedFiles({written(zipped({{"rank0.json", rankTrace(0)},
                                                           {"rank1/trace.json", rankTrace(1)},
                                                           {"rank2/trace.json", rankTrace(2)}}),
                                                   "ranks.zip")});
    EXPECT_EQ(run.topology.processes.size(), 3U);
    EXPECT_EQ(run.activities.size(), 6U);
}

TEST_F(Archives, SnapshotsAreFoundInGzipAndInWhatTorchSaves)
{
    const std::string snapshot = fileText(realSnapshot());
    for (const auto& [name, bytes] : std::vector<std::pair<std::string, std::string>>{
             {"plain.pickle", snapshot},
             {"x.pickle.gz", gzipped(snapshot)},
             {"x.zip", zipped({{"x.pickle", snapshot}})},
             {"saved.pt", zipped({{"archive/data.pkl", snapshot},
                                  {"archive/version", "3\n"},
                                  {"archive/byteorder", "little"}},
                                 false)}}) {
        const ImportedRun run = importedFiles({written(bytes, name)});
        EXPECT_GT(run.allocations.size(), 0U) << name;
    }
}

TEST_F(Archives, DamagedArchivesAreARunOrASentence)
{
    std::mt19937 random(20261129);
    const std::string whole = zipped({{"a.json", rankTrace(0)}, {"b.json", rankTrace(1)}});
    for (int i = 0; i < 120; ++i) {
        std::string bytes = whole;
        if (i % 3 == 0)
            bytes.resize(random() % bytes.size());
        else
            for (int change = 0; change < 3; ++change)
                bytes[random() % bytes.size()] = static_cast<char>(random());
        refusalOfFiles({written(bytes, "x.zip")}); // no crash and nothing but an Error
    }
    EXPECT_THAT(refusalOfFiles({written(zipped({{"notes.txt", "none"}}), "x.zip")}),
                HasSubstr("is a ZIP archive without"));
}

TEST_F(Archives, ARecordingThatCannotBeUnpackedIsNamed)
{
    constexpr std::size_t kFlags = 8;
    constexpr std::size_t kMethod = 10;
    for (const auto& [at, value] : {std::pair(kFlags, '\1'), std::pair(kMethod, '\14')})
        for (const std::string other : {"rank1.json", "notes.txt"}) {
            std::string bytes = zipped({{"rank0.json", rankTrace(0)}, {"below/" + other, rankTrace(1)}});
            bytes[bytes.rfind("PK\x01\x02") + at] = value;
            const std::string refusal = refusalOfFiles({written(bytes, "x.zip")});
            if (other == "notes.txt")
                EXPECT_EQ(refusal, "");
            else
                EXPECT_THAT(refusal, HasSubstr("is a ZIP archive in which rank1.json is encrypted, or"));
        }
}

TEST_F(Archives, ArchivesThatExpandTooFarAreRefused)
{
    const std::string bomb(std::size_t{80} << 20, ' ');
    EXPECT_THAT(refusalOfFiles({written(zipped({{"x.json", R"({"traceEvents": [)" + bomb}}), "x.zip")}),
                HasSubstr("expands to more than 400 times its size"));
}

TEST_F(Archives, TheSameTraceTwiceIsLeftOutWithASentence)
{
    const fs::path plain = written(rankTrace(0), "rank0.json");
    for (const auto& [name, bytes] : std::vector<std::pair<std::string, std::string>>{
             {"rank0.json.gz", gzipped(rankTrace(0))}, {"rank0 (copy).json", rankTrace(0)}}) {
        const ImportedRun run = importedFiles({plain, written(bytes, name)});
        EXPECT_EQ(run.activities.size(), 2U);
        EXPECT_EQ(run.topology.processes.size(), 1U);
        EXPECT_THAT(run.summary,
                    HasSubstr(name + ": holds the same recording as rank0.json; it was left out"));
        EXPECT_EQ(run.loss("source_repeated"), 1);
    }
    const ImportedRun packed =
        importedFiles({plain, written(zipped({{"rank0.json", rankTrace(0)}}), "x.zip")});
    EXPECT_THAT(packed.summary, HasSubstr("x.zip, rank0.json: holds the same recording as rank0.json;"));
    const ImportedRun ranks = importedFiles({plain, written(rankTrace(1), "rank1.json")});
    EXPECT_EQ(ranks.topology.processes.size(), 2U) << "equally long texts of two ranks are two recordings";
}

TEST_F(Archives, TwoRecordingsOfOneRankAreRefused)
{
    EXPECT_THAT(refusalOfFiles({written(rankTrace(0), "a.json"), written(rankTrace(0, 3), "b.json")}),
                AllOf(HasSubstr("b.json: is of rank 0, as is a.json"), HasSubstr("into a run of its own")));
}

TEST_F(Archives, TheSameEventsInAnotherLayoutAreRefused)
{
    const std::string text = trace(rankEvents(0, 2));
    std::string spread = text;
    for (std::size_t at = 0; (at = spread.find("{\"", at)) != std::string::npos; ++at)
        spread.insert(at + 1, "\n");
    const fs::path first = written(text, "a.json");
    EXPECT_THAT(
        refusalOfFiles({first, written(gzipped(spread), "b.json.gz")}),
        AllOf(HasSubstr("b.json.gz: holds the same events as a.json"), HasSubstr("import one of the two")));
    const ImportedRun ranks = importedFiles({first, written(trace(rankEvents(0, 3)), "b.json")});
    EXPECT_EQ(ranks.topology.processes.size(), 2U) << "other events are another recording";
}

TEST_F(Archives, TheLogFolderOfJaxIsItsNewestProfileWithoutTheCopyInJson)
{
    const fs::path source = std::string(TILESCOPE_SOURCE_DIR) + "/tests/data";
    const fs::path logs = folder_ / "logs";
    for (const char* time : {"2026_11_01_12_00_00", "2026_11_02_12_00_00"}) {
        fs::create_directories(logs / "plugins/profile" / time);
        std::ofstream(logs / "plugins/profile" / time / "vm.trace.json.gz", std::ios::binary)
            << gzipped(rankTrace(0));
    }
    const fs::path newest = logs / "plugins/profile/2026_11_02_12_00_00";
    // A profile with a plane for the host and nothing else.
    std::ofstream(newest / "vm.xplane.pb", std::ios::binary) << std::string(
        "\x0a\x1f\x12\x09/host:CPU\x1a\x12\x08\x01\x12\x06python\x18\x0a\x22\x04\x08\x01\x18\x64", 33);
    for (const fs::path& named : {logs, logs / "plugins", logs / "plugins/profile"}) {
        const std::array paths{named};
        const std::vector<fs::path> files = importableFiles(paths);
        ASSERT_EQ(files.size(), 2U) << named;
        EXPECT_EQ(files.front().parent_path().lexically_normal(), newest) << named;
    }
}

TEST_F(Archives, FormatsThatAreNotReadHaveASentenceOfTheirOwn)
{
    const std::tuple<std::string, std::string, std::string> files[] = {
        {"x.json.gz", "version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 5\n",
         "pointer of Git LFS"},
        {"x.log", "==123== NVPROF is profiling process 123", "a profile of nvprof"},
        {"x.txt", "==14== Profiling application: ./a\n==14== Profiling result:\n", "a profile of nvprof"},
        {"x.csv", R"x("Type","Time(%)","Time","Calls")x", "a profile of nvprof"},
        {"x.json.zst", "\x28\xb5\x2f\xfd zzz", "`zstd -d`"},
        {"x.json.xz", std::string("\xfd\x37zXZ\0", 6), "`xz -d`"},
        {"x.json.bz2", "BZh91AY", "`bzip2 -d`"},
        {"x.json.lz4", "\x04\x22\x4d\x18 zzz", "`lz4 -d`"},
        {"x.tar", std::string(257, 'a') + "ustar", "`tar -xf`"},
        {"x.tar.gz", gzipped(std::string(257, 'a') + "ustar"), "`tar -xf`"},
        {"notes.zip", zipped({{"notes.txt", "none"}}),
         "is a ZIP archive without a file that can be imported"},
        {"x.parquet", "PAR1", "`nsys export --type sqlite"},
        {"x.qdrep", "not a report", "has the name of a report of Nsight Systems"},
        {"memory_copy_trace.csv", R"("Kind","Direction","Stream_Id")", "a profile of rocprofv3"},
        {"x.json", R"({"rocprofiler-sdk-tool": [{"metadata": {}}]})", "a profile of rocprofv3"},
        {"kernel_trace.csv", R"("Kind","Agent_Id","Queue_Id")", "a profile of rocprofv3"},
        {"x.hatchet", R"([{"children": [], "frame": {"name": "ROOT"}, "metrics": {}}])",
         "a profile of Proton"},
        {"snapshot.json", R"({"segments": [{"device": 0}]})", "a memory snapshot as JSON"},
        {"x.pickle", "(dp0\nVsegments\np1\n(lp2\ns.", "a pickle of protocol 0 or 1"},
        {"timeline.json", "[[0, 1, 2], [[1, 2], [3, 4]]]", "a memory timeline"},
        {"timeline.raw.json.gz", gzipped("[[1, 0, 1024, 4]]"), "a memory timeline"},
        {"timeline.html", R"(<html><img src="data:image/png;base64,AAA"></html>)", "a memory timeline"},
        {"x.ncu-rep", std::string("NVR\0\x01", 5), "a report of Nsight Compute"},
        {"x.pftrace", "\x0a\x0b\x08", "a trace of Perfetto"},
        {"x.bin", packet("\x50\x01") + packet("\x40\x05\x50\x01"), "a trace of Perfetto"},
        {"page.json", "<!doctype html>\n<html>", "is a web page"},
        {"denied.json", "<?xml version=\"1.0\"?><Error/>", "is XML"},
        {"missing.json", R"({"message":"Not Found"})", "a server that does not have the file"},
        {"et.json", R"({"schema": "1.1.1-chakra.0.0.4", "nodes": []})", "an execution trace of PyTorch"},
        {"other.json", R"({"a": [1, 2]})", "is JSON without a list of traceEvents"},
        {"list.json", R"([{"key": "aten::mm"}])", "is JSON without a list of traceEvents"},
        {"space.json", " \r\n", "is empty"},
        {"empty.json.gz", gzipped(""), "is empty"},
        {"damaged.json.gz", "\x1f\x8b\x08 no stream of gzip", "damaged from its beginning"},
        {"x.bin", "something else", "the format of this file is not known"},
        {"lines.bin", "\n\n\x01 text", "the format of this file is not known"},
    };
    for (const auto& [name, bytes, sentence] : files)
        EXPECT_THAT(refusalOfFiles({written(bytes, name)}), AllOf(HasSubstr(name), HasSubstr(sentence)))
            << name;
}

TEST_F(Archives, DatabasesOfOtherProfilersHaveASentenceOfTheirOwn)
{
    const std::pair<const char*, const char*> databases[] = {
        {"create table StringTable (_id_ integer, value text); create table CUPTI_ACTIVITY_KIND_KERNEL "
         "(start integer)",
         "a profile of nvprof"},
        {"create table rocpd_kernel_dispatch_00 (id integer); create table rocpd_info_agent_00 (id integer)",
         "a profile of rocprofv3"},
        {"create table StringIds (id integer, value text)", "without any event"},
        {"create table other (id integer)", "is a SQLite database, but none of"},
    };
    int count = 0;
    for (const auto& [sql, sentence] : databases) {
        const fs::path file = folder_ / ("x" + std::to_string(++count) + ".db");
        sqlite3* database = nullptr;
        ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
        ASSERT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
        sqlite3_close(database);
        EXPECT_THAT(refusalOfFiles({file}), HasSubstr(sentence));
    }
}

} // namespace tilescope::exchange
