#include "core/exchange/import/collective_matcher.h"

#include "core/exchange/import/collective_names.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilescope::exchange {

namespace {

std::uint64_t launchKey(ProcessIndex process, std::uint32_t correlation)
{
    return static_cast<std::uint64_t>(process.value) << 32 | correlation;
}

} // namespace

CollectiveMatcher::CollectiveMatcher(ForeignTrace& trace) : trace_(trace)
{
    for (std::size_t i = 0; i < trace_.collectives.size(); ++i)
        if (const Collective& collective = trace_.collectives[i]; collective.correlation)
            launches_[launchKey(collective.process, collective.correlation.value)].indices.push_back(i);
}

// A collective is what its kernel does: it takes the kernel's times and place.
void CollectiveMatcher::complete(ProcessIndex process, std::uint32_t native, const DeviceEvent& kernel)
{
    const auto found = launches_.find(launchKey(process, native));
    if (found == launches_.end() || kernel.kind != DeviceEventKind::Kernel)
        return;
    OfLaunch& launch = found->second;
    if (launch.next == launch.indices.size() ||
        (launch.indices.size() > 1 && !isCollectiveKernel(trace_.strings.text(kernel.name))))
        return;
    Collective& collective = trace_.collectives[launch.indices[launch.next++]];
    collective.correlation = kernel.correlation;
    collective.device = kernel.device;
    collective.stream = kernel.stream;
    collective.thread = kernel.launchThread;
    collective.range = kernel.range;
    collective.path = kernel.path;
    collective.step = kernel.step;
    collective.start = kernel.start;
    collective.end = kernel.end;
}

std::vector<Collective> CollectiveMatcher::finish(const RunSteps& steps, PathMaker& paths)
{
    std::set<std::size_t> unmatched;
    for (const auto& [key, launch] : launches_)
        unmatched.insert(launch.indices.begin() + static_cast<std::ptrdiff_t>(launch.next),
                         launch.indices.end());
    std::vector<Collective> kept;
    for (std::size_t i = 0; i < trace_.collectives.size(); ++i) {
        Collective& collective = trace_.collectives[i];
        if (unmatched.contains(i))
            continue;
        if (!collective.device && collective.thread) {
            collective.step = steps.at(collective.process, nanosecondsOf(collective.start));
            collective.path = paths.ofStep(collective.step);
            collective.thread = trace_.threads[collective.thread.value].number;
        }
        kept.push_back(collective);
    }
    if (!unmatched.empty())
        trace_.losses[{RecordLoss::CollectivesUnmatched, {}}] += static_cast<std::int64_t>(unmatched.size());
    std::ranges::stable_sort(kept, {}, &Collective::start);
    // The n-th of a group on each rank belong together.
    std::map<std::pair<ProcessIndex, StringId>, std::int64_t> next;
    for (Collective& collective : kept)
        if (collective.sequence < 0)
            collective.sequence = next[{collective.process, collective.group}]++;
    return kept;
}

} // namespace tilescope::exchange
