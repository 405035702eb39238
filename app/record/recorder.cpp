#include "app/record/recorder.h"

#include "app/record/calibration.h"
#include "app/record/loaded_cupti.h"
#include "app/record/process_facts.h"
#include "app/record/window.h"
#include "core/base/current_error.h"
#include "core/base/mutex.h"
#include "core/model/step_name.h"
#include "core/record/control.h"
#include "core/record/working_file.h"
#include "core/trace/allocators/device_alloc_log.h"
#include "core/trace/assembly/assembler.h"
#include "core/trace/cupti/activity_decoder.h"
#include "core/trace/cupti/cupti_session.h"
#include "core/trace/host/host_log.h"
#include "core/trace/host/path_tree.h"
#include "core/trace/host/range.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <thread>
#include <unordered_set>

namespace tilescope::record {

namespace {

using trace::HostLogs;
using trace::HostRecord;
using trace::ThreadLog;

constexpr auto kPeriod = std::chrono::milliseconds(20);
constexpr auto kWritePeriod = std::chrono::milliseconds(500);
constexpr auto kLongestEnd = std::chrono::seconds(20);
constexpr std::size_t kRingCapacity = 1 << 16;
constexpr std::size_t kAllocationRing = 1 << 15;
constexpr std::size_t kSpareLogs = 2; // for autograd's thread, and one more
constexpr std::size_t kActivityBuffers = 1024;
constexpr std::size_t kActivityBufferBytes = 1 << 20;
constexpr std::string_view kBackward = "step/backward";

std::atomic<bool> recording{false}; // also while it pauses
std::atomic<bool> awaitsRange{false};
std::atomic<bool> flushAsked{false};
std::atomic<bool> flushed{false};

std::int64_t now() noexcept
{
    return nanosecondsOf(TraceClock::now());
}

std::string threadName(std::uint32_t thread)
{
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/comm");
    std::string name;
    std::getline(file, name);
    if (thread == static_cast<std::uint32_t>(getpid()))
        return "main";
    return name.starts_with("pt_autograd") ? "autograd" : name;
}

std::uint32_t stringOf(StringId id)
{
    return id ? id.value : kNoString;
}

/// What the process records, and the thread that writes it. Never destroyed: threads may note to the last.
class Recording {
public:
    explicit Recording(const std::filesystem::path& folder)
        : file_(folder / (std::to_string(getpid()) + "-" + std::to_string(now()) + ".working"),
                factsOfThisProcess()),
          assembler_(strings_, HostLogs::instance().nextRange(), HostLogs::instance().nextOp()),
          window_(Window::ofThisProcess()), startedAt_(now())
    {
        assembler_.begin();
        if (std::string part = window_.text(); !part.empty())
            file_.addFact("window", std::move(part));
        awaitsRange.store(!window_.range.empty() || window_.hasSteps());
        // Signals of the program are for its own threads.
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        thread_ = std::thread([this] { run(); });
        pthread_setname_np(thread_.native_handle(), "tilescope-rec");
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        MutexLock lock(mutex_);
        changed_.wait(lock, [this]() REQUIRES(mutex_) { return started_; });
    }

    void startDevice()
    {
        std::string reason;
        auto api = loadedCupti(reason);
        std::unique_ptr<trace::CuptiSession> session;
        const MutexLock window(windowMutex_);
        if (api) {
            session = std::make_unique<trace::CuptiSession>(*api, kActivityBuffers, kActivityBufferBytes);
            if (window_.byProfilerApi)
                reason = session->watchProfilerCalls([this](bool starts) { setOn(starts); });
            if (reason.empty() && on_ && !yielded_)
                reason = session->start(level());
        }
        const MutexLock lock(mutex_);
        if (!reason.empty()) {
            facts_.emplace_back("device_untraced", reason);
            return;
        }
        api_ = std::move(api);
        session_ = std::move(session);
    }

    /// Starts or stops the recording of the device and the host. Any thread.
    void setOn(bool on)
    {
        const MutexLock window(windowMutex_);
        if (on == on_)
            return;
        on_ = on;
        if (on)
            resume();
        else
            pause();
    }

