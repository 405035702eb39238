// Runs SQL queries on a fixture and compares the rows with the expected ones: the view that users' own
// queries have of a file. TILESCOPE_DIFF_UPDATE=1 rewrites the expected rows; review the difference before
// committing it.

#include "core/store/run_reader.h"
#include "core/store/run_writer.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace tilescope::store {

namespace {

namespace fs = std::filesystem;

std::string contentsOf(const fs::path& file)
{
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// A run of two traced steps with every kind of event. Times are relative to the run's start.
class Fixture {
public:
    explicit Fixture(const fs::path& file) : writer_(file, strings_)
    {
        const RunId run = writer_.beginRun({.name = "fixture",
                                            .workload = "attention",
                                            .specJson = "{}",
                                            .specHash = "hash",
                                            .program = "Tilescope test"});
        origin_ = RunReader(file).run(run)->clockOrigin;
        const EnvironmentEntry environment[] = {{"gpu.name", "NVIDIA H200"},
                                                {"gpu.memory", "150754820096", "B"}};
        writer_.writeEnvironment(environment);
        writeSamples();
        TraceBatch batch;
        batch.threads = {{ThreadId{101}, strings_.intern("main")}};
        batch.losses = {
            {strings_.intern("ring_overflow"), LossSeverity::Error, 4, strings_.intern("device 0")}};
        for (std::uint32_t step = 0; step < 2; ++step)
            addStep(batch, step);
        writer_.write(batch);
        RunResult result;
        result.device = "cuda:0";
        result.peakAllocated = Bytes{3 << 20};
        result.duration = Nanoseconds(1'500'000'000);
        writer_.endRun(result);
    }

private:
    void writeSamples()
    {
        std::vector<Sample> samples{{.kind = SampleKind::Warmup, .wall = Nanoseconds(9'000'000)}};
        for (std::int32_t step = 0; step < 3; ++step)
            for (const auto& [phase, ms] : {std::pair(Phase::Step, 4), std::pair(Phase::Forward, 1)})
                samples.push_back({step, SampleKind::Measure, phase, Nanoseconds((ms + step) * 1'000'000),
                                   Nanoseconds(ms * 900'000)});
        writer_.writeSamples(samples);
    }

    Timestamp at(std::int64_t time) const { return origin_ + Nanoseconds(time); }

    template <class Event> Event event(std::uint32_t step, std::int64_t start, std::int64_t length)
    {
        Event made;
        made.step = static_cast<std::int32_t>(step);
        made.start = at(10'000 * (step + 1) + start);
        made.end = made.start + Nanoseconds(length);
        return made;
    }

    void addStep(TraceBatch& batch, std::uint32_t step)
    {
        auto range = event<Range>(step, 0, 5000);
        range.id = RangeId{step};
        range.path = strings_.intern("step");
        range.name = strings_.intern("step_" + std::to_string(step));
        range.thread = ThreadId{101};
        batch.ranges.push_back(range);
        auto op = event<Op>(step, 100, 400);
        op.id = OpId{step};
        op.name = strings_.intern("aten::mm");
        op.path = strings_.intern("step/forward");
        op.range = range.id;
        op.thread = range.thread;
        batch.ops.push_back(op);
        auto call = event<ApiCall>(step, 200, 50);
        call.name = strings_.intern("cudaLaunchKernel");
        call.kind = ApiKind::Launch;
        call.correlation = CorrelationId{step + 1};
        call.thread = range.thread;
        batch.apiCalls.push_back(call);
        addDeviceEvents(batch, step);
        addAllocations(batch, step);
    }

    void addDeviceEvents(TraceBatch& batch, std::uint32_t step)
    {
        auto kernel = event<DeviceEvent>(step, 1000, 700);
        kernel.name = strings_.intern("void cutlass::Kernel2<cutlass_80_tensorop_gemm<float, 4> >(Params)");
        kernel.path = strings_.intern("step/forward");
        kernel.device = DeviceIndex{0};
        kernel.stream = StreamId{7};
        kernel.correlation = CorrelationId{step + 1};
        kernel.op = OpId{step};
        kernel.launchThread = ThreadId{101};
        kernel.launched = kernel.start - Nanoseconds(800);
        kernel.launch = {{4, 2, 1}, {128, 1, 1}, {1, 1, 1}, 96, 1024, 49'152, 0};
        batch.deviceEvents.push_back(kernel);
        DeviceEvent copy = kernel;
        copy.kind = DeviceEventKind::Memcpy;
        copy.copy = CopyKind::HostToDevice;
        copy.name = strings_.intern("[CUDA memcpy HtoD]");
        copy.bytes = 4096;
        copy.op = {};
        copy.start += Nanoseconds(1000);
        copy.end = copy.start + Nanoseconds(200);
        batch.deviceEvents.push_back(copy);
        copy.kind = DeviceEventKind::Memset;
        copy.copy = CopyKind::None;
        copy.start += Nanoseconds(500);
        copy.end = copy.start + Nanoseconds(20);
        copy.bytes = 64;
        batch.deviceEvents.push_back(copy);
    }

    void addAllocations(TraceBatch& batch, std::uint32_t step)
    {
        for (const int i : {0, 1, 2}) {
            AllocEvent allocation;
            allocation.step = static_cast<std::int32_t>(step);
            allocation.time = at(10'000 * (step + 1) + 100 * i);
            allocation.action = i == 2 ? AllocAction::FreeCompleted : AllocAction::Alloc;
            allocation.device = DeviceIndex{0};
            allocation.address = 0x7000 + 0x1000 * static_cast<std::uint64_t>(i % 2);
            allocation.bytes = i % 2 == 0 ? 1024 : 512;
            allocated_ += i == 2 ? -allocation.bytes : allocation.bytes;
            allocation.allocated = allocated_;
            allocation.reserved = 1 << 21;
            allocation.path = strings_.intern(i % 2 == 0 ? "step/forward" : "step/backward");
            batch.allocEvents.push_back(allocation);
        }
    }

    StringTable strings_;
    RunWriter writer_;
    Timestamp origin_;
    std::int64_t allocated_ = 0;
};

/// The file for all queries; created once.
const fs::path& fixture()
{
    struct File {
        fs::path path =
            fs::temp_directory_path() / ("tilescope-diff-" + std::to_string(getpid()) + ".tscope");
        File()
        {
            fs::remove(path);
            const Fixture made(path);
        }
        ~File() { fs::remove(path); }
    };
    static const File file;
    return file.path;
}

/// Rows as comma-separated values with a header, like sqlite3's output.
std::string rowsOf(const std::string& sql)
{
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open_v2(fixture().c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    sqlite3_stmt* row = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database, sql.c_str(), -1, &row, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database) << sql;
    std::ostringstream out;
    const int columns = sqlite3_column_count(row);
    for (int i = 0; i < columns; ++i)
        out << (i ? "," : "") << sqlite3_column_name(row, i);
    out << '\n';
    while (sqlite3_step(row) == SQLITE_ROW) {
        for (int i = 0; i < columns; ++i) {
            const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, i));
            out << (i ? "," : "") << (text ? text : "null");
        }
        out << '\n';
    }
    sqlite3_finalize(row);
    sqlite3_close(database);
    return out.str();
}

/// The queries of the help page in order.
std::vector<std::string> helpQueries()
{
    const std::string page = contentsOf(fs::path(TILESCOPE_SOURCE_DIR) / "resources/help/store.md");
    std::vector<std::string> queries;
    constexpr std::string_view kBegin = "```sql\n";
    for (std::size_t at = page.find(kBegin); at != std::string::npos; at = page.find(kBegin, at)) {
        at += kBegin.size();
        queries.push_back(page.substr(at, page.find("```", at) - at));
    }
    return queries;
}

std::map<std::string, std::string> allQueries()
{
    std::map<std::string, std::string> queries;
    for (const auto& entry : fs::directory_iterator(TILESCOPE_DIFF_QUERIES))
        if (entry.path().extension() == ".sql")
            queries[entry.path().stem()] = contentsOf(entry.path());
    int number = 0;
    for (const std::string& query : helpQueries())
        queries["help_" + std::to_string(++number)] = query;
    return queries;
}

} // namespace

TEST(Diff, QueriesGiveTheExpectedRows)
{
    for (const auto& [name, sql] : allQueries()) {
        const fs::path expected = fs::path(TILESCOPE_DIFF_QUERIES) / (name + ".csv");
        const std::string rows = rowsOf(sql);
        if (std::getenv("TILESCOPE_DIFF_UPDATE"))
            std::ofstream(expected) << rows;
        EXPECT_EQ(rows, contentsOf(expected)) << name;
    }
}

TEST(HelpPage, HasFiveQueriesAndNamesEveryTableViewAndColumn)
{
    EXPECT_EQ(helpQueries().size(), 5u);
    const std::string page = contentsOf(fs::path(TILESCOPE_SOURCE_DIR) / "resources/help/store.md");
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open_v2(fixture().c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    sqlite3_stmt* row = nullptr;
    // The help page documents Nsight Systems' columns elsewhere.
    ASSERT_EQ(
        sqlite3_prepare_v2(database,
                           "select m.name, c.name from sqlite_schema m join pragma_table_info(m.name) c "
                           "where m.type in ('table', 'view')",
                           -1, &row, nullptr),
        SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW) {
        const std::string table = reinterpret_cast<const char*>(sqlite3_column_text(row, 0));
        const std::string column = reinterpret_cast<const char*>(sqlite3_column_text(row, 1));
        EXPECT_NE(page.find("`" + table + "`"), std::string::npos) << table;
        const bool isNsights = std::isupper(static_cast<unsigned char>(table[0])) != 0;
        // The page abbreviates grid_y and similar columns: "grid_x to grid_z".
        const bool isBetween = column.ends_with("_x") || column.ends_with("_y") || column.ends_with("_z");
        if (!isNsights && !isBetween) {
            EXPECT_NE(page.find(column), std::string::npos) << table << "." << column;
        }
    }
    sqlite3_finalize(row);
    sqlite3_close(database);
}

} // namespace tilescope::store
