#pragma once

#include "core/exchange/tables/column_of.h"
#include "core/query/waiting/waiting_table.h"

#include <optional>
#include <string>
#include <string_view>

namespace tilescope::exchange {

/// train.py:12, without a number where it is unknown.
std::string lineText(const std::optional<query::CodeLine>& line);

/// The columns of what the host did while a GPU had no work.
struct WaitingColumns {
    using Row = query::WaitingRow;
    using Of = ColumnOf<Row>;

    /// \param waiting  of the rows; must outlive the columns
    explicit WaitingColumns(const query::WaitingTable& waiting)
        : idle("idle_a_step_ns", waiting.steps > 0 ? "idle a step" : "idle",
               [](const Row& row) { return query::WaitingTable::perStep(row); },
               {.unit = Unit::Nanoseconds, .keep = 2, .unitGroup = 1}),
          interval("interval", "95 %",
                   [](const Row& row) {
                       return row.interval ? Cell(analysis::ConfidenceInterval{
                                                 query::WaitingTable::perStep(row, row.interval->low),
                                                 query::WaitingTable::perStep(row, row.interval->high)})
                                           : Cell();
                   },
                   {.unit = Unit::Nanoseconds, .unitGroup = 1})
    {
    }

    /// Of tables with several.
    Of process = Of("process", "process", [](const Row& row) { return cellOrNull(row.title); }, {.keep = 2});
    Of cause = Of("cause", "cause", [](const Row& row) { return cellOrNull(row.cause); }, {.keep = 2});
    Of line = Of("code", "line", [](const Row& row) { return cellOrNull(lineText(row.line)); },
                 {.keep = 2, .elidable = true});
    Of function = Of("function", "function",
                     [](const Row& row) { return row.line ? cellOrNull(row.line->function) : Cell(); });
    Of thread = Of("thread", "thread", [](const Row& row) { return cellOrNull(row.thread); });
    Of idle; ///< of a mean step
    Of share = Of("idle_percent", "of the idle time", [](const Row& row) { return 100 * row.share; },
                  {.unit = Unit::Percent, .keep = 2, .shortTitle = "share"});
    Of interval; ///< of `idle`
    Of samples = Of("samples", "samples", &Row::samples);
    Of count = Of("count", "times", &Row::count);
    Of median = Of("median_ns", "median", &Row::median);
    Of longest = Of("longest_ns", "longest", &Row::longest);
    Of most = Of("count_of_90_percent", "take 90 %", &Row::most);
    Of calls = Of("calls", "calls", [](const Row& row) { return cellOrNull(row.calls); }, {.elidable = true});
    Of work = Of("work", "then", [](const Row& row) { return cellOrNull(row.work); }, {.elidable = true});
};

/// "The GPU was idle for 64.5 ms of 75.0 ms a step, 86.0 %." Of several GPUs the mean, and which was idle least and most. None
/// if there are no rows.
std::string idleSentence(const query::WaitingTable& waiting);
/// "A launch was 1.20 ms ahead of its work on average; the host's own work takes 9.30 ms a step." Empty without launches.
std::string leadSentence(const query::WaitingTable& waiting);
/// "Within collectives, rank 0 waits for rank 1 for 4.52 ms a step …": empty where no process waits for another one.
std::string peerSentence(const query::WaitingTable& waiting);
/// The word of a cause for people: "Data loading".
std::string titleOfCause(std::string_view cause);
/// "Python takes 19.4 ms of it, backward 16.4 ms."
/// \param waiting  by cause, with rows
std::string causesSentence(const query::WaitingTable& waiting);

} // namespace tilescope::exchange
