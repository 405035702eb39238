#include "core/analysis/path/activity_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tilescope::analysis {

namespace {

using namespace literals;

constexpr Nanoseconds kLongestLaunchLag = 50'000_ns;
constexpr Nanoseconds kLongestBusyLag = 15'000_ns; ///< where no launch onto an idle device shows more
constexpr int kGapSpread = 10;                     ///< gaps differ by one part in so many
constexpr Nanoseconds kCallRuns = 500_ns;          ///< that a launch call which still runs leaves open
constexpr Nanoseconds kGap = 1'500_ns; ///< between activities on a device of which one waited for the other

} // namespace

bool isOrderOnDevice(Cause cause)
{
    return cause == Cause::Stream || cause == Cause::StreamWait || cause == Cause::Graph ||
           cause == Cause::Inferred;
}

std::string_view wordOf(Cause cause)
{
    constexpr std::array<std::string_view, kCauses> kWords{"program",     "launch",    "stream",
                                                           "stream-wait", "graph",     "device",
                                                           "collective",  "hand-over", "inferred"};
    return kWords[static_cast<std::size_t>(cause)];
}

ActivityGraph::ActivityGraph(std::vector<Activity> activities, std::vector<Dependency> dependencies,
                             const UsualLags& usual)
    : activities_(std::move(activities))
{
    sortActivities();
    addConstraints(dependencies);
    findUsualLags(usual);
    bind();
}

void ActivityGraph::sortActivities()
{
    std::vector<std::uint32_t> order(activities_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [this](std::uint32_t i) {
        return std::pair(activities_[i].time.start, activities_[i].time.end);
    });
    numbers_.resize(order.size());
    std::vector<Activity> sorted;
    sorted.reserve(order.size());
    for (const std::uint32_t index : order) {
        numbers_[index] = static_cast<std::uint32_t>(sorted.size());
        sorted.push_back(activities_[index]);
    }
    activities_ = std::move(sorted);
}

