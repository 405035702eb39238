#pragma once

#include "core/model/spec.h"
#include "core/session/protocol/event.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace tilescope::session {

/// One run of a sweep: the spec and where it stands in the whole sweep, whatever part of that is run.
struct SweepPoint {
    std::int64_t index = 0; ///< from 0
    std::int64_t of = 0;    ///< runs of the whole sweep: its points, each counted `repeat` times
    ExperimentSpec spec;
    std::int64_t point = 0; ///< from 0; shared by the repeats of a point
    int repetition = 0;     ///< from 0
};

/// The runs of a sweep, numbered: every point once, then every point again that is repeated, and so on, so
/// that what changes slowly on a machine affects all points alike.
std::vector<SweepPoint> numbered(std::vector<ExperimentSpec> specs);

/// How long the supervisor waits before it uses force.
struct Patience {
    std::chrono::milliseconds startUp{300'000};    ///< an engine's start: LibTorch from a network disk
    std::chrono::milliseconds pastTimeout{15'000}; ///< after a point's own timeout, for a step to end
    std::chrono::milliseconds afterStop{60'000};   ///< after a stop was requested, for a step to end
    std::chrono::milliseconds sealing{600'000};    ///< for the file to be sealed after the last point
};

struct SweepOptions {
    std::filesystem::path file;   ///< the .tscope file that is appended to
    std::filesystem::path engine; ///< the engine program; empty: TILESCOPE_ENGINE, or beside this program
    std::string commandLine;      ///< what the user typed; kept with each run
    std::stop_token afterPoint; ///< a request to end once the point that runs is done; the rest is not begun
    std::stop_token atOnce;     ///< a second request to stop: the engine is killed
    Makers before = {};         ///< what made the points that the file holds; others are refused
    Patience patience;
};

struct SweepOutcome {
    DoneEvent counts;
    bool cancelled = false;
    std::int64_t notBegun = 0; ///< points left because `afterPoint` was requested
    int exitCode() const;      ///< CONTRACT.md: 0, 3, 130
};

/// Runs a sweep in engine processes: starts one, reads its events, restarts it at the next point when a point
/// kills it and marks that point `error` with the signal and the last lines of standard error. Three deaths
/// without a finished point between them end the sweep.
///
/// Blocking; one thread (the CLI's main, the GUI's session thread). `onEvent` is called on that thread; the
/// first event is `hello`, the last `done`. When `stop` is requested the engine gets SIGTERM, and SIGKILL
/// after a grace period; the outcome is then cancelled.
/// \throws Error (Environment)  the engine cannot be started at all, or lacks what was asked outright
/// \throws Error (Usage)        the engine would run points with another torch or processor than `before`
/// \throws Error                the file cannot be written
SweepOutcome runSweep(const std::vector<SweepPoint>& points, const SweepOptions& options,
                      const std::function<void(const Event&)>& onEvent, std::stop_token stop);

/// The same for all points of a sweep.
SweepOutcome runSweep(const std::vector<ExperimentSpec>& specs, const SweepOptions& options,
                      const std::function<void(const Event&)>& onEvent, std::stop_token stop);

} // namespace tilescope::session
