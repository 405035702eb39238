#include "core/analysis/time/host_decides.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace tilescope::analysis {

namespace {

constexpr Nanoseconds kGap{
    1'500}; ///< from the end of work to the next on its stream; more waited for something else
constexpr int kLeastSaved = 10; ///< the device decides if one part in so many of the saved work is saved

/// Replays work in half of its time.
class HalvedWork {
public:
    HalvedWork(std::span<const QueuedWork> works, std::span<const Interval> waits)
        : works_(works), waits_(waits)
    {
        std::optional<Nanoseconds> least;
        for (const QueuedWork& work : works)
            if (work.launched != Timestamp{} && work.launched <= work.time.start)
                least = std::min(least.value_or(Nanoseconds::max()), work.time.start - work.launched);
        known_ = least.has_value();
        lag_ = least.value_or(Nanoseconds(0));
    }

    bool isKnown() const { return known_; }

    /// How much earlier the device begins the last work.
    Nanoseconds saved()
    {
        // Work that the host launches after a wait begins after it: in order of launches, waits come first.
        std::vector<std::size_t> order(works_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto launchOf = [this](std::size_t i) {
            return works_[i].launched == Timestamp{} ? works_[i].time.start : works_[i].launched;
        };
        std::ranges::stable_sort(order, {}, launchOf);
        auto wait = waits_.begin();
        Timestamp before{}; // start of the last work, as recorded
        Timestamp after{};  // as replayed
        for (const std::size_t i : order) {
            for (; wait != waits_.end() && wait->end <= launchOf(i); ++wait)
                replayWait(*wait);
            replay(i);
            before = std::max(before, works_[i].time.start);
            after = std::max(after, ends_.back().replayed - works_[i].time.length() / 2);
        }
        return before - after;
    }

private:
    struct Ended {
        Timestamp recorded{};
        Timestamp replayed{};
    };
    struct Stream {
        Timestamp recorded{}; ///< end of its last work
        Timestamp replayed{};
        bool isUsed = false;
    };

    void replay(std::size_t i)
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
        const Timestamp begin = start.value_or(work.time.start);
        stream = {work.time.end, begin + work.time.length() / 2, true};
        ends_.push_back({stream.recorded, stream.replayed});
    }

    void replayWait(const Interval& wait)
    {
        // What it waited for: the work that ended last until it returned.
        std::optional<Ended> awaited;
        for (const Ended& each : ends_)
            if (each.recorded <= wait.end && (!awaited || each.recorded > awaited->recorded))
                awaited = each;
        std::erase_if(ends_, [&](const Ended& each) { return awaited && each.recorded < awaited->recorded; });
        if (!awaited || awaited->recorded <= wait.start)
            return;
        const Timestamp resumed =
            std::max(wait.start - shift_, awaited->replayed) + (wait.end - awaited->recorded);
        shift_ = std::max(shift_, wait.end - resumed);
    }

    std::span<const QueuedWork> works_;
    std::span<const Interval> waits_;
    bool known_ = false;
    Nanoseconds lag_{0};
    Nanoseconds shift_{0}; ///< by which the host is earlier
    std::map<StreamId, Stream> streams_;
    std::vector<Ended> ends_; ///< of work that a wait may be for
};

} // namespace

bool hostDecides(std::span<const QueuedWork> works, std::span<const Interval> waits)
{
    HalvedWork halved(works, waits);
    if (works.size() < 2 || !halved.isKnown())
        return false;
    std::vector<Interval> busy;
    // The last work takes half of its time, whatever decides when it begins.
    for (const QueuedWork& work : works.first(works.size() - 1))
        busy.push_back(work.time);
    return kLeastSaved * halved.saved() < lengthOf(unionOf(std::move(busy))) / 2;
}

} // namespace tilescope::analysis
