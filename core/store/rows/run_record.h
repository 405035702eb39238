#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/run.h"
#include "core/model/run_workload.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::store {

/// A run as the file has it.
struct RunRecord {
    RunId run;
    std::string uid;
    std::string name;
    std::string workload;
    std::string specJson;
    std::string specHash;
    std::string program;
    std::int64_t startedUnixNs = 0;         ///< 0: unknown
    Timestamp clockOrigin{};                ///< the trace clock at that moment
    std::optional<std::int64_t> point = {}; ///< position in its sweep
    std::int64_t recordsChecked = 0;        ///< by the tracer, for "Nothing lost (N records checked)"
    RunResult result = {};                  ///< status is Interrupted if the writing process ended first
    std::string note = {};
    std::string tag = {};

    const RunWorkload& traits() const { return runWorkload(workload); }
    bool coversRecording() const { return traits().coversRecording; }
};

/// Selects the events of a run to read. Times are in the run's trace clock.
struct EventWindow {
    RunId run;
    Timestamp from = Timestamp::min();
    Timestamp to = Timestamp::max(); ///< events that overlap [from, to)
    std::optional<std::int32_t> step = {};
};

/// The number of events of each kind in a run.
struct EventCounts {
    std::int64_t ranges = 0;
    std::int64_t ops = 0;
    std::int64_t apiCalls = 0;
    std::int64_t deviceEvents = 0;
    std::int64_t allocEvents = 0;
    std::int64_t frames = 0;

    std::int64_t total() const { return ranges + ops + apiCalls + deviceEvents + allocEvents + frames; }
};

/// The position of a reader that follows a run: what newEvents() has already returned.
class EventMark {
private:
    friend class StoredRows;
    std::int64_t chunk_ = 0; ///< newest that was read
    // Ranges and ops, which are stored when they end, by number: a row among newer ones may be an old one.
    std::vector<bool> ranges_;
    std::vector<bool> ops_;
};

} // namespace tilescope::store
