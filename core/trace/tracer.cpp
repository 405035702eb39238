#include "core/trace/tracer.h"

#include "core/trace/assembler.h"
#include "core/trace/host_log.h"
#include "core/trace/nvtx.h"
#include "core/trace/op_recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <fstream>
#include <mutex>
#include <thread>
#include <unordered_set>

namespace tilescope::trace {

namespace {

constexpr std::size_t kBatchEvents = 1 << 14;
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
    Impl(const TracerOptions& options, StringTable& strings, TraceSink& sink)
        : options_(options), strings_(strings), sink_(sink),
          assembler_(strings, HostLogs::instance().nextRange(), HostLogs::instance().nextOp())
    {
        installNvtx();
        OpRecorder::installProbe();
        thread_ = std::thread([this] { run(); });
        pthread_setname_np(thread_.native_handle(), "tilescope-trace");
    }

    ~Impl()
    {
        switchOff();
        {
            const std::scoped_lock lock(mutex_);
            ended_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    void start(Recording recording)
    {
        session_ = static_cast<std::uint32_t>(gettid());
        assembler_.begin();
        assembler_.learnShapes(recording == Recording::Shapes);
        recordCpuAllocations(options_.memory && !options_.cuda);
        HostLogs::instance().start(options_.ringCapacity, kSpareLogs);
        before_ = HostLogs::instance().counters();
        if (!options_.cuda || options_.level == TraceLevel::Full)
            OpRecorder::enable(recording == Recording::Shapes);
        {
            const std::scoped_lock lock(mutex_);
            state_ = State::Recording;
        }
        changed_.notify_all();
    }

    void stop()
    {
        switchOff();
        if (failure_)
            std::rethrow_exception(std::exchange(failure_, nullptr));
        // The tracer's thread rests now: its part may be played here.
        drain();
        countLosses();
        TraceBatch batch = assembler_.take();
        batch.losses = assembler_.losses().list(strings_);
        batch.recordsChecked = assembler_.recordsChecked();
        sink_.consume(std::move(batch));
    }

    const std::string& untracedReason() const { return untracedReason_; }

private:
    enum class State { Idle, Recording, Ending };

    /// Ends every capture and waits until the tracer's thread rests.
    void switchOff()
    {
        std::unique_lock lock(mutex_);
        if (state_ == State::Idle)
            return;
        lock.unlock();
        OpRecorder::disable();
        recordCpuAllocations(false);
        HostLogs::instance().stop();
        lock.lock();
        state_ = State::Ending;
        changed_.notify_all();
        changed_.wait(lock, [this] { return state_ == State::Idle; });
    }

    void run()
    {
        std::unique_lock lock(mutex_);
        while (!ended_) {
            changed_.wait(lock, [this] { return ended_ || state_ != State::Idle; });
            while (state_ == State::Recording) {
                lock.unlock();
                step();
                lock.lock();
                changed_.wait_for(lock, kPeriod, [this] { return state_ != State::Recording; });
            }
            state_ = State::Idle;
            changed_.notify_all();
        }
    }

    /// One turn of the tracer's thread.
    void step()
    {
        try {
            drain();
            if (assembler_.pending() >= kBatchEvents)
                sink_.consume(assembler_.take());
        } catch (...) {
            // Told by stop(), on the thread that can act on it; the first failure explains the rest.
            if (!failure_)
                failure_ = std::current_exception();
        }
    }

    void drain()
    {
        HostLogs::instance().drain([this](const ThreadLog& log, const HostRecord& record) {
            const std::uint32_t thread = log.thread();
            if (thread != lastThread_ && named_.insert(thread).second)
                assembler_.addThread(thread, thread == session_ ? "main" : threadName(thread));
            lastThread_ = thread;
            assembler_.addHost(thread, record);
        });
    }

    void countLosses()
    {
        const HostLogs::Counters now = HostLogs::instance().counters();
        Losses& losses = assembler_.losses();
        losses.add("ring_overflow", LossSeverity::Error,
                   static_cast<std::int64_t>(now.dropped - before_.dropped),
                   "host records that came faster than they could be read");
        losses.add("nested_too_deep", LossSeverity::Error,
                   static_cast<std::int64_t>(now.tooDeep - before_.tooDeep),
                   "ranges or ops nested deeper than is kept");
        losses.add("threads_refused", LossSeverity::Error,
                   static_cast<std::int64_t>(now.threadsRefused - before_.threadsRefused),
                   "events of threads beyond the number that is kept");
    }

    const TracerOptions options_;
    StringTable& strings_;
    TraceSink& sink_;
    std::string untracedReason_;
    std::uint32_t session_ = 0;
    HostLogs::Counters before_;

    // The tracer's thread's while recording, the session thread's otherwise.
    Assembler assembler_;
    std::exception_ptr failure_;
    std::unordered_set<std::uint32_t> named_;
    std::uint32_t lastThread_ = 0;

    std::mutex mutex_;
    // Guarded by mutex_.
    State state_ = State::Idle;
    bool ended_ = false;
    std::condition_variable changed_;

    std::thread thread_;
};

Tracer::Tracer(const TracerOptions& options, StringTable& strings, TraceSink& sink)
    : impl_(std::make_unique<Impl>(options, strings, sink))
{
}

Tracer::~Tracer() = default;

void Tracer::start(Recording recording)
{
    impl_->start(recording);
}

void Tracer::setStep(std::int32_t step)
{
    HostLogs::instance().setStep(step);
}

void Tracer::stop()
{
    impl_->stop();
}

const std::string& Tracer::untracedReason() const
{
    return impl_->untracedReason();
}

} // namespace tilescope::trace
