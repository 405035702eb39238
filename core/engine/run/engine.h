#pragma once

#include "core/model/strings.h"
#include "core/model/workbench.h"

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
class Engine final : public Workbench {
public:
    explicit Engine(StringTable& strings);
    ~Engine() override;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    RunResult runPoint(const ExperimentSpec& spec, PointObserver& observer, std::stop_token stop,
                       const std::optional<RankInfo>& rankInfo = {}) override;
    /// The ceilings are those of studies/ceilings.h. The loop adds kHostWaiting.
    std::vector<Ceiling> measureCeilings(const DeviceRequest& request) override;
    ReplayResult replay(const ReplayRequest& request) override; ///< by studies/replay.h
    std::vector<EnvironmentEntry> environment() const override;
    std::string resolveDevice(const DeviceRequest& request, int rank = 0) const override;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace tilescope::engine
