#pragma once

#include "core/analysis/time/busy_time.h"
#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/events.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilescope::analysis {

/// Sums up the work that each step launched on each stream. Accepts events in any order. One thread.
class StepWork {
public:
    struct Total {
        DeviceIndex device{};
        StreamId stream{};
        std::int32_t step = kNoStep;
        Nanoseconds busy{0};
        Timestamp end = Timestamp::min(); ///< end of the last event
    };

    /// Adds an event, which must belong to a step (`event.step`). O(1).
    void add(const DeviceEvent& event);
    const std::vector<Total>& totals() const { return totals_; }

private:
    using Key = std::tuple<DeviceIndex, StreamId, std::int32_t>;
    struct Hash {
        std::size_t operator()(const Key& key) const noexcept;
    };

    std::vector<Total> totals_;
    std::unordered_map<Key, std::size_t, Hash> places_;
    std::size_t last_ = 0; ///< index of the last event's total, which the next event is likely to share
};

/// A step on the host.
struct HostStep {
    std::int32_t number = kNoStep;
    Interval range{};
};

/// The time that each step of one process takes, on the host and on the device.
///
/// The host launches ahead of the device and may leave a step before the device begins it, as with replayed
/// CUDA graphs. A step therefore begins with its host range or, if later, when the device has finished the
/// previous steps. It ends with its host range or, if later, when the device has finished the work that the
/// step launched. Only the stream with the most work of steps counts, so a copy in the background delays no
/// step. A step that waits for the device takes as long as its host range.
///
/// \param steps  in start order
/// \param work   of that process
/// \return       by step: disjoint
std::vector<Interval> stepWalls(const std::vector<HostStep>& steps, const std::vector<StepWork::Total>& work);

/// Collects what stepWalls() needs: steps first, in start order, then the work in any order. One thread.
class StepWalls {
public:
    /// \param host  the step's range on the host
    void addStep(std::int32_t number, Interval host);
    /// \return  the position of the step that launched the event (`event.step`); none if there is no such step
    std::optional<std::size_t> addWork(const DeviceEvent& event);

    /// The wall times of the steps, in the order in which the steps were added; disjoint.
    std::vector<Interval> list() const { return stepWalls(steps_, work_.totals()); }
    const std::vector<HostStep>& steps() const { return steps_; }

private:
    std::vector<HostStep> steps_;
    std::unordered_map<std::int32_t, std::size_t> byNumber_;
    StepWork work_;
    /// The step of the last event; the next event is likely to have the same.
    std::pair<std::int32_t, std::optional<std::size_t>> lastStep_{kNoStep, std::nullopt};
};

} // namespace tilescope::analysis
