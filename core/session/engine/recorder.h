#pragma once

#include "core/base/ids.h"
#include "core/base/mutex.h"
#include "core/model/events.h"
#include "core/model/run.h"
#include "core/model/strings.h"
#include "core/session/protocol/working_copy.h"
#include "core/store/run_writer.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tilescope {
struct MemoryFacts;
}

namespace tilescope::session {

/// What a run's records came to, once it has ended.
struct RecordSummary {
    std::int64_t records = 0; ///< trace records that were checked for losses
    struct LossCount {
        std::string kind;
        std::string severity;
        std::int64_t count = 0;
    };
    std::vector<LossCount> losses;
};

/// Hands what a run produces to the one thread that writes it.
///
/// The session thread calls begin, environment, sample, flush and end; the tracer's thread consume().
/// Batches are moved into a bounded queue: a tracer that is faster than the disk waits, it loses nothing.
/// Samples are held back and handed over every few seconds, so that the writer sleeps during timed steps. A
/// failure of the file (disk full) is thrown by the next call of the session thread, and `onFailure` is
/// called at once, on the writer's thread, so that a long run need not end first.
class Recorder final : public TraceSink {
public:
    struct Limits {
        std::int64_t queuedRecords = 4'000'000;      ///< beyond it consume() waits
        std::chrono::milliseconds sampleDelay{2000}; ///< how long a sample may be held back
        WorkingCopy::Timing copies = {};
    };
    struct Listener {
        std::function<void()> onFailure;
        WorkingCopy::Log log = [](const std::string&) {};
    };

    /// Opens the file, or a copy of it on a local disk where it lies on a network filesystem; both functions
    /// of the listener are called on the writer's thread.
    /// \throws Error  as store::RunWriter, WorkingCopy
    Recorder(const std::filesystem::path& file, StringTable& strings, Listener listener,
             const Limits& limits);
    Recorder(const std::filesystem::path& file, StringTable& strings, Listener listener);
    /// Closes the file; a failure of that is only logged.
    ~Recorder() override;
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    RunId begin(const store::RunHeader& header);
    /// Durable with the next flush().
    void environment(std::vector<EnvironmentEntry> entries);
    /// Returns when they are durable. No run need be open.
    void ceilings(std::vector<Ceiling> ceilings);
    /// Of the open run; returns when they are written.
    void counters(std::vector<CounterValue> counters);
    /// Of the open run; returns when they are written.
    void memory(const MemoryFacts& facts);
    void sample(const Sample& sample);
    /// Returns when everything so far is durable and the writer sleeps; between the states of a point, so
    /// that the writer does not work beside the first timed steps.
    void flush();
    void consume(TraceBatch&& batch) override;
    /// Returns when everything is durable.
    RecordSummary end(const RunResult& result);
    /// Seals the file, and brings it home where it was written elsewhere; the last call.
    /// \throws Error
    void close();

private:
    using Task = std::packaged_task<void(store::RunWriter&)>;
    struct Queued {
        Task task;
        std::int64_t records = 0;
    };

    enum class Next { Task, Due, Closed };

    void write(const std::filesystem::path& file, std::promise<void> opened);
    void finish(WorkingCopy& copy);
    Next next(Queued& queued, std::optional<std::chrono::steady_clock::time_point> due);
    void push(Task task, std::int64_t records);
    void pushAndWait(std::function<void(store::RunWriter&)> work);
    void note(const TraceBatch& batch) REQUIRES(mutex_);
    void handOverSamples();
    void throwFailure();
    void fail(std::exception_ptr failure);

    StringTable& strings_;
    const Listener listener_;
    const Limits limits_;

    // Session thread.
    std::vector<Sample> heldSamples_;
    std::chrono::steady_clock::time_point heldSince_{};

    Mutex mutex_;
    Condition changed_;
    std::deque<Queued> queue_ GUARDED_BY(mutex_);
    std::int64_t queuedRecords_ GUARDED_BY(mutex_) = 0;
    bool closing_ GUARDED_BY(mutex_) = false;
    std::exception_ptr failure_ GUARDED_BY(mutex_);
    std::map<std::string, RecordSummary::LossCount> losses_ GUARDED_BY(mutex_);
    std::int64_t recordsChecked_ GUARDED_BY(mutex_) = 0;

    std::thread writer_; ///< started last, joined by the destructor
};

} // namespace tilescope::session
