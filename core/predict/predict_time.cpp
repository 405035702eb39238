#include "core/predict/predict_time.h"

#include "core/predict/communication.h"
#include "core/predict/experiment.h"
#include "core/predict/predict_memory.h"

#include <algorithm>
#include <array>

namespace tilescope::predict {

namespace {

// Per step: inputs, freeing gradients one by one, synchronization. Per point: creating and filling tensors,
// loading kernels. Per recording: draining and storing it.
constexpr double kAroundStep = 1e-3;
constexpr double kAroundPoint = 0.05;
constexpr double kAroundRecording = 0.2;
constexpr double kRecordedStep = 1.3; ///< relative to an unrecorded step
constexpr double kFillBytesPerSecond = 400e9;

// tests/bench/results/predictor-h200.json, "device idle …": the 90th percentile of the error on an H200.
struct IdleError {
    double idle, error;
};
constexpr std::array kErrorByIdleShare{IdleError{0.05, 0.13}, IdleError{0.2, 0.2}, IdleError{0.5, 0.28},
                                       IdleError{1, 0.38}};
constexpr double kErrorOnACpu = 0.5;
constexpr double kErrorOfRanks = 0.5; // assumed: waiting for each other is not predicted

} // namespace

namespace {

Replay howOf(const ExperimentSpec& spec, const DeviceRates& rates)
{
    return isCaptured(spec, {.isCuda = rates.isCuda}) ? Replay::Graph : Replay::Eager;
}

/// Whether the rate of its products is known. A CPU multiplies E4M3 in fp32.
bool multiplies(const DeviceRates& rates, Precision precision)
{
    return precision != Precision::Fp8 || !rates.isCuda || rates.fp8 > 0;
}

/// \param allocated  receives the bytes allocated after the step
std::vector<PhaseWork> replayed(const ExperimentSpec& spec, const TargetDevice& device,
                                const DeviceRates& rates, Bytes& allocated)
{
    std::vector<PhaseWork> phases;
    Memory memory(device.isCuda, CachingAllocator::kNoLimit);
    Ops ops(memory, device);
    const auto experiment = makeExperimentMemory(spec, device, ops);
    WorkLog log(rates);
    ops.logTo(&log);
    if (spec.mode == Mode::Generate) {
        experiment->run(Phase::Prefill);
        phases.push_back({Phase::Prefill, false, log.take()});
        experiment->finish();
        if (spec.newTokens > 1) { // a token in the middle has the mean of all lengths
            experiment->setToken(spec.newTokens / 2);
            experiment->run(Phase::Decode);
            phases.push_back({Phase::Decode, true, log.take()});
        } else {
            experiment->run(Phase::Prefill);
            log.take();
        }
        experiment->run(Phase::Sample);
        phases.push_back({Phase::Sample, spec.newTokens > 1, log.take()});
        allocated = Bytes{memory.allocated()};
        return phases;
    }
    for (const Phase phase : kStepPhases) {
        if (!experiment->has(phase))
            continue;
        experiment->run(phase);
        const bool isTimed = spec.mode != Mode::Backward || phase != Phase::Forward;
        phases.push_back({phase, isTimed, log.take()});
    }
    allocated = Bytes{memory.allocated()};
    return phases;
}

/// The exposed communication of a phase: nothing is computed during it.
double exposedSeconds(const PhaseTraffic& traffic, double compute, const DeviceRates& rates)
{
    if (traffic.sum() <= 0)
        return 0;
    // On a CPU both use the same cores.
    const double hidden = rates.isCuda ? compute : 0;
    return std::max(0.0, traffic.beside / rates.link - hidden) + traffic.alone / rates.link;
}

/// All timed phases as one.
PhaseSeconds timedSeconds(const ExperimentSpec& spec, const std::vector<PhaseWork>& phases,
                          const DeviceRates& rates)
{
    PhaseSeconds step;
    for (const PhaseWork& phase : phases) {
        if (!phase.isTimed)
            continue;
        const PhaseSeconds seconds =
            playedSeconds(phase.works, rates, howOf(spec, rates), phase.phase == Phase::Backward);
        step.wall += seconds.wall;
        step.device += seconds.device;
        step.host += seconds.host;
    }
    return step;
}

} // namespace

std::vector<PhaseWork> stepWork(const ExperimentSpec& spec, const TargetDevice& device,
                                const DeviceRates& rates)
{
    Bytes allocated{};
    return isReplayable(spec) ? replayed(spec, device, rates, allocated) : std::vector<PhaseWork>{};
}

double stepSeconds(const ExperimentSpec& spec, const std::vector<PhaseWork>& phases, const DeviceRates& rates)
{
    return timedSeconds(spec, phases, rates).wall;
}

double idleShare(const ExperimentSpec& spec, const std::vector<PhaseWork>& phases, const DeviceRates& rates)
{
    const PhaseSeconds step = timedSeconds(spec, phases, rates);
    return rates.isCuda && step.wall > 0 ? std::max(0.0, 1 - step.device / step.wall) : 0;
}

double expectedError(double idleShare, bool isCuda)
{
    if (!isCuda)
        return kErrorOnACpu;
    for (const auto& [idle, error] : kErrorByIdleShare)
        if (idleShare <= idle)
            return error;
    return kErrorByIdleShare.back().error;
}

std::optional<TimePrediction> predictTime(const ExperimentSpec& spec, const TargetDevice& device,
                                          const DeviceRates& ofDevice)
{
    const DeviceRates rates = ofDevice.isCuda ? ofDevice : ofDevice.shareOf(spec.gpus);
    const StepTraffic traffic = spec.workload == Workload::Lm ? trafficOf(spec) : StepTraffic{};
    if (!isReplayable(spec) || (traffic.sum() > 0 && rates.link <= 0) || !multiplies(rates, spec.precision))
        return {};
    Bytes allocated{};
    TimePrediction prediction;
    double whole = 0;
    const std::vector<PhaseWork> phases = replayed(spec, device, rates, allocated);
    prediction.error = expectedError(idleShare(spec, phases, rates), rates.isCuda);
    if (traffic.sum() > 0)
        prediction.error = std::max(prediction.error, kErrorOfRanks);
    for (const PhaseWork& work : phases) {
        PhaseSeconds seconds =
            playedSeconds(work.works, rates, howOf(spec, rates), work.phase == Phase::Backward);
        const PhaseTraffic sent = traffic.of(work.phase);
        seconds.exposed = exposedSeconds(sent, seconds.wall, rates);
        seconds.wall += seconds.exposed;
        if (work.isTimed && sent.sum() > 0) {
            prediction.communicationSeconds += sent.sum() / rates.link;
            prediction.exposedSeconds += seconds.exposed;
        }
        prediction.phases.emplace_back(work.phase, seconds);
        whole += seconds.wall;
        if (work.isTimed)
            prediction.stepSeconds += seconds.wall;
    }
    const bool isRecorded = spec.trace != TraceLevel::Off && spec.traceSteps > 0;
    const double recorded = isRecorded ? kRecordedStep * (spec.traceSteps + 1) : 0;
    double steps = spec.warmup + spec.steps + recorded;
    if (spec.mode == Mode::Generate) { // whole generations of a prompt and all tokens
        const auto tokens = static_cast<double>(spec.newTokens);
        whole += (tokens - 1) * (prediction.stepSeconds + kAroundStep);
        steps = spec.warmup + 1 + recorded;
    }
    prediction.seconds = steps * (whole + kAroundStep) + kAroundPoint + (isRecorded ? kAroundRecording : 0) +
                         static_cast<double>(allocated.count) / kFillBytesPerSecond;
    return prediction;
}

} // namespace tilescope::predict
