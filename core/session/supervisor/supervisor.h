#pragma once

#include "core/model/spec.h"
#include "core/session/protocol/event.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace tilescope::session {

/// One run of a sweep: the spec and its position in the whole sweep, even if only a part is run.
struct SweepPoint {
    std::int64_t index = 0; ///< from 0
    std::int64_t of = 0;    ///< runs of the whole sweep: each point counts `repeat` times
    ExperimentSpec spec;
    std::int64_t point = 0; ///< from 0; shared by the repeats of a point
    int repetition = 0;     ///< from 0
};

/// The runs of a sweep, numbered: all points once, then all points with a second repeat, and so on, so that
/// slow changes of the machine affect all points equally.
std::vector<SweepPoint> numbered(std::vector<ExperimentSpec> specs);

/// Time limits after which the supervisor uses force.
struct Timeouts {
    std::chrono::milliseconds startUp{300'000};    ///< start of an engine: LibTorch from a network disk
    std::chrono::milliseconds pastTimeout{15'000}; ///< after a point's own timeout, for a step to end
    std::chrono::milliseconds afterStop{60'000};   ///< after a stop request, for a step to end
    std::chrono::milliseconds sealing{600'000};    ///< for sealing the file after the last point
};

struct SweepOptions {
    std::filesystem::path file;   ///< the .tscope file to append to
    std::filesystem::path engine; ///< the engine program; empty: TILESCOPE_ENGINE, or the one beside this
                                  ///< program
    std::string commandLine;      ///< as typed by the user; stored with each run
    /// Between two readings of counters in traced steps; 0: none are read; none: as the engine does by itself.
    std::optional<std::chrono::milliseconds> counterInterval = {};
    std::stop_token afterPoint; ///< a request to end after the current point without starting others
    std::stop_token atOnce;     ///< a second request to stop: the engine is killed
    Makers before = {};         ///< makers of the points in the file; others are refused
    Timeouts timeouts;
};

struct SweepOutcome {
    DoneEvent counts;
    bool cancelled = false;
    std::int64_t notBegun = 0; ///< points skipped because `afterPoint` was requested
    int exitCode() const;      ///< 0: no point ended in error; 3: one did; 130: cancelled
};

/// Runs a sweep in engine processes. Starts an engine and reads its events. If a point kills the engine,
/// marks that point `error` with the signal and the last lines of standard error, and restarts at the next
/// point. Three consecutive deaths without a finished point end the sweep.
///
/// Blocks; one thread (the CLI's main, the GUI's session thread). Calls `onEvent` on that thread; the first
/// event is `hello`, the last `done`. If `stop` is requested, the engine gets SIGTERM, and SIGKILL after a
/// grace period; the outcome is then cancelled.
/// \throws Error (Environment)  the engine cannot be started, or lacks something that was explicitly
///                              requested
/// \throws Error (Usage)        the engine has another torch or processor than `before`
/// \throws Error                the file cannot be written
SweepOutcome runSweep(const std::vector<SweepPoint>& points, const SweepOptions& options,
                      const std::function<void(const Event&)>& onEvent, std::stop_token stop);

} // namespace tilescope::session
