#pragma once

#include "core/analysis/kernels/stall_reasons.h"
#include "core/exchange/tables/column_of.h"
#include "core/query/kernels/inside_difference.h"

#include <optional>
#include <string>

namespace tilescope::exchange {

/// "waits at a barrier (barrier)": a state of the warps in words, and as other tools name it.
inline std::string reasonText(const std::string& reason)
{
    const analysis::StallReason known = analysis::stallReason(reason);
    return known.name == reason ? reason : std::string(known.name) + " (" + reason + ")";
}

/// "train.py:12": without the folder; of no line, the file alone.
inline std::string sourceLineText(const SourceLine& line)
{
    const std::string file = line.file.substr(line.file.rfind('/') + 1);
    return line.line > 0 ? file + ":" + std::to_string(line.line) : file;
}

/// The columns of what changed inside kernels.
struct InsideDifferenceColumns {
    using Row = query::InsideDifferenceRow;
    using Of = ColumnOf<Row>;

    /// The line in B, otherwise in A.
    static const SourceLine& lineOf(const Row& row) { return row.lineB.file.empty() ? row.lineA : row.lineB; }
    static std::optional<double> percentOf(const std::optional<double>& share)
    {
        return share ? std::optional(100 * *share) : std::nullopt;
    }

    Of kernel = Of("kernel", "kernel", &Row::name, {.keep = 2, .elidable = true});
    Of line = Of("line", "line", [](const Row& row) { return cellOrNull(sourceLineText(lineOf(row))); },
                 {.keep = 2, .audience = Audience::People});
    Of function = Of("function", "function", [](const Row& row) { return cellOrNull(row.function); },
                     {.keep = 0, .elidable = true});
    Of text = Of("text", "source", [](const Row& row) { return cellOrNull(row.text); },
                 {.keep = 0, .elidable = true});
    Of instruction =
        Of("instruction", "instruction", [](const Row& row) { return cellOrNull(row.instruction); },
           {.keep = 2, .elidable = true});
    Of state = Of("state", "state", [](const Row& row) { return Cell(reasonText(row.reason)); },
                  {.keep = 2, .audience = Audience::People});
    Of percentA = Of("percent_a", "A", [](const Row& row) { return percentOf(row.shareA); },
                     {.unit = Unit::Percent, .keep = 2});
    Of percentB = Of("percent_b", "B", [](const Row& row) { return percentOf(row.shareB); },
                     {.unit = Unit::Percent, .keep = 2});
    Of points = Of("points", "B - A", &Row::points, {.unit = Unit::Percent, .keep = 2});
    Of timeA = Of("ns_a", "A a launch", &Row::timeA, {.unit = Unit::Nanoseconds, .unitGroup = 1});
    Of timeB = Of("ns_b", "B a launch", &Row::timeB, {.unit = Unit::Nanoseconds, .unitGroup = 1});
    Of delta = Of("delta_ns", "B - A", &Row::delta, {.unit = Unit::Nanoseconds, .unitGroup = 1});
};

} // namespace tilescope::exchange
