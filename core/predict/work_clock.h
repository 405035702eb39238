#pragma once

#include "core/model/run.h"
#include "core/predict/graph.h"
#include "core/predict/target_device.h"

#include <cstdint>
#include <optional>
#include <span>

namespace tilescope::predict {

/// How fast a device is: what `tilescope doctor --ceilings` measured on it.
struct DeviceRates {
    double fp32 = 0; ///< FLOP/s of a large matrix product
    double tf32 = 0;
    double bf16 = 0;
    double fp16 = 0;
    double bytes = 0;         ///< B/s, read and written together
    double launchForward = 0; ///< seconds of the host for an operation
    double launchBackward = 0;
    bool isCuda = false;
    int multiprocessors = 1;

    double flops(Type type, bool isTf32) const;

    /// From a file's ceilings of that device, the latest of each kind. None where one is missing that the
    /// model cannot do without.
    static std::optional<DeviceRates> from(std::span<const Ceiling> ceilings, const TargetDevice& device);
};

/// Adds up what a phase of a step takes: kernels on the device, and the host that starts them. A phase takes
/// the longer of the two on a GPU, and both on a CPU, which is its own device.
class WorkClock {
public:
    explicit WorkClock(const DeviceRates& rates) : rates_(rates) {}

    /// Products of (m, k) by (k, n), `count` of them in one launch.
    void product(Type type, bool isTf32, std::int64_t count, double m, double n, double k);
    /// A kernel that moves so many bytes. \param isNarrow  of two-byte values only
    void move(double bytes, bool isNarrow = false);
    /// A fused kernel: arithmetic at a share of the rate of matrix products, spread over so many blocks.
    void fused(Type type, bool isTf32, double flops, double share, double bytes, double blocks);
    /// Many launches of one kind at once: each with its own least time.
    void repeat(double times, double bytes, double seconds);
    /// Operations of the host alone: views.
    void host(double launches);
    void setBackward(bool isBackward) { isBackward_ = isBackward; }

    /// What was added since the last call, as a phase.
    double takePhase(bool isGraph, bool isBackward);

private:
    void add(double seconds, double launches = 1);

    DeviceRates rates_;
    double device_ = 0;
    double host_ = 0;
    bool isBackward_ = false;
};

} // namespace tilescope::predict
