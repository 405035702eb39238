#include "core/predict/predict_time.h"

#include "core/predict/experiment.h"
#include "core/predict/predict_memory.h"

namespace tilescope::predict {

namespace {

// Around a step: inputs, gradients dropped one by one, synchronisations. Around a point: tensors made and
// filled, kernels loaded, the recording drained and stored.
constexpr double kAroundStep = 1e-3;
constexpr double kAroundPoint = 0.05;
constexpr double kAroundRecording = 0.2;
constexpr double kRecordedStep = 1.3; ///< of a bare one
constexpr double kFillBytesPerSecond = 400e9;

} // namespace

std::optional<TimePrediction> predictTime(const ExperimentSpec& spec, const TargetDevice& device,
                                          const DeviceRates& rates)
{
    if (!isReplayable(spec))
        return {};
    Memory memory(device.isCuda, CachingAllocator::kNoLimit);
    Ops ops(memory, device);
    const auto experiment = spec.workload == Workload::Lm ? makeLmMemory(spec, device, ops)
                                                          : makeAttentionMemory(spec, device, ops);
    WorkClock clock(rates);
    ops.timeWith(&clock);
    const bool isGraph = spec.compile.kind == CompileRequest::Kind::Graph;
    double timed = 0;
    double whole = 0;
    for (const Phase phase : kStepPhases) {
        if (!experiment->has(phase))
            continue;
        experiment->run(phase);
        const double seconds = clock.takePhase(isGraph, phase == Phase::Backward);
        whole += seconds;
        if (spec.mode != Mode::Backward || phase != Phase::Forward)
            timed += seconds;
    }
    const bool isRecorded = spec.trace != TraceLevel::Off && spec.traceSteps > 0;
    const double recorded = isRecorded ? kRecordedStep * (spec.traceSteps + 1) : 0;
    TimePrediction prediction{.stepSeconds = timed};
    prediction.seconds = (spec.warmup + spec.steps + recorded) * (whole + kAroundStep) + kAroundPoint +
                         (isRecorded ? kAroundRecording : 0) +
                         static_cast<double>(memory.allocated()) / kFillBytesPerSecond;
    return prediction;
}

} // namespace tilescope::predict
