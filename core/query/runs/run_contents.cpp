#include "core/query/runs/run_contents.h"

namespace tilescope::query {

RunContents contentsOf(const store::RunReader& reader, RunId run)
{
    struct Kind {
        std::string_view key;
        std::int64_t count;
        std::string_view lacked; ///< empty: not every recording has such events
    };
    const store::EventCounts counts = reader.counts(run);
    const auto processes = std::ssize(reader.topology(run).processes);
    const Kind kinds[] = {{"processes", processes, {}},
                          {"gpu_activities", counts.deviceEvents, "GPU activities"},
                          {"cuda_calls", counts.apiCalls, "CUDA calls"},
                          {"ops", counts.ops, "ops"},
                          {"ranges", counts.ranges, "ranges (steps and modules)"},
                          {"python_calls", counts.frames, "Python calls"},
                          {"memory_events", counts.allocEvents, "memory events"},
                          {"collectives", std::ssize(reader.collectives(run)),
                           processes > 1 ? std::string_view("collectives") : std::string_view()},
                          {"waits", std::ssize(reader.waits(run)), {}},
                          {"counters", std::ssize(reader.counterTracks(run)), "clock and power counters"}};
    RunContents contents;
    for (const Kind& kind : kinds)
        if (kind.count > 0)
            contents.held.push_back({kind.key, kind.count});
        else if (!kind.lacked.empty())
            contents.missing += (contents.missing.empty() ? "" : ", ") + std::string(kind.lacked);
    return contents;
}

std::vector<EnvironmentEntry> factsOf(const RunContents& contents)
{
    std::vector<EnvironmentEntry> facts;
    for (const RunContents::Kind& kind : contents.held)
        facts.push_back({"contents." + std::string(kind.key), std::to_string(kind.count), {}});
    if (!contents.missing.empty())
        facts.push_back({"missing", contents.missing, {}});
    return facts;
}

} // namespace tilescope::query
