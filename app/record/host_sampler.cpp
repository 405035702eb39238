#include "app/record/host_sampler.h"

#include "app/record/code_places.h"
#include "app/record/python_stacks.h"
#include "app/record/stack_reader.h"
#include "app/record/stack_teller.h"
#include "app/record/thread_waits.h"
#include "core/base/units.h"
#include "core/model/host_samples.h"
#include "core/trace/host/host_log.h"
#include "core/trace/host/quiet_thread.h"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace tilescope::record {

namespace {

constexpr std::size_t kRing = 1 << 15;
constexpr std::int64_t kLate = 100'000;   // ns
constexpr std::size_t kMostLookedAt = 16; ///< processes that load data, at a wake-up
constexpr std::uint64_t kRateEvery = 256; // wake-ups
constexpr double kMostLate = 0.02;
constexpr double kFewLate = 0.005;
constexpr double kLeastRate = 0.2; // of that which was asked for
constexpr double kMostOnOneCore = 100;

std::int64_t nanoseconds(const timespec& time)
{
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

std::int64_t now() noexcept
{
    return nanosecondsOf(TraceClock::now());
}

/// The CPU clock of a thread: the kernel's encoding of clock_gettime(2), which refuses a thread that has ended.
bool cpuTimeOf(std::uint32_t thread, std::int64_t& time)
{
    constexpr int kOfThread = 6; // CPUCLOCK_SCHED | CPUCLOCK_PERTHREAD_MASK
    timespec found{};
    if (clock_gettime(static_cast<clockid_t>(~static_cast<int>(thread)) << 3 | kOfThread, &found) != 0)
        return false;
    time = nanoseconds(found);
    return true;
}

} // namespace

/// What the sampling thread needs. Allocates nothing for a place in the code that it has seen.
class HostSampler::Loop {
public:
    explicit Loop(HostSampler& owner)
        : owner_(owner), reader_(PythonStacks::layout), places_(PythonStacks::layout)
    {
        CPU_ZERO(&allowed_);
        sched_getaffinity(0, sizeof(allowed_), &allowed_);
        // On the program's own core, nothing but fewer wake-ups costs it less.
        if (CPU_COUNT(&allowed_) == 1)
            owner_.most_ = std::min(owner_.rate_, kMostOnOneCore);
        owner_.lowered_.store(owner_.most_, std::memory_order_relaxed);
    }

    void run()
    {
        prctl(PR_SET_TIMERSLACK, 1UL);
        std::int64_t next = now();
        while (!owner_.ends_.load(std::memory_order_relaxed)) {
            next = std::max(next + pause(), now());
            sleepUntil(next);
            const std::int64_t woken = now();
            const bool isLate = woken - next > kLate;
            count(owner_.wakeUps_);
            if (isLate)
                count(owner_.late_);
            adaptRate(isLate);
            if (!PythonStacks::isOn() || !trace::HostLogs::recording())
                continue;
            leaveCore();
            for (std::size_t i = 0; i < kMostSampledThreads; ++i)
                sample(PythonStacks::threads[i], known_[i], isLate);
        }
    }

private:
    struct Known {
        std::uint32_t thread = 0;
        StackTeller teller;
        ThreadWaits waits;
        ReadStack stack;
        std::int64_t cpuTime = 0;
        std::int64_t withoutCore = -1; ///< ThreadWaits; -1: unknown
        std::int64_t readAt = 0;
    };
    /// A process that loads data.
    struct Loader {
        explicit Loader(std::uint32_t number)
            : process(number), memory(static_cast<pid_t>(number)), places(PythonStacks::layout, false)
        {
        }
        std::uint32_t process;
        GuardedMemory memory;
        CodePlaces<GuardedMemory> places;
        ReadStack stack;
    };

