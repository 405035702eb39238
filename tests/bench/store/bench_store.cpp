// Measures the store on a generated trace: ingest against raw SQLite on the same rows, sealing, windows,
// size. usage: bench_store [EVENTS] [FOLDER]      the last line of its output is one JSON object

#include "core/store/run_reader.h"
#include "core/store/run_writer.h"
#include "event_generator.h"
#include "raw_sqlite.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <mutex>
#include <random>
#include <thread>

namespace tilescope::bench {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Processor time of the calling thread: what a shared machine's neighbours do not change.
double threadSeconds()
{
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Hands items from one thread to another; at most eight wait, so that memory stays flat whoever is slower.
template <class Item> class Channel {
public:
    void send(Item&& item)
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return items_.size() < 8; });
        items_.push_back(std::move(item));
        changed_.notify_all();
    }
    Item receive()
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !items_.empty(); });
        Item item = std::move(items_.front());
        items_.pop_front();
        changed_.notify_all();
        return item;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Item> items_;
};

struct Ingest {
    double seconds = 0;
    double cpuSeconds = 0; ///< of the writing thread
    double sealSeconds = 0;
    std::int64_t fileBytes = 0;
    std::int64_t events = 0;
};

Ingest ingestByStore(const fs::path& file, std::int64_t batches)
{
    StringTable strings;
    Channel<TraceBatch> full;
    Channel<TraceBatch> empty;
    for (int i = 0; i < 4; ++i)
        empty.send({});
    Ingest result;
    auto writer = std::make_unique<store::RunWriter>(file, strings);
    writer->beginRun({"bench", "lm", "{}", "hash", "bench_store"});
    const auto start = Clock::now();
    const double cpuStart = threadSeconds();
    std::jthread source([&] {
        EventGenerator generator(strings, TraceClock::now());
        for (std::int64_t i = 0; i < batches; ++i) {
            TraceBatch batch = empty.receive();
            generator.next(batch);
            full.send(std::move(batch));
        }
    });
    for (std::int64_t i = 0; i < batches; ++i) {
        TraceBatch batch = full.receive();
        writer->write(batch);
        result.events += EventGenerator::kEventsPerBatch;
        empty.send(std::move(batch));
    }
    writer->commit();
    result.seconds = secondsSince(start);
    result.cpuSeconds = threadSeconds() - cpuStart;
    const auto sealing = Clock::now();
    writer->endRun({});
    writer.reset();
    result.sealSeconds = secondsSince(sealing);
    result.fileBytes = static_cast<std::int64_t>(fs::file_size(file));
    return result;
}

Ingest ingestByRawSqlite(const fs::path& file, std::int64_t batches)
{
    StringTable strings;
    Channel<RawRows> full;
    Channel<RawRows> empty;
    for (int i = 0; i < 4; ++i)
        empty.send({});
    Ingest result;
    RawSqlite raw(file);
    const auto start = Clock::now();
    const double cpuStart = threadSeconds();
    std::jthread source([&] {
        const Timestamp origin = TraceClock::now();
        EventGenerator generator(strings, origin);
        TraceBatch batch;
        for (std::int64_t i = 0; i < batches; ++i) {
            RawRows rows = empty.receive();
            generator.next(batch);
            RawSqlite::encode(batch, origin, rows);
            full.send(std::move(rows));
        }
    });
    for (std::int64_t i = 0; i < batches; ++i) {
        RawRows rows = full.receive();
        raw.insert(rows);
        result.events += EventGenerator::kEventsPerBatch;
        empty.send(std::move(rows));
    }
    raw.finish();
    result.seconds = secondsSince(start);
    result.cpuSeconds = threadSeconds() - cpuStart;
    return result;
}

struct Windows {
    double p50Ms = 0;
    double p99Ms = 0;
    double cpuP99Ms = 0; ///< processor time
    double meanEvents = 0;
};

