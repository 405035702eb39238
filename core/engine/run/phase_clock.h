#pragma once

#include "core/base/units.h"
#include "core/model/spec.h"

#include <cstddef>
#include <memory>
#include <optional>

namespace tilescope::engine {

class Device;
class Ranks;

/// Wall and, on a GPU, CUDA-event time of an interval.
struct Timing {
    Nanoseconds wall{0};
    std::optional<Nanoseconds> gpu = {};
};

/// Times the phases of a step, one slot each, in order. Session thread.
///
/// The device must be idle when a step starts. StepTiming::Phase waits for it after each phase, so that no
/// work of one phase runs during another. StepTiming::Step waits once, after the last slot: a slot then ends
/// where the next one starts, and on a GPU the wall time of a part of the step is the time between its events.
class PhaseClock {
public:
    /// \param ranks  the ranks that share the work; null: this process alone
    PhaseClock(const Device& device, std::size_t slots, StepTiming timing, Ranks* ranks = nullptr);
    ~PhaseClock();
    PhaseClock(const PhaseClock&) = delete;
    PhaseClock& operator=(const PhaseClock&) = delete;

    void start(std::size_t slot);
    /// \throws LostRank  another rank does not take part in a collective that the device waits for
    void stop(std::size_t slot);

    /// For a step that is one CUDA graph: call during the capture to make replays record the border of a slot.
    void captureStart(std::size_t slot);
    void captureStop(std::size_t slot);
    /// Call before and after a replay of the step.
    void startReplay();
    void stopReplay(); ///< waits for the device

    /// From the start of one slot to the end of the same or another one.
    Timing timing(std::size_t first, std::size_t last) const;

private:
    struct Slot;
    bool startsItself(std::size_t slot) const { return slot == 0 || timing_ == StepTiming::Phase; }

    const Device& device_;
    Ranks* ranks_;
    std::size_t count_;
    StepTiming timing_;
    std::unique_ptr<Slot[]> slots_;
};

} // namespace tilescope::engine
