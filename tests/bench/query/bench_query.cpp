// Measures the queries of a window on a large sealed file: opening its timeline, reducing 64 lanes to pixels at
// random zooms, finding by name. usage: bench_query [EVENTS] [FOLDER]       the last line of its output is
// one JSON object
//        bench_query --make FILE [EVENTS]    only makes the file, for other benchmarks
//        bench_query --make-training FILE [EVENTS]    likewise, of a training run whose steps repeat

#include "core/query/timeline/timeline_reader.h"
#include "core/query/timeline/timeline_search.h"
#include "core/store/run_reader.h"
#include "core/store/run_writer.h"
#include "event_generator.h"
#include "training_generator.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <string_view>
#include <vector>

namespace tilescope::bench {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kPixels = 1920;
const auto kGoOn = [] { return false; };

/// Wall and processor time of the calling thread, ms.
struct Time {
    double wall = 0;
    double cpu = 0;
};

double threadMs()
{
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

template <class Work> Time timed(Work&& work)
{
    const auto start = Clock::now();
    const double cpu = threadMs();
    work();
    return {std::chrono::duration<double, std::milli>(Clock::now() - start).count(), threadMs() - cpu};
}

Time percentile(const std::vector<Time>& times, int percent)
{
    std::vector<double> wall, cpu;
    for (const Time& time : times) {
        wall.push_back(time.wall);
        cpu.push_back(time.cpu);
    }
    std::ranges::sort(wall);
    std::ranges::sort(cpu);
    const std::size_t at = (times.size() - 1) * static_cast<std::size_t>(percent) / 100;
    return {wall[at], cpu[at]};
}

double residentMiB()
{
    std::ifstream statm("/proc/self/statm");
    double size = 0;
    double resident = 0;
    statm >> size >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/// \param write  the events
template <class Write> double make(const fs::path& file, const char* workload, Write&& write)
{
    for (const char* suffix : {"", "-wal", "-shm", "-lock"})
        fs::remove(file.string() + suffix);
    StringTable strings;
    store::RunWriter writer(file, strings);
    writer.beginRun({"bench", workload, "{}", "hash", "bench_query"});
    write(strings, writer);
    writer.commit();
    return timed([&] { writer.endRun({}); }).cpu / 1e3;
}

double make(const fs::path& file, std::int64_t events)
{
    return make(file, "lm", [events](StringTable& strings, store::RunWriter& writer) {
        EventGenerator generator(strings, TraceClock::now());
        TraceBatch batch;
        for (std::int64_t i = 0; i < events / EventGenerator::kEventsPerBatch; ++i) {
            generator.next(batch);
            writer.write(batch);
        }
    });
}

double makeTraining(const fs::path& file, std::int64_t events)
{
    return make(file, kTraceWorkload.name.data(), [events](StringTable& strings, store::RunWriter& writer) {
        TrainingGenerator generator(strings, TraceClock::now());
        TraceBatch batch;
        for (std::int64_t made = 0; made < events;) {
            made += generator.next(batch);
            writer.write(batch);
        }
    });
}

/// Reduces every row of every lane to the pixels of the window.
Time reduce(const query::Timeline& timeline, double from, double perColumn)
{
    static std::vector<query::Column> columns(kPixels);
    static std::vector<query::CurveColumn> curve(kPixels);
    return timed([&] {
        for (const query::Lane& lane : timeline.lanes) {
            for (const query::Track& row : lane.rows)
                row.columns(from, perColumn, columns);
            if (!lane.allocated.empty()) {
                lane.allocated.columns(from, perColumn, curve);
                lane.reserved.columns(from, perColumn, curve);
            }
        }
    });
}

std::vector<Time> windows(const query::Timeline& timeline)
{
    std::mt19937_64 random(1);
    std::vector<Time> times;
    for (int i = 0; i < 1000; ++i) {
        // From the whole run down to 2^-22 of it: including the densest zooms.
        const double length =
            static_cast<double>(timeline.length) / static_cast<double>(1ULL << (random() % 23));
        const double from =
            std::uniform_real_distribution<double>(0, static_cast<double>(timeline.length) - length)(random);
        times.push_back(reduce(timeline, from, length / kPixels));
    }
    return times;
}

int run(std::int64_t events, const fs::path& folder)
{
    const fs::path file = folder / "bench-query.tscope";
    std::printf("sealed in %.2f s of processor time\n", make(file, events));
    const double before = residentMiB();
    query::Timeline timeline;
    const Time opening = timed([&] {
        const store::RunReader reader(file);
        timeline = query::readTimeline(reader, RunId{1}, kGoOn).value();
    });
    std::size_t rows = 0;
    for (const query::Lane& lane : timeline.lanes)
        rows += lane.rows.size();
    const double memory = static_cast<double>(timeline.memory()) / (1 << 20);
    std::printf(
        "timeline of %zu lanes, %zu rows: opened in %.0f ms (thread %.0f), %.0f MiB (resident %+.0f)\n",
        timeline.lanes.size(), rows, opening.wall, opening.cpu, memory, residentMiB() - before);
    const std::vector<Time> frames = windows(timeline);
    const Time p50 = percentile(frames, 50);
    const Time p99 = percentile(frames, 99);
    const Time widest = reduce(timeline, 0, static_cast<double>(timeline.length) / kPixels);
    std::printf("windows at %d pixels: median %.2f ms (thread %.2f), p99 %.2f ms (thread %.2f); the whole "
                "run %.2f ms\n",
                kPixels, p50.wall, p50.cpu, p99.wall, p99.cpu, widest.cpu);
    query::SearchResult few, many;
    const Time findFew = timed([&] { few = query::search(timeline, "functor_17<", kGoOn); });
    const Time findMany = timed([&] { many = query::search(timeline, "op", kGoOn); });
    std::printf("find: %lld in %.0f ms (thread %.0f), %lld in %.0f ms (thread %.0f)\n",
                static_cast<long long>(few.total()), findFew.wall, findFew.cpu,
                static_cast<long long>(many.total()), findMany.wall, findMany.cpu);
    std::printf(
        "{\"events\": %lld, \"lanes\": %zu, \"rows\": %zu, \"open_ms\": %.0f, \"timeline_mib\": %.0f, "
        "\"window_ms_p50\": %.2f, \"window_ms_p99\": %.2f, \"find_few_ms\": %.0f, \"find_all_ms\": %.0f, "
        "\"cpu\": {\"open_ms\": %.0f, \"window_ms_p50\": %.2f, \"window_ms_p99\": %.2f, "
        "\"find_few_ms\": %.0f, \"find_all_ms\": %.0f}}\n",
        static_cast<long long>(events), timeline.lanes.size(), rows, opening.wall, memory, p50.wall, p99.wall,
        findFew.wall, findMany.wall, opening.cpu, p50.cpu, p99.cpu, findFew.cpu, findMany.cpu);
    for (const char* suffix : {"", "-lock"})
        fs::remove(file.string() + suffix);
    return few.kernels > 0 && many.ops > 0 ? 0 : 1;
}

} // namespace

} // namespace tilescope::bench

int main(int argc, char** argv)
{
    if (argc > 2 && std::string_view(argv[1]) == "--make") {
        tilescope::bench::make(argv[2], argc > 3 ? std::atoll(argv[3]) : 10'000'000);
        return 0;
    }
    if (argc > 2 && std::string_view(argv[1]) == "--make-training") {
        std::printf("sealed in %.2f s of processor time\n",
                    tilescope::bench::makeTraining(argv[2], argc > 3 ? std::atoll(argv[3]) : 10'000'000));
        return 0;
    }
    const std::int64_t events = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
    const std::filesystem::path folder = argc > 2 ? argv[2] : std::filesystem::temp_directory_path();
    return tilescope::bench::run(events, folder);
}
