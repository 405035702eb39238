#pragma once

#include "core/model/point_observer.h"
#include "core/model/rank_seat.h"
#include "core/model/replay.h"
#include "core/model/spec.h"
#include "core/model/strings.h"

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace tilescope::engine {

/// Whether a point gets the flag small-kernel-set: its backend has CUDA kernels that the build may lack.
/// \param hasAllCudaKernels  called only for such points
bool lacksKernels(Backend backend, bool onGpu, bool (*hasAllCudaKernels)());

/// Runs experiments with LibTorch: one point at a time, on the thread that created the engine (the session
/// thread).
///
/// Failures of a point are results (oom, skipped, error with its reason), never exceptions. After a point the
/// device is cleaned: tensors freed, caches emptied, peak statistics reset.
class Engine {
public:
    explicit Engine(StringTable& strings);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Runs one resolved spec. `stop` requests to end after the current step; the result is then `cancelled`.
    /// \param seat  of this process among the ranks of the point; none: it runs alone
    RunResult runPoint(const ExperimentSpec& spec, PointObserver& observer, std::stop_token stop,
                       const std::optional<RankSeat>& seat = {});

    /// Measures the ceilings of a device (ceilings.h); the fields that identify the device stay empty.
    /// \throws Error (Environment)  like resolveDevice(); (Failure) LibTorch could not measure it
    std::vector<Ceiling> measureCeilings(const DeviceRequest& request);

    /// Measures one op alone (studies/replay.h).
    /// \throws Error (Environment)  like resolveDevice()
    /// \throws Error                the op is unknown, refuses the arguments or failed
    ReplayResult replay(const ReplayRequest& request);

    /// Versions of LibTorch, CUDA, cuDNN and others known only in this layer, for the environment of a run.
    std::vector<EnvironmentEntry> environment() const;

    /// The device that a request selects on this machine for a rank: `cpu`, `cuda:0`.
    /// \throws Error (Environment)  cuda is requested and there is no GPU, or no GPU with that index
    std::string resolveDevice(const DeviceRequest& request, int rank = 0) const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace tilescope::engine
