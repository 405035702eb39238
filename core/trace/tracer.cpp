#include "core/trace/tracer.h"

#include "core/base/mutex.h"
#include "core/trace/allocators/cuda_allocator_hook.h"
#include "core/trace/assembly/assembler.h"
#include "core/trace/cupti/activity_decoder.h"
#include "core/trace/cupti/cupti_session.h"
#include "core/trace/host/host_log.h"
#include "core/trace/host/nvtx.h"
#include "core/trace/host/op_recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <fstream>
#include <thread>
#include <unordered_set>

namespace tilescope::trace {

namespace {

// Handed on at once: some 40 MB. What is fewer waits for the end of the recording, so that nothing is written
// while steps of a short trace run.
constexpr std::size_t kBatchEvents = 1 << 18;
constexpr auto kPeriod = std::chrono::milliseconds(5);
constexpr std::size_t kSpareLogs = 2; // for autograd's thread, and one more

std::string threadName(std::uint32_t thread)
{
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/comm");
    std::string name;
    std::getline(file, name);
    return name.starts_with("pt_autograd") ? "autograd" : name;
}

} // namespace

class Tracer::Impl {
public:
    Impl(const TracerOptions& options, StringTable& strings, TraceSink& sink, CuptiApi& cupti)
        : options_(options), strings_(strings), sink_(sink),
          assembler_(strings, HostLogs::instance().nextRange(), HostLogs::instance().nextOp()),
          decoder_(cupti, strings)
    {
        if (options.cuda) {
            cupti_ =
                std::make_unique<CuptiSession>(cupti, options.activityBuffers, options.activityBufferBytes);
            assembler_.setFunctionName(
                [this](std::uint32_t function) { return cupti_->functionName(function, strings_); });
        }
        installNvtx();
        OpRecorder::installProbe();
        thread_ = std::thread([this] { run(); });
        pthread_setname_np(thread_.native_handle(), "tilescope-trace");
    }

    ~Impl()
    {
        switchOff();
        {
            const MutexLock lock(mutex_);
            ended_ = true;
        }
        changed_.notifyAll();
        thread_.join();
    }

    void start(Recording recording)
    {
        session_ = static_cast<std::uint32_t>(gettid());
        recording_ = recording;
        named_.clear();
        lastThread_ = 0;
        assembler_.begin(recording, {.ops = opsRecorded(), .shapes = options_.shapes});
        decoder_.begin();
        HostLogs::instance().start(options_.ringCapacity, kSpareLogs);
        before_ = HostLogs::instance().counters();
        if (cupti_)
            untracedReason_ = cupti_->start(options_.level, recording);
        const bool isReference = recording == Recording::ReferenceStep;
        const bool capturing = recording == Recording::Capture;
        if (recording == Recording::Events || isReference || capturing)
            startAllocations();
        const bool shapes =
            (isReference && (options_.shapes || options_.memory)) || (capturing && options_.shapes);
        if (shapes || (opsRecorded() && recording != Recording::Launches) || (capturing && options_.memory))
            OpRecorder::enable(shapes, !options_.cuda);
        {
            const MutexLock lock(mutex_);
            state_ = State::Recording;
        }
        changed_.notifyAll();
    }

    /// Says which step follows. Between steps, converts all pending records to events, where this does not affect timing.
    void setStep(std::int32_t step)
    {
        HostLogs::instance().setStep(step);
        if (step != kNoStep)
            return;
        MutexLock lock(mutex_);
        if (state_ != State::Recording)
            return;
        drainAsked_ = true;
        changed_.notifyAll();
        changed_.wait(lock, [this]() REQUIRES(mutex_) { return !drainAsked_; });
    }

    void stop()
    {
        switchOff();
        if (failure_)
            std::rethrow_exception(std::exchange(failure_, nullptr));
        // The tracer thread is idle, so it is safe to drain here.
        drain();
        // Traced steps follow a reference step, and counters need CUPTI in place. Timed steps follow other
        // recordings.
        const bool timedFollows = recording_ == Recording::Events || recording_ == Recording::Capture;
        if (cupti_ && options_.detach && timedFollows)
            cupti_->detach();
        countLosses();
        if (recording_ != Recording::Events)
            return;
        TraceBatch batch = assembler_.take();
        batch.losses = assembler_.losses().list(strings_);
        batch.recordsChecked = assembler_.recordsChecked();
        sink_.consume(std::move(batch));
    }

