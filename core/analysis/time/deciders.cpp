#include "core/analysis/time/deciders.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace tilescope::analysis {

namespace {

constexpr Nanoseconds kGap{
    1'500}; ///< from the end of work to the next on its stream; more waited for something else
constexpr Nanoseconds kLongestLag{15'000}; ///< from a launch; more is the work before
constexpr int kLeastSaved = 10; ///< the device decides if one part in so many of the saved work is saved

/// By collective: when its last process arrives.
using ReadyTimes = std::map<std::size_t, Timestamp>;

/// Replays the work of a process in half of its time.
class HalvedWork {
public:
    explicit HalvedWork(const QueuedProcess& process)
        : works_(process.works), waits_(process.waits), synchronizes_(process.synchronizes)
    {
        std::optional<Nanoseconds> least;
        for (const QueuedWork& work : works_)
            if (work.launched != Timestamp{} && work.launched <= work.time.start)
                least = std::min(least.value_or(Nanoseconds::max()), work.time.start - work.launched);
        known_ = least.has_value();
        lag_ = std::min(least.value_or(Nanoseconds(0)), kLongestLag);
    }

    /// When its collectives began in the last replay.
    const ReadyTimes& arrivals() const { return arrivals_; }

    /// By step, in their order, whether the device decides: at least a tenth of what half of its work takes is saved, from the begin of
    /// the last work of the step before.
    /// \param ready  when other processes arrive; none: with this one
    std::vector<std::pair<std::int32_t, bool>> decides(const ReadyTimes& ready)
    {
        std::vector<std::pair<std::int32_t, bool>> list;
        BusyTime busy(works_);
        std::optional<Progress> before;
        for (const auto& [step, progress] : replayAll(ready)) {
            const Progress from = before && synchronizes_ ? *before : progress.first;
            busy.until(from.recorded);
            const Nanoseconds saved =
                (progress.last.recorded - from.recorded) - (progress.last.replayed - from.replayed);
            const Nanoseconds work = busy.until(progress.last.recorded);
            list.emplace_back(step, !known_ || works_.size() < 2 || kLeastSaved * saved >= work / 2);
            before = progress.last;
        }
        return list;
    }

private:
    /// When work begins.
    struct Progress {
        Timestamp recorded{};
        Timestamp replayed{};
    };
    struct StepProgress {
        Progress first;
        Progress last;
    };

    /// The time in which work runs, from one instant to the next.
    class BusyTime {
    public:
        explicit BusyTime(std::span<const QueuedWork> works)
        {
            std::vector<Interval> times;
            for (const QueuedWork& work : works)
                times.push_back({beginOf(work), work.time.end});
            busy_ = unionOf(std::move(times));
        }

        /// Since the last instant.
        Nanoseconds until(Timestamp time)
        {
            Nanoseconds sum{0};
            for (; next_ < busy_.size() && busy_[next_].start < time; ++next_) {
                const Timestamp start = std::max(busy_[next_].start, from_);
                sum += std::max(Nanoseconds(0), std::min(busy_[next_].end, time) - start);
                if (busy_[next_].end > time)
                    break;
            }
            from_ = std::max(from_, time);
            return sum;
        }

    private:
        std::vector<Interval> busy_;
        std::size_t next_ = 0;
        Timestamp from_ = Timestamp::min();
    };

    /// The steps in order.
    std::map<std::int32_t, StepProgress> replayAll(const ReadyTimes& ready)
    {
        shift_ = Nanoseconds(0);
        streams_.clear();
        ends_.clear();
        arrivals_.clear();
        // Work that the host launches after a wait begins after it: in order of launches, waits come first.
        std::vector<std::size_t> order(works_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto launchOf = [this](std::size_t i) {
            return works_[i].launched == Timestamp{} ? works_[i].time.start : works_[i].launched;
        };
        std::ranges::stable_sort(order, {}, launchOf);
        auto wait = waits_.begin();
        std::map<std::int32_t, StepProgress> steps;
        for (const std::size_t i : order) {
            for (; wait != waits_.end() && wait->end <= launchOf(i); ++wait)
                replayWait(*wait);
            const Progress begin{beginOf(works_[i]), replay(i, ready)};
            StepProgress& step = steps.try_emplace(works_[i].step, StepProgress{begin, begin}).first->second;
            step.last.recorded = std::max(step.last.recorded, begin.recorded);
            step.last.replayed = std::max(step.last.replayed, begin.replayed);
        }
        return steps;
    }

    /// When the device begins to work: a collective waits for its last process.
    static Timestamp beginOf(const QueuedWork& work)
    {
        return work.collective ? std::max(work.time.start, work.ready) : work.time.start;
    }

    struct Ended {
        Timestamp recorded{};
        Timestamp replayed{};
    };
    struct Stream {
        Timestamp recorded{}; ///< end of its last work
        Timestamp replayed{};
        bool isUsed = false;
    };

    /// Returns when it begins.
    Timestamp replay(std::size_t i, const ReadyTimes& ready)
    {
        const QueuedWork& work = works_[i];
        Stream& stream = streams_[work.stream];
        std::optional<Timestamp> start;
        if (work.launched != Timestamp{})
            start = work.launched - shift_ + std::min(lag_, work.time.start - work.launched);
        if (stream.isUsed) {
            const Nanoseconds gap = std::clamp(work.time.start - stream.recorded, Nanoseconds(0), kGap);
            start = std::max(start.value_or(Timestamp::min()), stream.replayed + gap);
        }
        Timestamp begin = start.value_or(work.time.start);
        if (work.collective) {
            arrivals_.emplace(*work.collective, begin);
            if (const auto last = ready.find(*work.collective); last != ready.end())
                begin = std::max(begin, last->second);
        }
        stream = {work.time.end, begin + (work.time.end - beginOf(work)) / 2, true};
        ends_.push_back({stream.recorded, stream.replayed});
        return begin;
    }

    void replayWait(const Interval& wait)
    {
        // What it waited for: the work that ended last until it returned.
        std::optional<Ended> awaited;
        for (const Ended& each : ends_)
            if (each.recorded <= wait.end && (!awaited || each.recorded > awaited->recorded))
                awaited = each;
        std::erase_if(ends_, [&](const Ended& each) { return awaited && each.recorded < awaited->recorded; });
        if (!awaited)
            return;
        const Timestamp resumed = std::max(wait.start - shift_, awaited->replayed) +
                                  (wait.end - std::max(wait.start, awaited->recorded));
        shift_ = wait.end - resumed;
    }

    std::span<const QueuedWork> works_;
    std::span<const Interval> waits_;
    bool synchronizes_ = false;
    bool known_ = false;
    Nanoseconds lag_{0};
    Nanoseconds shift_{0}; ///< by which the host is earlier
    std::map<StreamId, Stream> streams_;
    std::vector<Ended> ends_; ///< of work that a wait may be for
    ReadyTimes arrivals_;
};

} // namespace

std::vector<StepDeciders> deciders(std::span<const QueuedProcess> processes)
{
    constexpr int kMostReplays = 8; // a collective may delay the arrival at a later one
    std::vector<HalvedWork> halved;
    std::vector<StepDeciders> list;
    for (const QueuedProcess& process : processes) {
        halved.emplace_back(process);
        list.emplace_back();
        for (const auto& [step, decides] : halved.back().decides({}))
            list.back().emplace(step, decides ? Decider::Device : Decider::Host);
    }
    ReadyTimes ready;
    for (int i = 0; i < kMostReplays; ++i) {
        ReadyTimes last;
        for (const HalvedWork& each : halved)
            for (const auto& [collective, arrival] : each.arrivals()) {
                Timestamp& known = last.try_emplace(collective, arrival).first->second;
                known = std::max(known, arrival);
            }
        if (last == std::exchange(ready, last))
            break;
        for (std::size_t process = 0; process < halved.size(); ++process)
            for (const auto& [step, decides] : halved[process].decides(ready))
                if (Decider& decider = list[process].at(step); decider != Decider::Host)
                    decider = decides ? Decider::Device : Decider::OtherProcess;
    }
    return list;
}

} // namespace tilescope::analysis
