#include "core/exchange/import/rules/one_file_per_rank.h"

#include "core/base/error.h"

#include <string>

namespace tilescope::exchange {

void requireOneFilePerRank(const ForeignTrace& trace)
{
    std::map<std::int32_t, std::uint32_t> sources; // by rank
    for (std::size_t i = 0; i < trace.parties.processes.size(); ++i) {
        const std::uint32_t source = trace.sourceOf[i];
        const auto rank = trace.parties.processes[i].rank;
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
