#pragma once

#include "core/analysis/compare/comparison.h"
#include "core/analysis/compare/run_comparison.h"
#include "core/query/compare/compared_tokens.h"
#include "core/query/compare/step_change.h"
#include "core/query/memory/memory_difference.h"
#include "core/query/memory/memory_tables.h"
#include "core/query/runs/time_span.h"
#include "core/query/waiting/compared_lines.h"
#include "core/store/run_reader.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// One side of a comparison.
struct ComparedRun {
    std::string file = {};
    store::RunRecord run = {};
    /// The compared runs: `run` and the finished repeats of its point, in file order.
    std::vector<RunId> runs = {};
    std::vector<std::string> losses = {};       ///< what runs lack, a sentence for each that lacks something
    std::optional<TimeSpan> span = {};          ///< that the run is limited to
    std::optional<LiveMemoryTable> atPeak = {}; ///< within the span; none without one, or without allocations
};

/// A phase's wall or GPU time over the timed steps, in ms.
struct ComparedTime {
    Phase phase = Phase::Step;
    bool onGpu = false; ///< between CUDA events; else the host's wall
    analysis::TimeDifference difference = {};
};

/// A flag of one of the compared runs, which affects how reliable their times are.
struct ComparedFlag {
    char side = 'A'; ///< A or B
    RunId run = {};
    std::string text = {};
};

struct ComparedMemory {
    std::string what = {}; ///< peak_allocated, peak_reserved, before_backward
    std::optional<Bytes> a = {};
    std::optional<Bytes> b = {};
};

/// A fact that the runs do not share: a parameter, or something about the machine.
struct ComparedFact {
    std::string key = {};
    std::string a = {}; ///< empty if the run has no such fact
    std::string b = {};
};

/// One row of kernels, ops, families or ranges, with its description.
struct ComparedGroup {
    analysis::GroupDifference difference = {};
    std::string shortName = {}; ///< of kernels
    std::string family = {};    ///< of kernels and ops

    /// B - A in ns; a side without the group counts as 0.
    double change() const { return difference.b.value_or(0) - difference.a.value_or(0); }
};

/// Run B against run A.
struct Comparison {
    ComparedRun a = {};
    ComparedRun b = {};
    std::vector<ComparedFlag> flags = {};
    std::vector<ComparedFact> parameters = {};
    std::vector<ComparedFact> environment = {};
    std::vector<ComparedTime> times = {}; ///< the step first; those that both runs measured
    /// The wall times of the recorded steps, where a side has no timed steps; none if it has no steps at all.
    std::optional<analysis::TimeDifference> recordedStep = {};
    std::vector<ComparedToken> tokens = {}; ///< of programs that generate text; else empty
    std::vector<ComparedMemory> memory = {};
    std::optional<MemoryDifference> held = {}; ///< only if requested: memoryDifference()
    std::vector<ComparedGroup> families = {};  ///< of kernels, or of ops where neither ran on a GPU
    std::vector<ComparedGroup> kernels = {};   ///< ops where neither ran on a GPU
    std::vector<ComparedGroup> ranges = {};
    bool opsForKernels = false;
    std::vector<ComparedLine> lines =
        {}; ///< idle time of GPUs, the largest change first; empty: a side has no stacks of its host
    std::optional<StepChange> change = {}; ///< none without events of one kind on both sides

    /// The wall time of the step; none if a side has no timed step.
    const analysis::TimeDifference* step() const;
    /// The comparison that the verdict is about: of timed steps, otherwise of recorded ones; may be null.
    const analysis::TimeDifference* judged() const;
    /// Whether a side is limited to a time span.
    bool isLimited() const { return a.span || b.span; }
    /// B - A in ns of the median timed step, otherwise of the mean traced step or the whole recording.
    std::optional<std::int64_t> delta() const;
};

/// The timed steps of a run in one phase, ms, and whether they were disturbed: flagged, or on a loaded host.
analysis::TimedRun timedRun(const store::RunReader& reader, const store::RunRecord& run, Phase phase,
                            bool onGpu);

/// The recorded steps of another program, as timedRun(): how long its threads waited for a core in them is known if
/// `tilescope record` read it, and whether one thread computes them.
analysis::TimedRun recordedRun(const store::RunReader& reader, const store::RunRecord& run);

/// The runs of a file that are a side.
struct ComparedRuns {
    std::vector<RunId> named = {}; ///< none: the file's only point; several: these runs and no others
    bool withRepeats = true;       ///< a single named run stands for all finished repeats of its point
};

/// Compares two sides, from one file or two. Reads samples, and the events of the traced steps.
///
/// A side is a run together with the finished repeats of its point: runs of the same device, program and spec
/// except for name, timeout and repeat. Two runs of one point are compared as single runs, since they share
/// all repeats; so is a run of which a repeat is named for the other side. Other runs that differ from a side only by
/// their seed, and further repeats of that one point, are used to estimate the deviation between runs.
/// \param runToRun    deviation between runs, as a fraction; none: estimate it from the runs
/// \param topology     whose traced steps kernels, ranges and the change are of; empty: of all processes, as a mean
/// \throws Error  no such run; no run is named and the file has several points; no such rank
Comparison compare(const store::RunReader& a, const ComparedRuns& runsA, const store::RunReader& b,
                   const ComparedRuns& runsB, std::optional<double> runToRun = {},
                   const ProcessQuery& topology = {});
/// \param runA, runB  none: the file's only point
Comparison compare(const store::RunReader& a, std::optional<RunId> runA, const store::RunReader& b,
                   std::optional<RunId> runB, std::optional<double> runToRun = {},
                   const ProcessQuery& topology = {});

/// Compares what happens in a time span of each run; a run without a span counts by its mean traced step. The sides are
/// these runs alone. Kernels, families, ops and ranges count with their parts in the span, and the peak is that within
/// it. Timed steps and causes are about whole steps: there are none.
/// \param runA, runB  as in compare()
/// \throws Error  as compare()
Comparison compareSpans(const store::RunReader& a, std::optional<RunId> runA, const store::RunReader& b,
                        std::optional<RunId> runB, const std::array<std::optional<TimeSpan>, 2>& spans,
                        const ProcessQuery& topology = {});

/// Compares the step of one run with those of others; reads samples, but no events. Each file's list of runs is read
/// once. Not for several threads at once; the baseline's reader must outlive it.
class StepBaseline {
public:
    /// \throws Error  no such run
    StepBaseline(const store::RunReader& reader, RunId run);
    ~StepBaseline();
    StepBaseline(const StepBaseline&) = delete;
    StepBaseline& operator=(const StepBaseline&) = delete;

    /// What Comparison::judged() is about, with the baseline as A. None where a side has no step.
    /// \throws Error  no such run
    std::optional<analysis::TimeDifference> compareWith(const store::RunReader& other, RunId run);

private:
    struct Known;
    std::unique_ptr<Known> known_;
};

/// One comparison of a StepBaseline.
std::optional<analysis::TimeDifference> compareSteps(const store::RunReader& a, RunId runA,
                                                     const store::RunReader& b, RunId runB);

} // namespace tilescope::query
