#include "core/query/runs/process_filter.h"

#include "core/base/error.h"
#include "core/query/runs/host_memory.h"
#include "core/store/run_reader.h"

#include <algorithm>
#include <limits>
#include <set>

namespace tilescope::query {

namespace {

std::string numberList(const std::set<std::int64_t>& numbers)
{
    std::string text;
    for (const std::int64_t number : numbers)
        text += (text.empty() ? "" : ", ") + std::to_string(number);
    return text.empty() ? "none" : text;
}

[[noreturn]] void refuse(RunId run, const std::string& what, std::int64_t number, const std::string& option,
                         const std::set<std::int64_t>& known)
{
    throw Error{.what = "run " + std::to_string(run.value) + " has no " + what + " " + std::to_string(number),
                .where = option,
                .remedy = "it has: " + numberList(known)};
}

} // namespace

ProcessFilter::ProcessFilter(const store::RunReader& reader, RunId run, const ProcessQuery& query)
    : query_(query)
{
    RunTopology topology = reader.topology(run);
    std::set<std::int64_t> ranks;
    std::set<std::int64_t> pids;
    std::set<std::int64_t> devices;
    for (const TracedProcess& process : topology.processes) {
        if (process.rank)
            ranks.insert(*process.rank);
        pids.insert(process.pid);
        const bool isAsked =
            (!query.rank || process.rank == query.rank) && (!query.pid || process.pid == query.pid);
        if (isAsked && (query.rank || query.pid))
            process_ = process.id;
    }
    for (const TracedDevice& device : topology.devices)
        devices.insert(device.id.value);
    if (query.rank && !process_)
        refuse(run, "rank", *query.rank, "--rank", ranks);
    if (query.pid && !process_)
        refuse(run, "process", *query.pid, "--process", pids);
    if (query.device && !devices.contains(*query.device) && !(devices.empty() && *query.device == 0))
        refuse(run, "device", *query.device, "--device", devices);
    const std::vector<ThreadName> threads = reader.threads(run);
    topology_ = std::make_shared<const TopologyIndex>(
        process_ ? topologyWithHost(reader, run) : std::move(topology), threads);
}

ProcessFilter::ProcessFilter(const ProcessFilter& other, const ProcessQuery& query)
    : query_(query), topology_(other.topology_)
{
    for (const TracedProcess& process : topology_->topology().processes)
        if ((query.rank || query.pid) && (!query.rank || process.rank == query.rank) &&
            (!query.pid || process.pid == *query.pid))
            process_ = process.id;
}

bool ProcessFilter::has(const DeviceEvent& event) const
{
    if (query_.device && event.device.value != *query_.device)
        return false;
    return !process_ || !topology_->hasSeveral() || topology_->of(event.device, event.stream) == process_;
}

bool ProcessFilter::has(ThreadId thread) const
{
    return !process_ || !topology_->hasSeveral() || topology_->of(thread) == process_;
}

bool ProcessFilter::hasDevice(DeviceIndex device) const
{
    if (query_.device && (!device || device.value != *query_.device))
        return false;
    if (!process_ || !topology_->hasSeveral())
        return true;
    return std::ranges::any_of(topology_->topology().streams, [&](const TracedStream& stream) {
        return stream.device == device && stream.process == process_;
    });
}

std::string deviceTitle(const TopologyIndex& topology, DeviceIndex device)
{
    const std::string process = topology.titleOf(topology.of(device));
    return (process.empty() ? "" : process + " ") + (device ? "GPU " + std::to_string(device.value) : "host");
}

std::vector<ProcessChoice> topologyChoices(const TopologyIndex& topology)
{
    std::vector<ProcessChoice> choices;
    const RunTopology& all = topology.topology();
    if (topology.hasSeveral())
        for (const TracedProcess& process : all.processes)
            choices.push_back({.title = topology.titleOf(process.id),
                               .query = {.rank = process.rank,
                                         .pid = process.rank ? std::nullopt : std::optional(process.pid)},
                               .process = process.id});
    std::ranges::stable_sort(choices, {}, [](const ProcessChoice& choice) {
        return choice.query.rank.value_or(std::numeric_limits<std::int32_t>::max());
    });
    if (all.devices.size() > std::max<std::size_t>(1, choices.size()))
        for (const TracedDevice& device : all.devices)
            choices.push_back({.title = deviceTitle(topology, device.id),
                               .query = {.device = device.id.value},
                               .device = device.id});
    return choices;
}

std::vector<ProcessChoice> processChoices(const RunTopology& topology)
{
    std::vector<ProcessChoice> choices = topologyChoices({topology, {}});
    std::erase_if(choices, [](const ProcessChoice& choice) { return !choice.process; });
    return choices;
}

std::vector<ProcessChoice> deviceChoices(const RunTopology& topology)
{
    std::vector<ProcessChoice> choices = topologyChoices({topology, {}});
    std::erase_if(choices, [](const ProcessChoice& choice) { return !choice.device; });
    return choices;
}

namespace {

/// \param before  begins the words for all processes: "mean of"
std::string wordsFor(std::span<const ProcessChoice> choices, const ProcessQuery& query,
                     std::string_view before)
{
    if (choices.empty())
        return {};
    if (query.rank || query.pid) {
        const auto chosen = std::ranges::find_if(choices, [&query](const ProcessChoice& choice) {
            return (!query.rank || choice.query.rank == query.rank) &&
                   (!query.pid || choice.query.pid == query.pid);
        });
        return chosen == choices.end() ? std::string() : chosen->title;
    }
    if (choices.size() == 1)
        return choices.front().title;
    // A process without a rank beside those that have one is their launcher, or loads data for them.
    const std::ptrdiff_t ranks = std::ranges::count_if(
        choices, [](const ProcessChoice& choice) { return choice.query.rank.has_value(); });
    if (ranks > 0)
        return std::string(before) + " " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
    return std::string(before) + " " + std::to_string(choices.size()) + " processes";
}

} // namespace

std::string processWords(std::span<const ProcessChoice> processes, const ProcessQuery& query)
{
    return wordsFor(processes, query, "mean of");
}

std::string sumWords(std::span<const ProcessChoice> processes, const ProcessQuery& query)
{
    return wordsFor(processes, query, "all");
}

} // namespace tilescope::query
