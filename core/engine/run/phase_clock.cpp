#include "core/engine/run/phase_clock.h"

#include "core/engine/common/device.h"

#include <ATen/cuda/CUDAEvent.h>

#include <cassert>
#include <cmath>

namespace tilescope::engine {

struct PhaseClock::Slot {
    Timestamp started{};
    Timestamp stopped{};
    // Events are created when first recorded; never on a CPU.
    at::cuda::CUDAEvent gpuStarted{cudaEventDefault};
    at::cuda::CUDAEvent gpuStopped{cudaEventDefault};
};

PhaseClock::PhaseClock(const Device& device, std::size_t slots)
    : device_(device), count_(slots), slots_(std::make_unique<Slot[]>(slots))
{
}

PhaseClock::~PhaseClock() = default;

void PhaseClock::start(std::size_t slot)
{
    assert(slot < count_);
    slots_[slot].started = TraceClock::now();
    if (device_.isCuda())
        slots_[slot].gpuStarted.record();
}

void PhaseClock::stop(std::size_t slot)
{
    assert(slot < count_);
    if (device_.isCuda()) {
        slots_[slot].gpuStopped.record();
        device_.synchronize();
    }
    slots_[slot].stopped = TraceClock::now();
}

Timing PhaseClock::timing(std::size_t first, std::size_t last) const
{
    assert(first <= last && last < count_);
    Timing timing{slots_[last].stopped - slots_[first].started};
    if (device_.isCuda()) {
        const double milliseconds = slots_[first].gpuStarted.elapsed_time(slots_[last].gpuStopped);
        timing.gpu = Nanoseconds(std::llround(milliseconds * 1e6));
    }
    return timing;
}

} // namespace tilescope::engine
