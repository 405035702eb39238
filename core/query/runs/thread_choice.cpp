#include "core/query/runs/thread_choice.h"

#include "core/model/topology_index.h"
#include "core/query/runs/host_memory.h"
#include "core/store/run_reader.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace tilescope::query {

std::vector<ThreadChoice> threadChoices(const store::RunReader& reader, RunId run)
{
    const std::vector<ThreadName> named = reader.threads(run);
    const TopologyIndex topology(topologyWithHost(reader, run), named);
    std::map<ThreadId, const ThreadName*> names;
    for (const ThreadName& thread : named)
        names.emplace(thread.thread, &thread);
    std::set<ThreadId> active;
    const std::vector<store::TrackInfo> tracks = reader.tracks(run);
    for (const store::TrackInfo& track : tracks)
        if (track.kind == store::LaneKind::Thread && track.thread)
            active.insert(track.thread);
    if (tracks.empty())
        for (const ThreadName& thread : named)
            active.insert(thread.thread);
    std::vector<ThreadChoice> choices;
    for (const ThreadId thread : active) {
        const auto known = names.find(thread);
        const ThreadName* name = known == names.end() ? nullptr : known->second;
        ThreadChoice choice{
            .title = {}, .number = thread.value, .thread = thread, .process = topology.of(thread)};
        if (name != nullptr && name->native >= 0)
            choice.number = name->native;
        const std::string process = topology.titleOf(choice.process);
        const std::string_view own = name == nullptr ? std::string_view() : reader.text(name->name);
        if (!process.empty())
            choice.title = process + " ";
        choice.title += own.empty() ? "thread" : own;
        choice.title += " " + std::to_string(choice.number);
        choices.push_back(std::move(choice));
    }
    std::ranges::stable_sort(choices, {}, [](const ThreadChoice& choice) { return choice.process.value; });
    return choices;
}

} // namespace tilescope::query
