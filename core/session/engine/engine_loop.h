#pragma once

#include "core/model/strings.h"
#include "core/model/workbench.h"
#include "core/session/protocol/event.h"
#include "core/session/protocol/event_stream.h"

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

namespace tilescope::session {

struct EngineOptions {
    std::filesystem::path file;
    std::string commandLine;             ///< as typed by the user; stored with each run
    std::vector<DeviceRequest> required; ///< resolved before anything is stored
    /// Between two readings of clocks, power and other counters in traced steps; 0: none are read.
    std::chrono::milliseconds counterInterval{20};
    int input = 0;  ///< source of points, one per line
    int output = 1; ///< destination of events; also used to detect that the supervisor
                    ///< is gone
};

/// The engine program. Sends hello, then processes the input lines (points, ceilings, replays) until the input ends or
/// `stop` is requested. Each point passes through the states Idle > Warmup > Measure > Trace > Drain > Store
/// > Done; the workbench reports those from Warmup to Drain.
///
/// When the supervisor is gone, the current step is finished and the run is stored as cancelled. A point's
/// own timeout is checked between steps: its result is then an error, and the engine continues.
/// \return  the exit code: 0; 130 if stopped; kRestartExit; that of an Error, which is sent as a fatal event
int runEngine(const EngineOptions& options, StringTable& strings, Workbench& workbench, EventStream& events,
              std::stop_token stop);

} // namespace tilescope::session
