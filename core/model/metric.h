#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace tilescope {

/// A quantity that counters inside a GPU measure for the whole device, all the time, over intervals of the same length
/// (PM sampling). Its samples are CounterTracks with this name: a point for each sample, at its beginning. A track ends
/// where a sample is missing, and another one of the same name begins with the next sample.
struct MetricInfo {
    std::string_view key;      ///< sm_active: in --metrics, JSON and CSV
    std::string_view name;     ///< of the tracks
    std::string_view unit;     ///< %: of the highest possible value; B/s, Hz
    std::string_view sentence; ///< what is measured, without the full stop
    bool isUsual = true;       ///< sampled unless the user names others; each costs time to read
};

inline constexpr std::string_view kSmActive = "SM active";
inline constexpr std::string_view kTensorActive = "Tensor pipe active";
inline constexpr std::string_view kInstructions = "Instructions executed";
inline constexpr std::string_view kDramRead = "DRAM read";
inline constexpr std::string_view kDramWrite = "DRAM write";
inline constexpr std::string_view kNvlinkIn = "NVLink in";
inline constexpr std::string_view kNvlinkOut = "NVLink out";
inline constexpr std::string_view kGpcClock = "GPC clock";

/// In the order of preference where a GPU cannot measure all of them at once.
inline constexpr MetricInfo kMetrics[] = {
    {"sm_active", kSmActive, "%", "cycles in which a multiprocessor has a warp, mean of all multiprocessors"},
    {"tensor_active", kTensorActive, "%", "cycles in which the tensor pipe works, of what it can do at most"},
    {"instructions", kInstructions, "%",
     "instructions of warps executed, of what the schedulers can issue at most"},
    {"dram_read", kDramRead, "%", "bytes read from device memory, of what it can deliver at most"},
    {"dram_write", kDramWrite, "%", "bytes written to device memory, of what it can take at most"},
    {"pcie_in", "PCIe in", "B/s", "bytes that the GPU receives over PCIe"},
    {"pcie_out", "PCIe out", "B/s", "bytes that the GPU sends over PCIe"},
    {"nvlink_in", kNvlinkIn, "B/s", "bytes of data that the GPU receives over NVLink"},
    {"nvlink_out", kNvlinkOut, "B/s", "bytes of data that the GPU sends over NVLink"},
    {"gpc_clock", kGpcClock, "Hz", "clock of the multiprocessors"},
    {"tensor_float", "Tensor pipe, floating point", "%",
     "cycles in which the tensor pipe works on floating-point products", false},
    {"tensor_integer", "Tensor pipe, integers", "%",
     "cycles in which the tensor pipe works on integer products", false},
    {"warps", "Warps resident", "%", "resident warps, of those that a multiprocessor can hold", false},
};

/// What every name of a metric of CUPTI contains, and no other name: `sm__cycles_active.avg`.
inline constexpr std::string_view kMetricOfCupti = "__";

/// The metric with this name; null: it is none, or one of CUPTI that the user asked for.
constexpr const MetricInfo* metricNamed(std::string_view name)
{
    const auto* const found = std::ranges::find(kMetrics, name, &MetricInfo::name);
    return found == std::ranges::end(kMetrics) ? nullptr : found;
}

/// Whether a CounterTrack with this name holds samples of a metric.
constexpr bool isMetric(std::string_view name)
{
    return metricNamed(name) != nullptr || name.find(kMetricOfCupti) != std::string_view::npos;
}

/// Facts of a recording with metrics.
inline constexpr const char* kMetricInterval = "metrics.interval"; ///< ns
inline constexpr const char* kMetricDramPeak =
    "metrics.dram_peak"; ///< B/s that 100 % of DRAM read and write stand for
inline constexpr const char* kMetricsRecorded = "record.metrics"; ///< what was sampled, or why nothing was
/// With instructions sampled as well: a sentence, without its full stop, on which part of the run was whose.
inline constexpr const char* kSamplingTurns = "record.turns";

} // namespace tilescope