    void yieldDevice()
    {
        const MutexLock window(windowMutex_);
        trace::CuptiSession* session = sessionIfAny();
        if (!window_.yields || std::exchange(yielded_, true) || !session)
            return;
        trace::Losses losses;
        session->stop(losses);
        const MutexLock lock(mutex_);
        cuptiLosses_.add(losses);
        facts_.emplace_back(
            "device_untraced",
            "the device was left to torch.profiler when the program started it (--yield-to-torch)");
    }

    /// Ends the recording from the thread that ends the process.
    void end()
    {
        if (trace::CuptiApi* api = apiIfAny())
            api->synchronizeDevice();
        MutexLock lock(mutex_);
        ending_ = true;
        changed_.notifyAll();
        // A program must end, whatever its recording does.
        const bool ended = changed_.waitFor(lock, kLongestEnd, [this]() REQUIRES(mutex_) { return ended_; });
        lock.unlock();
        if (ended)
            thread_.join();
        else
            thread_.detach();
    }

    /// In a forked child, which has no thread to write.
    void abandon() noexcept
    {
        file_.abandon();
        control_.abandon();
    }

    /// Something that became known of the process: written with the next block.
    void noteFact(std::string_view key, std::string_view value)
    {
        const MutexLock lock(mutex_);
        facts_.emplace_back(key, value);
    }

    void noteHeld(const HeldMemory& memory)
    {
        const MutexLock lock(mutex_);
        held_.push_back({.time = now(),
                         .address = memory.address,
                         .bytes = memory.bytes,
                         .category = strings_.intern(memory.category).value,
                         .name = strings_.intern(memory.name).value,
                         .shape = strings_.intern(memory.shape).value,
                         .dtype = strings_.intern(memory.dtype).value,
                         .device = memory.device,
                         .unused = 0});
    }

    void startDeviceMemory(int devices)
    {
        for (int i = 0; i < devices; ++i)
            if (auto* log = trace::DeviceAllocLog::of(DeviceIndex{static_cast<std::int16_t>(i)}))
                log->start(kAllocationRing, 0, 0);
        memoryDevices_.store(devices, std::memory_order_release);
    }

    /// \param step  number of the step that it is, counted from 1; 0: none
    void noteRange(std::string_view name, std::uint32_t thread, std::int64_t start, std::int64_t end,
                   std::uint32_t step)
    {
        // The tree limits the number of names.
        trace::PathTree& tree = trace::PathTree::instance();
        const StringId text = strings_.intern(tree.child(tree.names(), name)->component);
        const MutexLock lock(mutex_);
        rows_.push_back({.start = start,
                         .end = end,
                         .thread = thread,
                         .name = text.value,
                         .step = step,
                         .backwardPath = kNoString});
    }

    void endStep()
    {
        const std::int64_t end = now();
        const std::int64_t start = stepStart_.exchange(end, std::memory_order_relaxed);
        const std::int64_t step = steps_.fetch_add(1, std::memory_order_relaxed);
        // A step in whose midst the recording was started is not whole.
        if (Recorder::isRecording() && !isPartial_.exchange(false, std::memory_order_relaxed))
            noteRange("step", static_cast<std::uint32_t>(gettid()), start == 0 ? end : start, end,
                      static_cast<std::uint32_t>(step) + 1);
        if (window_.calibrates) {
            const MutexLock lock(calibrationMutex_);
            apply(calibration_.stepEnded(end));
        } else {
            apply(window_.afterStep(step));
        }
    }

    void noteOpening(std::string_view name)
    {
        if (!window_.range.empty() && name == window_.range && awaitsRange.exchange(false)) {
            setOn(true);
            isPartial_.store(false, std::memory_order_relaxed);
        }
        // A program without an optimizer has steps if it has ranges that are named like steps.
        if (window_.hasSteps() && steps_.load(std::memory_order_relaxed) == 0 && isNamedLikeStep(name))
            apply(window_.afterStep(namedSteps_.fetch_add(1, std::memory_order_relaxed) - 1));
    }

    /// At the end of a step.
    void apply(Window::Change change)
    {
        switch (change) {
        case Window::Change::Start:
            setOn(true);
            isPartial_.store(false, std::memory_order_relaxed);
            stepStart_.store(now(), std::memory_order_relaxed);
            break;
        case Window::Change::Stop:
            setOn(false);
            break;
        case Window::Change::None:
            break;
        }
    }

