#pragma once

#include "core/base/units.h"
#include "core/machine/repeating_thread.h"
#include "core/model/counter_track.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tilescope::machine {

/// How often metrics are sampled unless the user says otherwise.
inline constexpr Nanoseconds kSamplingInterval{100'000};

struct MetricRequest {
    std::vector<std::string> metrics = {}; ///< keys of kMetrics and names of CUPTI; empty: what fits
    Nanoseconds interval = kSamplingInterval;
    /// The CUPTI to use; empty: not known yet, ask again. Called on the sampler's thread.
    std::function<std::filesystem::path()> cupti = {};
    std::string driver = "libcuda.so.1";
    /// Whether it may still sample, where something else samples afterwards; empty: to the end. Called on the sampler's
    /// thread, some ten times a second and more, with the time in which a GPU worked.
    std::function<bool(Nanoseconds busy)> mayRun = {};
    /// Called there once, when sampling has ended because mayRun() returned false, or because it cannot begin.
    std::function<void()> hasStopped = {};
};

/// What was sampled.
struct SampledMetrics {
    std::vector<CounterTrack> tracks = {}; ///< of metrics (core/model/metric.h); devices by CUDA's number
    std::vector<std::string> uuids = {};   ///< of the devices, by their number
    std::int64_t samples = 0;              ///< of all devices, each of all metrics
    std::int64_t dropped = 0;              ///< samples that cannot be true
    std::int64_t lost = 0;                 ///< samples that found no room
    double decoding = 0;                   ///< ns a sample: emptying the hardware's buffer
    double evaluating = 0;                 ///< ns a sample: computing its values, by threads beside it
    double dramPeak = 0;      ///< bytes per second of all devices' memory; 0: unknown, or they differ
    std::string summary = {}; ///< one sentence: what was sampled of which devices
    std::string whyNot = {};  ///< one sentence: why there is nothing, or less than was asked for
};

/// Samples metrics of the GPUs that this process may use: each from when a program uses it until stop(), on a thread of its
/// own, on which it loads driver and CUPTI. Creates no CUDA context.
///
/// Only the owner's thread may call members. The environment must not make the driver load another tool.
class MetricSampler {
public:
    explicit MetricSampler(MetricRequest request);
    ~MetricSampler();
    MetricSampler(const MetricSampler&) = delete;
    MetricSampler& operator=(const MetricSampler&) = delete;

    /// Ends the thread. Call it once.
    SampledMetrics stop();

private:
    class Work;

    std::unique_ptr<Work> work_;            ///< the thread's until it has ended
    std::optional<RepeatingThread> thread_; ///< started last
};

} // namespace tilescope::machine
