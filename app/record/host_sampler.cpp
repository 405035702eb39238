#include "app/record/host_sampler.h"

#include "app/record/code_places.h"
#include "app/record/python_stacks.h"
#include "app/record/stack_teller.h"
#include "app/record/stack_walk.h"
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
#include <utility>

namespace tilescope::record {

namespace {

constexpr std::size_t kRing = 1 << 15;
constexpr std::int64_t kLate = 100'000; // ns
constexpr int kReadings = 3;
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
    explicit Loop(HostSampler& owner) : owner_(owner), places_(PythonStacks::layout)
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
        std::array<RawFrame, StackTeller::kDeepest> last{};
        std::size_t depth = 0;
        std::int64_t cpuTime = 0;
        std::int64_t withoutCore = -1; ///< ThreadWaits; -1: unknown
        std::int64_t readAt = 0;
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
            known.depth = 0;
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
        const std::size_t depth = walk(known, state, log);
        std::uint32_t does =
            isInCall_ ? std::uint32_t{SampleState::kInCall} : activity(known, state, readAt, cpuTime);
        known.cpuTime = cpuTime;
        known.readAt = readAt;
        // A thread without a core is in one instruction as well.
        if (does == SampleState::kRan && hasCore_ && depth > 0 && isInInstruction(state))
            does = SampleState::kInNative;
        if (depth == 0 || !name(known, depth, deaths)) {
            count(owner_.unread_);
            return;
        }
        const auto push = [this](const trace::HostRecord& record) { return owner_.ring_.push(record); };
        if (!known.teller.tell(std::span(frames_).first(named_), number, push))
            return;
        trace::HostRecord record;
        record.kind = trace::HostRecord::Kind::Sample;
        record.detail = static_cast<std::uint8_t>(does | (isLate ? SampleState::kLate : 0U));
        record.sample = {.time = at_, .thread = number};
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
        if (before >= 0 && known.withoutCore >= 0 && 2 * (known.withoutCore - before) >= elapsed)
            return SampleState::kCoreless;
        if (isKnown && locked != 0 && holder != state)
            if (const std::uintptr_t word = known.waits.awaitedWord();
                word >= interpreter.lock && word < interpreter.lock + PythonLayout::kLockBytes)
                return SampleState::kLock;
        return 0;
    }

    /// Reads frames at known addresses in one call.
    /// \return  how many could be read
    std::size_t readAll(const std::array<RawFrame, StackTeller::kDeepest>& frames, std::size_t count,
                        std::array<RawFrame, StackTeller::kDeepest>& into)
    {
        const auto bytes = static_cast<std::size_t>(PythonStacks::layout.frameBytes);
        for (std::size_t i = 0; i < count; ++i)
            pieces_[i] = {reinterpret_cast<void*>(frames[i].at), bytes};
        const ssize_t read =
            count > 0 ? memory_.gather(raw_.data(), count * bytes, pieces_.data(), count) : 0;
        const std::size_t whole = read > 0 ? static_cast<std::size_t>(read) / bytes : 0;
        for (std::size_t i = 0; i < whole; ++i)
            into[i] = rawFrame(PythonStacks::layout, raw_.data() + i * bytes, frames[i].at);
        return whole;
    }

    /// The frames, counted from the outermost, that two readings agree on: their callers, their code and, of all but the
    /// innermost, which runs, their instruction.
    std::size_t sameFrames(std::size_t depth) const
    {
        std::size_t same = 0;
        while (same < depth) {
            const RawFrame& a = found_[depth - 1 - same];
            const RawFrame& b = again_[depth - 1 - same];
            const bool runs = same + 1 == depth;
            if (a.previous != b.previous || a.code != b.code || (!runs && a.instruction != b.instruction))
                break;
            ++same;
        }
        return same;
    }

    /// Whether the thread is in the same instruction as in both readings of walk(): code of Python that runs would be in
    /// another one by now.
    bool isInInstruction(std::uintptr_t state)
    {
        std::uintptr_t innermost = 0;
        return found_[0].instruction == again_[0].instruction &&
               innermostFrame(memory_, PythonStacks::layout, state, innermost) && innermost == found_[0].at &&
               readAll(found_, 1, guess_) == 1 && guess_[0].instruction == found_[0].instruction &&
               guess_[0].code == found_[0].code;
    }

