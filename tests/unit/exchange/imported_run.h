#pragma once

// The contents of a run that an import wrote, for tests of importers.

#include "core/exchange/import/importer.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilescope::exchange {

struct ImportedRun {
    std::string summary;
    std::vector<DeviceEvent> activities;
    std::vector<ApiCall> calls;
    std::vector<Range> ranges;
    std::vector<Op> ops;
    std::vector<Frame> frames;
    std::vector<AllocEvent> allocations;
    std::vector<Collective> collectives;
    std::vector<Wait> waits;
    std::vector<ThreadName> threads;
    RunTopology topology;
    std::map<std::string, std::string> environment;
    std::map<std::string, std::int64_t> losses; ///< by kind, summed over details
    std::map<std::string, std::string> details; ///< of losses, by kind; several joined
    std::shared_ptr<store::RunReader> reader;

    ImportedRun(const std::filesystem::path& file, const ImportResult& result)
        : summary(result.summary), reader(std::make_shared<store::RunReader>(file))
    {
        const store::EventWindow all{.run = result.run};
        activities = reader->deviceEvents(all);
        calls = reader->apiCalls(all);
        ranges = reader->ranges(all);
        ops = reader->ops(all);
        frames = reader->frames(all);
        allocations = reader->allocEvents(all);
        collectives = reader->collectives(result.run);
        waits = reader->waits(result.run);
        threads = reader->threads(result.run);
        topology = reader->topology(result.run);
        for (const EnvironmentEntry& entry : reader->environment(result.run))
            environment[entry.key] = entry.value;
        for (const auto& lost : reader->losses(result.run)) {
            losses[lost.kind] += lost.count;
            details[lost.kind] += lost.detail + "; ";
        }
    }

    std::string text(StringId id) const { return id ? std::string(reader->text(id)) : std::string(); }
    std::int64_t loss(const std::string& kind) const
    {
        const auto found = losses.find(kind);
        return found == losses.end() ? 0 : found->second;
    }
    const DeviceEvent* activity(const std::string& name) const { return named(activities, name); }
    const Op* op(const std::string& name) const { return named(ops, name); }
    const Range* range(const std::string& name) const { return named(ranges, name); }

private:
    /// The first event of that name; null if there is none.
    template <class Event> const Event* named(const std::vector<Event>& events, const std::string& name) const
    {
        for (const Event& event : events)
            if (text(event.name) == name)
                return &event;
        return nullptr;
    }
};

} // namespace tilescope::exchange
