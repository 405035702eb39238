#include "app/record/recording.h"

#include "app/record/own_descriptors.h"
#include "app/record/plugin_functions.h"
#include "app/record/process_facts.h"
#include "core/base/current_error.h"
#include "core/base/plural.h"
#include "core/model/step_name.h"
#include "core/record/file_request.h"
#include "core/record/process_end.h"
#include "core/trace/assembly/graph_description.h"
#include "core/trace/host/path_tree.h"
#include "core/trace/host/quiet_thread.h"
#include "core/trace/host/range.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <string>
#include <system_error>
#include <utility>

namespace tilescope::record {

namespace {

using trace::HostLogs;

// A process that is killed loses what it noted since the last write.
constexpr auto kPeriod = std::chrono::milliseconds(10);
constexpr auto kIdlePeriod = std::chrono::milliseconds(40);
constexpr auto kFlushPeriod = std::chrono::milliseconds(100);
constexpr auto kLongestFlush = std::chrono::seconds(1);
// save() takes at most a twentieth of the time of the program, and 50 ms at first.
constexpr std::int64_t kSaveShare = 20;
constexpr std::int64_t kSaveCredit = 1'000'000'000;
constexpr auto kLongestEnd = std::chrono::seconds(20);
constexpr std::size_t kRingCapacity = 1 << 16;
constexpr std::size_t kSpareLogs = 2; // for autograd's thread, and one more
constexpr std::size_t kMostPending = 1 << 16;
constexpr std::int64_t kPcSamplesEvery = 5'000'000'000; // ns; they are added up in between

constexpr std::array<std::string_view, 5> kLastingFacts{"torch", "memory", "ops", "folder", "packages"};

thread_local bool isWriter = false;

std::int64_t now() noexcept
{
    return nanosecondsOf(TraceClock::now());
}

void startHost()
{
    // Events outside of all ranges belong to the current step, whose bounds are known later.
    HostLogs::instance().startWithin("step", kRingCapacity, kSpareLogs);
    noteRecording(true);
}

} // namespace

Recording::Recording(Settings settings, ProcessFacts facts)
    : settings_(std::move(settings)), startedAt_(now()),
      path_(settings_.folder / (std::to_string(getpid()) + "-" + std::to_string(startedAt_) + ".working")),
      facts_(facts), lasting_(std::move(facts))
{
    awaitsRange_.store(!window_.range.empty() || window_.hasSteps());
    thread_ = trace::startQuietThread("tilescope-rec", [this] { run(); });
    MutexLock lock(mutex_);
    changed_.wait(lock, [this]() REQUIRES(mutex_) { return started_; });
    if (ended_)
        thread_.detach(); // it cannot record, and has said why
    else
        open_.store(true);
}

bool Recording::close() noexcept
{
    awaitsRange_.store(false);
    return open_.exchange(false);
}

bool Recording::flush(bool mayEnd)
{
    if (!trace::mayWait())
        return false;
    MutexLock lock(mutex_);
    const std::uint64_t number = ++flushesAsked_;
    mayEnd_ = mayEnd_ || mayEnd;
    changed_.notifyAll();
    return changed_.waitFor(lock, kLongestFlush,
                            [&]() REQUIRES(mutex_) { return ended_ || flushesDone_ >= number; });
}

void Recording::save()
{
    const std::int64_t start = now();
    const std::int64_t due = std::max(saveDue_.load(std::memory_order_relaxed), start - kSaveCredit);
    if (due > start)
        return;
    flush(false);
    saveDue_.store(due + kSaveShare * (now() - start), std::memory_order_relaxed);
}

void Recording::end()
{
    if (trace::CuptiApi* api = apiIfAny())
        api->synchronizeDevice();
    MutexLock lock(mutex_);
    ending_ = true;
    if (!trace::mayWait()) {
        lock.unlock();
        return pollForEnd();
    }
    changed_.notifyAll();
    // A program must end, whatever its recording does.
    const bool ended = changed_.waitFor(lock, kLongestEnd, [this]() REQUIRES(mutex_) { return ended_; });
    lock.unlock();
    if (ended)
        thread_.join();
    else
        thread_.detach();
}

/// Waits for the writing thread, which ends at its next look, without futex().
void Recording::pollForEnd()
{
    constexpr auto kLook = std::chrono::milliseconds(1);
    const auto until = std::chrono::steady_clock::now() + kLongestEnd;
    for (bool ended = false; !ended && std::chrono::steady_clock::now() < until;) {
        const timespec pause{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kLook).count()};
        if (nanosleep(&pause, nullptr) != 0 && errno != EINTR)
            break;
        const MutexLock lock(mutex_);
        ended = ended_;
    }
    thread_.detach();
}

