#include "core/exchange/import/clock_alignment.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

namespace {

constexpr std::string_view kMethod = "ends of collectives";
constexpr std::size_t kFewest = 3;

struct Span {
    std::int64_t start;
    std::int64_t end;
};
/// Collectives of a process by the name of their kernel, in order.
using Collectives = std::map<std::uint32_t, std::vector<Span>>;

bool isCollective(std::string_view kernel)
{
    // Sending and receiving does not wait for all.
    return (kernel.starts_with("ncclDevKernel_") || kernel.starts_with("ncclKernel_")) &&
           kernel.find("SendRecv") == std::string_view::npos;
}

/// What is known of the difference between two clocks: the second minus the first.
struct Difference {
    std::int64_t least = std::numeric_limits<std::int64_t>::min();
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> ofEnds;

    void learn(const Collectives& first, const Collectives& second)
    {
        for (const auto& [name, ours] : first) {
            const auto theirs = second.find(name);
            // Another number of them: they are not the same ones.
            if (theirs == second.end() || theirs->second.size() != ours.size())
                continue;
            for (std::size_t i = 0; i < ours.size(); ++i) {
                least = std::max(least, theirs->second[i].start - ours[i].end);
                most = std::min(most, theirs->second[i].end - ours[i].start);
                ofEnds.push_back(theirs->second[i].end - ours[i].end);
            }
        }
    }
    bool isKnown() const { return ofEnds.size() >= kFewest && least <= most; }
    std::int64_t value()
    {
        const auto middle = ofEnds.begin() + static_cast<std::ptrdiff_t>(ofEnds.size() / 2);
        std::ranges::nth_element(ofEnds, middle);
        return std::clamp(*middle, least, most);
    }
};

} // namespace

void alignHosts(ForeignTrace& trace)
{
    std::map<std::string, std::vector<std::size_t>> hosts;
    for (std::size_t i = 0; i < trace.parties.processes.size(); ++i)
        if (const TracedProcess& process = trace.parties.processes[i]; process.clock && !process.host.empty())
            hosts[process.host].push_back(i);
    if (hosts.size() < 2)
        return;
    const auto clockOf = [&](std::size_t process) -> ClockDomain& {
        return trace.parties.clocks[static_cast<std::size_t>(trace.parties.processes[process].clock.value)];
    };
    std::vector<Collectives> collectives(trace.parties.processes.size());
    std::map<std::uint32_t, bool> known;
    for (const DeviceRow& row : trace.activities) {
        const auto [name, isNew] = known.try_emplace(row.name, false);
        if (isNew)
            name->second = isCollective(trace.strings.text(StringId{row.name}));
        const ProcessIndex process = trace.processOf(row);
        if (!name->second || !process)
            continue;
        const auto index = static_cast<std::size_t>(process.value);
        if (!trace.parties.processes[index].clock)
            continue;
        const std::int64_t offset = clockOf(index).offset.count();
        collectives[index][row.name].push_back({row.start + offset, row.end + offset});
    }
    for (Collectives& one : collectives)
        for (auto& [name, spans] : one)
            std::ranges::sort(spans, {}, &Span::start);
    const std::string& reference = trace.parties.processes.front().host;
    for (const auto& [host, processes] : hosts) {
        if (host == reference)
            continue;
        Difference difference;
        for (const std::size_t first : hosts[reference])
            for (const std::size_t second : processes)
                difference.learn(collectives[first], collectives[second]);
        if (!difference.isKnown())
            continue;
        const std::int64_t value = difference.value();
        std::vector<ClockIndex> moved;
        for (const std::size_t process : processes) {
            ClockDomain& clock = clockOf(process);
            if (std::ranges::find(moved, clock.id) != moved.end())
                continue;
            moved.push_back(clock.id);
            clock.offset -= Nanoseconds(value);
            clock.uncertainty = Nanoseconds(std::max(difference.most - value, value - difference.least));
            clock.method = kMethod;
        }
    }
}

} // namespace tilescope::exchange
