#include "ingest.h"

#include "core/session/engine/recorder.h"
#include "raw_sqlite.h"
#include "trace_source.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <ctime>
#include <deque>
#include <fstream>
#include <mutex>
#include <thread>

namespace tilescope::bench {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double secondsOf(clockid_t clock)
{
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Bytes of resident memory that are this process' own: not the pages of files that it has mapped.
std::int64_t residentBytes()
{
    std::ifstream statm("/proc/self/statm");
    std::int64_t size = 0;
    std::int64_t resident = 0;
    std::int64_t shared = 0;
    statm >> size >> resident >> shared;
    return (resident - shared) * sysconf(_SC_PAGESIZE);
}

/// Hands items from one thread to another; few wait, so that memory stays flat whoever is slower.
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

/// Plays all batches into `take`, noting what that costs.
template <class Take> void play(StringTable& strings, std::int64_t batches, Ingest& result, Take&& take)
{
    TraceSource source(strings);
    const double before = threadSeconds();
    std::int64_t early = 0;
    for (std::int64_t i = 0; i < batches; ++i) {
        if (i == batches / 5)
            early = residentBytes();
        take(source.next());
        result.events += TraceSource::kEventsPerBatch;
    }
    result.memoryGrowth = residentBytes() - early;
    result.decoderSeconds = threadSeconds() - before;
}

} // namespace

double threadSeconds()
{
    return secondsOf(CLOCK_THREAD_CPUTIME_ID);
}

double processSeconds()
{
    return secondsOf(CLOCK_PROCESS_CPUTIME_ID);
}

void removeDatabase(const fs::path& file)
{
    for (const char* suffix : {"", "-wal", "-shm", "-lock"})
        fs::remove(file.string() + suffix);
}

Ingest ingestByStore(const fs::path& file, std::int64_t batches)
{
    Ingest result;
    StringTable strings;
    // Enough for two commits: with more, work of the disk would only move past the end of the measurement.
    auto recorder =
        std::make_unique<session::Recorder>(file, strings, session::Recorder::Listener{.onFailure = [] {}},
                                            session::Recorder::Limits{.queuedRecords = 400'000});
    recorder->begin({"bench", "lm", "{}", "hash", "bench_store"});
    const auto start = Clock::now();
    const double cpu = processSeconds();
    play(strings, batches, result, [&](TraceBatch&& batch) { recorder->consume(std::move(batch)); });
    recorder->flush();
    result.seconds = secondsSince(start);
    result.writerSeconds = processSeconds() - cpu - result.decoderSeconds;
    const auto sealing = Clock::now();
    const double sealingCpu = processSeconds();
    recorder->end({});
    recorder.reset();
    result.sealSeconds = secondsSince(sealing);
    result.sealCpuSeconds = processSeconds() - sealingCpu;
    result.fileBytes = static_cast<std::int64_t>(fs::file_size(file));
    return result;
}

Ingest ingestByRawSqlite(const fs::path& file, std::int64_t batches)
{
    Ingest result;
    StringTable strings;
    Channel<RawRows> full;
    Channel<RawRows> empty;
    for (int i = 0; i < 4; ++i)
        empty.send({});
    RawSqlite raw(file);
    const auto start = Clock::now();
    const double cpu = processSeconds();
    std::jthread writer([&] {
        for (std::int64_t i = 0; i < batches; ++i) {
            RawRows rows = full.receive();
            raw.insert(rows);
            empty.send(std::move(rows));
        }
        raw.finish();
    });
    const Timestamp origin = TraceClock::now();
    play(strings, batches, result, [&](const TraceBatch& batch) {
        RawRows rows = empty.receive();
        RawSqlite::encode(batch, origin, rows);
        full.send(std::move(rows));
    });
    writer.join();
    result.seconds = secondsSince(start);
    result.writerSeconds = processSeconds() - cpu - result.decoderSeconds;
    return result;
}

} // namespace tilescope::bench
