#include "core/exchange/export/host_events.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tilescope::exchange {

namespace {

bool isBefore(const HostEvent& a, const HostEvent& b)
{
    if (startOf(a) != startOf(b))
        return startOf(a) < startOf(b);
    if (endOf(a) != endOf(b))
        return endOf(a) > endOf(b);
    return a.index() < b.index();
}

bool isBefore(const DeviceEvent& a, const DeviceEvent& b)
{
    return a.start != b.start ? a.start < b.start : a.end > b.end;
}

/// Reads a run interval by interval, each small enough to be sorted in memory.
/// \param total  events of the run, to choose the first interval
/// \param read   reads the events that start in [from, to) into a vector; stops early, with false, when there
///               are more than `most`
template <class Event, class Read>
void inIntervals(const store::RunReader& reader, RunId run, std::int64_t total, std::size_t most,
                 const Read& read, const std::function<void(const Event&)>& take)
{
    const auto span = reader.span(run);
    if (!span || total == 0)
        return;
    const Nanoseconds whole = span->second - span->first;
    Nanoseconds width = std::max(
        Nanoseconds(1), whole / std::max<std::int64_t>(1, 2 * total / static_cast<std::int64_t>(most)));
    std::vector<Event> events;
    for (Timestamp from = span->first; from < span->second;) {
        const Timestamp to = width < span->second - from ? from + width : span->second;
        events.clear();
        if (!read(from, to, to - from > Nanoseconds(1) ? most : static_cast<std::size_t>(-1), events)) {
            width = std::max(Nanoseconds(1), (to - from) / 4);
            continue;
        }
        std::stable_sort(events.begin(), events.end(),
                         [](const Event& a, const Event& b) { return isBefore(a, b); });
        for (const Event& event : events)
            take(event);
        from = to;
        constexpr std::size_t kFew = 4;
        if (events.size() < most / kFew && width < whole)
            width *= 2;
    }
}

template <class Each, class Event>
bool readSome(const Each& each, const store::EventWindow& window, std::size_t most,
              std::vector<Event>& events)
{
    bool fits = true;
    each(window, [&](const auto& event) {
        // Events that began earlier belong to an earlier interval.
        if (event.start >= window.from && event.start < window.to) {
            fits = events.size() < most;
            if (fits)
                events.emplace_back(event);
        }
        return fits;
    });
    return fits;
}

} // namespace

void eachHostEvent(const store::RunReader& reader, RunId run,
                   const std::function<void(const HostEvent&)>& take, std::size_t most)
{
    const store::EventCounts counts = reader.counts(run);
    const auto read = [&](Timestamp from, Timestamp to, std::size_t limit, std::vector<HostEvent>& events) {
        const store::EventWindow window{.run = run, .from = from, .to = to};
        const auto frames = [&](const auto& w, const auto& t) { reader.eachFrame(w, t); };
        const auto ranges = [&](const auto& w, const auto& t) { reader.eachRange(w, t); };
        const auto ops = [&](const auto& w, const auto& t) { reader.eachOp(w, t); };
        const auto calls = [&](const auto& w, const auto& t) { reader.eachApiCall(w, t); };
        return (counts.frames == 0 || readSome(frames, window, limit, events)) &&
               (counts.ranges == 0 || readSome(ranges, window, limit, events)) &&
               (counts.ops == 0 || readSome(ops, window, limit, events)) &&
               (counts.apiCalls == 0 || readSome(calls, window, limit, events));
    };
    inIntervals<HostEvent>(reader, run, counts.frames + counts.ranges + counts.ops + counts.apiCalls, most,
                           read, take);
}

void eachDeviceEvent(const store::RunReader& reader, RunId run,
                     const std::function<void(const DeviceEvent&)>& take, std::size_t most)
{
    const auto read = [&](Timestamp from, Timestamp to, std::size_t limit, std::vector<DeviceEvent>& events) {
        const auto each = [&](const auto& w, const auto& t) { reader.eachDeviceEvent(w, t); };
        return readSome(each, {.run = run, .from = from, .to = to}, limit, events);
    };
    inIntervals<DeviceEvent>(reader, run, reader.counts(run).deviceEvents, most, read, take);
}

} // namespace tilescope::exchange
