#pragma once

#include "core/model/spec.h"
#include "core/session/event.h"

#include <filesystem>
#include <functional>
#include <stop_token>
#include <vector>

namespace tilescope::session {

struct SweepOptions {
    std::filesystem::path file;   ///< the .tscope file that is appended to
    std::filesystem::path engine; ///< the engine program; empty: beside this program, or TILESCOPE_ENGINE
};

struct SweepOutcome {
    DoneEvent counts;
    bool cancelled = false;
    int exitCode() const; ///< CONTRACT.md: 0, 3, 130
};

/// Runs a sweep in engine processes: starts one, reads its events, restarts it at the next point when a point
/// kills it and marks that point `error` with the signal and the last lines of standard error.
///
/// Blocking; one thread (the CLI's main, the GUI's session thread). `onEvent` is called on that thread. When
/// `stop` is requested the engine gets SIGTERM, and SIGKILL after a grace period; the outcome is then
/// cancelled. \throws Error (Environment)  the engine cannot be started at all, or lacks what was asked
/// outright
SweepOutcome runSweep(const std::vector<ExperimentSpec>& points, const SweepOptions& options,
                      const std::function<void(const Event&)>& onEvent, std::stop_token stop);

} // namespace tilescope::session
