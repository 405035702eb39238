#pragma once

#include "core/model/point_observer.h"
#include "core/model/spec.h"
#include "core/model/strings.h"
#include "core/session/protocol/event.h"
#include "core/session/protocol/event_stream.h"

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

namespace tilescope::session {

/// What runs points: LibTorch's engine in the engine program, something simpler in tests. Session thread.
class Workbench {
public:
    virtual ~Workbench() = default;
    /// `cpu`, `cuda:0`.
    /// \throws Error (Environment)  where the machine has no such device
    virtual std::string resolveDevice(const DeviceRequest& request) = 0;
    /// What only it knows of the machine: versions of LibTorch, CUDA, …
    virtual std::vector<EnvironmentEntry> environment() = 0;
    /// What a device reaches at most, without telling which one it is. The loop adds kHostWaiting where the
    /// workbench does not tell it.
    /// \throws Error  it cannot be measured
    virtual std::vector<Ceiling> measureCeilings(const DeviceRequest& request) = 0;
    /// A point's own failures are results. `stop` asks to end after the step: the result is `cancelled`.
    virtual RunResult run(const ExperimentSpec& spec, PointObserver& observer, std::stop_token stop) = 0;
};

struct EngineOptions {
    std::filesystem::path file;
    std::string commandLine;             ///< what the user typed; kept with each run
    std::vector<DeviceRequest> required; ///< resolved before anything is stored
    int input = 0;                       ///< where points come from, a line each
    int output = 1;                      ///< where events go; watched for a supervisor that is gone
};

/// The engine program: says hello, then does what the lines that come in ask for (points, ceilings) until
/// there are no more or `stop` is requested. Idle > Warmup > Measure > Trace > Drain > Store > Done for each;
/// the states in between are the workbench's to tell.
///
/// When the supervisor is gone the running step is finished and committed as cancelled. A point's own timeout
/// is kept between steps: its result is then an error and the engine goes on.
/// \return  the exit code: 0; 130 when stopped; kRestartExit; that of the Error, told as a fatal event,
/// otherwise
int runEngine(const EngineOptions& options, StringTable& strings, Workbench& workbench, EventStream& events,
              std::stop_token stop);

} // namespace tilescope::session
