#pragma once

#include "core/analysis/compare/comparison.h"
#include "core/analysis/time/step_partition.h"
#include "core/query/generation/generation_table.h"
#include "core/query/kernels/op_tables.h"
#include "core/query/memory/memory_tables.h"
#include "core/query/runs/generation_figures.h"
#include "core/query/runs/run_tables.h"
#include "core/query/runs/time_span.h"
#include "core/query/steps/typical_steps.h"
#include "core/query/timeline/hue.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// Where the wall of a mean traced step went, in nanoseconds. Of a span: where its parts of steps went in a mean
/// process.
struct MeanStep {
    std::int64_t steps = 0;    ///< what sums are divided by, those of each process; of a span the processes
    std::int64_t allSteps = 0; ///< the same with those that are not typical: the divisor of families
    std::int64_t processes = 1;
    bool onGpu = false; ///< false: there are only the wall and `communication`
    double wall = 0;
    double gpuBusy = 0;
    double launching = 0;
    double synchronizing = 0;
    double tracing = 0;
    double unexplained = 0;
    double communication = 0; ///< on a CPU: collectives of ranks while none of their ops runs
    analysis::StepVerdict verdict = analysis::StepVerdict::Cpu; ///< of the steps added up
};

/// The time of one family in a mean traced step: its kernels on a GPU, the self time of its ops on a CPU.
struct FamilyShare {
    Hue hue = Hue::Other;
    double perStep = 0; ///< ns
    double instancesPerStep = 0;
    double total = 0; ///< ns, of all steps; of a run that covers a recording, of all of it
    double instances = 0;
};

/// What the model needs of the median timed step, as a rate, and what its device can reach at most.
struct Utilisation {
    double flopsPerSecond = 0;
    std::optional<double> measuredCeiling = {}; ///< FLOP/s
    std::optional<double> sheetCeiling = {};

    /// Model FLOPs utilisation: against the measured ceiling, else against the data sheet's.
    std::optional<double> mfu() const
    {
        const std::optional<double>& ceiling = measuredCeiling ? measuredCeiling : sheetCeiling;
        return ceiling && *ceiling > 0 ? std::optional(flopsPerSecond / *ceiling) : std::nullopt;
    }
};

/// Everything that the overview of a run shows, in addition to RunSummary.
struct RunOverview {
    store::RunRecord run = {};
    std::optional<TimeSpan> span = {}; ///< what events of are counted; none: the traced steps
    ProcessQuery process = {};         ///< whose events are counted; empty: those of all, as a mean
    std::string processWords = {};     ///< "mean of 2 ranks", "rank 1"; empty in a run of one process
    std::optional<MeanStep> step = {}; ///< none without traced steps (in the span)
    StepChoice choice = {};            ///< of the steps that `step` is of
    std::shared_ptr<const GenerationTable> generation =
        {}; ///< iterations of a program that generates text; null: there are none, or a span is shown
    std::optional<StartPhase> start = {}; ///< of a recording
    std::vector<FamilyShare> families =
        {};                  ///< costliest first; without steps, of the whole recording or the span
    RangesTable ranges = {}; ///< likewise
    std::optional<LiveMemoryTable> live =
        {};                      ///< at the peak (within the span); none without allocation events
    std::string peakPhase = {};  ///< backward, …; empty if the peak is in no traced phase
    std::string peakDevice = {}; ///< "rank 1 GPU 1"; empty in a run of one process
    std::optional<GenerationFigures> timedGeneration = {}; ///< of a run of mode generate
    LossesTable losses = {};
    EnvironmentTable environment = {};
    RunTopology topology = {}; ///< of several processes, or of an imported run
    std::optional<Utilisation> utilisation =
        {}; ///< none of a span, or if the FLOPs are not known from the spec
    /// The second half of the timed steps relative to the first; none if there are too few.
    std::optional<analysis::SeriesDifference> drift = {};

    bool isWhole = false; ///< else it has only what needs no event, and traced steps may be there or not

    /// The value of an environment entry; empty if there is none.
    std::string_view fact(std::string_view key) const;
};

/// The part of it that needs no event: some milliseconds, whatever was traced.
/// \throws Error  no such run
RunOverview runBasics(const store::RunReader& reader, RunId run, const ProcessQuery& process = {});

/// Reads the overview of a run; if cancelled, returns early with the data so far.
/// \param span  limits steps, families, ranges and the peak to it; what is about timed steps stays that of the run
/// \param process  limits steps, families, ranges and the peak to one of several processes; empty: the mean over all,
///                 and the highest peak
/// \throws Error  no such run or process
RunOverview runOverview(const store::RunReader& reader, RunId run, const std::function<bool()>& cancelled,
                        const std::optional<TimeSpan>& span = {}, const ProcessQuery& process = {});

} // namespace tilescope::query
