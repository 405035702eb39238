#pragma once

#include "core/model/events.h"
#include "core/model/run.h"
#include "core/model/spec.h"
#include "core/model/strings.h"

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope {
struct MemoryFacts;
}

namespace tilescope::engine {

/// States of a point, in order; `state` events carry them.
enum class PointState { Warmup, Measure, Trace, Drain, Store };

/// What a point tells while it runs. Called on the session thread, except trace batches (the tracer's
/// thread).
class PointObserver : public TraceSink {
public:
    virtual void stateChanged(PointState state) = 0;
    virtual void sampleTaken(const Sample& sample) = 0;
    /// Memory after a step; told where the device's allocator tells it.
    virtual void memoryRead(const HeldMemory& reading) = 0;
    /// Hardware counters of one step, where the spec asks for them.
    virtual void countersRead(std::vector<CounterValue> counters) = 0;
    /// What a workload that times nothing found out; become facts of the run (environment).
    virtual void factsFound(std::vector<EnvironmentEntry> facts) = 0;
    /// What the allocation events of the traced steps do not tell by themselves, where the spec records
    /// memory: before the trace what a rehearsed step showed and what is allocated, after it what is then.
    virtual void memoryLearnt(MemoryFacts&& facts) = 0;
};

/// Runs experiments with LibTorch: one point at a time, on the thread that made it (the session thread).
///
/// A point's own failures are results (oom, skipped, error with its reason), never exceptions. After a point
/// the device is cleaned: tensors freed, caches emptied, peak statistics reset.
class Engine {
public:
    explicit Engine(StringTable& strings);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Runs one resolved spec. `stop` asks to end after the current step: the result is then `cancelled`.
    RunResult runPoint(const ExperimentSpec& spec, PointObserver& observer, std::stop_token stop);

    /// What a device reaches at most (ceilings.h); which one it is stays empty.
    /// \throws Error (Environment)  as resolveDevice; (Failure) LibTorch could not measure it
    std::vector<Ceiling> measureCeilings(const DeviceRequest& request);

    /// Versions of LibTorch, CUDA, cuDNN and what else only this layer knows, for the environment of a run.
    std::vector<EnvironmentEntry> environment() const;

    /// The device a request means here: `cpu`, `cuda:0`.
    /// \throws Error (Environment)  cuda asked for and no GPU, or no such index
    std::string resolveDevice(const DeviceRequest& request) const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace tilescope::engine
