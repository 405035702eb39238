#include "core/query/runs/party_filter.h"

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

PartyFilter::PartyFilter(const store::RunReader& reader, RunId run, const PartyQuery& query) : query_(query)
{
    RunParties parties = reader.parties(run);
    std::set<std::int64_t> ranks;
    std::set<std::int64_t> pids;
    std::set<std::int64_t> devices;
    for (const TracedProcess& process : parties.processes) {
        if (process.rank)
            ranks.insert(*process.rank);
        pids.insert(process.pid);
        const bool isAsked =
            (!query.rank || process.rank == query.rank) && (!query.pid || process.pid == query.pid);
        if (isAsked && (query.rank || query.pid))
            process_ = process.id;
    }
    for (const TracedDevice& device : parties.devices)
        devices.insert(device.id.value);
    if (query.rank && !process_)
        refuse(run, "rank", *query.rank, "--rank", ranks);
    if (query.pid && !process_)
        refuse(run, "process", *query.pid, "--process", pids);
    if (query.device && !devices.contains(*query.device) && !(devices.empty() && *query.device == 0))
        refuse(run, "device", *query.device, "--device", devices);
    const std::vector<ThreadName> threads = reader.threads(run);
    parties_ = {process_ ? partiesWithHost(reader, run) : std::move(parties), threads};
}

bool PartyFilter::has(const DeviceEvent& event) const
{
    if (query_.device && event.device.value != *query_.device)
        return false;
    return !process_ || !parties_.hasSeveral() || parties_.of(event.device, event.stream) == process_;
}

bool PartyFilter::has(ThreadId thread) const
{
    return !process_ || !parties_.hasSeveral() || parties_.of(thread) == process_;
}

bool PartyFilter::hasMemoryOf(DeviceIndex device) const
{
    if (query_.device && (!device || device.value != *query_.device))
        return false;
    if (!process_ || !parties_.hasSeveral())
        return true;
    return std::ranges::any_of(parties_.parties().streams, [&](const TracedStream& stream) {
        return stream.device == device && stream.process == process_;
    });
}

std::string deviceTitle(const PartyIndex& parties, DeviceIndex device)
{
    const std::string process = parties.titleOf(parties.of(device));
    return (process.empty() ? "" : process + " ") + (device ? "GPU " + std::to_string(device.value) : "host");
}

std::vector<PartyChoice> partyChoices(const PartyIndex& parties)
{
    std::vector<PartyChoice> choices;
    const RunParties& all = parties.parties();
    if (parties.hasSeveral())
        for (const TracedProcess& process : all.processes)
            choices.push_back({.title = parties.titleOf(process.id),
                               .query = {.rank = process.rank,
                                         .pid = process.rank ? std::nullopt : std::optional(process.pid)},
                               .process = process.id});
    std::ranges::stable_sort(choices, {}, [](const PartyChoice& choice) {
        return choice.query.rank.value_or(std::numeric_limits<std::int32_t>::max());
    });
    if (all.devices.size() > std::max<std::size_t>(1, choices.size()))
        for (const TracedDevice& device : all.devices)
            choices.push_back({.title = deviceTitle(parties, device.id),
                               .query = {.device = device.id.value},
                               .device = device.id});
    return choices;
}

std::vector<PartyChoice> processChoices(const RunParties& parties)
{
    std::vector<PartyChoice> choices = partyChoices({parties, {}});
    std::erase_if(choices, [](const PartyChoice& choice) { return !choice.process; });
    return choices;
}

std::vector<PartyChoice> deviceChoices(const RunParties& parties)
{
    std::vector<PartyChoice> choices = partyChoices({parties, {}});
    std::erase_if(choices, [](const PartyChoice& choice) { return !choice.device; });
    return choices;
}

namespace {

/// \param before  begins the words for all processes: "mean of"
std::string wordsFor(std::span<const PartyChoice> choices, const PartyQuery& query, std::string_view before)
{
    if (choices.empty())
        return {};
    if (query.rank || query.pid) {
        const auto chosen = std::ranges::find_if(choices, [&query](const PartyChoice& choice) {
            return (!query.rank || choice.query.rank == query.rank) &&
                   (!query.pid || choice.query.pid == query.pid);
        });
        return chosen == choices.end() ? std::string() : chosen->title;
    }
    const bool areRanks =
        std::ranges::all_of(choices, [](const PartyChoice& choice) { return choice.query.rank.has_value(); });
    return std::string(before) + " " + std::to_string(choices.size()) + (areRanks ? " ranks" : " processes");
}

} // namespace

std::string processWords(std::span<const PartyChoice> processes, const PartyQuery& query)
{
    return wordsFor(processes, query, "mean of");
}

std::string sumWords(std::span<const PartyChoice> processes, const PartyQuery& query)
{
    return wordsFor(processes, query, "all");
}

} // namespace tilescope::query