    void noteOpened() noexcept
    {
        if (stepStart_.load(std::memory_order_relaxed) != 0)
            return;
        std::int64_t none = 0;
        stepStart_.compare_exchange_strong(none, now(), std::memory_order_relaxed);
    }

private:
    trace::CuptiApi* apiIfAny()
    {
        const MutexLock lock(mutex_);
        return api_.get();
    }

    TraceLevel level() const { return window_.isFull ? TraceLevel::Full : TraceLevel::Kernels; }

    /// The recording begins, again or at last.
    void resume() REQUIRES(windowMutex_)
    {
        onSince_.store(now(), std::memory_order_relaxed);
        isPartial_.store(true, std::memory_order_relaxed);
        stepStart_.store(0, std::memory_order_relaxed);
        startHost();
        trace::CuptiSession* session = sessionIfAny();
        if (!session || yielded_)
            return;
        namesMoved_.store(true);
        if (const std::string reason = session->start(level()); !reason.empty()) {
            const MutexLock lock(mutex_);
            facts_.emplace_back("device_untraced", reason);
        }
    }

    void pause() REQUIRES(windowMutex_)
    {
        trace::Losses losses;
        trace::CuptiSession* session = sessionIfAny();
        // The launches are noted for as long as there are activities.
        if (session)
            session->stop(losses);
        HostLogs::instance().stop();
        const MutexLock lock(mutex_);
        cuptiLosses_.add(losses);
        detachAsked_ = session != nullptr;
    }

    trace::CuptiSession* sessionIfAny()
    {
        const MutexLock lock(mutex_);
        return session_.get();
    }

    static void startHost()
    {
        // Whatever threads do is part of the program's steps, whose bounds are known later.
        HostLogs::instance().startWithin("step", kRingCapacity, kSpareLogs);
    }

    /// What time and the socket ask for.
    void watchWindow()
    {
        const std::int64_t time = now();
        if (!delayOver_ && window_.delay > 0 && time - startedAt_ >= window_.delay) {
            delayOver_ = true;
            setOn(true);
        }
        if (window_.length >= 0 && HostLogs::recording() &&
            time - onSince_.load(std::memory_order_relaxed) >= window_.length)
            setOn(false);
        control_.serve([this](std::string_view verb) -> std::string {
            if (verb != "start" && verb != "stop")
                return "it does not know what to " + std::string(verb);
            setOn(verb == "start");
            return {};
        });
    }

    void run()
    {
        before_ = HostLogs::instance().counters();
        {
            const MutexLock window(windowMutex_);
            on_ = window_.isOpenAtStart();
            onSince_.store(now(), std::memory_order_relaxed);
            if (on_)
                startHost();
        }
        control_.open(recorderOfThisProcess());
        MutexLock lock(mutex_);
        started_ = true;
        changed_.notifyAll();
        auto nextWrite = std::chrono::steady_clock::now() + kWritePeriod;
        while (!ending_) {
            changed_.waitFor(lock, kPeriod, [this]() REQUIRES(mutex_) { return ending_; });
            trace::CuptiSession* session = session_.get();
            const bool detaches = std::exchange(detachAsked_, false);
            lock.unlock();
            watchWindow();
            if (detaches && session) {
                // The names of kernels go with CUPTI.
                turn(session, true, false);
                const MutexLock window(windowMutex_);
                if (!on_ && !yielded_)
                    session->detachSoon();
            }
            const bool asked = flushAsked.exchange(false);
            const bool due = asked || std::chrono::steady_clock::now() >= nextWrite;
            if (due || pressed() || (session && session->buffers().pressed()))
                turn(session, due, asked);
            if (due)
                nextWrite = std::chrono::steady_clock::now() + kWritePeriod;
            if (asked)
                flushed.store(true);
            lock.lock();
        }
        trace::CuptiSession* session = session_.get();
        lock.unlock();
        finish(session);
        lock.lock();
        ended_ = true;
        changed_.notifyAll();
    }

    void turn(trace::CuptiSession* session, bool due, bool forced) noexcept
    {
        if (!recording.load(std::memory_order_relaxed))
            return;
        try {
            if (due && session && HostLogs::recording())
                api_->flush(forced);
            drain(session);
            if (due || assembler_.pending() + allocations_.size() > kMostPending)
                write();
        } catch (...) {
            giveUp(currentError().sentence());
        }
    }

