// Measures the store under load: events from filled CUPTI buffers to the last commit, against plain SQLite
// with the same rows, then sealing, reading windows, size. usage: bench_store [EVENTS] [FOLDER]      the last
// line of its output is one JSON object

#include "core/store/run_reader.h"
#include "ingest.h"
#include "trace_source.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <vector>

namespace tilescope::bench {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Windows {
    double p50Ms = 0;
    double p99Ms = 0;
    double cpuP99Ms = 0; ///< processor time
    double meanEvents = 0;
};

/// A thousand windows at random places, all kinds of events of each.
Windows readWindows(const fs::path& file, std::int64_t events)
{
    constexpr int kWindows = 1000;
    const store::RunReader reader(file);
    const RunId run{1};
    const auto [begin, end] = reader.span(run).value();
    // The average length of 2,000 events.
    const auto length =
        std::chrono::duration_cast<Nanoseconds>((end - begin) * (2000.0 / static_cast<double>(events)));
    std::mt19937_64 random(1);
    std::uniform_int_distribution<std::int64_t> offset(0, (end - begin - length).count());
    std::vector<double> times;
    std::vector<double> cpuTimes;
    std::size_t found = 0;
    for (int i = 0; i < kWindows; ++i) {
        const Timestamp from = begin + Nanoseconds(offset(random));
        const store::EventWindow window{.run = run, .from = from, .to = from + length};
        const auto start = Clock::now();
        const double cpuStart = threadSeconds();
        found += reader.ranges(window).size() + reader.ops(window).size() +
                 reader.deviceEvents(window).size() + reader.allocEvents(window).size();
        times.push_back(1e3 * std::chrono::duration<double>(Clock::now() - start).count());
        cpuTimes.push_back(1e3 * (threadSeconds() - cpuStart));
    }
    std::ranges::sort(times);
    std::ranges::sort(cpuTimes);
    return {times[kWindows / 2], times[kWindows * 99 / 100], cpuTimes[kWindows * 99 / 100],
            static_cast<double>(found) / kWindows};
}

/// The number of events in the sealed file, counted by reading all of them.
std::int64_t countEvents(const fs::path& file)
{
    const store::RunReader reader(file);
    const store::EventWindow all{.run = RunId{1}};
    std::int64_t count = 0;
    const auto one = [&count](const auto&) {
        ++count;
        return true;
    };
    reader.eachRange(all, one);
    reader.eachOp(all, one);
    reader.eachDeviceEvent(all, one);
    reader.eachAllocEvent(all, one);
    return count;
}

double median(std::vector<double> values)
{
    std::ranges::sort(values);
    return values[values.size() / 2];
}

int run(std::int64_t events, const fs::path& folder)
{
    const std::int64_t batches = std::max<std::int64_t>(5, events / TraceSource::kEventsPerBatch);
    const fs::path ours = folder / "bench-store.tscope";
    const fs::path raw = folder / "bench-store-raw.sqlite";
    // Alternates, so that other load on the machine slows both equally.
    constexpr int kRounds = 3;
    std::vector<double> ratios, cpuRatios, rates, cpuRates, seals, sealsCpu, growths;
    Ingest last;
    for (int round = 0; round < kRounds; ++round) {
        removeDatabase(ours);
        removeDatabase(raw);
        last = ingestByStore(ours, batches);
        const Ingest plain = ingestByRawSqlite(raw, batches);
        removeDatabase(raw);
        const auto count = static_cast<double>(last.events);
        rates.push_back(count / last.seconds);
        // The time on two idle cores: that of the slower thread.
        cpuRates.push_back(count / std::max(last.writerSeconds, last.decoderSeconds));
        ratios.push_back(plain.seconds / last.seconds);
        cpuRatios.push_back(plain.writerSeconds / last.writerSeconds);
        seals.push_back(last.sealSeconds * 1e7 / count);
        sealsCpu.push_back(last.sealCpuSeconds * 1e7 / count);
        growths.push_back(static_cast<double>(last.memoryGrowth) / (1 << 20));
        std::printf("round %d: store %.2f s (decoder %.2f, writer %.2f), raw SQLite %.2f s (decoder %.2f, "
                    "writer %.2f), ratio %.2f (writers' %.2f); sealed in %.2f s; memory %+.1f MiB\n",
                    round + 1, last.seconds, last.decoderSeconds, last.writerSeconds, plain.seconds,
                    plain.decoderSeconds, plain.writerSeconds, ratios.back(), cpuRatios.back(),
                    last.sealSeconds, growths.back());
        std::fflush(stdout);
    }
    const Windows windows = readWindows(ours, last.events);
    const std::int64_t lost = last.events - countEvents(ours);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("windows of %.0f events: median %.2f ms, p99 %.2f ms (thread %.2f); peak memory %ld MiB\n",
                windows.meanEvents, windows.p50Ms, windows.p99Ms, windows.cpuP99Ms, usage.ru_maxrss / 1024);
    std::printf("{\"events\": %lld, \"ingest_events_per_second\": %.0f, \"ratio_to_raw_sqlite\": %.3f, "
                "\"seal_seconds_10m\": %.2f, \"window_read_ms_p99\": %.2f, \"bytes_per_event\": %.1f, "
                "\"lost\": %lld, \"memory_growth_mib\": %.1f, \"cpu\": {\"events_per_second\": %.0f, "
                "\"ratio_to_raw_sqlite\": %.3f, \"seal_seconds_10m\": %.2f, \"window_read_ms_p99\": %.2f}}\n",
                static_cast<long long>(last.events), median(rates), median(ratios), median(seals),
                windows.p99Ms, static_cast<double>(last.fileBytes) / static_cast<double>(last.events),
                static_cast<long long>(lost), median(growths), median(cpuRates), median(cpuRatios),
                median(sealsCpu), windows.cpuP99Ms);
    removeDatabase(ours);
    return lost == 0 ? 0 : 1;
}

} // namespace

} // namespace tilescope::bench

int main(int argc, char** argv)
{
    const std::int64_t events = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
    const std::filesystem::path folder = argc > 2 ? argv[2] : std::filesystem::temp_directory_path();
    return tilescope::bench::run(events, folder);
}
