#include "core/analysis/ranks/host_lateness.h"

#include <algorithm>

namespace tilescope::analysis {

std::vector<MatchedCollective> collectivesOfHosts(std::span<const MatchedCollective> collectives,
                                                  const FirstOfHost& firstOfHost)
{
    std::vector<MatchedCollective> list;
    for (const MatchedCollective& collective : collectives) {
        std::map<ProcessIndex, CollectivePart> earliest;
        bool areKnown = true;
        for (const CollectivePart& part : collective.parts) {
            const auto host = firstOfHost.find(part.process);
            areKnown = areKnown && host != firstOfHost.end();
            if (!areKnown)
                break;
            const auto [known, isNew] = earliest.try_emplace(host->second, part);
            if (isNew || part.time.start < known->second.time.start)
                known->second = part;
            known->second.process = host->second;
        }
        if (!areKnown || earliest.size() < 2)
            continue;
        MatchedCollective ofHosts = collective;
        ofHosts.parts.clear();
        for (const auto& [host, part] : earliest)
            ofHosts.parts.push_back(part);
        list.push_back(std::move(ofHosts));
    }
    return list;
}

StepStarts startsOfHosts(const StepStarts& starts, const FirstOfHost& firstOfHost)
{
    StepStarts ofHosts;
    for (const auto& [step, start] : starts)
        if (const auto host = firstOfHost.find(step.first); host != firstOfHost.end()) {
            const auto [known, isNew] = ofHosts.try_emplace({host->second, step.second}, start);
            known->second = std::min(known->second, start);
        }
    return ofHosts;
}

} // namespace tilescope::analysis