    /// Ends the recording for a reason of our own, which the file keeps. The program goes on; what is in the file
    /// stays.
    void giveUp(const std::string& reason) noexcept
    {
        recording.store(false, std::memory_order_relaxed);
        trace::detail::rangeListeners.store(0);
        try {
            file_.addFact("record_ended", reason);
            if (trace::CuptiSession* session = sessionIfAny()) {
                trace::Losses ignored;
                session->stop(ignored);
                session->detachSoon();
            }
        } catch (...) {
            file_.abandon(); // no memory even for that
        }
        file_.abandon();
    }

    void finish(trace::CuptiSession* session) noexcept
    {
        try {
            HostLogs::instance().stop();
            if (session) {
                trace::Losses losses;
                session->stop(losses);
                const MutexLock lock(mutex_);
                cuptiLosses_.add(losses);
            }
            drain(session);
            write();
            const MutexLock lock(calibrationMutex_);
            if (const auto cost = calibration_.text())
                file_.addFact("cost", *cost);
        } catch (...) {
            giveUp(currentError().sentence());
        }
        control_.close();
        file_.abandon();
    }

    void drain(trace::CuptiSession* session)
    {
        if (session && !decoder_) {
            decoder_ = std::make_unique<trace::ActivityDecoder>(*api_, strings_);
            namesMoved_.store(true);
            assembler_.setFunctionName([this, session](std::uint32_t function) {
                return session->functionName(function, strings_);
            });
        }
        if (session && namesMoved_.exchange(false))
            decoder_->begin(session->correlationBase());
        for (;;) {
            // Taken first: whatever launched the activities in it is in a ring by now.
            const auto buffer = session ? session->buffers().take() : std::nullopt;
            drainHost();
            if (!buffer)
                return;
            decoder_->decode(*buffer, assembler_);
            session->countDropped(*buffer, assembler_.losses());
            session->buffers().giveBack(*buffer);
        }
    }

    void drainHost()
    {
        HostLogs::instance().drain([this](const ThreadLog& log, const HostRecord& record) {
            const std::uint32_t thread = log.thread();
            if (thread != lastThread_ && named_.insert(thread).second)
                assembler_.addThread(thread, threadName(thread));
            lastThread_ = thread;
            if (record.kind == HostRecord::Kind::Alloc)
                add(thread, record);
            else
                assembler_.addHost(thread, record);
        });
        drainDeviceMemory();
    }

    /// An allocation of the CPU.
    void add(std::uint32_t thread, const HostRecord& record)
    {
        const HostRecord::AllocBody& alloc = record.alloc;
        allocations_.push_back({.time = alloc.time,
                                .address = alloc.address,
                                .bytes = alloc.bytes,
                                .allocated = alloc.allocated,
                                .reserved = alloc.allocated,
                                .thread = thread,
                                .backwardPath = backwardPathOf(record.context),
                                .pool = 0,
                                .device = -1,
                                .action = record.detail,
                                .unused = 0});
    }

    void drainDeviceMemory()
    {
        const int devices = memoryDevices_.load(std::memory_order_acquire);
        for (int i = 0; i < devices; ++i) {
            auto* log = trace::DeviceAllocLog::of(DeviceIndex{static_cast<std::int16_t>(i)});
            if (!log)
                continue;
            log->drain([&](const trace::DeviceAllocRecord& record) {
                allocations_.push_back({.time = record.time,
                                        .address = record.address,
                                        .bytes = record.bytes,
                                        .allocated = record.allocated,
                                        .reserved = record.reserved,
                                        .thread = record.thread,
                                        .backwardPath = backwardPathOf(record.context),
                                        .pool = record.pool,
                                        .device = i,
                                        .action = static_cast<std::uint32_t>(record.action),
                                        .unused = 0});
            });
        }
    }

    bool pressed() const
    {
        if (HostLogs::instance().pressed())
            return true;
        const int devices = memoryDevices_.load(std::memory_order_acquire);
        for (int i = 0; i < devices; ++i) {
            const auto* log = trace::DeviceAllocLog::of(DeviceIndex{static_cast<std::int16_t>(i)});
            if (log && log->pressed())
                return true;
        }
        return false;
    }