void Recording::noteFact(std::string_view key, std::string_view value)
{
    const MutexLock lock(mutex_);
    facts_.emplace_back(key, value);
    if (std::ranges::find(kLastingFacts, key) != kLastingFacts.end())
        lasting_.emplace_back(key, value);
}

void Recording::noteHeld(const HeldMemory& memory)
{
    const MutexLock lock(mutex_);
    held_.push_back({.time = now(),
                     .address = memory.address,
                     .bytes = memory.bytes,
                     .category = blocks_.strings().intern(memory.category).value,
                     .name = blocks_.strings().intern(memory.name).value,
                     .shape = blocks_.strings().intern(memory.shape).value,
                     .dtype = blocks_.strings().intern(memory.dtype).value,
                     .device = memory.device,
                     .unused = 0});
}

void Recording::noteRange(std::string_view name, std::uint32_t thread, std::int64_t start, std::int64_t end,
                          std::uint32_t step)
{
    // The tree limits the number of names.
    trace::PathTree& tree = trace::PathTree::instance();
    const StringId text = blocks_.strings().intern(tree.child(tree.names(), name)->component);
    const MutexLock lock(mutex_);
    rows_.push_back({.start = start,
                     .end = end,
                     .thread = thread,
                     .name = text.value,
                     .step = step,
                     .backwardPath = kNoString});
}

void Recording::noteOpening(std::string_view name)
{
    if (!window_.range.empty() && name == window_.range && awaitsRange_.exchange(false)) {
        rangeSeen_.store(true, std::memory_order_relaxed);
        setOn(true);
        isPartial_.store(false, std::memory_order_relaxed);
    }
    // A program without an optimizer has steps if it has ranges that are named like steps.
    if (window_.hasSteps() && steps_.load(std::memory_order_relaxed) == 0 && isNamedLikeStep(name))
        apply(window_.afterStep(namedSteps_.fetch_add(1, std::memory_order_relaxed) - 1));
}

void Recording::noteOpened() noexcept
{
    if (stepStart_.load(std::memory_order_relaxed) != 0)
        return;
    std::int64_t none = 0;
    stepStart_.compare_exchange_strong(none, now(), std::memory_order_relaxed);
}

void Recording::endStep()
{
    const std::int64_t end = now();
    const std::int64_t start = stepStart_.exchange(end, std::memory_order_relaxed);
    stepNoted(noteStep(start, end, static_cast<std::uint32_t>(gettid())), end);
}

void Recording::notePossibleStep(bool isOneAtTheEnd)
{
    possibleSteps_.note(now(), isOneAtTheEnd);
}

void Recording::decidePossibleSteps(bool areSteps)
{
    const PossibleSteps::Steps steps = possibleSteps_.take();
    if (areSteps)
        endSteps(steps, false);
}

void Recording::endSteps(const PossibleSteps::Steps& steps, bool processEnds)
{
    for (const std::int64_t end : steps.ends) {
        if (end < onSince_.load(std::memory_order_relaxed))
            continue; // the recording has paused since
        // Another thread may have ended a step since.
        std::int64_t start = stepStart_.load(std::memory_order_relaxed);
        while (start < end && !stepStart_.compare_exchange_weak(start, end, std::memory_order_relaxed)) {
        }
        if (start >= end)
            continue;
        const std::int64_t step = noteStep(start, end, steps.thread);
        if (!processEnds)
            stepNoted(step, end);
    }
}

std::int64_t Recording::noteStep(std::int64_t start, std::int64_t end, std::uint32_t thread)
{
    const std::int64_t step = steps_.fetch_add(1, std::memory_order_relaxed);
    if (turn_)
        turn_->noteStep();
    // A step that began before the recording is incomplete; without any range, it is unknown when the first began.
    if (Recorder::isRecording() && !isPartial_.exchange(false, std::memory_order_relaxed) && start != 0)
        noteRange("step", thread, start, end, static_cast<std::uint32_t>(step) + 1);
    return step;
}

void Recording::stepNoted(std::int64_t step, std::int64_t end)
{
    if (window_.calibrates) {
        const MutexLock lock(calibrationMutex_);
        apply(calibration_.stepEnded(end));
    } else {
        apply(window_.afterStep(step));
    }
}

void Recording::apply(Window::Change change)
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

void Recording::setOn(bool on)
{
    wanted_.store(on);
    settle();
}

