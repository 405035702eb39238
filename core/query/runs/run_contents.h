#pragma once

#include "core/store/run_reader.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// What an imported or recorded file holds and lacks.
struct RunContents {
    struct Kind {
        std::string_view key; ///< gpu_activities
        std::int64_t count = 0;
    };
    std::vector<Kind> held; ///< kinds of events that it holds
    std::string missing; ///< `memory events, Python calls`: kinds that pages show and it lacks; may be empty
};

/// From the file's counts; reads the records of collectives, waits and counters, but no events.
RunContents contentsOf(const store::RunReader& reader, RunId run);

/// The contents as facts: contents.gpu_activities and so on, then missing.
std::vector<EnvironmentEntry> factsOf(const RunContents& contents);

} // namespace tilescope::query
