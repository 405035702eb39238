#pragma once

#include "core/analysis/stats/statistics.h"
#include "core/analysis/time/busy_time.h"
#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/host_samples.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::analysis {

// Which place of the host's code an idle GPU waits for.
//
// A GPU is idle until an activity starts. The time from when the GPU ran out of work until the host launched that activity
// is the host's: it belongs to the place between the launch before, in the same thread, and this one. How much time belongs
// to a place is exact. What the host did within it is known by samples: those of all idle intervals of a place share its
// time out. An interval is never shared out by its own samples, as that would favour long calls.

/// A kernel, copy or memset of one device.
struct LaunchedWork {
    Timestamp start{};
    Timestamp end{};
    std::optional<Timestamp> launched = {}; ///< call of the host that launched it; none: unknown
    ThreadId thread = {};                   ///< that made the call
    StringId name = {};
};

/// A call into CUDA that is no launch.
struct CudaCall {
    Timestamp start{};
    Timestamp end{};
    ThreadId thread = {};
    std::uint32_t name = 0; ///< the caller's number
};

/// Idle intervals between the same two launches of the code.
struct IdlePlace {
    ThreadId thread = {};                ///< that launches
    std::uint32_t before = kNoStack;     ///< its stack at the launch before; kNoStack: unknown
    std::uint32_t after = kNoStack;      ///< its stack at the launch that ends the interval
    Nanoseconds host{0};                 ///< while the host had not launched
    Nanoseconds sampled{0};              ///< the part of `host` outside of CUDA calls
    std::vector<Nanoseconds> times = {}; ///< of each interval: the host's part
    Nanoseconds longest{0};              ///< of them
    StringId endedBy = {};               ///< name of the work that ended the longest
};

/// The time of a CUDA call in the intervals of a place.
struct IdleCall {
    std::uint32_t place = 0;
    std::uint32_t name = 0;
    Nanoseconds time{0};
    std::int64_t count = 0;

    bool operator==(const IdleCall&) const = default;
};

/// The samples in an idle interval, outside of CUDA calls.
struct SampledInterval {
    std::uint32_t place = 0;
    std::uint32_t first = 0; ///< in IdleTime::hits
    std::uint32_t count = 0;
};

/// The idle time of a device. The parts add up: host of all places, launching, queued and unknown.
struct IdleTime {
    Nanoseconds total{0};
    Nanoseconds busy{0};
    Nanoseconds launching{0}; ///< the host had launched, and the work had not started
    Nanoseconds queued{0};    ///< the work was launched before the device was idle: it waited for other work
    Nanoseconds unknown{0};   ///< it is not recorded when the work was launched
    std::int64_t intervals = 0;
    std::vector<IdlePlace> places = {};
    std::vector<IdleCall> calls = {};
    std::vector<SampledInterval> sampled = {};
    std::vector<HostSample> hits = {}; ///< samples, without launches
    std::int64_t lateHits = 0;
};

/// \param work     of one device, in order of start
/// \param samples  of the process that launches
/// \param calls    of the process
/// \param windows  only time in them counts, and all of it: a result of unionOf(); empty: all from the first work to the last.
///                 Time after the last work is of the place after the last launch of that work's thread.
/// O((work + samples + calls) log samples)
IdleTime idleTime(std::span<const LaunchedWork> work, const HostSamples& samples,
                  std::span<const CudaCall> calls, std::span<const Interval> windows = {});

/// The least number of samples by which time is shared out.
inline constexpr std::int64_t kLeastSamples = 10;

/// A part of the sampled time.
struct IdleShare {
    std::uint32_t value = 0;          ///< of `valueOf`
    double time = 0;                  ///< ns
    ConfidenceInterval interval = {}; ///< of `time`, 95 %
    std::int64_t samples = 0;
};

struct IdleShares {
    std::vector<IdleShare> shares = {}; ///< by value
    Nanoseconds unresolved{0}; ///< of places with too few samples; with the shares it is the sampled time
};

/// Shares the sampled time out among the values of samples.
///
/// A place with fewer than kLeastSamples samples is joined with those between whose launches the same call runs, then with
/// those of its thread. Intervals allow for samples that follow each other within one idle interval, and
/// for late samples.
/// \param valueOf  of a sample; its range should be small
/// O(samples log samples)
IdleShares sharesOf(const IdleTime& idle, std::span<const HostStack> stacks,
                    const std::function<std::uint32_t(const HostSample&)>& valueOf);

/// The innermost stack that two stacks have in common; kNoStack if there is none.
std::uint32_t commonCaller(std::span<const HostStack> stacks, std::uint32_t a, std::uint32_t b);

/// The stacks in which two stacks differ first, counted from the outermost call; of equal stacks the stack itself.
struct Divergence {
    std::uint32_t before = kNoStack;
    std::uint32_t after = kNoStack;
};
Divergence divergenceOf(std::span<const HostStack> stacks, std::uint32_t before, std::uint32_t after);

} // namespace tilescope::analysis
