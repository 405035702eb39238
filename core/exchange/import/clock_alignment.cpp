#include "core/exchange/import/clock_alignment.h"

#include "core/exchange/import/collective_names.h"
#include "core/exchange/import/rules/rules.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace tilescope::exchange {

namespace {

constexpr std::string_view kMethod = "ends of collectives";
constexpr std::size_t kFewest = 3;

struct Span {
    std::int64_t start;
    std::int64_t end;
};

/// Collectives of one process, in order. Those that state their group and number are found by these, others by the name
/// of their kernel.
struct Collectives {
    std::map<std::uint32_t, std::vector<Span>> byName;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, Span>
        byNumber; ///< by group, op and number
};

/// What is known of the difference between two clocks: the second minus the first.
struct Difference {
    std::int64_t least = std::numeric_limits<std::int64_t>::min();
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> ofEnds;

    void learn(const Span& ours, const Span& theirs)
    {
        least = std::max(least, theirs.start - ours.end);
        most = std::min(most, theirs.end - ours.start);
        ofEnds.push_back(theirs.end - ours.end);
    }
    void learn(const Collectives& first, const Collectives& second)
    {
        const std::size_t before = ofEnds.size();
        for (const auto& [key, ours] : first.byNumber)
            if (const auto theirs = second.byNumber.find(key); theirs != second.byNumber.end())
                learn(ours, theirs->second);
        if (ofEnds.size() > before)
            return;
        for (const auto& [name, ours] : first.byName) {
            const auto theirs = second.byName.find(name);
            // Another number of them: they are not the same ones.
            if (theirs == second.byName.end() || theirs->second.size() != ours.size())
                continue;
            for (std::size_t i = 0; i < ours.size(); ++i)
                learn(ours[i], theirs->second[i]);
        }
    }
    bool isKnown() const { return ofEnds.size() >= kFewest && least <= most; }
    bool allows(std::int64_t value) const { return value >= least && value <= most; }
    std::int64_t value() { return std::clamp(middleOf(ofEnds), least, most); }
    /// The half width of the interval of the difference, under the assumption that the ends of a collective lie within
    /// kEndsNs of each other.
    std::int64_t uncertainty(std::int64_t value)
    {
        std::vector<std::int64_t> deviations;
        for (const std::int64_t each : ofEnds)
            deviations.push_back(std::abs(each - value));
        constexpr std::int64_t kSpread = 3; // of the median deviation: 2 standard deviations
        return std::min(std::max(most - value, value - least), kEndsNs + kSpread * middleOf(deviations));
    }

private:
    static std::int64_t middleOf(std::vector<std::int64_t>& values)
    {
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::ranges::nth_element(values, middle);
        return *middle;
    }
};

/// Finds the collectives of all processes in the activities of a trace.
class CollectiveFinder {
public:
    explicit CollectiveFinder(const ForeignTrace& trace)
        : trace_(trace), found_(trace.topology.processes.size())
    {
        for (const Collective& each : trace.collectives) {
            const std::string_view op = trace.strings.text(each.op);
            if (each.correlation && each.process && each.sequence >= 0 && op != "send" && op != "recv")
                numbered_[{each.process, each.correlation.value}] = &each;
        }
        for (const DeviceRow& row : trace.activities)
            if (row.kind == DeviceEventKind::Kernel)
                add(row);
        for (Collectives& one : found_)
            for (auto& [name, spans] : one.byName)
                std::ranges::sort(spans, {}, &Span::start);
    }

    const std::vector<Collectives>& list() const { return found_; }

private:
    void add(const DeviceRow& row)
    {
        const auto [name, isNew] = isCollective_.try_emplace(row.name, false);
        if (isNew)
            name->second = waitsForAllRanks(trace_.strings.text(StringId{row.name}));
        const ProcessIndex process = trace_.processOf(row);
        if (!name->second || !process)
            return;
        const TracedProcess& owner = trace_.topology.processes[static_cast<std::size_t>(process.value)];
        if (!owner.clock)
            return;
        const std::int64_t offset =
            trace_.topology.clocks[static_cast<std::size_t>(owner.clock.value)].offset.count();
        const Span span{row.start + offset, row.end + offset};
        Collectives& ofProcess = found_[static_cast<std::size_t>(process.value)];
        ofProcess.byName[row.name].push_back(span);
        if (const auto numbered = numbered_.find({process, row.correlation}); numbered != numbered_.end())
            ofProcess.byNumber[{numbered->second->group.value, numbered->second->op.value,
                                numbered->second->sequence}] = span;
    }

    const ForeignTrace& trace_;
    std::map<std::pair<ProcessIndex, std::uint32_t>, const Collective*> numbered_; ///< by correlation
    std::map<std::uint32_t, bool> isCollective_;                                   ///< by name
    std::vector<Collectives> found_;
};

/// Processes by clock domain: by host, and where it is unknown by file.
std::map<std::string, std::vector<std::size_t>> hostsOf(const ForeignTrace& trace)
{
    std::map<std::string, std::vector<std::size_t>> hosts;
    for (std::size_t i = 0; i < trace.topology.processes.size(); ++i) {
        const TracedProcess& process = trace.topology.processes[i];
        if (process.clock)
            hosts[process.host.empty() ? "\n" + std::to_string(process.clock.value) : process.host].push_back(
                i);
    }
    return hosts;
}

} // namespace

void alignHosts(ForeignTrace& trace)
{
    const std::map<std::string, std::vector<std::size_t>> hosts = hostsOf(trace);
    constexpr std::size_t kMostHosts = 4096; // beyond it, these are no hosts
    if (hosts.size() < 2 || hosts.size() > kMostHosts)
        return;
    const CollectiveFinder collectives(trace);
    const auto reference = std::ranges::find_if(hosts, [](const auto& host) {
        return std::ranges::find(host.second, std::size_t{0}) != host.second.end();
    });
    if (reference == hosts.end())
        return;
    for (const auto& [host, processes] : hosts) {
        if (host == reference->first)
            continue;
        Difference difference;
        for (const std::size_t first : reference->second)
            for (const std::size_t second : processes)
                difference.learn(collectives.list()[first], collectives.list()[second]);
        if (!difference.isKnown())
            continue;
        const std::int64_t value = difference.value();
        const std::int64_t uncertainty = difference.uncertainty(value);
        std::vector<ClockIndex> seen;
        for (const std::size_t process : processes) {
            ClockDomain& clock =
                trace.topology
                    .clocks[static_cast<std::size_t>(trace.topology.processes[process].clock.value)];
            if (std::ranges::find(seen, clock.id) != seen.end())
                continue;
            seen.push_back(clock.id);
            clock.uncertainty = Nanoseconds(uncertainty);
            // A difference within the uncertainty is no evidence that the clocks differ, unless a collective would then have ended on one
            // host before it began on the other.
            if (std::abs(value) <= uncertainty && difference.allows(0))
                continue;
            clock.offset -= Nanoseconds(value);
            clock.method = kMethod;
        }
    }
}

} // namespace tilescope::exchange