    /// The frames of a thread into known.last, innermost first, as far as two readings agree, and into at_ a time between
    /// the two: at any other, another call may run.
    /// \return  their number; 0: the stack changed each time
    std::size_t walk(Known& known, std::uintptr_t state, const trace::ThreadLog* log)
    {
        const PythonLayout& layout = PythonStacks::layout;
        for (int reading = 0; reading < kReadings; ++reading) {
            std::uintptr_t at = 0;
            if (!innermostFrame(memory_, layout, state, at))
                return 0;
            // Most frames are where they were at the sample before.
            const std::size_t guesses = readAll(known.last, known.depth, guess_);
            std::size_t from = 0;
            std::size_t depth = 0;
            while (at != 0 && depth < found_.size()) {
                std::size_t hit = from;
                while (hit < guesses && guess_[hit].at != at)
                    ++hit;
                if (hit < guesses) {
                    found_[depth] = guess_[hit];
                    from = hit + 1;
                } else {
                    std::array<char, PythonLayout::kMostFrameBytes> bytes{};
                    if (!memory_.read(bytes.data(), at, static_cast<std::size_t>(layout.frameBytes)))
                        break;
                    found_[depth] = rawFrame(layout, bytes.data(), at);
                }
                at = found_[depth++].previous;
            }
            std::copy_n(found_.begin(), depth, known.last.begin());
            known.depth = depth;
            at_ = now();
            isInCall_ = log && log->isInCall();
            if (at != 0 || depth == 0 || readAll(found_, depth, again_) != depth)
                continue;
            const std::size_t same = sameFrames(depth);
            std::uintptr_t innermost = 0;
            if (same == depth && innermostFrame(memory_, layout, state, innermost) &&
                innermost == found_[0].at)
                return depth;
            // Short calls come and go: their callers were there all the while.
            if (reading + 1 == kReadings && same > 0) {
                std::copy_n(found_.begin() + static_cast<std::ptrdiff_t>(depth - same), same,
                            known.last.begin());
                return known.depth = same;
            }
        }
        return 0;
    }

    /// Whether the calls go on: then their code objects have not ended.
    bool isStillThere(const Known& known, std::size_t depth)
    {
        return readAll(known.last, depth, again_) == depth &&
               std::equal(known.last.begin(), known.last.begin() + static_cast<std::ptrdiff_t>(depth),
                          again_.begin(), [](const RawFrame& a, const RawFrame& b) {
                              return a.previous == b.previous && a.code == b.code;
                          });
    }

    /// The names and lines of known.last into frames_, outermost first.
    bool name(const Known& known, std::size_t depth, std::uint32_t deaths)
    {
        named_ = 0;
        for (std::size_t i = depth; i-- > 0;) {
            const RawFrame& frame = known.last[i];
            if (!isOfFunction(frame))
                continue;
            if (!places_.find(memory_, frame.code, frame.instruction, frames_[named_]))
                return false;
            ++named_;
        }
        if (!CodeDeaths::isWatched())
            return named_ > 0 && isStillThere(known, depth);
        if (CodeDeaths::count() != deaths)
            for (std::size_t i = 0; i < depth; ++i)
                if (CodeDeaths::mayHaveEnded(known.last[i].code, deaths))
                    return false; // its address may be that of another one
        return named_ > 0;
    }

    HostSampler& owner_;
    const GuardedMemory memory_;
    CodePlaces<GuardedMemory> places_;
    cpu_set_t allowed_{};
    int avoided_ = -1;
    std::uint64_t random_ = 88172645463325252ULL;
    std::uint64_t latest_ = 0;
    std::uint64_t lateOfLatest_ = 0;
    std::array<Known, kMostSampledThreads> known_{};
    std::array<RawFrame, StackTeller::kDeepest> guess_{};
    std::array<RawFrame, StackTeller::kDeepest> found_{};
    std::array<RawFrame, StackTeller::kDeepest> again_{};
    std::array<iovec, StackTeller::kDeepest> pieces_{};
    std::array<char, StackTeller::kDeepest * PythonLayout::kMostFrameBytes> raw_{};
    std::array<StackTeller::Frame, StackTeller::kDeepest> frames_{};
    std::size_t named_ = 0;
    std::int64_t at_ = 0;   ///< of the latest walk()
    bool isInCall_ = false; ///< then
    bool hasCore_ = false;  ///< of the latest isRunning()
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
    if (thread_.joinable())
        thread_.join();
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