// A callback of CUPTI may call this, so it does not wait for the mutex, which is held during calls of CUPTI: every
// thread that releases the mutex looks again, so a request that found it taken is not lost. The fences order each
// thread's write (of the request, of the mutex) before its read of the other.
void Recording::settle()
{
    for (;;) {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (wanted_.load() == isOn_.load() || !windowMutex_.tryLock())
            return;
        const TryMutexLock window(windowMutex_, std::adopt_lock);
        const bool on = wanted_.load();
        if (on == on_)
            continue;
        on_ = on;
        isOn_.store(on);
        if (on)
            resume();
        else
            pause();
    }
}

void Recording::withDriver(const std::function<void()>& use)
{
    if (isWriter)
        device_->run(use);
    else
        use();
}

trace::CuptiApi* Recording::apiIfAny()
{
    const MutexLock lock(mutex_);
    return api_.get();
}

trace::PcSampler* Recording::pcSamplerIfAny()
{
    const MutexLock lock(mutex_);
    return pcSampler_.get();
}

trace::CuptiSession* Recording::sessionIfAny()
{
    const MutexLock lock(mutex_);
    return session_.get();
}

void Recording::resume()
{
    onSince_.store(now(), std::memory_order_relaxed);
    wasOn_.store(true, std::memory_order_relaxed);
    isPartial_.store(true, std::memory_order_relaxed);
    stepStart_.store(0, std::memory_order_relaxed);
    startHost();
    trace::CuptiSession* session = sessionIfAny();
    if (!session || !leftTo_.empty())
        return;
    blocks_.noteCuptiReturns();
    std::string reason;
    withDriver([&] { reason = session->start(level()); });
    if (!reason.empty()) {
        const MutexLock lock(mutex_);
        facts_.emplace_back("device_untraced", reason);
    }
    setSampler(true);
}

void Recording::pause()
{
    trace::Losses losses;
    trace::CuptiSession* session = sessionIfAny();
    // First the device: each of its activities needs its launch.
    if (session)
        withDriver([&] { session->stop(losses); });
    // The device is idle: what it did is sampled.
    setSampler(false);
    HostLogs::instance().stop();
    noteRecording(false);
    const MutexLock lock(mutex_);
    cuptiLosses_.add(losses);
    detachAsked_ = session != nullptr;
}

// --- the writing thread ---

void Recording::run() noexcept
{
    isWriter = true;
    try {
        record();
    } catch (...) {
        giveUp();
    }
    const MutexLock lock(mutex_);
    ended_ = true;
    started_ = true;
    changed_.notifyAll();
}

void Recording::record()
{
    const bool isAble = openFile();
    {
        const TryMutexLock window(windowMutex_);
        on_ = isAble && window_.isOpenAtStart();
        isOn_.store(on_);
        wanted_.store(on_);
        wasOn_.store(on_, std::memory_order_relaxed);
        onSince_.store(now(), std::memory_order_relaxed);
        if (on_)
            startHost();
    }
    if (!isAble)
        return;
    MutexLock lock(mutex_);
    started_ = true;
    changed_.notifyAll();
    lock.unlock();
    if (hasDescriptors_)
        control_.open(settings_.recorder);
    lock.lock();
    auto pause = kPeriod;
    auto nextFlush = std::chrono::steady_clock::now() + kFlushPeriod;
    while (!ending_) {
        if (!trace::mayWait()) {
            lock.unlock();
            return giveUp("a system-call filter (seccomp) refuses futex, without which threads cannot wait");
        }
        changed_.waitFor(lock, pause,
                         [this]() REQUIRES(mutex_) { return ending_ || flushesAsked_ != flushesDone_; });
        trace::CuptiSession* session = session_.get();
        const bool detaches = std::exchange(detachAsked_, false);
        const std::uint64_t asked = flushesAsked_;
        const bool isAsked = asked != flushesDone_;
        const bool forced = std::exchange(mayEnd_, false);
        lock.unlock();
        if (detaches && session) {
            // CUPTI owns the names of kernels in its records, so decode the records before it leaves.
            turn(session, true, false);
            detachSoon(*session);
            settle();
        }
        const bool flushes = isAsked || std::chrono::steady_clock::now() >= nextFlush;
        if (flushes) {
            watchWindow();
            nextFlush = std::chrono::steady_clock::now() + kFlushPeriod;
        }
        pause = turn(session, flushes, forced) ? kPeriod : std::min(2 * pause, kIdlePeriod);
        lock.lock();
        flushesDone_ = asked;
        if (isAsked)
            changed_.notifyAll();
    }
    trace::CuptiSession* session = session_.get();
    lock.unlock();
    finish(session);
}

