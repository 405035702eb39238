#include "core/predict/predict_memory.h"

#include "core/model/parallelism.h"
#include "core/model/text.h"
#include "core/predict/experiment.h"

#include <algorithm>

namespace tilescope::predict {

namespace {

/// Replays the process that runs a point.
class AllocatorReplay {
public:
    AllocatorReplay(const ExperimentSpec& spec, const TargetDevice& given, std::int64_t limit)
        : memory_(given.isCuda, limit), ops_(memory_, usedBy(spec, given))
    {
        const TargetDevice device = usedBy(spec, given);
        experiment_ = makeExperimentMemory(spec, device, ops_);
    }

    Memory& memory() { return memory_; }
    std::string_view phase() const { return phase_; }

    /// \return  allocated bytes between forward and backward
    std::optional<Bytes> step(const ExperimentSpec& spec)
    {
        if (spec.mode == Mode::Generate) {
            generate(spec);
            return {};
        }
        std::optional<Bytes> before;
        experiment_->dropGradients();
        for (const Phase phase : kStepPhases) {
            if (!experiment_->has(phase))
                continue;
            phase_ = wordOf(phase);
            if (phase == Phase::Backward)
                before = Bytes{memory_.allocated()};
            experiment_->run(phase);
        }
        if (spec.mode == Mode::Forward && spec.grad)
            before = Bytes{memory_.allocated()};
        return before;
    }
    void finish() { experiment_->finish(); }

private:
    /// The steps of a generation.
    void generate(const ExperimentSpec& spec)
    {
        for (const std::int64_t token : replayedTokens(spec)) {
            experiment_->setToken(token);
            for (const Phase phase : {token == 0 ? Phase::Prefill : Phase::Decode, Phase::Sample}) {
                phase_ = wordOf(phase);
                experiment_->run(phase);
            }
            experiment_->finish();
        }
    }

    Memory memory_;
    Ops ops_;
    std::unique_ptr<ExperimentMemory> experiment_;
    std::string_view phase_ = "setup";
};

MemoryPrediction replay(const ExperimentSpec& spec, const TargetDevice& device)
{
    AllocatorReplay run(spec, device, CachingAllocator::kNoLimit);
    MemoryPrediction prediction;
    // The first step allocates what is persistent; the second reuses the blocks that the first freed.
    for (int i = 0; i < std::min(spec.warmup, 1); ++i) {
        run.step(spec);
        run.finish();
    }
    run.memory().resetPeaks();
    const bool isGraph = isCaptured(spec, device);
    // A graph is captured after one more step; its replays allocate nothing.
    const int steps = spec.mode == Mode::Generate ? 1 : spec.steps; // whole generations
    for (int i = 0; i < (isGraph ? 1 : std::min(steps, 2)); ++i) {
        prediction.beforeBackward = run.step(spec);
        run.finish();
    }
    if (isGraph) {
        run.memory().capture(true);
        prediction.beforeBackward = run.step(spec);
        run.memory().capture(false);
    }
    prediction.peakAllocated = prediction.leastPeakAllocated = Bytes{run.memory().peakAllocated()};
    if (device.isCuda)
        prediction.peakReserved = Bytes{run.memory().peakReserved()};
    prediction.atPeak = run.memory().byCategoryAtPeak();
    return prediction;
}

/// Of a limit: a CPU's operations wrap numbers of a few bytes in tensors that the replay does not count.
constexpr double kUncountedOnCpu = 0.0001;

/// The failure of a point with a peak above the limit.
std::optional<OomInfo> failure(const ExperimentSpec& spec, const TargetDevice& device, Bytes limit)
{
    std::string phase = "setup";
    try {
        AllocatorReplay run(spec, device, limit.count);
        try {
            for (int i = 0; i < 2; ++i) {
                run.step(spec);
                run.finish();
            }
        } catch (const OutOfMemory&) {
            phase = run.phase();
            throw;
        }
    } catch (const OutOfMemory& refused) {
        return OomInfo{.requested = Bytes{refused.asked},
                       .allocated = Bytes{refused.allocated},
                       .reserved = device.isCuda ? std::optional(Bytes{refused.reserved}) : std::nullopt,
                       .phase = phase};
    }
    return {};
}

} // namespace

TargetDevice usedBy(const ExperimentSpec& spec, TargetDevice device)
{
    const int processes = hasRanks(spec) && !device.isCuda ? spec.gpus : 1;
    device.threads = spec.threads.value_or(std::max(1, device.threads / processes));
    if (device.capacity)
        device.capacity = Bytes{device.capacity->count / processes};
    return device;
}

bool isCaptured(const ExperimentSpec& spec, const TargetDevice& device)
{
    return spec.compile.kind == CompileRequest::Kind::Graph ||
           (spec.compile.kind == CompileRequest::Kind::Fused && device.isCuda && replaysGraphs(spec));
}

std::unique_ptr<ExperimentMemory> makeExperimentMemory(const ExperimentSpec& spec, const TargetDevice& device,
                                                       Ops& ops)
{
    if (spec.workload != Workload::Lm)
        return makeAttentionMemory(spec, device, ops);
    if (spec.mode == Mode::Generate)
        return makeGenerationMemory(spec, device, ops);
    return spec.compile.kind == CompileRequest::Kind::Fused ? makeFusedLmMemory(spec, device, ops)
                                                            : makeLmMemory(spec, device, ops);
}

bool isReplayable(const ExperimentSpec& spec)
{
    return (spec.workload == Workload::Lm || spec.workload == Workload::Attention) &&
           spec.compile.kind != CompileRequest::Kind::Package &&
           spec.compile.kind != CompileRequest::Kind::Inductor;
}

std::optional<MemoryPrediction> predictMemory(const ExperimentSpec& spec, const TargetDevice& device)
{
    if (!isReplayable(spec))
        return {};
    MemoryPrediction prediction = replay(spec, device);
    const TargetDevice used = usedBy(spec, device);
    if (!used.isCuda && used.threads > 1) {
        TargetDevice inTurn = device;
        inTurn.threadsMeet = false;
        prediction.leastPeakAllocated = replay(spec, inTurn).peakAllocated;
    }
    std::optional<Bytes> limit = used.capacity;
    if (spec.memoryLimit)
        limit = limit ? std::min(*limit, *spec.memoryLimit) : *spec.memoryLimit;
    if (limit && !used.isCuda)
        limit = Bytes{static_cast<std::int64_t>(static_cast<double>(limit->count) * (1 - kUncountedOnCpu))};
    if (limit && prediction.peakReserved.value_or(prediction.peakAllocated) > *limit)
        prediction.outOfMemory = failure(spec, device, *limit);
    return prediction;
}

void replayStep(const ExperimentSpec& spec, const TargetDevice& device, Memory::Observer observer)
{
    if (!isReplayable(spec))
        return;
    AllocatorReplay run(spec, device, CachingAllocator::kNoLimit);
    run.step(spec);
    run.finish();
    run.memory().observe(std::move(observer));
    run.step(spec);
    run.memory().observe({});
}

} // namespace tilescope::predict
