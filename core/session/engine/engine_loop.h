#pragma once

#include "core/model/point_observer.h"
#include "core/model/rank_seat.h"
#include "core/model/replay.h"
#include "core/model/spec.h"
#include "core/model/strings.h"
#include "core/session/protocol/event.h"
#include "core/session/protocol/event_stream.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace tilescope::session {

/// Runs points: LibTorch's engine in the engine program, a simpler implementation in tests. Session thread.
class Workbench {
public:
    virtual ~Workbench() = default;
    /// `cpu`, `cuda:0`.
    /// \throws Error (Environment)  the machine has no such device
    virtual std::string resolveDevice(const DeviceRequest& request, int rank) = 0;
    /// Environment entries that only the workbench knows: versions of LibTorch, CUDA, …
    virtual std::vector<EnvironmentEntry> environment() = 0;
    /// Measures the ceilings of a device, without its identity. The loop adds kHostWaiting if the workbench
    /// does not.
    /// \throws Error  they cannot be measured
    virtual std::vector<Ceiling> measureCeilings(const DeviceRequest& request) = 0;
    /// Measures one op alone.
    /// \throws Error  the op is unknown, refuses the arguments, or an argument that it needs was not recorded
    virtual ReplayResult replay(const ReplayRequest& request) = 0;
    /// Failures of a point are results. `stop` requests to end after the current step; the result is then
    /// `cancelled`.
    /// \param seat  of this process among the ranks of the point; none: it runs alone
    virtual RunResult run(const ExperimentSpec& spec, PointObserver& observer, std::stop_token stop,
                          const std::optional<RankSeat>& seat) = 0;
};

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
