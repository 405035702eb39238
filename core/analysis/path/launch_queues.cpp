#include "core/analysis/path/launch_queues.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tilescope::analysis {

namespace {

using namespace literals;

constexpr Nanoseconds kLongCall = 8'000_ns;     ///< a shorter one has not waited
constexpr Nanoseconds kLongestCall = 20'000_ns; ///< a longer one has
constexpr int kTimesUsual = 3; ///< nor has one that takes less than so many times the lower quartile
constexpr Nanoseconds kReturnTime =
    20'000_ns;                                ///< from the end of the work until the call that waited returns
constexpr Nanoseconds kSoonAfter = 10'000_ns; ///< the same where few calls waited
constexpr std::size_t kFewestCalls = 3;
// Calls that waited for less than the above.
constexpr int kTimesShortest = 2;           ///< one that waited takes so many times what the shortest takes
constexpr Nanoseconds kAtOnce = 2'000_ns;   ///< from the end of the work until it returns
constexpr Nanoseconds kLongLag = 20'000_ns; ///< a launch onto an idle device begins sooner
constexpr std::size_t kFewestShortWaits = 8;

} // namespace

LaunchQueues::LaunchQueues(const RecordingView& view)
{
    std::unordered_map<std::uint32_t, Interval> calls;
    for (const ApiCall& call : view.calls)
        if (call.correlation && (call.kind == ApiKind::Launch || call.kind == ApiKind::Memory))
            calls.emplace(call.correlation.value, Interval{call.start, call.end});
    std::map<std::pair<DeviceIndex, StreamId>, std::vector<Command>> streams;
    std::unordered_map<std::uint32_t, std::size_t> known; // by correlation: index of its command
    for (std::size_t i = 0; i < view.device.size(); ++i) {
        const DeviceEvent& event = view.device[i];
        if (!event.correlation)
            continue;
        // A call before the view is unknown, but what it launched takes a place.
        const auto call = calls.find(event.correlation.value);
        const Interval time = call == calls.end() ? Interval{} : call->second;
        std::vector<Command>& commands = streams[{event.device, event.stream}];
        const auto [command, isNew] = known.try_emplace(event.correlation.value, commands.size());
        // The nodes of a graph are one command.
        if (isNew)
            commands.push_back({event.correlation.value, time, event.start, event.end, i});
        else if (command->second < commands.size() &&
                 commands[command->second].correlation == event.correlation.value &&
                 commands[command->second].end < event.end)
            commands[command->second] = {event.correlation.value, time, commands[command->second].start,
                                         event.end, i};
    }
    for (auto& [stream, commands] : streams) {
        std::ranges::stable_sort(commands, {}, &Command::start);
        if (const std::optional<Queue> queue = queueOf(commands))
            for (std::size_t i = queue->depth; i < commands.size(); ++i)
                rooms_.emplace(commands[i].correlation,
                               Room{commands[i - queue->depth].event, queue->shortestCall});
    }
}

std::optional<LaunchQueues::Queue> LaunchQueues::queueOf(const std::vector<Command>& commands)
{
    std::vector<Nanoseconds> lengths;
    for (const Command& command : commands)
        if (command.call.length() > Nanoseconds(0))
            lengths.push_back(command.call.length());
    if (lengths.empty())
        return {};
    // The shorter calls show how long one takes that does not wait.
    const auto quarter = lengths.begin() + std::ssize(lengths) / 4;
    std::ranges::nth_element(lengths, quarter);
    const Nanoseconds longCall = std::clamp(kTimesUsual * *quarter, kLongCall, kLongestCall);
    const Nanoseconds shortestCall = *std::min_element(lengths.begin(), std::next(quarter));
    std::map<std::size_t, std::size_t> counts; // of calls, by depth
    std::size_t all = 0;
    std::size_t most = 0; // commands that the stream held
    bool hasCertain = false;
    std::size_t longer = 0;                        // calls that take longer than the shortest
    std::map<std::size_t, std::size_t> shortWaits; // of these, by depth
    for (std::size_t i = 0; i < commands.size(); ++i) {
        const Interval& call = commands[i].call;
        if (call.length() <= Nanoseconds(0))
            continue;
        // The last command that ended before the call returned.
        const auto after = std::ranges::upper_bound(
            commands.begin(), commands.begin() + static_cast<std::ptrdiff_t>(i), call.end, {}, &Command::end);
        const std::size_t depth = i + 1 - static_cast<std::size_t>(after - commands.begin());
        most = std::max(most, depth);
        if (call.length() >= kTimesShortest * shortestCall) {
            ++longer;
            // A host that is the slower one launches onto an idle device.
            if (after != commands.begin() && (after - 1)->end > call.start &&
                call.end - (after - 1)->end <= kAtOnce && commands[i].start - call.end > kLongLag)
                ++shortWaits[depth];
        }
        if (call.length() < longCall || after == commands.begin() || (after - 1)->end < call.start ||
            call.end - (after - 1)->end > kReturnTime || depth < 2)
            continue;
        ++counts[depth];
        ++all;
        hasCertain =
            hasCertain || (call.length() >= kLongestCall && call.end - (after - 1)->end <= kSoonAfter);
    }
    // Hardly anything but a place that became free makes all longer calls return at once when the stream held the most commands.
    if (most >= 2 && longer >= kFewestShortWaits && 10 * shortWaits[most] >= 9 * longer)
        return Queue{most, shortestCall};
    const auto usual = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
    if (usual == counts.end() || 2 * usual->second < all)
        return {};
    // One or two calls show the number if the stream never held more.
    const bool isFull = usual->second == all && hasCertain && usual->first == most;
    return usual->second >= kFewestCalls || isFull ? std::optional(Queue{usual->first, shortestCall})
                                                   : std::nullopt;
}

std::optional<LaunchQueues::Room> LaunchQueues::makesRoomFor(std::uint32_t correlation) const
{
    const auto found = rooms_.find(correlation);
    return found == rooms_.end() ? std::nullopt : std::optional(found->second);
}

} // namespace tilescope::analysis
