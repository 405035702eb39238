#pragma once

#include "core/analysis/time/busy_time.h"
#include "core/model/events.h"

#include <unordered_map>
#include <vector>

namespace tilescope::analysis {

/// Times in which the devices of a process work on, or wait for, what was not recorded: they show no activity, and yet
/// work that was launched long before does not begin.
///
/// This happens if a profiler starts while earlier work is queued, or does not record all activities. Work normally
/// begins within 1 ms after its launch call has returned. Nothing is known where no launch calls were recorded.
///
/// Calls and activities come in any order. One thread. Memory grows with the number of gaps of at least 1 ms, and of calls that
/// launch and take at least 0.1 ms.
class UnrecordedWork {
public:
    void addCall(ApiKind kind, Interval time);
    void addActivity(const DeviceEvent& event);

    /// Disjoint, in order. O(n log n).
    std::vector<Interval> times() const;

private:
    /// Activities with gaps of less than 1 ms between them.
    struct Stretch {
        Interval time{};
        Timestamp launched{}; ///< of the first one; epoch: unknown
    };

    std::vector<Stretch> stretches_;
    std::unordered_map<Timestamp::rep, Timestamp> longCalls_; ///< ends, by start
    bool hasLaunches_ = false;
};

/// Share of a step's time from which such times make its figures unknown.
inline constexpr double kMuchUnrecorded = 0.05;

} // namespace tilescope::analysis
