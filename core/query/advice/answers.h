#pragma once

#include "core/query/runs/event_query.h"
#include "core/query/runs/run_tables.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// A number that an answer rests on.
struct AnswerFigure {
    std::string label;
    std::optional<double> value = {};
    std::string unit = {}; ///< %, ns, FLOP, 1; empty for a count
    std::string note = {}; ///< what the kernel computes
};

/// A common question about a trace, answered for a run.
struct Answer {
    std::string name = {}; ///< matmul-share
    std::string question = {};
    std::string sentence = {}; ///< the answer; without figures, the reason
    std::vector<AnswerFigure> figures = {};
    std::string command = {}; ///< command that shows the rows of the answer
};

struct AnswersTable {
    store::RunRecord run = {};
    /// In a run of several processes: the process to which the answers apply.
    std::optional<std::int32_t> rank = {};
    std::string process = {}; ///< "rank 1", "python 4711"; empty in a run of one process
    std::vector<Answer> rows = {};
};

/// Answers one question, or all, from the traced steps; on a CPU from its ops instead of kernels.
///
/// Answers are about one process: the process of `query`, otherwise the lowest rank. Questions about all
/// ranks (rank_answers.h) follow if the run has collectives.
/// \param name  none: all
/// \throws Error  no such question, run or process
AnswersTable answers(const store::RunReader& reader, const EventQuery& query,
                     std::optional<std::string> name);

} // namespace tilescope::query
