#include "core/engine/run/point_run.h"

#include "core/engine/common/device.h"
#include "core/engine/common/experiment.h"
#include "core/engine/common/failure.h"
#include "core/engine/lm/recomputation.h"
#include "core/engine/ranks/collective_kernels.h"
#include "core/engine/ranks/collectives.h"
#include "core/engine/studies/memory_reader.h"
#include "core/model/flags.h"
#include "core/model/parallelism.h"
#include "core/model/text.h"
#include "core/trace/counters/counter_reader.h"
#include "core/trace/cupti/kernel_sampler.h"
#include "core/trace/host/range.h"
#include "core/trace/tracer.h"

#include <c10/util/StringUtil.h>

#include <cmath>

namespace tilescope::engine {
namespace {

using tilescope::trace::Recording;
using tilescope::trace::ScopedRange;

double medianOf(std::vector<Nanoseconds> values)
{
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    const auto count = [&](std::size_t i) { return static_cast<double>(values[i].count()); };
    return values.size() % 2 != 0 ? count(middle) : (count(middle - 1) + count(middle)) / 2;
}

std::vector<Phase> phasesOf(const Experiment& experiment)
{
    std::vector<Phase> phases;
    std::ranges::copy_if(kPhasesInOrder, std::back_inserter(phases),
                         [&](Phase phase) { return experiment.has(phase); });
    return phases;
}

} // namespace

PointRun::PointRun(const ExperimentSpec& spec, const Device& device, Experiment& experiment, Ranks* ranks,
                   tilescope::trace::KernelSampler* sampler, PointObserver& observer, std::stop_token stop,
                   RunResult& result, std::string_view& phase, StringTable& strings)
    : phases_(phasesOf(experiment)), spec_(spec), device_(device), experiment_(experiment), ranks_(ranks),
      sampler_(sampler), observer_(observer), stop_(std::move(stop)), result_(result), phase_(phase),
      clock_(device, phases_.size(), spec.timing, ranks), strings_(strings)
{
    if (spec.mode == Mode::Backward)
        firstTimed_ = static_cast<std::size_t>(std::find(phases_.begin(), phases_.end(), Phase::Backward) -
                                               phases_.begin());
    if (spec.memory)
        memory_ = std::make_unique<MemoryReader>(device, experiment);
}

PointRun::~PointRun() = default;

void PointRun::run()
{
    try {
        runSteps();
    } catch (const c10::OutOfMemoryError&) {
        // If events were recorded, they show the failure already. A rank cannot repeat the step alone.
        if (!spec_.memory || recording_ || ranks_)
            throw;
        recordFailure(result_, phase_);
        autopsy();
    }
}

void PointRun::runSteps()
{
    warmUp();
    if (result_.status == RunStatus::Ok)
        measure();
    if (result_.status == RunStatus::Ok && tracing())
        trace();
    if (spec_.inside && !device_.isCuda())
        result_.flags.push_back(flagText(FlagKind::InsideNotRecorded, "this point runs on the CPU"));
    if (result_.status == RunStatus::Ok && !spec_.counters.empty())
        readCounters();
}

void PointRun::warmUp()
{
    observer_.stateChanged(PointState::Warmup);
    const ScopedRange range("warmup");
    const int steps = spec_.warmup * experiment_.stepsOfRound();
    for (int i = 0; i < steps && !cancelled("warm-up", i, steps); ++i) {
        step(SampleKind::Warmup, i);
        tellMemory(SampleKind::Warmup, i, device_.memory());
        experiment_.finish();
    }
}

void PointRun::measure()
{
    observer_.stateChanged(PointState::Measure);
    const ScopedRange range("measure");
    device_.resetPeaks();
    phase_ = "settling";
    settle();
    if (std::vector<EnvironmentEntry> facts = experiment_.facts(); !facts.empty())
        observer_.factsFound(std::move(facts));
    for (int i = 0; i < spec_.steps && !cancelled("timed", i, spec_.steps); ++i) {
        const Nanoseconds wall = step(SampleKind::Measure, i);
        if (isTypical()) {
            measured_.push_back(wall);
            const Timing timing = clock_.timing(firstOfStep(), phases_.size() - 1);
            measuredOnDevice_.push_back(timing.gpu.value_or(timing.wall));
        }
        // Reads memory before the step's tensors are freed, and before the loss, which may allocate.
        const MemoryFigures memory = device_.memory();
        result_.peakAllocated = memory.peakAllocated;
        result_.peakReserved = memory.peakReserved;
        tellMemory(SampleKind::Measure, i, memory);
        noteLoss(i);
        experiment_.finish();
    }
    noteMedian();
    if (result_.status == RunStatus::Ok)
        if (std::vector<EnvironmentEntry> facts = experiment_.factsAfterSteps(); !facts.empty())
            observer_.factsFound(std::move(facts));
}

void PointRun::noteLoss(int step)
{
    const bool isLast = step + 1 == spec_.steps;
    if (experiment_.computesLoss() || isLast)
        if (const std::optional<double> loss = experiment_.loss()) {
            result_.losses.resize(static_cast<std::size_t>(step));
            result_.losses.push_back(loss);
        }
}

void PointRun::noteMedian()
{
    if (measuredOnDevice_.empty())
        return;
    const Nanoseconds median(std::llround(medianOf(measuredOnDevice_)));
    if (std::vector<EnvironmentEntry> facts = experiment_.factsOf(median); !facts.empty())
        observer_.factsFound(std::move(facts));
}

bool PointRun::tracing() const
{
    return spec_.trace != TraceLevel::Off && spec_.traceSteps > 0;
}

tilescope::trace::TracerOptions PointRun::tracerOptions() const
{
    tilescope::trace::TracerOptions options;
    options.level = spec_.trace;
    options.memory = spec_.memory;
    options.shapes = spec_.shapes;
    options.cuda = device_.isCuda();
    if (device_.isCuda())
        options.device = DeviceIndex{static_cast<std::int16_t>(device_.torch().index())};
    return options;
}

TraceSink& PointRun::sink()
{
    if (!ranks_)
        return observer_;
    if (!collectives_)
        collectives_ = std::make_unique<CollectiveKernels>(observer_, strings_);
    return *collectives_;
}

tilescope::trace::Tracer& PointRun::tracer()
{
    if (!tracer_)
        tracer_ = std::make_unique<tilescope::trace::Tracer>(tracerOptions(), strings_, sink());
    return *tracer_;
}

// Only a recorded capture shows which module launches each kernel of a graph, and which memory it uses.
void PointRun::settle()
{
    if (sampler_)
        sampler_->endWatch(); // the warm-up has loaded what the steps need
    const bool isRecorded = tracing() && device_.isCuda() && replaysGraphs(spec_);
    const CaptureCalls calls{.before =
                                 [&](Phase phase) {
                                     if (isRecorded && memory_ && phase == Phase::Backward)
                                         memory_->lookAtGraph();
                                     if (spec_.timing == StepTiming::Step)
                                         clock_.captureStart(slotOf(phase));
                                 },
                             .after =
                                 [&](Phase phase) {
                                     if (spec_.timing == StepTiming::Step)
                                         clock_.captureStop(slotOf(phase));
                                 }};
    if (!isRecorded) {
        experiment_.settle(calls);
        return;
    }
    tracer().start(Recording::Capture);
    try {
        experiment_.settle(calls);
        if (memory_)
            memory_->lookAtHeld();
    } catch (...) {
        tracer().stop();
        throw;
    }
    tracer().stop();
    if (memory_)
        tellCaptured();
}

void PointRun::tellCaptured()
{
    MemoryFacts instants = memory_->takeInstants();
    MemoryFacts facts;
    facts.captured = tracer().captured();
    facts.captured.held = std::move(instants.held);
    facts.captured.saved = std::move(instants.saved);
    observer_.memoryLearnt(std::move(facts));
}

void PointRun::trace()
{
    observer_.stateChanged(PointState::Trace);
    if (device_.isCuda() || spec_.shapes || spec_.memory)
        runReferenceStep();
    if (spec_.memory)
        observer_.memoryLearnt(memory_->takeStock("trace begins"));
    if (ranks_)
        ranks_->takeRecords(); // drops those of the reference step
    tracer().start();
    recording_ = true;
    if (sampler_)
        sampler_->start();
    try {
        const ScopedRange range("trace");
        const int steps = spec_.traceSteps * experiment_.stepsOfRound();
        for (int i = 0; i < steps && !cancelled("traced", i, steps); ++i) {
            tracer().setStep(i);
            const Nanoseconds wall = step(SampleKind::Trace, i);
            tracer().setStep(kNoStep);
            if (isTypical())
                traced_.push_back(wall);
            experiment_.finish();
        }
    } catch (...) {
        // Events recorded before a failure are kept, because they explain the failure.
        if (sampler_)
            sampler_->stop();
        tracer().stop();
        throw;
    }
    observer_.stateChanged(PointState::Drain);
    if (sampler_)
        sampler_->stop();
    tracer().stop();
    if (sampler_)
        passOnSamples();
    if (ranks_)
        passOnCollectives();
    if (spec_.memory)
        noteMemoryAfter();
    noteTrace();
}

// Runs an additional step, or round of steps, without keeping its events. It absorbs CUPTI's start-up, records shapes by the
// order of ops, and allows reading the autograd graph between forward and backward without delaying a traced
// step.
void PointRun::runReferenceStep()
{
    tracer().start(Recording::ReferenceStep);
    const int steps = experiment_.stepsOfRound();
    looking_ = spec_.memory && steps == 1;
    const auto ended = [&] {
        looking_ = false;
        observeRecomputation({});
        tracer().stop();
    };
    try {
        if (looking_)
            observeRecomputation([this](const at::Tensor& output) { memory_->lookAtRecomputed(output); });
        // The same range as in the traced steps, so that launches can be matched.
        const ScopedRange range("trace");
        for (int i = 0; i < steps; ++i) {
            looking_ = spec_.memory && i + 1 == steps;
            tracer().setStep(i);
            execute(i);
            tracer().setStep(kNoStep);
            experiment_.finish();
        }
    } catch (...) {
        ended();
        throw;
    }
    ended();
    if (!spec_.memory)
        return;
    MemoryFacts facts = memory_->takeInstants();
    facts.reference = tracer().referenceAllocations();
    observer_.memoryLearnt(std::move(facts));
    if (memory_->unreadNodes() > 0)
        result_.flags.push_back(
            flagText(FlagKind::SavedUnread,
                     c10::str(memory_->unreadNodes(), " nodes do not list their tensors for backward; ",
                              memory_->unreadReason())));
}

namespace {

/// Holds a recording until it can be completed.
class BatchKeeper final : public TraceSink {
public:
    void consume(TraceBatch&& batch) override { batches.push_back(std::move(batch)); }
    std::vector<TraceBatch> batches;
};

} // namespace

// Repeats the step that ran out of memory, with recording. It fails at the same place, and the recording
// shows the failing op and the holders of the memory. Its events are not part of a traced step.
void PointRun::autopsy()
{
    BatchKeeper keeper;
    tilescope::trace::TracerOptions options = tracerOptions();
    options.level = TraceLevel::Full;
    std::string otherwise = "did not run out of memory";
    experiment_.finish();
    if (sampler_)
        sampler_->endWatch();
    observer_.memoryLearnt(memory_->takeStock("before the step that ran out"));
    tilescope::trace::Tracer tracer(options, strings_, keeper);
    tracer.start();
    looking_ = true;
    try {
        const ScopedRange range("out_of_memory");
        execute(0);
        experiment_.finish();
    } catch (const c10::OutOfMemoryError&) {
        otherwise.clear();
    } catch (const std::exception& error) {
        otherwise = c10::str("failed in another way (", condensed(error.what()), ")");
    }
    looking_ = false;
    tracer.stop();
    MemoryFacts facts = memory_->takeInstants();
    for (const TraceBatch& batch : keeper.batches)
        facts.reference.insert(facts.reference.end(), batch.allocEvents.begin(), batch.allocEvents.end());
    facts.places = tracer.places();
    observer_.memoryLearnt(std::move(facts));
    for (TraceBatch& batch : keeper.batches)
        observer_.consume(std::move(batch));
    if (!otherwise.empty())
        result_.flags.push_back(
            flagText(FlagKind::OomNotSeen, c10::str("the step ", otherwise, " when it was repeated")));
}

void PointRun::noteMemoryAfter()
{
    MemoryFacts facts;
    facts.readings.push_back(memory_->read("trace ends"));
    facts.places = tracer().places();
    observer_.memoryLearnt(std::move(facts));
}

void PointRun::noteTrace()
{
    if (!tracer().untracedReason().empty())
        result_.flags.push_back(flagText(FlagKind::Untraced, tracer().untracedReason()));
    else if (!traced_.empty() && !measured_.empty())
        result_.traceOverhead = medianOf(traced_) / medianOf(measured_);
    if (const auto offsets = tracer().clockOffsets()) {
        result_.clockOffsetStart = offsets->start;
        result_.clockOffsetEnd = offsets->end;
    }
}

void PointRun::passOnCollectives()
{
    observer_.consume(collectives_->eventsOf(ranks_->takeRecords(), device_.isCuda()));
}

void PointRun::passOnSamples()
{
    tilescope::trace::KernelSampler::Result found = sampler_->take();
    if (!found.trouble.empty())
        result_.flags.push_back(flagText(FlagKind::InsideNotRecorded, found.trouble));
    if (!found.facts.empty())
        observer_.factsFound(std::move(found.facts));
    observer_.kernelsSampled(std::move(found.samples));
}

void PointRun::readCounters()
{
    if (!device_.isCuda()) {
        result_.flags.push_back(flagText(FlagKind::CountersNotRecorded, "this point runs on the CPU"));
        return;
    }
    phase_ = "reading counters";
    tilescope::trace::CounterReading reading =
        tilescope::trace::readCounters(spec_.counters, tracer(), [this] {
            for (int i = 0; i < experiment_.stepsOfRound(); ++i) {
                execute(i);
                experiment_.finish();
            }
            device_.synchronize();
        });
    observer_.countersRead(std::move(reading.values));
    if (!reading.whyNot.empty())
        result_.flags.push_back(flagText(FlagKind::CountersNotRecorded, reading.whyNot));
}

Nanoseconds PointRun::step(SampleKind kind, int index)
{
    const bool lastTimed = kind == SampleKind::Measure && index + 1 == spec_.steps;
    execute(index, lastTimed);
    emit(kind, index);
    return clock_.timing(firstOfStep(), phases_.size() - 1).wall;
}

// Every step has the last phase.
std::size_t PointRun::firstOfStep() const
{
    std::size_t first = firstTimed_;
    while (!experiment_.isInStep(phases_[first]))
        ++first;
    return first;
}

// The first token of a generation needs more work than the others.
bool PointRun::isTypical() const
{
    return !experiment_.has(Phase::Prefill) || !experiment_.isInStep(Phase::Prefill);
}

// Runs a step and records the times of its phases in the clock.
void PointRun::execute(int index, bool noteMemory)
{
    phase_ = "preparing a step";
    experiment_.prepare();
    device_.synchronize();
    const ScopedRange range("step", c10::str("step_", index));
    if (!experiment_.runsWholeSteps())
        return runPhases(noteMemory);
    if (noteMemory && (experiment_.has(Phase::Backward) || spec_.grad))
        noteBeforeBackward();
    replayStep();
    if (looking_)
        memory_->lookAtHeld();
}

void PointRun::runPhases(bool noteMemory)
{
    for (std::size_t slot = 0; slot < phases_.size(); ++slot) {
        if (!experiment_.isInStep(phases_[slot]))
            continue;
        phase_ = wordOf(phases_[slot]);
        if (noteMemory && phases_[slot] == Phase::Backward)
            noteBeforeBackward();
        if (looking_ && phases_[slot] == Phase::Backward)
            memory_->lookAtGraph();
        const ScopedRange phaseRange(phase_);
        clock_.start(slot);
        experiment_.run(phases_[slot]);
        clock_.stop(slot);
    }
    if (noteMemory && spec_.mode == Mode::Forward && spec_.grad)
        noteBeforeBackward();
    if (looking_ && spec_.mode == Mode::Forward)
        memory_->lookAtGraph();
    else if (looking_)
        memory_->lookAtHeld();
}

void PointRun::replayStep()
{
    phase_ = wordOf(Phase::Step);
    clock_.startReplay();
    experiment_.run(Phase::Step);
    clock_.stopReplay();
}

std::size_t PointRun::slotOf(Phase phase) const
{
    return static_cast<std::size_t>(std::ranges::find(phases_, phase) - phases_.begin());
}

// Once per point, in the last timed step, because it costs a lock and a copy.
void PointRun::noteBeforeBackward()
{
    const auto counted = experiment_.heldBeforeBackward();
    result_.beforeBackward = counted ? counted : device_.memory().allocated;
}

void PointRun::emit(SampleKind kind, int index)
{
    const auto sample = [&](Phase phase, std::size_t first, std::size_t last) {
        const Timing timing = clock_.timing(first, last);
        observer_.sampleTaken(
            {.step = index, .kind = kind, .phase = phase, .wall = timing.wall, .gpu = timing.gpu});
    };
    if (isTypical())
        sample(Phase::Step, firstOfStep(), phases_.size() - 1);
    for (std::size_t slot = firstTimed_; slot < phases_.size(); ++slot)
        if (experiment_.isInStep(phases_[slot]))
            sample(phases_[slot], slot, slot);
}

void PointRun::tellMemory(SampleKind kind, int index, const MemoryFigures& memory)
{
    if (memory.allocated)
        observer_.memoryRead(
            {.step = index,
             .kind = kind,
             .allocated = *memory.allocated,
             .reserved = memory.reserved,
             .peakAllocated = kind == SampleKind::Measure ? memory.peakAllocated : std::nullopt});
}

bool PointRun::cancelled(std::string_view doing, int done, int of)
{
    if (!stop_.stop_requested())
        return false;
    result_.status = RunStatus::Cancelled;
    result_.reason = c10::str("cancelled after ", done, " of ", of, " ", doing, " steps");
    return true;
}

} // namespace tilescope::engine
