#include "core/exchange/import/rules/one_file_per_rank.h"

#include "core/base/error.h"

#include <array>
#include <string>

namespace tilescope::exchange {

namespace {

/// The events of a file, in any order.
struct Contents {
    std::int64_t rows = 0;
    std::uint64_t digest = 0;

    void add(const std::array<std::uint64_t, 6>& facts)
    {
        // The finaliser of splitmix64 after each value.
        std::uint64_t hash = 0;
        for (const std::uint64_t fact : facts) {
            hash = (hash ^ fact) + 0x9E37'79B9'7F4A'7C15ULL;
            hash = (hash ^ (hash >> 30)) * 0xBF58'476D'1CE4'E5B9ULL;
            hash = (hash ^ (hash >> 27)) * 0x94D0'49BB'1331'11EBULL;
            hash ^= hash >> 31;
        }
        ++rows;
        digest += hash;
    }
    bool operator==(const Contents&) const = default;
};

std::vector<Contents> contentsOfSources(ForeignTrace& trace)
{
    std::vector<Contents> contents(trace.sources.size() + 1);
    const auto add = [&](ProcessIndex process, std::int64_t place, const auto& row, std::uint64_t kind) {
        ++trace.work.rows;
        const auto index = static_cast<std::size_t>(process.value);
        contents[trace.sourceOf[index]].add(
            {static_cast<std::uint64_t>(row.start), static_cast<std::uint64_t>(row.end), row.name, kind,
             static_cast<std::uint64_t>(place),
             static_cast<std::uint64_t>(trace.topology.processes[index].pid)});
    };
    constexpr std::uint64_t kDeviceRows = 256;
    for (const HostRow& row : trace.host)
        add(trace.processOf(row), trace.threads[row.thread].native, row,
            static_cast<std::uint64_t>(row.kind));
    for (const DeviceRow& row : trace.activities) {
        const KnownStream& stream = trace.streams[row.stream];
        add(stream.process, trace.devices[stream.device].facts.ordinal, row,
            kDeviceRows + static_cast<std::uint64_t>(row.kind));
    }
    return contents;
}

/// Other metadata, another layout or another compression do not make another recording.
void requireDifferentEvents(ForeignTrace& trace)
{
    if (trace.sources.size() < 2)
        return;
    std::map<std::uint64_t, std::uint32_t> sources; // by digest
    const std::vector<Contents> contents = contentsOfSources(trace);
    for (std::uint32_t source = 1; source < contents.size(); ++source) {
        if (contents[source].rows == 0 || trace.sources[source - 1].mayRepeatRanks)
            continue;
        const auto [known, isNew] = sources.try_emplace(contents[source].digest, source);
        if (!isNew && contents[known->second] == contents[source])
            throw Error{.what = "holds the same events as " + trace.sources[known->second - 1].name +
                                "; a run holds one recording of each process",
                        .where = trace.sources[source - 1].name,
                        .remedy = "import one of the two",
                        .kind = ErrorKind::Usage};
    }
}

} // namespace

void requireOneFilePerRank(ForeignTrace& trace)
{
    requireDifferentEvents(trace);
    std::map<std::int32_t, std::uint32_t> sources; // by rank
    for (std::size_t i = 0; i < trace.topology.processes.size(); ++i) {
        const std::uint32_t source = trace.sourceOf[i];
        const auto rank = trace.topology.processes[i].rank;
        if (!rank || source == 0 || trace.sources[source - 1].mayRepeatRanks)
            continue;
        const auto [known, isNew] = sources.try_emplace(*rank, source);
        if (!isNew && known->second != source)
            throw Error{
                .what = "is of rank " + std::to_string(*rank) + ", as is " +
                        trace.sources[known->second - 1].name + "; a run holds one recording of each rank",
                .where = trace.sources[source - 1].name,
                .remedy = "import each of the two with the files of the other ranks, into a run of its own",
                .kind = ErrorKind::Usage};
    }
}

} // namespace tilescope::exchange