    const std::string& untracedReason() const { return untracedReason_; }

    std::vector<AllocEvent> referenceAllocations() const { return assembler_.referenceAllocations(); }

    CapturedStep captured() const { return assembler_.captured(); }

    std::vector<CodePlace> places() const { return assembler_.places(); }

    LaunchList launches() const { return assembler_.launchList(); }

    std::optional<ClockOffsets> clockOffsets() const
    {
        const Assembler::LaunchLatency& first = assembler_.firstLatency();
        const Assembler::LaunchLatency& last = assembler_.lastLatency();
        if (first.step == kNoStep)
            return std::nullopt;
        return ClockOffsets{Nanoseconds(first.least), Nanoseconds(last.least)};
    }

private:
    enum class State { Idle, Recording, Ending };

    /// Ends every capture and waits until the tracer's thread rests.
    void switchOff()
    {
        MutexLock lock(mutex_);
        if (state_ == State::Idle)
            return;
        lock.unlock();
        OpRecorder::disable();
        recordCpuAllocations(false);
        if (allocations_)
            allocations_->stop();
        // Before CUPTI, whose waiting is not part of the program.
        HostLogs::instance().stop();
        if (cupti_)
            cupti_->stop(cuptiLosses_);
        lock.lock();
        state_ = State::Ending;
        changed_.notifyAll();
        changed_.wait(lock, [this]() REQUIRES(mutex_) { return state_ == State::Idle; });
    }

    void run()
    {
        MutexLock lock(mutex_);
        while (!ended_) {
            changed_.wait(lock, [this]() REQUIRES(mutex_) { return ended_ || state_ != State::Idle; });
            while (state_ == State::Recording) {
                const bool asked = drainAsked_;
                lock.unlock();
                if (asked || pressed())
                    step();
                lock.lock();
                if (asked) {
                    drainAsked_ = false;
                    changed_.notifyAll();
                }
                changed_.waitFor(lock, kPeriod, [this]() REQUIRES(mutex_) {
                    return drainAsked_ || state_ != State::Recording;
                });
            }
            state_ = State::Idle;
            changed_.notifyAll();
        }
    }

    /// Whether records must be processed before the step ends. Processing them during the step would slow it
    /// down, because it uses caches and possibly the same core.
    bool pressed() const
    {
        return HostLogs::instance().pressed() || (cupti_ && cupti_->buffers().pressed()) ||
               (allocations_ && allocations_->pressed());
    }

    /// One turn of the tracer's thread.
    void step()
    {
        try {
            drain();
            if (assembler_.pending() >= kBatchEvents)
                sink_.consume(assembler_.take());
        } catch (...) {
            // stop() rethrows the first exception on the session thread.
            if (!failure_)
                failure_ = std::current_exception();
        }
    }

    void drain()
    {
        drainAllocations();
        for (;;) {
            // Taken first: whatever launched the activities in it is in a ring by now.
            const auto buffer = cupti_ ? cupti_->buffers().take() : std::nullopt;
            drainHost();
            if (!buffer)
                return;
            decoder_.decode(*buffer, assembler_);
            cupti_->countDropped(*buffer, assembler_.losses());
            cupti_->buffers().giveBack(*buffer);
        }
    }

    void drainHost()
    {
        HostLogs::instance().drain([this](const ThreadLog& log, const HostRecord& record) {
            const std::uint32_t thread = log.thread();
            if (thread != lastThread_ && named_.insert(thread).second)
                assembler_.addThread(thread, thread == session_ ? "main" : threadName(thread));
            lastThread_ = thread;
            assembler_.addHost(thread, record);
        });
    }

    void drainAllocations()
    {
        if (!allocations_)
            return;
        allocations_->drain([this](const DeviceAllocRecord& record) {
            const StreamId stream = cupti_ ? cupti_->streamId(record.stream) : StreamId{};
            assembler_.addAllocation(record, options_.device, stream);
        });
    }

    /// On a CPU ops are the finest grain there is.
    bool opsRecorded() const { return !options_.cuda || options_.level == TraceLevel::Full; }

