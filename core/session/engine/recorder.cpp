#include "core/session/engine/recorder.h"

#include "core/base/error.h"
#include "core/model/counter_track.h"
#include "core/model/losses.h"
#include "core/model/text.h"

#include <utility>

namespace tilescope::session {

namespace {

std::int64_t eventCount(const TraceBatch& batch)
{
    return static_cast<std::int64_t>(batch.ranges.size() + batch.ops.size() + batch.apiCalls.size() +
                                     batch.deviceEvents.size() + batch.allocEvents.size());
}

} // namespace

Recorder::Recorder(const std::filesystem::path& file, StringTable& strings, Listener listener)
    : Recorder(file, strings, std::move(listener), Limits{})
{
}

Recorder::Recorder(const std::filesystem::path& file, StringTable& strings, Listener listener,
                   const Limits& limits)
    : strings_(strings), listener_(std::move(listener)), limits_(limits)
{
    std::promise<void> opened;
    std::future<void> ready = opened.get_future();
    writer_ =
        std::thread([this, file, promise = std::move(opened)]() mutable { write(file, std::move(promise)); });
    try {
        ready.get();
    } catch (...) {
        writer_.join();
        throw;
    }
}

Recorder::~Recorder()
{
    {
        const MutexLock lock(mutex_);
        closing_ = true;
    }
    changed_.notifyAll();
    if (writer_.joinable())
        writer_.join();
}

void Recorder::close()
{
    handOverSamples();
    {
        const MutexLock lock(mutex_);
        closing_ = true;
    }
    changed_.notifyAll();
    writer_.join();
    throwFailure();
}

/// The writer thread: the only one that accesses the file.
void Recorder::write(const std::filesystem::path& file, std::promise<void> opened)
{
    std::optional<WorkingCopy> copy;
    std::optional<store::RunWriter> writer;
    try {
        copy.emplace(file, listener_.log, limits_.copies);
        writer.emplace(copy->path(), strings_);
    } catch (...) {
        opened.set_exception(std::current_exception());
        return;
    }
    opened.set_value();
    Queued queued;
    for (Next found = next(queued, {}); found != Next::Closed; found = next(queued, copy->due())) {
        if (found == Next::Task) {
            queued.task(*writer);
            copy->touched();
        }
        copy->publishIfDue();
    }
    writer.reset();
    finish(*copy);
}

void Recorder::finish(WorkingCopy& copy)
{
    try {
        copy.bringHome();
    } catch (const Error& error) {
        listener_.log(error.sentence());
        fail(std::current_exception());
    }
}

Recorder::Next Recorder::next(Queued& queued, std::optional<std::chrono::steady_clock::time_point> due)
{
    MutexLock lock(mutex_);
    const auto somethingToDo = [this]() REQUIRES(mutex_) { return closing_ || !queue_.empty(); };
    if (!due)
        changed_.wait(lock, somethingToDo);
    else if (!changed_.waitUntil(lock, *due, somethingToDo))
        return Next::Due;
    if (queue_.empty())
        return Next::Closed;
    queued = std::move(queue_.front());
    queue_.pop_front();
    queuedRecords_ -= queued.records;
    lock.unlock();
    changed_.notifyAll();
    return Next::Task;
}

void Recorder::push(Task task, std::int64_t records)
{
    {
        MutexLock lock(mutex_);
        changed_.wait(lock, [this]() REQUIRES(mutex_) { return queuedRecords_ < limits_.queuedRecords; });
        queue_.push_back({std::move(task), records});
        queuedRecords_ += records;
    }
    changed_.notifyAll();
}

void Recorder::fail(std::exception_ptr failure)
{
    {
        const MutexLock lock(mutex_);
        if (failure_)
            return;
        failure_ = std::move(failure);
    }
    listener_.onFailure();
}

void Recorder::throwFailure()
{
    const MutexLock lock(mutex_);
    if (failure_)
        std::rethrow_exception(failure_);
}

void Recorder::pushAndWait(std::function<void(store::RunWriter&)> work)
{
    throwFailure();
    Task task(std::move(work));
    std::future<void> done = task.get_future();
    push(std::move(task), 0);
    try {
        done.get();
    } catch (...) {
        fail(std::current_exception());
        throw;
    }
}

RunId Recorder::begin(const store::RunHeader& header)
{
    RunId run;
    {
        const MutexLock lock(mutex_);
        losses_.clear();
        recordsChecked_ = 0;
    }
    pushAndWait([&](store::RunWriter& writer) { run = writer.beginRun(header); });
    return run;
}

void Recorder::environment(std::vector<EnvironmentEntry> entries)
{
    throwFailure();
    push(Task([this, moved = std::move(entries)](store::RunWriter& writer) {
             try {
                 writer.writeEnvironment(moved);
             } catch (...) {
                 fail(std::current_exception());
             }
         }),
         0);
}

void Recorder::ceilings(std::vector<Ceiling> ceilings)
{
    pushAndWait([&](store::RunWriter& writer) {
        writer.writeCeilings(ceilings);
        writer.commit();
    });
}

void Recorder::counters(std::vector<CounterValue> counters)
{
    pushAndWait([&](store::RunWriter& writer) { writer.writeCounters(counters); });
}

void Recorder::counterTracks(const std::vector<CounterTrack>& tracks)
{
    pushAndWait([&](store::RunWriter& writer) { writer.writeCounterTracks(tracks); });
}

void Recorder::kernelSamples(const KernelSamples& samples)
{
    pushAndWait([&](store::RunWriter& writer) { writer.writeKernelSamples(samples); });
}

void Recorder::memory(const MemoryFacts& facts)
{
    pushAndWait([&](store::RunWriter& writer) { writer.writeMemory(facts); });
}

void Recorder::topology(const RunTopology& topology)
{
    pushAndWait([&](store::RunWriter& writer) { writer.writeTopology(topology); });
}

void Recorder::sample(const Sample& sample)
{
    const auto now = std::chrono::steady_clock::now();
    if (heldSamples_.empty())
        heldSince_ = now;
    heldSamples_.push_back(sample);
    if (now - heldSince_ >= limits_.sampleDelay)
        handOverSamples();
}

void Recorder::flush()
{
    handOverSamples();
    pushAndWait([](store::RunWriter& writer) { writer.commit(); });
}

void Recorder::handOverSamples()
{
    if (heldSamples_.empty())
        return;
    throwFailure();
    push(Task([this, samples = std::exchange(heldSamples_, {})](store::RunWriter& writer) {
             try {
                 writer.writeSamples(samples);
                 writer.commit();
             } catch (...) {
                 fail(std::current_exception());
             }
         }),
         0);
}

/// Accounts for a batch and its losses.
void Recorder::note(const TraceBatch& batch)
{
    recordsChecked_ += batch.recordsChecked;
    for (const Loss& loss : batch.losses) {
        auto& count = losses_[std::string(strings_.text(loss.kind))];
        count.kind = strings_.text(loss.kind);
        count.severity = wordOf(loss.severity);
        count.count += loss.count;
    }
}

void Recorder::consume(TraceBatch&& batch)
{
    {
        const MutexLock lock(mutex_);
        note(batch);
        if (failure_)
            return; // reported by the next call of the session thread; nothing more can be written
    }
    const std::int64_t records = eventCount(batch);
    push(Task([this, moved = std::move(batch)](store::RunWriter& writer) {
             try {
                 writer.write(moved);
             } catch (...) {
                 fail(std::current_exception());
             }
         }),
         records);
}

RecordSummary Recorder::end(const RunResult& result)
{
    handOverSamples();
    std::int64_t overCap = 0;
    pushAndWait([&](store::RunWriter& writer) {
        writer.endRun(result);
        overCap = writer.eventsOverCap();
    });
    throwFailure();
    const MutexLock lock(mutex_);
    RecordSummary summary;
    summary.records = recordsChecked_;
    for (auto& [kind, count] : losses_)
        summary.losses.push_back(count);
    if (overCap > 0)
        summary.losses.push_back({std::string(infoOf(RecordLoss::EventCap).name),
                                  std::string(wordOf(infoOf(RecordLoss::EventCap).severity)), overCap});
    return summary;
}

} // namespace tilescope::session
