#pragma once

#include "core/model/replay.h"
#include "core/model/run.h"
#include "core/session/protocol/maker.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tilescope::session {

/// Exit code of an engine that requests a new process because its device is lost.
inline constexpr int kRestartExit = 75;

// The events of a sweep: one JSON object per line on the engine's standard output and on that of `--batch
// --format json` (resources/schema/events.schema.json). Statuses, states and severities are written as words.

struct HelloEvent {
    int version = 1;
    std::string program;
    std::string programVersion;
    std::string file;
    std::int64_t points = 0;
    Makers makers = {}; ///< of an engine: the maker of each requested device
};
struct PointEvent {
    std::int64_t index = 0; ///< position in the sweep, from 0
    std::int64_t of = 0;
    std::int64_t run = 0;   ///< the run's number in the file
    std::string paramsJson; ///< resolved keys
};
struct StateEvent {
    std::int64_t run = 0;
    std::string state;
};
struct SampleEvent {
    std::int64_t run = 0;
    std::int64_t step = 0;
    std::int64_t wallNs = 0;
};
/// The memory figures of the device's allocator at the end of a step.
struct MemoryEvent {
    std::int64_t run = 0;
    std::int64_t step = 0;
    std::int64_t allocated = 0;           ///< bytes
    std::optional<std::int64_t> reserved; ///< none on a CPU
    std::optional<std::int64_t> peak;     ///< maximum allocated in the timed steps so far
};
struct ResultEvent {
    std::int64_t run = 0;
    std::string status;
    std::string reason;
    std::optional<double> stepMs;                      ///< median of the timed steps; none if there are none
    std::optional<std::array<double, 2>> stepInterval; ///< its 95 % interval, ms; none with fewer than six
                                                       ///< steps
    std::int64_t steps = 0;                            ///< timed steps
    std::optional<std::int64_t> peak;                  ///< peak allocated bytes
    std::int64_t records = 0;                          ///< trace records that were checked for losses
    std::vector<std::string> flags = {};               ///< reasons to doubt the figures

    RunStatus runStatus() const; ///< a status that this version does not know is an error
};
struct LossEvent {
    std::int64_t run = 0;
    std::string kind;
    std::string severity;
    std::int64_t count = 0;
};
/// The ceilings of a device were measured and stored.
struct CeilingsEvent {
    std::string device; ///< cuda:0
    std::int64_t figures = 0;
};
/// An op was measured alone.
struct ReplayEvent {
    ReplayResult result;
};
struct LogEvent {
    std::string level;
    std::string text;
};
/// Why the engine cannot continue. Only between engine and supervisor, which throws it as an Error.
struct FatalEvent {
    std::string kind; ///< usage, environment, failure
    std::string what;
    std::string where;
    std::string remedy;
};
struct DoneEvent {
    std::int64_t ok = 0;
    std::int64_t oom = 0;
    std::int64_t skipped = 0;
    std::int64_t error = 0;
    std::int64_t cancelled = 0;
    double seconds = 0;

    void add(RunStatus status);
    std::string text() const; ///< `3 ok, 1 out of memory`; empty if none ran
};

using Event = std::variant<HelloEvent, PointEvent, StateEvent, SampleEvent, MemoryEvent, ResultEvent,
                           LossEvent, CeilingsEvent, ReplayEvent, LogEvent, FatalEvent, DoneEvent>;

/// One line of JSON, without the line break.
std::string toJsonLine(const Event& event);

/// Parses a line; none if this version does not know the event. Missing fields and fields of another type
/// keep their defaults.
/// \throws Error  the line is not a JSON object with an `event` key
std::optional<Event> parseEvent(std::string_view line);

} // namespace tilescope::session
