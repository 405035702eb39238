#pragma once

#include "core/analysis/work/work.h"
#include "core/model/recomputation_plan.h"
#include "core/predict/parallel_scaling.h"
#include "core/store/run_reader.h"

#include <optional>

namespace tilescope::query {

/// Predictions by formulas for the step of a run, for comparison with measured values.
struct StepForecast {
    std::optional<Bytes> peak = {};            ///< of a rank
    std::optional<double> stepSeconds = {};    ///< none if the file has no ceilings of the device
    std::optional<double> computeSeconds = {}; ///< of it, without exposed communication
    std::optional<analysis::Flops> flops = {}; ///< that a rank executes: products and attention
    std::optional<predict::ParallelScaling> ranks = {};
    std::optional<RecomputationSummary> recomputation = {}; ///< of checkpointing block and nested
};

/// Predicts the run's spec for the device on which it ran, with the ceilings in its file.
/// \throws Error  the file cannot be read
StepForecast stepForecast(const store::RunReader& reader, const store::RunRecord& run);

} // namespace tilescope::query
