#pragma once

#include "core/analysis/advice/rule.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/process_rank.h"
#include "core/query/steps/typical_steps.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// A row of evidence for a finding. The rows of one finding add up to the time at stake.
struct AdviceEvidence {
    std::string kind = {}; ///< kernel, copy, call, range, op, frame or module
    std::string name = {};
    std::string place = {}; ///< module, or function of the program; empty: unknown, or counted together
    std::string note = {};  ///< such as the launch
    std::int64_t count = 0; ///< in all steps
    Nanoseconds total{0};   ///< sum of their durations in all steps
    Nanoseconds atStake{0}; ///< in all steps
};

/// Something that costs time or memory, with a remedy.
struct Advice {
    analysis::AdviceRule rule = analysis::AdviceRule::LaunchBound;
    Nanoseconds atStake{0};          ///< in all steps: what the remedy saves at most
    std::optional<Bytes> bytes = {}; ///< of memory at stake; none: the finding is not about memory
    std::string sentence = {};
    std::string bound = {}; ///< how the time at stake is computed
    std::string remedy = {};
    std::vector<AdviceEvidence> evidence = {}; ///< most at stake first
    std::string command = {};                  ///< shows related rows
};

/// A rule that the recording does not allow to judge.
struct UnjudgedRule {
    analysis::AdviceRule rule = analysis::AdviceRule::LaunchBound;
    std::string why = {};
};

/// Advice that would make a run faster, with the largest possible savings.
///
/// All findings refer to the same wall time. Two findings may contain the same instant, so do not add their times at stake.
struct AdviceTable {
    store::RunRecord run = {};
    std::optional<std::int32_t> rank = {};   ///< none if there is none, or of several
    ProcessNumbers numbers = {};             ///< likewise
    std::string process = {};                ///< "rank 1", "mean of 2 ranks"; empty in a run of one process
    bool hasHostStacks = false;              ///< the table of waiting has lines
    bool isWhole = false;                    ///< no steps were recorded: the whole recording counts as one
    std::int64_t steps = 0;                  ///< those of each process count
    StepChoice choice = {};                  ///< of these steps
    Nanoseconds wall{0};                     ///< of all steps: the denominator of every share
    std::vector<Advice> rows = {};           ///< most time at stake first
    std::vector<UnjudgedRule> unjudged = {}; ///< by rule
    std::vector<analysis::AdviceRule> silent = {}; ///< judged, and without a finding

    /// Time of a mean step, ns.
    double perStep(Nanoseconds time) const;
    /// Share of the wall time, per cent.
    double percent(Nanoseconds time) const;
};

/// Findings below kLeastShareAtStake of the wall time are left out.
///
/// Findings are about the mean step of all processes, or of the process of `topology`. Reads all events of the run, once
/// for each process.
/// \param cancelled  ends the reading early; the table is then without steps
/// \throws Error  no such run, rank or process
AdviceTable advice(
    const store::RunReader& reader, std::optional<RunId> run, const ProcessQuery& topology = {},
    const std::function<bool()>& cancelled = [] { return false; });

} // namespace tilescope::query
