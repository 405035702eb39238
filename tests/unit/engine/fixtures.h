#pragma once

#include "core/engine/run/engine.h"
#include "core/model/memory.h"

#include <algorithm>
#include <vector>

namespace tilescope::engine::test {

/// Records what a point reports.
class Recorder final : public PointObserver {
public:
    void stateChanged(PointState state) override { states.push_back(state); }
    void sampleTaken(const Sample& sample) override
    {
        samples.push_back(sample);
        if (onSample)
            onSample(sample);
    }
    void memoryRead(const HeldMemory& reading) override { held.push_back(reading); }
    void countersRead(std::vector<CounterValue> values) override { counters = std::move(values); }
    void kernelsSampled(KernelSamples&& /*samples*/) override {}
    void factsFound(std::vector<EnvironmentEntry> found) override { facts = std::move(found); }
    void memoryLearnt(MemoryFacts&& learnt) override { memory.push_back(std::move(learnt)); }
    void consume(TraceBatch&& batch) override { batches.push_back(std::move(batch)); }

    std::ptrdiff_t count(SampleKind kind, Phase phase) const
    {
        return std::count_if(samples.begin(), samples.end(), [&](const Sample& sample) {
            return sample.kind == kind && sample.phase == phase;
        });
    }

    std::vector<PointState> states;
    std::vector<Sample> samples;
    std::vector<HeldMemory> held; ///< after each step
    std::vector<TraceBatch> batches;
    std::vector<CounterValue> counters;
    std::vector<EnvironmentEntry> facts;
    std::vector<MemoryFacts> memory; ///< after the reference step, before and after the trace
    std::function<void(const Sample&)> onSample;
};

/// A language model that a CPU steps through in milliseconds.
inline ExperimentSpec tinyLm()
{
    ExperimentSpec spec;
    spec.name = "tiny";
    spec.workload = Workload::Lm;
    spec.device = {DeviceRequest::Kind::Cpu};
    spec.batch = 2;
    spec.context = 16;
    spec.size = "tiny";
    spec.dModel = 32;
    spec.dFf = 64;
    spec.layers = 2;
    spec.heads = spec.kvHeads = 4;
    spec.vocab = 100;
    spec.threads = 1; // more only spin against each other on work this small
    spec.warmup = 1;
    spec.steps = 3;
    spec.traceSteps = 2;
    return spec;
}

inline ExperimentSpec smallAttention()
{
    ExperimentSpec spec;
    spec.name = "attention";
    spec.workload = Workload::Attention;
    spec.device = {DeviceRequest::Kind::Cpu};
    spec.batch = 2;
    spec.heads = spec.kvHeads = 2;
    spec.headDim = 16;
    spec.seqLen = spec.kvLen = 48;
    spec.tileQ = spec.tileK = 16;
    spec.threads = 1; // more only spin against each other on work this small
    spec.warmup = 1;
    spec.steps = 3;
    spec.traceSteps = 2;
    return spec;
}

} // namespace tilescope::engine::test
