#pragma once

#include "core/model/point_observer.h"
#include "core/model/rank_info.h"
#include "core/model/replay.h"
#include "core/model/spec.h"

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace tilescope {

/// Runs points for the engine program: engine::Engine, and a simpler implementation in tests. Session thread.
class Workbench {
public:
    virtual ~Workbench() = default;
    /// The device that a request selects on this machine for a rank: `cpu`, `cuda:0`.
    /// \throws Error (Environment)  cuda is requested and there is no GPU, or no GPU with that index
    virtual std::string resolveDevice(const DeviceRequest& request, int rank) const = 0;
    /// Environment entries that only the workbench knows: versions of LibTorch, CUDA, cuDNN, …
    virtual std::vector<EnvironmentEntry> environment() const = 0;
    /// Measures the ceilings of a device; the fields that identify the device stay empty.
    /// \throws Error (Environment)  like resolveDevice(); (Failure) they cannot be measured
    virtual std::vector<Ceiling> measureCeilings(const DeviceRequest& request) = 0;
    /// Measures one op alone.
    /// \throws Error (Environment)  like resolveDevice()
    /// \throws Error  the op is unknown, refuses the arguments, failed, or an argument that it needs was not recorded
    virtual ReplayResult replay(const ReplayRequest& request) = 0;
    /// Runs one resolved spec. Failures of a point are results. `stop` requests to end after the current step; the
    /// result is then `cancelled`.
    /// \param rankInfo  of this process among the ranks of the point; none: it runs alone
    virtual RunResult runPoint(const ExperimentSpec& spec, PointObserver& observer, std::stop_token stop,
                               const std::optional<RankInfo>& rankInfo) = 0;
};

} // namespace tilescope