    static void count(std::atomic<std::uint64_t>& counter)
    {
        counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

    /// Between half and one and a half of the period: a program that repeats itself with it is not always seen at the same
    /// place.
    std::int64_t pause()
    {
        random_ ^= random_ << 13;
        random_ ^= random_ >> 7;
        random_ ^= random_ << 17;
        const double share = 0.5 + static_cast<double>(random_ >> 11) * 0x1p-53;
        return static_cast<std::int64_t>(1e9 / owner_.lowered_.load(std::memory_order_relaxed) * share);
    }

    static void sleepUntil(std::int64_t time)
    {
        const timespec until{.tv_sec = time / 1'000'000'000, .tv_nsec = time % 1'000'000'000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    }

    /// Where the cores are full, waking up costs the program more than the reading.
    void adaptRate(bool isLate)
    {
        lateOfLatest_ += isLate ? 1 : 0;
        if (++latest_ < kRateEvery)
            return;
        const double share = static_cast<double>(lateOfLatest_) / static_cast<double>(latest_);
        latest_ = lateOfLatest_ = 0;
        const double rate = owner_.lowered_.load(std::memory_order_relaxed);
        if (share > kMostLate)
            owner_.lowered_.store(std::max(rate / 1.5, kLeastRate * owner_.most_), std::memory_order_relaxed);
        else if (share < kFewLate)
            owner_.lowered_.store(std::min(rate * 1.5, owner_.most_), std::memory_order_relaxed);
    }

    /// Keeps off the core of the first thread that launches: the kernel would wake this one there, which costs that one
    /// more than everything else here.
    void leaveCore()
    {
        const int core = PythonStacks::threads[0].core.load(std::memory_order_relaxed);
        if (core == avoided_ || core < 0 || core >= CPU_SETSIZE || CPU_COUNT(&allowed_) < 2)
            return;
        cpu_set_t others = allowed_;
        CPU_CLR(static_cast<std::size_t>(core), &others);
        if (CPU_COUNT(&others) > 0)
            sched_setaffinity(0, sizeof(others), &others);
        avoided_ = core;
    }

    void sample(SampledThread& thread, Known& known, bool isLate)
    {
        const std::uint32_t number = thread.thread.load(std::memory_order_acquire);
        const std::uintptr_t state = thread.state.load(std::memory_order_acquire);
        if (number == 0 || state == 0)
            return;
        if (known.thread != number) {
            known.thread = number;
            known.stack.depth = 0;
            known.cpuTime = known.readAt = 0;
            known.withoutCore = -1;
            known.teller.forget();
            if (owner_.opensFiles_)
                known.waits.open(number);
        }
        std::int64_t cpuTime = 0;
        const std::int64_t readAt = now();
        if (!cpuTimeOf(number, cpuTime)) { // it has ended
            thread.state.store(0, std::memory_order_relaxed);
            thread.thread.store(0, std::memory_order_release);
            known.waits.close();
            known.thread = 0;
            return;
        }
        const trace::ThreadLog* log = thread.log.load(std::memory_order_relaxed);
        const std::uint32_t deaths = CodeDeaths::count();
        const std::size_t depth = reader_.read(memory_, state, log, known.stack);
        const std::int64_t at = reader_.readAt();
        std::uint32_t does = reader_.wasInCall() ? std::uint32_t{SampleState::kInCall}
                                                 : activity(known, state, readAt, cpuTime);
        known.cpuTime = cpuTime;
        known.readAt = readAt;
        // A thread without a core is in one instruction as well.
        if (does == SampleState::kRan && hasCore_ && depth > 0 && reader_.isInInstruction(memory_, state))
            does = SampleState::kInNative;
        if (depth == 0 || !name(known.stack, depth, deaths)) {
            count(owner_.unread_);
            return;
        }
        const bool waits =
            does == 0 || (does == SampleState::kCoreless && !known.waits.isRunnable().value_or(true));
        const std::size_t own = named_;
        if (waits && addLoading(known.stack, depth)) {
            does = 0;
            // The stack of the workers belongs to this wait only if the thread has not run since its own stack was read.
            std::int64_t sinceThen = 0;
            if (now() - at > kLate && !(cpuTimeOf(number, sinceThen) && sinceThen == cpuTime))
                named_ = own;
        }
        const auto push = [this](const trace::HostRecord& record) { return owner_.ring_.push(record); };
        if (!known.teller.tell(std::span(frames_).first(named_), number, push))
            return;
        trace::HostRecord record;
        record.kind = trace::HostRecord::Kind::Sample;
        record.detail = static_cast<std::uint8_t>(does | (isLate ? SampleState::kLate : 0U));
        record.sample = {.time = at, .thread = number};
        if (push(record))
            count(owner_.taken_);
    }

    /// Whether the thread has a core, or could use one: by its time on a core since it was looked up, some microseconds ago. It
    /// may be kept from its core just by this thread.
    bool isRunning(const Known& known, std::int64_t at, std::int64_t cpuTime)
    {
        const std::int64_t read = now();
        std::int64_t time = 0;
        hasCore_ = cpuTimeOf(known.thread, time) && 2 * (time - cpuTime) >= read - at;
        if (hasCore_)
            return true;
        const bool ran = known.readAt == 0 || 2 * (cpuTime - known.cpuTime) >= at - known.readAt;
        return ran && known.waits.isRunnable().value_or(true);
    }

    /// What the thread does: bits of SampleState.
    std::uint32_t activity(Known& known, std::uintptr_t state, std::int64_t at, std::int64_t cpuTime)
    {
        const std::int64_t elapsed = at - known.readAt;
        const std::int64_t before = std::exchange(known.withoutCore, known.waits.withoutCore().value_or(-1));
        const bool ran = isRunning(known, at, cpuTime);
        const InterpreterState& interpreter = PythonStacks::interpreter;
        std::uintptr_t holder = 0;
        int locked = 0;
        int collecting = 0;
        const bool isKnown =
            interpreter.lock != 0 &&
            memory_.read(&holder, interpreter.lock + PythonLayout::kLockHolder, sizeof(holder)) &&
            memory_.read(&locked, interpreter.lock + PythonLayout::kLocked, sizeof(locked)) &&
            memory_.read(&collecting, interpreter.collecting, sizeof(collecting));
        if (isKnown && locked != 0 && holder == state && collecting != 0)
            return SampleState::kCollects | (ran ? SampleState::kRan : 0U);
        if (ran)
            return SampleState::kRan;
        // The time that the system counts grows only when the thread gets a core again.
        const bool wasCoreless =
            before >= 0 && known.withoutCore >= 0 && 2 * (known.withoutCore - before) >= elapsed;
        if (wasCoreless || known.waits.isRunnable().value_or(false))
            return SampleState::kCoreless;
        if (isKnown && locked != 0 && holder != state)
            if (const std::uintptr_t word = known.waits.awaitedWord();
                word >= interpreter.lock && word < interpreter.lock + PythonLayout::kLockBytes)
                return SampleState::kLock;
        return 0;
    }

    /// The names and lines of a stack into frames_, outermost first.
    bool name(const ReadStack& stack, std::size_t depth, std::uint32_t deaths)
    {
        named_ = 0;
        for (std::size_t i = depth; i-- > 0;) {
            const RawFrame& frame = stack.frames[i];
            if (!isOfFunction(frame))
                continue;
            if (!places_.find(memory_, frame.code, frame.instruction, frames_[named_]))
                return false;
            ++named_;
        }
        if (!CodeDeaths::isWatched())
            return named_ > 0 && reader_.isStillThere(memory_, stack, depth);
        if (CodeDeaths::count() != deaths)
            for (std::size_t i = 0; i < depth; ++i)
                if (CodeDeaths::mayHaveEnded(stack.frames[i].code, deaths))
                    return false; // its address may be that of another one
        return named_ > 0;
    }

    /// Of a thread that waits for data: continues frames_ with the calls of a process that loads some. Which of several
    /// processes of an iterator it waits for is not known: they take turns.
    /// \return  whether there are such processes
    bool addLoading(const ReadStack& stack, std::size_t depth)
    {
        Loading& loading = PythonStacks::loading;
        const std::uintptr_t waits = loading.waits.load(std::memory_order_relaxed);
        const auto frames = std::span(stack.frames).first(depth);
        const auto waiting = std::ranges::find(frames, waits, &RawFrame::code);
        if (waits == 0 || waiting == frames.end())
            return false;
        const std::uintptr_t iterator = firstArgument(*waiting);
        std::size_t lookedAt = 0;
        for (std::size_t i = 0; i < Loading::kMost && lookedAt < kMostLookedAt; ++i) {
            const std::size_t place = (nextLoader_ + i) % Loading::kMost;
            LoadingProcess& process = loading.processes[place];
            const std::uint32_t number = process.running();
            const std::uintptr_t state = process.state.load(std::memory_order_acquire);
            if (number == 0 || state == 0) {
                loaders_[place].reset();
                continue;
            }
            if (iterator != 0 && process.owner.load(std::memory_order_relaxed) != iterator)
                continue;
            std::unique_ptr<Loader>& loader = loaders_[place];
            if (!loader || loader->process != number)
                loader.reset(new (std::nothrow) Loader(number)); // an exception would end the program
            if (!loader)
                return lookedAt > 0;
            ++lookedAt;
            if (addCallsOf(*loader, state)) {
                nextLoader_ = place + 1;
                return true;
            }
        }
        return lookedAt > 0;
    }

    /// 0: unknown.
    std::uintptr_t firstArgument(const RawFrame& frame)
    {
        const int place = PythonStacks::layout.locals;
        std::uintptr_t argument = 0;
        if (place < 0 ||
            !memory_.read(&argument, frame.at + static_cast<std::uintptr_t>(place), sizeof(argument)))
            return 0;
        return argument & ~std::uintptr_t{3}; // from 3.14 on the lowest bits are a tag
    }

    /// \return  whether the process loads data now
    bool addCallsOf(Loader& loader, std::uintptr_t state)
    {
        ReadStack& stack = loader.stack;
        const std::size_t depth = reader_.read(loader.memory, state, nullptr, stack);
        const auto loads = [](const RawFrame& frame) {
            return std::ranges::any_of(PythonStacks::loading.fetches, [&frame](const auto& fetch) {
                return frame.code == fetch.load(std::memory_order_relaxed);
            });
        };
        // The stack begins with that of the thread which forked it.
        const auto frames = std::span(stack.frames).first(depth);
        const auto fetch = std::ranges::find_if(frames, loads);
        if (fetch == frames.end())
            return false;
        const auto calls = static_cast<std::size_t>(fetch - frames.begin()) + 1;
        if (named_ + calls > frames_.size())
            return false;
        std::size_t named = named_;
        for (std::size_t i = calls; i-- > 0;)
            if (isOfFunction(frames[i]) &&
                !loader.places.find(loader.memory, frames[i].code, frames[i].instruction, frames_[named++]))
                return false;
        if (!reader_.isStillThere(loader.memory, stack, depth))
            return false;
        named_ = named;
        return true;
    }

    HostSampler& owner_;
    const GuardedMemory memory_;
    StackReader reader_;
    CodePlaces<GuardedMemory> places_;
    cpu_set_t allowed_{};
    int avoided_ = -1;
    std::uint64_t random_ = 88172645463325252ULL;
    std::uint64_t latest_ = 0;
    std::uint64_t lateOfLatest_ = 0;
    std::array<Known, kMostSampledThreads> known_{};
    std::array<StackTeller::Frame, StackTeller::kDeepest> frames_{};
    std::size_t named_ = 0;
    bool hasCore_ = false; ///< of the latest isRunning()
    std::array<std::unique_ptr<Loader>, Loading::kMost> loaders_;
    std::size_t nextLoader_ = 0;
};

HostSampler::HostSampler(double rate, bool opensFiles)
    : rate_(rate), opensFiles_(opensFiles), ring_(kRing), lowered_(rate)
{
}

void HostSampler::startIfNeeded()
{
    if (thread_.joinable() || ends_.load() || !PythonStacks::isOn() ||
        std::ranges::none_of(PythonStacks::threads, [](const SampledThread& each) {
            return each.thread.load(std::memory_order_relaxed) != 0;
        }))
        return;
    auto loop = std::make_shared<Loop>(*this);
    thread_ = trace::startQuietThread("tilescope-host", [loop] { loop->run(); });
}

void HostSampler::stop() noexcept
{
    ends_.store(true);
    if (!thread_.joinable())
        return;
    if (trace::mayWait())
        thread_.join();
    else
        thread_.detach(); // it ends within one interval
}

HostSampler::Counts HostSampler::counts() const noexcept
{
    return {.taken = taken_.load(std::memory_order_relaxed),
            .unread = unread_.load(std::memory_order_relaxed),
            .late = late_.load(std::memory_order_relaxed),
            .wakeUps = wakeUps_.load(std::memory_order_relaxed),
            .rate = lowered_.load(std::memory_order_relaxed)};
}

std::string HostSampler::text() const
{
    const Counts all = counts();
    if (all.wakeUps == 0)
        return {};
    const double late = 100 * static_cast<double>(all.late) / static_cast<double>(all.wakeUps);
    std::array<char, 160> text{};
    std::snprintf(
        text.data(), text.size(),
        "%.0f samples a second (%.0f at the end), %llu stacks, %llu unread, %.1f %% of the wake-ups late",
        rate_, all.rate, static_cast<unsigned long long>(all.taken),
        static_cast<unsigned long long>(all.unread), late);
    return text.data();
}

} // namespace tilescope::record