bool Recording::openFile()
{
    const pid_t process = getpid();
    ProcessFacts facts;
    const auto gather = [&] {
        facts = factsOfThisProcess(settings_, process);
        if (settings_.samplesInTurns)
            turn_ = InstructionTurn::open(settings_.folder);
    };
    hasDescriptors_ = separateDescriptors() == 0;
    if (hasDescriptors_)
        gather();
    WorkingFileWriter::DescriptorScope scope;
    if (!hasDescriptors_) {
        scope = [](const std::function<void()>& use) { return callWithCopiedDescriptors(use); };
        blocks_.openNoFiles();
    }
    if (scope && !scope(gather)) {
        giveUp("this system does not let the recorder use file descriptors without those of the program");
        return false;
    }
    if (settings_.hostSamples > 0)
        sampler_ = std::make_unique<HostSampler>(settings_.hostSamples, hasDescriptors_);
    if (settings_.samplesKernels) {
        facts.emplace_back("inside_kernels", settings_.sampledKernels);
        if (!settings_.keepsKernelCode)
            facts.emplace_back("no_cubins", "1");
        if (settings_.keepsSources)
            facts.emplace_back("sources", "1");
    }
    file_ = std::make_unique<WorkingFileWriter>(
        path_, std::move(facts), std::move(scope),
        [this](const std::filesystem::path& file) { return requestFile(settings_.files, file); });
    if (std::string part = window_.text(); !part.empty())
        file_->addFact("window", std::move(part));
    return true;
}

void Recording::watchWindow()
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
            return "unknown request '" + std::string(verb) + "'; allowed here: start, stop";
        setOn(verb == "start");
        return {};
    });
}

bool Recording::turn(trace::CuptiSession* session, bool flushes, bool forced) noexcept
{
    if (!isOpen())
        return false;
    try {
        if (flushes && session && !session->hasGivenUp() && HostLogs::recording())
            withDriver([&] { session->api().flush(forced); });
        if (sampler_)
            sampler_->startIfNeeded();
        blocks_.drain(session, sampler_.get());
        const bool any = blocks_.pending() > 0 || hasNotes();
        if (any || flushes)
            write(forced);
        if (forced)
            file_->addFact(kFinished.first, kFinished.second);
        return any;
    } catch (...) {
        giveUp();
        return false;
    }
}

bool Recording::hasNotes()
{
    const MutexLock lock(mutex_);
    return !rows_.empty() || !held_.empty();
}

void Recording::takePcSamples(WorkingBlock& block, trace::Losses& losses, bool all)
{
    trace::PcSampler* sampler = pcSamplerIfAny();
    if (!sampler)
        return;
    const trace::PcSamplerCounts counts = sampler->counts();
    if (counts.dropped > 0)
        losses.add(RecordLoss::PcSamplesDropped, static_cast<std::int64_t>(counts.dropped));
    if (counts.full > 0)
        losses.add(RecordLoss::PcBufferFull, static_cast<std::int64_t>(counts.full));
    const std::int64_t time = now();
    if (!all && time - pcSamplesWritten_ < kPcSamplesEvery)
        return;
    pcSamplesWritten_ = time;
    std::vector<std::uint32_t> reasons;
    for (const std::string& reason : sampler->reasons())
        reasons.push_back(blocks_.strings().intern(reason).value);
    trace::PcSamples samples = sampler->take();
    for (const trace::PcKernel& kernel : samples.kernels)
        block.sampledKernels.push_back(
            {.cubin = kernel.cubin,
             .device = kernel.device,
             .symbol = blocks_.strings().intern(kernel.symbol).value,
             .name = blocks_.strings().intern(trace::demangled(kernel.symbol.c_str())).value,
             .unused = 0});
    for (const trace::PcCount& count : samples.counts)
        block.pcSamples.push_back({.start = nanosecondsOf(count.start),
                                   .end = nanosecondsOf(count.end),
                                   .offset = count.offset,
                                   .samples = static_cast<std::int64_t>(count.samples),
                                   .unissued = static_cast<std::int64_t>(count.unissued),
                                   .kernel = count.kernel,
                                   .reason = reasons[count.reason]});
    for (auto& [checksum, code] : samples.cubins)
        block.cubins.push_back({.checksum = checksum, .code = std::move(code)});
    if (!all)
        return;
    std::string trouble = sampler->trouble();
    const std::uint32_t period = sampler->period();
    file_->addFact("inside_cycles", period > 0 ? std::to_string(std::uint64_t{1} << period) : "");
    file_->addFact("inside_others", std::to_string(counts.others));
    if (trouble.empty() && counts.failed > 0)
        trouble = counted(static_cast<std::int64_t>(counts.failed), "reading") + " of the samples failed";
    file_->addFact("inside", trouble); // it may have been another one before
}