    void write()
    {
        const TraceBatch batch = assembler_.take();
        WorkingBlock block;
        {
            const MutexLock lock(mutex_);
            block.ranges = std::exchange(rows_, {});
            block.held = std::exchange(held_, {});
            for (const auto& [key, value] : std::exchange(facts_, {}))
                file_.addFact(key, value);
        }
        block.allocations = std::exchange(allocations_, {});
        for (const ThreadName& thread : batch.threads)
            block.threads.push_back({thread.thread.value, stringOf(thread.name)});
        for (const Range& range : batch.ranges)
            block.ranges.push_back({.start = nanosecondsOf(range.start),
                                    .end = nanosecondsOf(range.end),
                                    .thread = range.thread.value,
                                    .name = stringOf(range.name),
                                    .step = 0,
                                    .backwardPath = backwardPathOf(range.path)});
        for (const ApiCall& call : batch.apiCalls)
            block.calls.push_back({.start = nanosecondsOf(call.start),
                                   .end = nanosecondsOf(call.end),
                                   .name = stringOf(call.name),
                                   .correlation = call.correlation ? call.correlation.value : 0,
                                   .thread = call.thread ? call.thread.value : 0,
                                   .kind = static_cast<std::uint32_t>(call.kind)});
        for (const Op& op : batch.ops)
            block.ops.push_back({.start = nanosecondsOf(op.start),
                                 .end = nanosecondsOf(op.end),
                                 .sequence = op.sequence,
                                 .thread = op.thread.value,
                                 .name = stringOf(op.name),
                                 .shapes = stringOf(op.shapes),
                                 .isBackward = op.scope == OpScope::Backward});
        for (const Frame& frame : batch.frames)
            block.frames.push_back({.start = nanosecondsOf(frame.start),
                                    .end = nanosecondsOf(frame.end),
                                    .thread = frame.thread.value,
                                    .name = stringOf(frame.name)});
        for (const DeviceEvent& event : batch.deviceEvents)
            block.activities.push_back(rowOf(event, block));
        if (!block.hasEvents() && block.threads.empty())
            return;
        addLosses(block);
        block.recordsChecked = assembler_.recordsChecked();
        for (; written_ < strings_.size(); ++written_)
            block.strings.emplace_back(strings_.text(StringId{static_cast<std::uint32_t>(written_)}));
        if (!file_.append(block))
            giveUp("the working file cannot be written: " + std::system_category().message(file_.error()));
    }

    /// What autograd's threads do belongs to modules whose ranges are open in no thread.
    std::uint32_t backwardPathOf(StringId path)
    {
        return path && strings_.text(path).starts_with(kBackward) ? stringOf(path) : kNoString;
    }

    std::uint32_t backwardPathOf(const trace::HostContext& context)
    {
        if (context.path == trace::kNone)
            return kNoString;
        const std::string& path = trace::PathTree::instance().node(context.path)->path;
        return path.starts_with(kBackward) ? strings_.intern(path).value : kNoString;
    }

    ActivityRow rowOf(const DeviceEvent& event, WorkingBlock& block)
    {
        const auto [launch, isNew] =
            launches_.try_emplace(event.launch, static_cast<std::uint32_t>(launches_.size()));
        if (isNew)
            block.launches.push_back(event.launch);
        const std::int32_t device = event.device ? event.device.value : 0;
        if (devices_.insert(device).second) {
            const DeviceFacts facts = factsOfDevice(device);
            block.devices.push_back({.ordinal = device,
                                     .uuid = stringOf(strings_.intern(facts.uuid)),
                                     .name = stringOf(strings_.intern(facts.name)),
                                     .unused = 0});
        }
        return {.start = nanosecondsOf(event.start),
                .end = nanosecondsOf(event.end),
                .launched = nanosecondsOf(event.launched),
                .bytes = event.bytes,
                .graphNode = event.graphNode,
                .name = stringOf(event.name),
                .backwardPath = backwardPathOf(event.path),
                .correlation = event.correlation ? event.correlation.value : 0,
                .launchThread = event.launchThread ? event.launchThread.value : 0,
                .stream = event.stream ? event.stream.value : 0,
                .launch = launch->second,
                .device = device,
                .kind = static_cast<std::uint8_t>(event.kind),
                .copy = static_cast<std::uint8_t>(event.copy),
                .unused = 0};
    }

