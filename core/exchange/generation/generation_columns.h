#pragma once

#include "core/exchange/tables/column_of.h"
#include "core/query/generation/generation_table.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace tilescope::exchange {

/// A mean number of tokens, without its fraction.
inline std::optional<std::int64_t> wholeTokens(const std::optional<double>& tokens)
{
    return tokens ? std::optional(static_cast<std::int64_t>(std::llround(*tokens))) : std::nullopt;
}

/// Columns of summaries of iterations: `show FILE generation --group type` and the overview.
struct GenerationColumns {
    using Row = query::GenerationSummary;

    /// \param table  that the rows are of; must outlive the columns
    explicit GenerationColumns(const query::GenerationTable& table)
        : bandwidth("bandwidth_percent", "bandwidth",
                    [&table](const Row& row) { return table.bandwidthPercent(row); }, {.unit = Unit::Percent})
    {
    }

    ColumnOf<Row> type{
        "type", "type", [](const Row& row) { return std::string(wordOf(row.type)); }, {.keep = 2}};
    ColumnOf<Row> batch{"batch", "batch", &Row::sequences, {.keep = 2}};
    ColumnOf<Row> contextFrom{"context_from", "context from",
                              [](const Row& row) { return wholeTokens(row.contextFrom); }};
    ColumnOf<Row> contextTo{"context_to", "to", [](const Row& row) { return wholeTokens(row.contextTo); }};
    ColumnOf<Row> iterations{"iterations", "count", [](const Row& row) { return row.wall.n; }, {.keep = 2}};
    ColumnOf<Row> mean{"mean_ns", "mean", [](const Row& row) { return row.wall.mean; }, time(1)};
    ColumnOf<Row> p50{"p50_ns", "p50", [](const Row& row) { return row.wall.p50; }, time(2)};
    ColumnOf<Row> p90{"p90_ns", "p90", [](const Row& row) { return row.wall.p90; }, time(1)};
    ColumnOf<Row> p99{"p99_ns", "p99", [](const Row& row) { return row.wall.p99; }, time(2)};
    ColumnOf<Row> gpuBusy{
        "gpu_ns", "GPU busy",
        [](const Row& row) { return row.onGpu ? std::optional(row.gpuBusy) : std::nullopt; }, time(2)};
    ColumnOf<Row> gpuWaits{
        "host_ns", "GPU waits",
        [](const Row& row) { return row.onGpu ? std::optional(row.gpuIdle) : std::nullopt; }, time(1)};
    ColumnOf<Row> tokensPerSecond{"tokens_per_second", "tokens/s", &Row::tokensPerSecond};
    ColumnOf<Row> bandwidth;

private:
    static Shown time(int keep) { return {.unit = Unit::Nanoseconds, .keep = keep, .unitGroup = 1}; }
};

} // namespace tilescope::exchange
