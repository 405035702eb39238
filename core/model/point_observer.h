#pragma once

#include "core/model/events.h"
#include "core/model/run.h"
#include "core/model/text.h"

#include <span>
#include <vector>

namespace tilescope {

struct MemoryFacts;

/// States of a point, in order; `state` events carry them.
enum class PointState { Warmup, Measure, Trace, Drain, Store };
template <> std::span<const EnumWord<PointState>> enumWords();

/// What a point tells while it runs: the engine calls it, the session records it. Called on the session
/// thread, except trace batches (the tracer's thread).
class PointObserver : public TraceSink {
public:
    virtual void stateChanged(PointState state) = 0;
    virtual void sampleTaken(const Sample& sample) = 0;
    /// Memory after a step; called where the device's allocator tells it.
    virtual void memoryRead(const HeldMemory& reading) = 0;
    /// Hardware counters of one step, where the spec asks for them.
    virtual void countersRead(std::vector<CounterValue> counters) = 0;
    /// What a workload that times nothing found out; become facts of the run (environment).
    virtual void factsFound(std::vector<EnvironmentEntry> facts) = 0;
    /// What the allocation events of the traced steps do not tell by themselves, where the spec records
    /// memory: before the trace what a rehearsed step showed and what is allocated, after it what is then.
    virtual void memoryLearnt(MemoryFacts&& facts) = 0;
};

} // namespace tilescope