    /// Totals so far.
    void addLosses(WorkingBlock& block)
    {
        trace::Losses losses = assembler_.losses();
        {
            const MutexLock lock(mutex_);
            losses.add(cuptiLosses_);
        }
        const HostLogs::Counters counters = HostLogs::instance().counters();
        const auto add = [&losses](RecordLoss kind, std::uint64_t count) {
            if (count > 0)
                losses.add(kind, static_cast<std::int64_t>(count));
        };
        add(RecordLoss::RingOverflow, counters.dropped - before_.dropped);
        add(RecordLoss::NestedTooDeep, counters.tooDeep - before_.tooDeep);
        add(RecordLoss::NamesMerged, counters.namesMerged - before_.namesMerged);
        add(RecordLoss::ThreadsRefused, counters.threadsRefused - before_.threadsRefused);
        std::uint64_t allocations = 0;
        for (int i = 0; i < memoryDevices_.load(std::memory_order_acquire); ++i)
            if (const auto* log = trace::DeviceAllocLog::of(DeviceIndex{static_cast<std::int16_t>(i)}))
                allocations += log->dropped();
        add(RecordLoss::AllocationRingOverflow, allocations);
        for (const Loss& loss : losses.list(strings_))
            block.losses.push_back({stringOf(loss.kind), stringOf(loss.detail), loss.count});
    }

    static constexpr std::size_t kMostPending = 1 << 16;

    // The writer's thread.
    StringTable strings_; // of any thread
    WorkingFileWriter file_;
    trace::Assembler assembler_;
    std::unique_ptr<trace::ActivityDecoder> decoder_;
    HostLogs::Counters before_;
    std::uint32_t lastThread_ = 0;
    std::unordered_set<std::uint32_t> named_;
    std::unordered_set<std::int32_t> devices_;
    std::vector<AllocRow> allocations_;
    std::map<LaunchConfig, std::uint32_t> launches_;
    std::size_t written_ = 0; ///< strings in the file

    ControlSocket control_;
    bool delayOver_ = false;

    const Window window_;
    const std::int64_t startedAt_;
    std::atomic<int> memoryDevices_{0}; ///< whose allocators are recorded: those from 0 on
    std::atomic<std::int64_t> stepStart_{0};
    std::atomic<std::int64_t> steps_{0};
    std::atomic<std::int64_t> namedSteps_{0};
    std::atomic<bool> isPartial_{false}; ///< the step of now began before the recording
    std::atomic<std::int64_t> onSince_{0};
    std::atomic<bool> namesMoved_{false}; ///< CUPTI was away

    Mutex calibrationMutex_; // before windowMutex_
    Calibration calibration_ GUARDED_BY(calibrationMutex_);
    Mutex windowMutex_; // before mutex_
    bool on_ GUARDED_BY(windowMutex_) = false;
    bool yielded_ GUARDED_BY(windowMutex_) = false;

    Mutex mutex_;
    trace::Losses cuptiLosses_ GUARDED_BY(mutex_);
    bool detachAsked_ GUARDED_BY(mutex_) = false;
    std::vector<RangeRow> rows_ GUARDED_BY(mutex_);
    std::vector<HeldRow> held_ GUARDED_BY(mutex_);
    ProcessFacts facts_ GUARDED_BY(mutex_);
    bool started_ GUARDED_BY(mutex_) = false;
    bool ending_ GUARDED_BY(mutex_) = false;
    bool ended_ GUARDED_BY(mutex_) = false;
    Condition changed_;

