#pragma once

#include "core/engine/run/engine.h"
#include "core/engine/run/phase_clock.h"

#include <array>
#include <memory>
#include <string_view>

namespace tilescope::trace {
class KernelSampler;
class Tracer;
struct TracerOptions;
} // namespace tilescope::trace

namespace tilescope::engine {

class CollectiveKernels;
class Device;
class Experiment;
class MemoryReader;
class Ranks;
struct MemoryFigures;

/// The steps of one point: warm-up, timed, traced. Session thread.
///
/// Fills `result` continuously, so that measurements before a failure are kept; `phase` is the current
/// activity.
class PointRun {
public:
    /// \param ranks    the ranks that share the steps; null: this process alone
    /// \param sampler  samples the kernels of the traced steps; null: they are not sampled
    PointRun(const ExperimentSpec& spec, const Device& device, Experiment& experiment, Ranks* ranks,
             tilescope::trace::KernelSampler* sampler, PointObserver& observer, std::stop_token stop,
             RunResult& result, std::string_view& phase, StringTable& strings);
    ~PointRun();

    /// Runs all steps in order; sets the status to ok or cancelled.
    void run();

private:
    void runSteps();
    void warmUp();
    void measure();
    void noteLoss(int step);
    void noteMedian();
    void trace();
    bool tracing() const;
    tilescope::trace::TracerOptions tracerOptions() const;
    tilescope::trace::Tracer& tracer();
    TraceSink& sink();
    void settle();
    void tellCaptured();
    void runReferenceStep();
    void autopsy();
    void noteMemoryAfter();
    void noteTrace();
    void passOnCollectives();
    void passOnSamples();
    void readCounters();
    Nanoseconds step(SampleKind kind, int index);
    void execute(int index, bool noteMemory = false);
    void runPhases(bool noteMemory);
    void replayStep();
    std::size_t slotOf(Phase phase) const;
    std::size_t firstOfStep() const;
    bool isTypical() const;
    void emit(SampleKind kind, int index);
    void tellMemory(SampleKind kind, int index, const MemoryFigures& memory);
    void noteBeforeBackward();
    bool cancelled(std::string_view doing, int done, int of);

    // The phases of the mode in order, of which a step may lack some; those before firstTimed_ run untimed.
    std::vector<Phase> phases_;
    std::size_t firstTimed_ = 0;

    const ExperimentSpec& spec_;
    const Device& device_;
    Experiment& experiment_;
    Ranks* ranks_;
    tilescope::trace::KernelSampler* sampler_;
    PointObserver& observer_;
    std::stop_token stop_;
    RunResult& result_;
    std::string_view& phase_;
    PhaseClock clock_;
    std::vector<Nanoseconds> measured_;
    std::vector<Nanoseconds> traced_;
    std::vector<Nanoseconds> measuredOnDevice_; ///< device times of the timed steps; wall times on a CPU
    StringTable& strings_;
    std::unique_ptr<MemoryReader> memory_;             // set if memory is recorded
    bool looking_ = false;                             // the current step is inspected (autograd graph,
                                                       // recomputation)
    bool recording_ = false;                           // events are passed to the observer
    std::unique_ptr<CollectiveKernels> collectives_;   // created on first use, if there are ranks
    std::unique_ptr<tilescope::trace::Tracer> tracer_; // created on first use
};

} // namespace tilescope::engine
