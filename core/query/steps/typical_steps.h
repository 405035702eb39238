#pragma once

#include "core/analysis/steps/start_cause.h"
#include "core/analysis/time/busy_time.h"
#include "core/query/runs/process_filter.h"
#include "core/query/steps/step_types.h"
#include "core/store/run_reader.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::query {

/// Time by what makes steps long.
using StartTimes = std::array<Nanoseconds, analysis::kStartCauses>;

/// Which steps of a recording stand for the program (analysis::typicalSteps()): those of the type that takes most of the time,
/// without outliers among them. Of Tilescope's own runs, which have warm-up steps of their own, all do but for first ones that take
/// three times the median and more.
struct StepChoice {
    /// Why a step is left out, by the number of its process in the run and its own: "compiles: 29.8 s instead of 5.1 ms".
    std::map<std::pair<std::int32_t, std::int32_t>, std::string> leftOut = {};
    /// "28 of 30 steps; steps 0 and 1 compile (29.9 s)". Empty: all steps are typical.
    std::string summary = {};
    /// The steps are computed from the sequence of kernels: sentences about them say "inferred period".
    bool areInferred = false;
    StepTypes types = {}; ///< of all steps
    /// user, profiler, optimizer, framework, range or inferred; empty: the steps are of Tilescope's own run, or there are none.
    std::string source = {};
    /// "From step 12 on, steps take 10 ms instead of 25 ms." Empty: the times stay at one level.
    std::string change = {};

    /// \param process  number in the run; none: the only one
    bool isTypical(std::optional<std::int32_t> process, std::int32_t step) const
    {
        return whyNot(process, step).empty();
    }
    StepType typeOf(std::optional<std::int32_t> process, std::int32_t step) const;
    /// "28 steps", or "28 inferred periods".
    std::string counted(std::int64_t count, std::string_view kind = {}) const;
    /// "step" or "inferred period".
    std::string_view noun() const { return areInferred ? "inferred period" : "step"; }
    /// Sentences for the notes of a table whose means are of these steps.
    std::vector<std::string> notes() const;
    /// Empty: the step is typical.
    std::string_view whyNot(std::optional<std::int32_t> process, std::int32_t step) const;
};

/// The choice for a run; with ProcessQuery::allSteps all of its steps. Reads no events if the file stores the totals of
/// the steps and all are typical; otherwise those of the steps that are left out.
StepChoice stepChoice(const store::RunReader& reader, RunId run, const ProcessQuery& topology = {});

/// What a recording does before its first step.
struct StartPhase {
    analysis::Interval time{};
    StartTimes causes{}; ///< may overlap; the rest has no recorded cause

    /// "Before the first step: 31.2 s, of which 12 s of compilation and 0.21 s of CUDA initialisation."
    std::string text() const;
};

/// None without steps, or if a run starts with its first step.
std::optional<StartPhase> startPhase(const store::RunReader& reader, RunId run);

} // namespace tilescope::query