void ActivityGraph::addConstraints(const std::vector<Dependency>& dependencies)
{
    const auto isForward = [this](const Dependency& each) { return numbers_[each.from] < numbers_[each.to]; };
    first_.assign(activities_.size() + 1, 0);
    for (const Dependency& each : dependencies)
        if (isForward(each))
            ++first_[numbers_[each.to] + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    constraints_.resize(first_.back());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (const Dependency& each : dependencies)
        if (isForward(each))
            constraints_[next[numbers_[each.to]]++] = {.from = numbers_[each.from], .cause = each.cause};
}

std::span<const ActivityGraph::Constraint> ActivityGraph::constraintsOf(std::uint32_t activity) const
{
    return std::span(constraints_).subspan(first_[activity], first_[activity + 1] - first_[activity]);
}

const ActivityGraph::Constraint* ActivityGraph::bindingOf(std::uint32_t activity) const
{
    for (const Constraint& each : constraintsOf(activity))
        if (each.binds)
            return &each;
    return nullptr;
}

Nanoseconds ActivityGraph::recordedLag(const Constraint& constraint, std::uint32_t activity) const
{
    return activities_[activity].time.start - activities_[constraint.from].time.end;
}

ActivityGraph::LagsByCause ActivityGraph::lagsOfLast(bool onlyAlone) const
{
    LagsByCause lags;
    for (std::uint32_t i = 0; i < activities_.size(); ++i) {
        const Constraint* last = nullptr;
        for (const Constraint& each : constraintsOf(i))
            if (!last || recordedLag(each, i) < recordedLag(*last, i))
                last = &each;
        if (!last || recordedLag(*last, i) < Nanoseconds(0) ||
            (last->cause == Cause::Launch && activities_[i].wasDeviceBusy))
            continue;
        const bool isAlone = std::ranges::all_of(constraintsOf(i), [&](const Constraint& each) {
            return &each == last || recordedLag(each, i) - usualLag(each.cause) >= recordedLag(*last, i);
        });
        if (isAlone || !onlyAlone)
            lags[static_cast<std::size_t>(last->cause)].push_back(recordedLag(*last, i));
    }
    return lags;
}

// Where kernels wait for their launches, the gaps on a stream do not show how fast kernels follow each other.
// So a second pass reads only activities whose last dependency alone held them back: with its usual lag,
// every other dependency would have allowed an earlier start.
void ActivityGraph::findUsualLags(const UsualLags& usual)
{
    longestGap_ = std::min(kGap, usual.gap ? *usual.gap + *usual.gap / kGapSpread : kGap);
    Nanoseconds& launch = usual_[static_cast<std::size_t>(Cause::Launch)];
    for (const bool onlyAlone : {false, true}) {
        LagsByCause lags = lagsOfLast(onlyAlone);
        for (std::size_t cause = 0; cause < kCauses; ++cause) {
            if (lags[cause].empty())
                continue;
            const auto quartile = lags[cause].begin() + std::ssize(lags[cause]) / 4;
            std::ranges::nth_element(lags[cause], quartile);
            usual_[cause] = *quartile;
        }
        if (usual.launch)
            launch = std::min(*usual.launch, kLongestLaunchLag);
    }
    launch = std::min(launch == Nanoseconds(0) ? shortestLaunchLag() : launch, kLongestLaunchLag);
}

Nanoseconds ActivityGraph::shortestLaunchLag() const
{
    std::optional<Nanoseconds> shortest;
    for (std::uint32_t i = 0; i < activities_.size(); ++i)
        for (const Constraint& each : constraintsOf(i))
            if (const Nanoseconds lag = recordedLag(each, i);
                each.cause == Cause::Launch && lag >= Nanoseconds(0))
                shortest = std::min(shortest.value_or(lag), lag);
    return std::min(shortest.value_or(Nanoseconds(0)), kLongestBusyLag);
}

// A launch call that took long explains the time until it returned. Where kernels follow each other a little
// later than the device allows, because each waits for its launch, their usual lag is longer than the device
// needs.
Nanoseconds ActivityGraph::openLag(const Constraint& constraint, std::uint32_t activity) const
{
    const Nanoseconds explained =
        isOrderOnDevice(constraint.cause) ? std::min(constraint.lag, longestGap_) : constraint.lag;
    const Nanoseconds open = recordedLag(constraint, activity) - explained;
    const Timestamp called = activities_[activity].calledUntil;
    if (constraint.cause != Cause::Launch || called == Timestamp{})
        return open;
    // Another cause that leaves less open than this explains the start better than a call that still runs.
    return std::min(open, std::max(kCallRuns, activities_[activity].time.start - called));
}

void ActivityGraph::bind()
{
    for (std::uint32_t i = 0; i < activities_.size(); ++i) {
        Constraint* binding = nullptr;
        for (std::uint32_t c = first_[i]; c < first_[i + 1]; ++c) {
            Constraint& each = constraints_[c];
            const Nanoseconds recorded = recordedLag(each, i);
            each.lag = std::min(recorded, usualLag(each.cause));
            if (isOrderOnDevice(each.cause))
                each.lag = std::min(each.lag, kGap); // where each waits for its launch, gaps show nothing
            // The recorded lag minus the usual lag. If equal, the dependency that ended last binds.
            const auto openness = [this, i](const Constraint& constraint) {
                const Nanoseconds lag = recordedLag(constraint, i);
                return std::pair(openLag(constraint, i), lag < Nanoseconds(0) ? -lag : lag);
            };
            if (!binding || openness(each) < openness(*binding))
                binding = &each;
        }
        if (binding) {
            binding->binds = true;
            binding->lag = recordedLag(*binding, i);
        }
    }
}

std::vector<Interval> ActivityGraph::simulate(const DurationOf& duration, const LagOf& lag) const
{
    std::vector<Interval> times(activities_.size());
    for (std::uint32_t i = 0; i < activities_.size(); ++i) {
        std::optional<Timestamp> start;
        for (const Constraint& each : constraintsOf(i)) {
            const Timestamp allowed = times[each.from].end + lag(each, i);
            start = start ? std::max(*start, allowed) : allowed;
        }
        times[i].start = start.value_or(activities_[i].time.start);
        times[i].end = times[i].start + duration(i);
    }
    return times;
}

} // namespace tilescope::analysis
