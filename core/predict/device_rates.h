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

/// The speed of a device, as measured by `tilescope doctor --ceilings`.
struct DeviceRates {
    double fp32 = 0; ///< FLOP/s of a large matrix product
    double tf32 = 0;
    double bf16 = 0;
    double fp16 = 0;
    double fp8 = 0;    ///< 0: not measured, or the device has no such products
    double bytes = 0;  ///< B/s, read and written together
    double launch = 0; ///< host time of the smallest operation, seconds
    double link = 0;   ///< B/s that a rank sends to another one; 0: unknown
    bool isCuda = false;
    int multiprocessors = 1;
    bool onBusyHost = false; ///< other programs used the CPUs during part of the measurement
    /// Speed of this device's attention kernels relative to the figures in fused_kernels.cpp, by kind of
    /// ceiling; 1 if there is no entry.
    std::map<std::string, double> attentionPace = {};
    TimeFigures figures = {};

    double flops(Type type, bool isTf32) const;
    /// The rates of one of several processes that share a CPU.
    DeviceRates shareOf(int processes) const;
    /// Sets `link`, if it is unknown, from the nominal bandwidth of the link in one direction.
    void assumeLink(double nominal);

    /// From the ceilings of that device, the latest of each kind. None if a required ceiling is missing.
    static std::optional<DeviceRates> from(std::span<const Ceiling> ceilings, const TargetDevice& device);
};

/// Number of multiprocessors of that GPU by its calibration; none if the calibration does not state it.
std::optional<int> multiprocessorsOf(std::span<const Ceiling> ceilings, const TargetDevice& device);

} // namespace tilescope::predict
