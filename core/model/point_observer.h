#pragma once

#include "core/model/events.h"
#include "core/model/run.h"
#include "core/model/text.h"

#include <span>
#include <vector>

namespace tilescope {

struct KernelSamples;
struct MemoryFacts;

/// States of a point, in order; `state` events carry them. Compile only if something is compiled.
enum class PointState { Compile, Warmup, Measure, Trace, Drain, Store };

/// Receives the data of a running point: the engine calls it, the session records it. Called on the session
/// thread, except trace batches (the tracer's thread).
class PointObserver : public TraceSink {
public:
    virtual void stateChanged(PointState state) = 0;
    virtual void sampleTaken(const Sample& sample) = 0;
    /// Memory after a step; called if the device's allocator reports it.
    virtual void memoryRead(const HeldMemory& reading) = 0;
    /// Hardware counters of one step, if the spec requests them.
    virtual void countersRead(std::vector<CounterValue> counters) = 0;
    /// Samples of the kernels of the traced steps, if the spec requests them: without lines and texts.
    virtual void kernelsSampled(KernelSamples&& samples) = 0;
    /// What a workload that times nothing found out; become facts of the run (environment).
    virtual void factsFound(std::vector<EnvironmentEntry> facts) = 0;
    /// Memory facts that allocation events do not contain, if the spec records memory. Before the trace:
    /// results of the reference step and what is allocated; after it: what is allocated then.
    virtual void memoryLearnt(MemoryFacts&& facts) = 0;
};

} // namespace tilescope
