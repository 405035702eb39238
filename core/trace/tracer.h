#pragma once

#include "core/base/units.h"
#include "core/model/code_place.h"
#include "core/model/events.h"
#include "core/model/memory.h"
#include "core/model/spec.h"
#include "core/model/strings.h"
#include "core/trace/assembly/launch_list.h"
#include "core/trace/host/recording.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::trace {

class CuptiApi;

struct TracerOptions {
    TraceLevel level = TraceLevel::Kernels;
    bool memory = true;
    bool shapes =
        false;         ///< a reference step takes the shapes of ops; where ops are recorded, memory does too
    bool cuda = false; ///< record the device's activities; else ops of the CPU take their place
    DeviceIndex device = {}; ///< CUDA device; none for the CPU
    /// Records that each thread may be ahead of the tracer's own; more are dropped and counted.
    std::size_t ringCapacity = 1 << 16;
    /// For CUPTI's records: addresses reserved beforehand, memory taken as bursts need it.
    std::size_t activityBuffers = 1024;
    std::size_t activityBufferBytes = 1 << 20;
    /// Takes CUPTI out of the process after each recording: while it is in, launches stay slower.
    bool detach = true;
};

/// Records device activities (CUPTI), host ranges (and NVTX), ops (RecordFunction) and allocations, and hands
/// them on in batches.
///
/// The session thread makes it, calls its members and destroys it; at most one records at a time. `sink` is
/// called from the tracer's own thread while recording and from stop(). Nothing is recorded between stop()
/// and the next start(), and then nothing that costs a timed step stays switched on. Ranges and ops are
/// numbered from 0 over the life of a tracer, so one run has one tracer.
///
/// Allocations of the CPU need CpuAllocator::install().
class Tracer {
public:
    Tracer(const TracerOptions& options, StringTable& strings, TraceSink& sink);
    /// With a CUPTI other than LibTorch's; it outlives the tracer.
    Tracer(const TracerOptions& options, StringTable& strings, TraceSink& sink, CuptiApi& cupti);
    ~Tracer();
    Tracer(const Tracer&) = delete;
    Tracer& operator=(const Tracer&) = delete;

    void start(Recording recording = Recording::Events);
    /// Sets the step of the following events. kNoStep between steps: waits until the step's records have been
    /// processed, so that this does not happen during the next step.
    void setStep(std::int32_t step);
    /// Ends the recording: waits for the device, flushes every buffer, attributes open events and delivers
    /// the last batch with the losses.
    /// \throws exceptions of the sink
    void stop();

    /// Shortest time from a launch to its start in the first and in the last step of the last recording. The
    /// difference shows the drift between host and device clock.
    struct ClockOffsets {
        Nanoseconds start{0};
        Nanoseconds end{0};
    };
    /// None on a CPU.
    std::optional<ClockOffsets> clockOffsets() const;

    /// Allocations of the last Recording::ReferenceStep, in the order in which they happened. Their ops are among
    /// those that the next Recording::Events hands on.
    std::vector<AllocEvent> referenceAllocations() const;

    /// What the last Recording::Capture saw allocated on the device, and the ops that asked: events and ops
    /// of a CapturedStep. Nothing where memory is not recorded.
    CapturedStep captured() const;

    /// Where in the code the ranges of the paths that were recorded were opened; between recordings.
    std::vector<CodePlace> places() const;

    /// Kernel launches of the step of the last Recording::Launches.
    LaunchList launches() const;

    /// Why device activities are not recorded although requested (another profiler, no permission); empty if
    /// they are.
    const std::string& untracedReason() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace tilescope::trace