void Recording::write(bool all)
{
    WorkingBlock block;
    trace::Losses losses;
    {
        const MutexLock lock(mutex_);
        block.ranges = std::exchange(rows_, {});
        block.held = std::exchange(held_, {});
        for (const auto& [key, value] : std::exchange(facts_, {}))
            file_->addFact(key, value);
        losses = cuptiLosses_;
    }
    block.collectives = collectives_.take();
    takePcSamples(block, losses, all);
    for (auto& [key, value] : blocks_.takeFacts())
        file_->addFact(std::move(key), std::move(value));
    const auto next = blocks_.take(std::move(block), losses);
    if (next && !file_->append(*next))
        giveUp(unwritable());
}

std::string Recording::unwritable() const
{
    return "the working file cannot be written: " + std::system_category().message(file_->error());
}

void Recording::finish(trace::CuptiSession* session) noexcept
{
    try {
        HostLogs::instance().stop();
        if (session) {
            trace::Losses losses;
            withDriver([&] { session->stop(losses); });
            const MutexLock lock(mutex_);
            cuptiLosses_.add(losses);
        }
        if (trace::PcSampler* pcSampler = pcSamplerIfAny())
            withDriver([&] { pcSampler->stop(); });
        blocks_.stopDeviceMemory();
        if (sampler_)
            sampler_->stop();
        blocks_.drain(session, sampler_.get());
        write(true);
        const MutexLock lock(calibrationMutex_);
        if (const auto cost = calibration_.text())
            file_->addFact("cost", *cost);
        if (const std::string text = missed(); !text.empty())
            file_->addFact("missed", text);
        if (const std::string text = sampler_ ? sampler_->text() : std::string(); !text.empty())
            file_->addFact("host_samples", text);
        const bool hadFailed = file_->hasFailed();
        if (file_->create()) // also without events: it says why
            file_->addFact(kFinished.first, kFinished.second);
        else if (!hadFailed)
            giveUp(unwritable());
    } catch (...) {
        giveUp();
    }
    control_.close();
    file_->close();
}

std::string Recording::missed() const
{
    const std::int64_t steps = std::max(steps_.load(), namedSteps_.load());
    if (window_.hasSteps() && steps <= window_.lastStep)
        return counted(steps, "step") + plural(steps, " was", " were") + " seen; --steps asked for " +
               std::to_string(window_.firstStep) + ":" + std::to_string(window_.lastStep);
    if (!window_.range.empty() && !rangeSeen_.load())
        return "no range named " + window_.range + " was opened (--from)";
    if (window_.byProfilerApi && !wasOn_.load())
        return "cudaProfilerStart was not called (--from profiler-api)";
    if (window_.delay > 0 && !delayOver_)
        return "the process ended before the time of --delay was over";
    if (window_.length >= 0 && !file_->hasEvents())
        return "the time of --seconds was over before anything could be recorded";
    return {};
}

void Recording::giveUp() noexcept
{
    try {
        giveUp(currentError().sentence());
    } catch (...) {
        giveUp(kRecorderStopped);
    }
}

void Recording::sayEnd(std::string_view reason) noexcept
{
    if (!isOutOfReach(noteEnd(path_, reason)))
        return;
    if (hasDescriptors_)
        tellEnd(settings_.files, path_, reason);
    else
        callWithCopiedDescriptors([&] { tellEnd(settings_.files, path_, reason); });
}

void Recording::giveUp(std::string_view reason) noexcept
{
    open_.store(false, std::memory_order_relaxed);
    trace::detail::rangeListeners.store(0);
    const bool waits = trace::mayWait(); // for the driver's thread
    if (sampler_)
        sampler_->stop();
    try {
        if (!file_ || !file_->addFact("record_ended", std::string(reason)) || !file_->exists())
            sayEnd(reason);
        if (trace::PcSampler* pcSampler =
                waits ? pcSamplerIfAny() : nullptr) // the program goes on: it cannot be stopped
            withDriver([&] { pcSampler->setOn(false); });
        if (trace::CuptiSession* session = waits ? sessionIfAny() : nullptr)
            withDriver([session] {
                trace::Losses ignored;
                session->stop(ignored);
                session->detachSoon();
            });
    } catch (...) {
        sayEnd(kRecorderStopped);
    }
    control_.close();
    if (file_)
        file_->close();
}

} // namespace tilescope::record
