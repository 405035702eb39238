#pragma once

#include "core/session/protocol/maker.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tilescope::session {

/// Exit code of an engine that asks for a fresh one, because its device is lost.
inline constexpr int kRestartExit = 75;

// What a sweep tells while it runs: one JSON object a line on the engine's standard output and on that of
// `--batch --format json` (resources/schema/events.schema.json). Statuses, states and severities travel as
// their words.

struct HelloEvent {
    int version = 1;
    std::string program;
    std::string programVersion;
    std::string file;
    std::int64_t points = 0;
    Makers makers = {}; ///< of an engine: what it would run each device with that was asked for
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
/// What the device's allocator had given out when a step was over.
struct MemoryEvent {
    std::int64_t run = 0;
    std::int64_t step = 0;
    std::int64_t allocated = 0;           ///< bytes
    std::optional<std::int64_t> reserved; ///< none on a CPU
    std::optional<std::int64_t> peak;     ///< allocated at most, in the timed steps so far
};
struct ResultEvent {
    std::int64_t run = 0;
    std::string status;
    std::string reason;
    std::optional<double> stepMs; ///< median of the timed steps; none where none was timed
    std::optional<std::array<double, 2>> stepInterval; ///< its 95 % interval, ms; none below six steps
    std::int64_t steps = 0;                            ///< timed steps
    std::optional<std::int64_t> peak;                  ///< peak allocated bytes
    std::int64_t records = 0;                          ///< trace records that were checked for losses
    std::vector<std::string> flags = {};               ///< what makes its figures doubtful
};
struct LossEvent {
    std::int64_t run = 0;
    std::string kind;
    std::string severity;
    std::int64_t count = 0;
};
/// A device's ceilings were measured and are in the file.
struct CeilingsEvent {
    std::string device; ///< cuda:0
    std::int64_t figures = 0;
};
struct LogEvent {
    std::string level;
    std::string text;
};
/// Why the engine cannot go on at all; between engine and supervisor only, which makes an Error of it.
struct FatalEvent {
    std::string kind; ///< usage, environment, failure
    std::string what;
    std::string where;
    std::string mend;
};
struct DoneEvent {
    std::int64_t ok = 0;
    std::int64_t oom = 0;
    std::int64_t skipped = 0;
    std::int64_t error = 0;
    std::int64_t cancelled = 0;
    double seconds = 0;
};

using Event = std::variant<HelloEvent, PointEvent, StateEvent, SampleEvent, MemoryEvent, ResultEvent,
                           LossEvent, CeilingsEvent, LogEvent, FatalEvent, DoneEvent>;

/// One line of JSON, without the line break.
std::string toJsonLine(const Event& event);

/// The event of a line; none for an event this version does not know.
/// Fields that are absent or of another type keep their defaults.
/// \throws Error  where the line is no JSON object with an `event` key
std::optional<Event> parseEvent(std::string_view line);

} // namespace tilescope::session