    // Set once, under the mutex; the writer's thread reads them after it saw the session.
    std::unique_ptr<trace::CuptiApi> api_;
    std::unique_ptr<trace::CuptiSession> session_;
    std::thread thread_;
};

std::atomic<Recording*> current{nullptr};
pid_t owner = 0;

void endAtExit()
{
    if (recording.exchange(false) && getpid() == owner)
        try {
            current.load()->end();
        } catch (...) {
            return; // the program ends in any case
        }
}

void silenceChild()
{
    if (!recording.exchange(false))
        return;
    awaitsRange.store(false);
    trace::detail::rangeListeners.store(0);
    current.load()->abandon();
}

/// Asks the recorder's thread to write and waits a second at most. May be called by a signal handler.
void writeNow() noexcept
{
    flushed.store(false);
    flushAsked.store(true);
    constexpr int kTries = 200;
    for (int i = 0; i < kTries && !flushed.load(); ++i) {
        const timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};
        nanosleep(&pause, nullptr);
    }
}

/// Gives the recorder a moment to write before the signal does what it would have done.
void endBySignal(int signal)
{
    if (getpid() == owner && recording.load())
        writeNow();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

/// A program that handles a signal itself ends as it likes.
void watchSignal(int signal)
{
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) != 0 || (before.sa_flags & SA_SIGINFO) ||
        before.sa_handler != SIG_DFL)
        return;
    struct sigaction action {};
    action.sa_handler = &endBySignal;
    sigaction(signal, &action, nullptr);
}

bool startOnce() noexcept
{
    try {
        const char* folder = std::getenv("TILESCOPE_RECORD_FOLDER");
        if (!folder)
            return false;
        owner = getpid();
        current.store(new Recording(folder));
        recording.store(true);
        std::atexit(&endAtExit);
        pthread_atfork(nullptr, nullptr, &silenceChild);
        watchSignal(SIGTERM);
        watchSignal(SIGINT);
        return true;
    } catch (...) {
        return false;
    }
}

} // namespace

bool Recorder::start() noexcept
{
    static const bool started = startOnce();
    return started && recording.load(std::memory_order_relaxed);
}

void Recorder::startDevice() noexcept
{
    static std::atomic<bool> done{false};
    if (!start() || done.exchange(true))
        return;
    try {
        current.load()->startDevice();
        // CUPTI may have been loaded just now: the recording must end before CUPTI does.
        std::atexit(&endAtExit);
    } catch (...) {
        return; // the host is recorded all the same
    }
}

bool Recorder::isStarted() noexcept
{
    return recording.load(std::memory_order_relaxed);
}

bool Recorder::isRecording() noexcept
{
    return HostLogs::recording() && recording.load(std::memory_order_relaxed);
}

void Recorder::noteOpening(std::string_view name) noexcept
{
    if (!awaitsRange.load(std::memory_order_relaxed))
        return;
    try {
        current.load()->noteOpening(name);
    } catch (...) {
        return; // no memory: the recording does not start
    }
}

void Recorder::noteRange(std::string_view name, std::uint32_t thread, std::int64_t start,
                         std::int64_t end) noexcept
{
    if (!isRecording())
        return;
    try {
        current.load()->noteRange(name, thread, start, end, 0);
    } catch (...) {
        return; // no memory: this range is missing
    }
}

void Recorder::noteFact(std::string_view key, std::string_view value) noexcept
{
    if (!isStarted())
        return;
    try {
        current.load()->noteFact(key, value);
    } catch (...) {
        return; // no memory: this fact is missing
    }
}

void Recorder::noteHeld(const HeldMemory& memory) noexcept
{
    if (!isStarted())
        return;
    try {
        current.load()->noteHeld(memory);
    } catch (...) {
        return; // no memory: this block has no name
    }
}

void Recorder::startDeviceMemory(int devices) noexcept
{
    if (!isStarted())
        return;
    try {
        current.load()->startDeviceMemory(devices);
    } catch (...) {
        return; // no memory: allocations are not recorded
    }
}

void Recorder::noteOpened() noexcept
{
    if (isRecording())
        current.load()->noteOpened();
}

void Recorder::endStep() noexcept
{
    if (!recording.load(std::memory_order_relaxed))
        return;
    try {
        current.load()->endStep();
    } catch (...) {
        return; // no memory: this step is missing
    }
}

void Recorder::yieldDevice() noexcept
{
    if (!recording.load(std::memory_order_relaxed))
        return;
    try {
        current.load()->yieldDevice();
    } catch (...) {
        return; // no memory: the recorder keeps the device
    }
}

void Recorder::end() noexcept
{
    endAtExit();
}

void Recorder::flush() noexcept
{
    if (!recording.load(std::memory_order_relaxed) || getpid() != owner)
        return;
    writeNow();
}

} // namespace tilescope::record
