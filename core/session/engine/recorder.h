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
struct CounterTrack;
struct KernelSamples;
struct MemoryFacts;
struct RunTopology;
} // namespace tilescope

namespace tilescope::session {

/// Counts of a run's records, once it has ended.
struct RecordSummary {
    std::int64_t records = 0; ///< trace records that were checked for losses
    struct LossCount {
        std::string kind;
        std::string severity;
        std::int64_t count = 0;
    };
    std::vector<LossCount> losses;
};

/// Passes the data of a run to the single writer thread.
///
/// The session thread calls begin, environment, sample, flush and end; the tracer's thread calls consume().
/// Batches are moved into a bounded queue: a tracer that is faster than the disk waits and loses nothing.
/// Samples are buffered for a few seconds, so that the writer sleeps during timed steps. If the file fails
/// (disk full), the next call of the session thread throws, and the writer thread calls `onFailure`
/// immediately so that a long run can be stopped.
class Recorder final : public TraceSink {
public:
    struct Limits {
        std::int64_t queuedRecords = 4'000'000;      ///< consume() waits if there are more
        std::chrono::milliseconds sampleDelay{2000}; ///< maximum time that a sample is buffered
        WorkingCopy::Timing copies = {};
    };
    struct Listener {
        std::function<void()> onFailure;
        WorkingCopy::Log log = [](const std::string&) {};
    };

    /// Opens the file, or a local copy of it if it is on a network filesystem. Both functions of the listener
    /// are called on the writer thread.
    /// \throws Error  like store::RunWriter, WorkingCopy
    Recorder(const std::filesystem::path& file, StringTable& strings, Listener listener,
             const Limits& limits);
    Recorder(const std::filesystem::path& file, StringTable& strings, Listener listener);
    /// Closes the file; an error is only logged.
    ~Recorder() override;
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    RunId begin(const store::RunHeader& header);
    /// Durable with the next flush().
    void environment(std::vector<EnvironmentEntry> entries);
    /// Returns when they are durable. Needs no open run.
    void ceilings(std::vector<Ceiling> ceilings);
    /// For the open run; returns when they are written.
    void counters(std::vector<CounterValue> counters);
    /// For the open run; returns when they are written.
    void counterTracks(const std::vector<CounterTrack>& tracks);
    /// For the open run; returns when they are written.
    void kernelSamples(const KernelSamples& samples);
    /// For the open run; returns when they are written.
    void memory(const MemoryFacts& facts);
    /// Of several ranks, for the open run; returns when they are written.
    void topology(const RunTopology& topology);
    void sample(const Sample& sample);
    /// Returns when everything so far is durable and the writer sleeps. Called between the states of a point,
    /// so that the writer does not disturb the first timed steps.
    void flush();
    void consume(TraceBatch&& batch) override;
    /// Returns when everything is durable.
    RecordSummary end(const RunResult& result);
    /// Seals the file and, if it is a local copy, publishes it; the last call.
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
