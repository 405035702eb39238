#pragma once

#include "core/base/units.h"

#include <cstddef>
#include <memory>
#include <optional>

namespace tilescope::engine {

class Device;

/// Wall and, on a GPU, CUDA-event time of an interval between two device synchronizations.
struct Timing {
    Nanoseconds wall{0};
    std::optional<Nanoseconds> gpu = {};
};

/// Times the phases of a step, one slot each. Session thread.
///
/// The device must be idle when a slot starts, so that no work of one phase runs during another. stop()
/// leaves it idle.
class PhaseClock {
public:
    PhaseClock(const Device& device, std::size_t slots);
    ~PhaseClock();
    PhaseClock(const PhaseClock&) = delete;
    PhaseClock& operator=(const PhaseClock&) = delete;

    void start(std::size_t slot);
    void stop(std::size_t slot); ///< waits for the device
    /// From the start of one slot to the end of the same or another one.
    Timing timing(std::size_t first, std::size_t last) const;

private:
    struct Slot;
    const Device& device_;
    std::size_t count_;
    std::unique_ptr<Slot[]> slots_;
};

} // namespace tilescope::engine
