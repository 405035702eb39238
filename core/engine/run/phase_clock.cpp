#include "core/engine/run/phase_clock.h"

#include "core/engine/common/device.h"
#include "core/engine/ranks/collectives.h"

#include <ATen/cuda/CUDAEvent.h>

#include <cassert>
#include <cmath>

namespace tilescope::engine {

struct PhaseClock::Slot {
    // If recorded during a capture, an external event becomes a node of the graph. Events are created when
    // first recorded; on a CPU, never.
    static constexpr unsigned kFlags = cudaEventDefault | cudaEventExternal;

    Timestamp started{};
    Timestamp stopped{};
    at::cuda::CUDAEvent gpuStarted{kFlags};
    at::cuda::CUDAEvent gpuStopped{kFlags};
};

PhaseClock::PhaseClock(const Device& device, std::size_t slots, StepTiming timing, Ranks* ranks)
    : device_(device), ranks_(ranks), count_(slots), timing_(timing), slots_(std::make_unique<Slot[]>(slots))
{
}

PhaseClock::~PhaseClock() = default;

void PhaseClock::start(std::size_t slot)
{
    assert(slot < count_);
    if (!startsItself(slot)) {
        slots_[slot].started = slots_[slot - 1].stopped;
        return;
    }
    slots_[slot].started = TraceClock::now();
    if (device_.isCuda())
        slots_[slot].gpuStarted.record();
}

void PhaseClock::stop(std::size_t slot)
{
    assert(slot < count_);
    if (device_.isCuda()) {
        slots_[slot].gpuStopped.record();
        if (timing_ == StepTiming::Phase || slot + 1 == count_) {
            if (ranks_)
                ranks_->synchronize();
            device_.synchronize();
        }
    }
    slots_[slot].stopped = TraceClock::now();
}

void PhaseClock::captureStart(std::size_t slot)
{
    assert(slot < count_ && timing_ == StepTiming::Step);
    if (startsItself(slot))
        slots_[slot].gpuStarted.record();
}

void PhaseClock::captureStop(std::size_t slot)
{
    assert(slot < count_);
    slots_[slot].gpuStopped.record();
}

void PhaseClock::startReplay()
{
    slots_[0].started = TraceClock::now();
}

void PhaseClock::stopReplay()
{
    device_.synchronize();
    slots_[count_ - 1].stopped = TraceClock::now();
}

Timing PhaseClock::timing(std::size_t first, std::size_t last) const
{
    assert(first <= last && last < count_);
    const bool isWhole = first == 0 && last + 1 == count_;
    Timing timing{slots_[last].stopped - slots_[first].started};
    if (device_.isCuda()) {
        const auto& start = startsItself(first) ? slots_[first].gpuStarted : slots_[first - 1].gpuStopped;
        const double milliseconds = start.elapsed_time(slots_[last].gpuStopped);
        timing.gpu = Nanoseconds(std::llround(milliseconds * 1e6));
        if (timing_ == StepTiming::Step && !isWhole)
            timing.wall = *timing.gpu;
    }
    return timing;
}

} // namespace tilescope::engine
