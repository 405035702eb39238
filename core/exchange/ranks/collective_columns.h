#pragma once

#include "core/exchange/tables/column_of.h"
#include "core/query/ranks/rank_tables.h"

#include <optional>

namespace tilescope::exchange {

/// The columns of the ranks of one collective.
struct CollectiveRankColumns {
    using Row = query::CollectiveRank;
    using Of = ColumnOf<Row>;

    /// \param origin  from which starts count
    explicit CollectiveRankColumns(Timestamp origin = {})
        : start("start_ns", "start", [origin](const Row& row) { return row.start - origin; },
                {.unitGroup = 1})
    {
    }

    /// The start, from that of the first rank.
    static Of after(Timestamp first)
    {
        return Of("after_ns", "after first", [first](const Row& row) { return row.start - first; },
                  {.unitGroup = 1});
    }

    Of rank = Of("rank", "rank", &Row::rank);
    Of start;
    Of duration = Of("duration_ns", "duration", &Row::duration, {.unitGroup = 1});
    Of wait = Of("wait_ns", "wait", &Row::wait, {.unitGroup = 1});
    Of exposed = Of("exposed_ns", "exposed", &Row::exposed, {.unitGroup = 1});
    Of slack = Of("slack_ns", "slack",
                  [](const Row& row) { return row.slack ? std::optional(row.slack->slack) : std::nullopt; },
                  {.keep = 0});
    Of stall = Of("stall_ns", "stall",
                  [](const Row& row) { return row.slack ? std::optional(row.slack->stall) : std::nullopt; },
                  {.keep = 0});
};

/// The columns of collectives.
struct CollectiveColumns {
    using Row = query::CollectiveRow;
    using Of = ColumnOf<Row>;

    /// \param ranks  of the rows; must outlive the columns
    explicit CollectiveColumns(const query::RanksTable& ranks)
        : linkPercent("link_percent", "of link", [&ranks](const Row& row) { return ranks.linkPercent(row); },
                      {.unit = Unit::Percent, .keep = 0})
    {
    }

    Of step = Of("step", "step",
                 [](const Row& row) { return row.step == kNoStep ? std::nullopt : std::optional(row.step); },
                 {.keep = 2});
    Of sequence =
        Of("sequence", "#",
           [](const Row& row) { return row.sequence < 0 ? std::nullopt : std::optional(row.sequence); },
           {.keep = 2});
    Of group = Of("group", "group", [](const Row& row) { return cellOrNull(row.group); }, {.keep = 0});
    Of op = Of("op", "op", &Row::op, {.keep = 2});
    Of bytes = Of("bytes", "message", &Row::bytes);
    Of transfer = Of("transfer_ns", "transfer", &Row::transfer, {.keep = 2, .unitGroup = 1});
    Of last = Of("last", "last", [](const Row& row) { return cellOrNull(row.last); },
                 {.audience = Audience::People});
    Of late = Of("late_ns", "late",
                 [](const Row& row) { return row.last.empty() ? std::nullopt : std::optional(row.late); },
                 {.unitGroup = 1});
    Of wait = Of("wait_ns", "wait",
                 [](const Row& row) { return row.transfer ? std::optional(row.wait()) : std::nullopt; },
                 {.keep = 2, .unitGroup = 1});
    Of algorithmRate = Of(
        "algorithm_gb_s", "algorithm GB/s",
        [](const Row& row) { return row.bandwidth ? std::optional(row.bandwidth->algorithm) : std::nullopt; },
        {.keep = 0});
    Of busRate = Of("bus_gb_s", "bus GB/s", [](const Row& row) {
        return row.bandwidth ? std::optional(row.bandwidth->bus) : std::nullopt;
    });
    Of linkPercent;
    Of exposed = Of("exposed_ns", "exposed", &Row::exposed, {.unitGroup = 1});
    Of overlapped = Of("overlapped_ns", "overlapped", &Row::overlapped, {.keep = 0, .unitGroup = 1});
    /// Of the rank with the least slack.
    Of slack = columnOfPart<Row>(CollectiveRankColumns().slack, &Row::tightest);
    Of stall = columnOfPart<Row>(CollectiveRankColumns().stall, &Row::tightest);
    Of range = Of("range", "range", [](const Row& row) { return cellOrNull(row.range); },
                  {.keep = 0, .elidable = true});
};

} // namespace tilescope::exchange
