#include "core/analysis/ranks/matched_collectives.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <tuple>

namespace tilescope::analysis {

namespace {

/// Parses "0,1,2,3"; empty if the text is not such a list.
std::vector<std::int32_t> ranksOf(std::string_view text)
{
    std::vector<std::int32_t> ranks;
    while (!text.empty()) {
        std::int32_t rank = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
        if (error != std::errc{})
            return {};
        ranks.push_back(rank);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (!text.empty() && text.front() != ',')
            return {};
        text.remove_prefix(std::min<std::size_t>(1, text.size()));
    }
    std::ranges::sort(ranks);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

void addMissing(MatchedCollective& collective, const std::vector<std::int32_t>& members)
{
    for (const std::int32_t member : members)
        if (std::ranges::find(collective.parts, std::optional(member), &CollectivePart::rank) ==
            collective.parts.end())
            collective.missing.push_back(member);
    const auto recorded = static_cast<std::int32_t>(collective.parts.size());
    const auto size = members.empty() ? collective.groupSize : static_cast<std::int32_t>(members.size());
    collective.missingCount = std::max(0, size - recorded);
    // A process whose rank is unknown may be any of the missing ones.
    if (static_cast<std::size_t>(collective.missingCount) != collective.missing.size())
        collective.missing.clear();
}

} // namespace

bool MatchedCollective::overlaps() const
{
    Timestamp lastStart = Timestamp::min();
    Timestamp firstEnd = Timestamp::max();
    for (const CollectivePart& part : parts) {
        lastStart = std::max(lastStart, part.time.start);
        firstEnd = std::min(firstEnd, part.time.end);
    }
    return lastStart < firstEnd;
}

std::vector<MatchedCollective> matchCollectives(std::span<const Collective> records,
                                                std::span<const Timestamp> launches,
                                                const TopologyIndex& topology, const TextOf& textOf)
{
    // If a process has several records with one number, the last component counts them, so that none is lost.
    using Key = std::tuple<StringId, StringId, StringId, std::int64_t, std::size_t>;
    std::map<Key, MatchedCollective> found;
    std::map<std::tuple<ProcessIndex, StringId, StringId, StringId, std::int64_t>, std::size_t> repeats;
    const bool hasOneRank = !topology.hasSeveral();
    const std::vector<TracedProcess>& processes = topology.topology().processes;
    for (std::size_t i = 0; i < records.size(); ++i) {
        const Collective& record = records[i];
        if (record.peer >= 0)
            continue;
        const ProcessIndex process = hasOneRank ? ProcessIndex{} : record.process;
        const std::size_t repeat =
            repeats[{process, record.group, record.ranks, record.op, record.sequence}]++;
        MatchedCollective& collective =
            found[{record.group, record.ranks, record.op, record.sequence, repeat}];
        if (collective.parts.empty()) {
            collective.op = record.op;
            collective.group = record.group;
            collective.ranks = record.ranks;
            collective.sequence = record.sequence;
            collective.bytes = record.bytes;
            collective.groupSize = record.groupSize;
            collective.step = record.step;
        } else if (collective.bytes != record.bytes) {
            collective.bytes = -1;
        }
        const std::optional<std::int32_t> rank =
            hasOneRank && !processes.empty() ? processes.front().rank : topology.rankOf(process);
        collective.parts.push_back({i,
                                    process,
                                    rank,
                                    record.step,
                                    {record.start, record.end},
                                    launches.empty() ? Timestamp{} : launches[i]});
    }
    std::map<StringId, std::vector<std::int32_t>> members;
    std::vector<MatchedCollective> list;
    for (auto& [key, collective] : found) {
        std::ranges::stable_sort(collective.parts, {}, [](const CollectivePart& part) {
            return std::tuple(part.rank.value_or(std::numeric_limits<std::int32_t>::max()), part.process);
        });
        if (collective.ranks && !members.contains(collective.ranks))
            members[collective.ranks] = ranksOf(textOf(collective.ranks));
        addMissing(collective, collective.ranks ? members[collective.ranks] : std::vector<std::int32_t>{});
        list.push_back(std::move(collective));
    }
    const auto startOf = [](const MatchedCollective& collective) {
        return std::ranges::min(collective.parts, {},
                                [](const CollectivePart& part) { return part.time.start; })
            .time.start;
    };
    std::ranges::stable_sort(list, {}, startOf);
    return list;
}

} // namespace tilescope::analysis
