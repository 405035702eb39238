#pragma once

#include "core/model/run.h"
#include "core/predict/graph.h"
#include "core/predict/target_device.h"
#include "core/predict/time_figures.h"

#include <map>
#include <optional>
#include <span>
#include <string>

namespace tilescope::predict {

/// How fast a device is: what `tilescope doctor --ceilings` measured on it.
struct DeviceRates {
    double fp32 = 0; ///< FLOP/s of a large matrix product
    double tf32 = 0;
    double bf16 = 0;
    double fp16 = 0;
    double bytes = 0;  ///< B/s, read and written together
    double launch = 0; ///< seconds of the host for the smallest operation
    bool isCuda = false;
    int multiprocessors = 1;
    bool onBusyHost = false; ///< other programs took CPUs away while some of it was measured
    /// How much faster this device's attention kernels are than those that the figures in fused_kernels.cpp
    /// were chosen for, by kind of ceiling; without an entry they count as they are.
    std::map<std::string, double> attentionPace = {};
    TimeFigures figures = {};

    double flops(Type type, bool isTf32) const;

    /// From a file's ceilings of that device, the latest of each kind. None where one is missing that the
    /// model cannot do without.
    static std::optional<DeviceRates> from(std::span<const Ceiling> ceilings, const TargetDevice& device);
};

/// Number of multiprocessors of that GPU by its calibration; none if the calibration does not state it.
std::optional<int> multiprocessorsOf(std::span<const Ceiling> ceilings, const TargetDevice& device);

} // namespace tilescope::predict