Windows readWindows(const fs::path& file, std::int64_t events)
{
    constexpr int kWindows = 1000;
    const store::RunReader reader(file);
    const RunId run{1};
    const auto [begin, end] = reader.span(run).value();
    // As long as 2,000 events are on average.
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
        times.push_back(1e3 * secondsSince(start));
        cpuTimes.push_back(1e3 * (threadSeconds() - cpuStart));
    }
    std::ranges::sort(times);
    std::ranges::sort(cpuTimes);
    return {times[kWindows / 2], times[kWindows * 99 / 100], cpuTimes[kWindows * 99 / 100],
            static_cast<double>(found) / kWindows};
}

/// Events that the sealed file gives back, counted by reading all of them.
std::int64_t countEvents(const fs::path& file)
{
    const store::RunReader reader(file);
    const auto [begin, end] = reader.span(RunId{1}).value();
    const Nanoseconds part = (end - begin) / 64 + Nanoseconds(1);
    std::int64_t count = 0;
    for (int i = 0; i < 64; ++i) {
        const store::EventWindow window{
            .run = RunId{1}, .from = begin + i * part, .to = begin + (i + 1) * part};
        // An event that reaches into the next part is counted where it starts.
        const auto startsHere = [&window](const auto& event) { return event.start >= window.from; };
        count += std::ranges::count_if(reader.ranges(window), startsHere);
        count += std::ranges::count_if(reader.ops(window), startsHere);
        count += std::ranges::count_if(reader.deviceEvents(window), startsHere);
        count += static_cast<std::int64_t>(reader.allocEvents(window).size());
    }
    return count;
}

void removeDatabase(const fs::path& file)
{
    for (const char* suffix : {"", "-wal", "-shm"})
        fs::remove(file.string() + suffix);
}

int run(std::int64_t events, const fs::path& folder)
{
    const std::int64_t batches = events / EventGenerator::kEventsPerBatch;
    const fs::path ours = folder / "bench-store.tscope";
    const fs::path raw = folder / "bench-store-raw.sqlite";
    // Taken in turns, so that a machine that grows busy meanwhile slows both alike.
    constexpr int kRounds = 3;
    std::vector<double> ratios;
    std::vector<double> cpuRatios;
    std::vector<double> rates;
    std::vector<double> seals;
    Ingest last;
    for (int round = 0; round < kRounds; ++round) {
        removeDatabase(ours);
        removeDatabase(raw);
        last = ingestByStore(ours, batches);
        const Ingest plain = ingestByRawSqlite(raw, batches);
        removeDatabase(raw);
        rates.push_back(static_cast<double>(last.events) / last.seconds);
        ratios.push_back(plain.seconds / last.seconds);
        seals.push_back(last.sealSeconds);
        cpuRatios.push_back(plain.cpuSeconds / last.cpuSeconds);
        std::printf(
            "round %d: store %.2f s (thread %.2f), raw SQLite %.2f s (thread %.2f), ratio %.2f (%.2f); "
            "sealed in %.2f s\n",
            round + 1, last.seconds, last.cpuSeconds, plain.seconds, plain.cpuSeconds, ratios.back(),
            cpuRatios.back(), last.sealSeconds);
        std::fflush(stdout);
    }
    for (auto* values : {&ratios, &cpuRatios, &rates, &seals})
        std::ranges::sort(*values);
    const Windows windows = readWindows(ours, last.events);
    const std::int64_t lost = last.events - countEvents(ours);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("windows of %.0f events: median %.2f ms, p99 %.2f ms (thread %.2f); peak memory %ld MiB\n",
                windows.meanEvents, windows.p50Ms, windows.p99Ms, windows.cpuP99Ms, usage.ru_maxrss / 1024);
    std::printf("{\"events\": %lld, \"ingest_events_per_second\": %.0f, \"ratio_to_raw_sqlite\": %.3f, "
                "\"seal_seconds_10m\": %.2f, \"window_read_ms_p99\": %.2f, \"bytes_per_event\": %.1f, "
                "\"lost\": %lld}\n",
                static_cast<long long>(last.events), rates[kRounds / 2], ratios[kRounds / 2],
                seals[kRounds / 2] * 1e7 / static_cast<double>(last.events), windows.p99Ms,
                static_cast<double>(last.fileBytes) / static_cast<double>(last.events),
                static_cast<long long>(lost));
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
