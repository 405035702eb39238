#pragma once

#include "core/exchange/tables/column_of.h"
#include "core/model/text.h"
#include "core/query/work/work_tables.h"

#include <optional>

namespace tilescope::exchange {

inline std::optional<double> per(std::optional<double> value, double unit)
{
    return value ? std::optional(*value / unit) : std::nullopt;
}

/// The work of kernels, ops and their groups, its rates over the time with known work, and its place under the
/// roofline.
/// \tparam Row  has `work`, which may be none, `counted`, the time with known work, and the places `measured` and
///              `sheet`
template <class Row> struct WorkColumns {
    using Of = ColumnOf<Row>;

    static std::optional<double> flopsPerSecond(const Row& row)
    {
        return row.work ? analysis::flopsPerSecond(*row.work, row.counted) : std::nullopt;
    }
    static std::optional<double> percent(const std::optional<analysis::RooflinePoint>& point)
    {
        return point ? std::optional(100 * point->fraction) : std::nullopt;
    }

    Of flops =
        Of("flops", "",
           [](const Row& row) { return row.work ? std::optional(row.work->flops.count) : std::nullopt; },
           {.unit = Unit::Flops});
    Of bytes = Of("bytes", "bytes",
                  [](const Row& row) { return row.work ? std::optional(row.work->bytes) : std::nullopt; });
    Of teraflops = Of("tflops", "", [](const Row& row) { return per(flopsPerSecond(row), 1e12); },
                      {.audience = Audience::Programs});
    Of flopRate = Of("FLOP/s", "", &flopsPerSecond,
                     {.unit = Unit::FlopsPerSecond, .keep = 2, .audience = Audience::People});
    Of byteRate =
        Of("gbps", "GB/s",
           [](const Row& row) {
               return row.work ? per(analysis::bytesPerSecond(*row.work, row.counted), 1e9) : std::nullopt;
           },
           {.keep = 2});
    Of intensity = Of("intensity", "FLOP/B", [](const Row& row) {
        return row.work ? analysis::intensityOf(*row.work) : std::nullopt;
    });
    Of bound = Of("bound", "bound", [](const Row& row) {
        const auto& point = row.measured ? row.measured : row.sheet;
        return point ? cellOf(analysis::wordOf(point->bound)) : Cell();
    });
    Of ofMeasured =
        Of("percent_of_measured", "of measured", [](const Row& row) { return percent(row.measured); },
           {.unit = Unit::Percent, .keep = 2});
    Of ofSheet = Of("percent_of_sheet", "of data sheet", [](const Row& row) { return percent(row.sheet); },
                    {.unit = Unit::Percent});
};

/// The columns of the roofline. WorkColumns has the others.
struct RooflineColumns {
    using Row = query::RooflineRow;
    using Of = ColumnOf<Row>;

    /// \param onGpu  whether the times are those of a GPU
    explicit RooflineColumns(bool onGpu)
        : time("time_ns", onGpu ? "GPU time" : "time", &Row::time, {.keep = 2, .unitGroup = 1})
    {
    }

    Of op = Of("op", "op", &Row::op, {.keep = 2, .elidable = true});
    Of shapes = Of("shapes", "arguments", [](const Row& row) { return cellOrNull(row.shapes); },
                   {.keep = 2, .elidable = true});
    Of firstOp = Of("first_op", "first op",
                    [](const Row& row) {
                        return row.firstOp ? std::optional<std::int64_t>(row.firstOp.value) : std::nullopt;
                    },
                    {.keep = 0});
    Of family = Of("family", "family", [](const Row& row) { return wordOf(row.family); }, {.keep = 0});
    Of instances = Of("instances", "count", &Row::instances, {.keep = 0});
    Of time;
    Of counted = Of("counted_ns", "counted", &Row::counted, {.keep = 0, .unitGroup = 1});
    Of why = Of("why", "", [](const Row& row) { return cellOrNull(row.why); },
                {.keep = 0, .audience = Audience::Programs});
};

} // namespace tilescope::exchange