    void startAllocations()
    {
        recordCpuAllocations(options_.memory && !options_.cuda);
        if (!options_.cuda || !options_.memory || !CudaAllocatorHook::attach())
            return;
        allocations_ = DeviceAllocLog::of(options_.device);
        if (!allocations_)
            return;
        const CudaAllocatorHook::Totals totals = CudaAllocatorHook::totals(options_.device);
        allocationsDropped_ = allocations_->dropped();
        allocations_->start(options_.ringCapacity, totals.requested, totals.reserved);
    }

    void countLosses()
    {
        const auto lost = [this](RecordLoss kind, std::uint64_t count) {
            assembler_.losses().add(kind, static_cast<std::int64_t>(count));
        };
        const HostLogs::Counters now = HostLogs::instance().counters();
        lost(RecordLoss::RingOverflow, now.dropped - before_.dropped);
        lost(RecordLoss::NestedTooDeep, now.tooDeep - before_.tooDeep);
        lost(RecordLoss::NamesMerged, now.namesMerged - before_.namesMerged);
        lost(RecordLoss::ThreadsRefused, now.threadsRefused - before_.threadsRefused);
        if (recording_ == Recording::ReferenceStep)
            countedOnlyOfAStep_ = now.countedOnly - before_.countedOnly;
        lost(RecordLoss::ApiCallsNotStored, countedOnlyOfAStep_);
        assembler_.losses().add(std::exchange(cuptiLosses_, {}));
        if (!allocations_)
            return;
        lost(RecordLoss::AllocationRingOverflow, allocations_->dropped() - allocationsDropped_);
        const std::int64_t drift =
            allocations_->allocated() - CudaAllocatorHook::totals(options_.device).requested;
        assembler_.losses().add(RecordLoss::AllocationTotalDrift, std::abs(drift));
        allocations_ = nullptr;
    }

    const TracerOptions options_;
    StringTable& strings_;
    TraceSink& sink_;
    std::string untracedReason_;
    std::uint32_t session_ = 0;
    Recording recording_ = Recording::Events;
    HostLogs::Counters before_;
    std::uint64_t countedOnlyOfAStep_ = 0;
    Losses cuptiLosses_;
    std::uint64_t allocationsDropped_ = 0;
    DeviceAllocLog* allocations_ = nullptr; // while it records

    // The tracer's thread's while recording, the session thread's otherwise.
    Assembler assembler_;
    ActivityDecoder decoder_;
    std::exception_ptr failure_;
    std::unordered_set<std::uint32_t> named_;
    std::uint32_t lastThread_ = 0;

    Mutex mutex_;
    State state_ GUARDED_BY(mutex_) = State::Idle;
    bool drainAsked_ GUARDED_BY(mutex_) = false; // by the session thread, which waits
    bool ended_ GUARDED_BY(mutex_) = false;
    Condition changed_;

    std::unique_ptr<CuptiSession> cupti_; // none on a CPU
    std::thread thread_;
};

Tracer::Tracer(const TracerOptions& options, StringTable& strings, TraceSink& sink)
    : Tracer(options, strings, sink, realCupti())
{
}

Tracer::Tracer(const TracerOptions& options, StringTable& strings, TraceSink& sink, CuptiApi& cupti)
    : impl_(std::make_unique<Impl>(options, strings, sink, cupti))
{
}

Tracer::~Tracer() = default;

void Tracer::start(Recording recording)
{
    impl_->start(recording);
}

void Tracer::setStep(std::int32_t step)
{
    impl_->setStep(step);
}

void Tracer::stop()
{
    impl_->stop();
}

std::optional<Tracer::ClockOffsets> Tracer::clockOffsets() const
{
    return impl_->clockOffsets();
}

std::vector<AllocEvent> Tracer::referenceAllocations() const
{
    return impl_->referenceAllocations();
}

CapturedStep Tracer::captured() const
{
    return impl_->captured();
}

std::vector<CodePlace> Tracer::places() const
{
    return impl_->places();
}

LaunchList Tracer::launches() const
{
    return impl_->launches();
}

const std::string& Tracer::untracedReason() const
{
    return impl_->untracedReason();
}

} // namespace tilescope::trace
