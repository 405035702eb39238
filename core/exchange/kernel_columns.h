#pragma once

#include "core/exchange/column_of.h"
#include "core/query/tables/kernel_tables.h"

namespace tilescope::exchange {

/// The columns of tables of kernels, copies and memsets; of their groups; and of ops, by their own time.
struct KernelColumns {
    using Row = query::KernelRow;
    using Of = ColumnOf<Row>;

    Of name = Of("name", "name", &Row::key, {.audience = Audience::Programs});
    Of shortName = Of("short_name", "kernel", &Row::shortName, {.keep = 2, .elidable = true});
    Of family = Of("family", "family", [](const Row& row) { return wordOf(row.family); });
    Of kernels = Of("kernels", "kernels", &Row::kernels, {.keep = 0});
    Of instances = Of("instances", "count", &Row::instances);
    Of steps = Of("steps", "steps", &Row::steps, {.keep = 0});
    Of instancesPerStep = Of("instances_per_step", "per step", &Row::instancesPerStep);
    Of total = Of("total_ns", "total", &Row::total, {.keep = 2, .unitGroup = 2});
    Of percent = Of("percent", "share", &Row::percent, {.unit = Unit::Percent, .keep = 2});
    Of mean =
        Of("avg_ns", "mean",
           [](const Row& row) { return row.instances > 0 ? std::optional(row.average()) : std::nullopt; },
           {.unitGroup = 1});
    Of deviation =
        Of("std_ns", "std. dev.", &Row::standardDeviation, {.unit = Unit::Nanoseconds, .unitGroup = 1});
    Of shortest = Of("min_ns", "min",
                     [](const Row& row) { return row.hasRange ? std::optional(row.shortest) : std::nullopt; },
                     {.keep = 0, .unitGroup = 1});
    Of longest = Of("max_ns", "max",
                    [](const Row& row) { return row.hasRange ? std::optional(row.longest) : std::nullopt; },
                    {.keep = 0, .unitGroup = 1});
    Of flopRate = Of("flops_per_s", "", &Row::flopsPerSecond, {.unit = Unit::FlopsPerSecond});
    Of byteRate = Of("bytes_per_s", "", &Row::bytesPerSecond, {.unit = Unit::BytesPerSecond});
    Of tensor = Of("tensor_percent", "tensor", &Row::tensorActive, {.unit = Unit::Percent});
    Of does = Of("does", "does", [](const Row& row) { return cellOrNull(row.does); },
                 {.keep = 0, .elidable = true});
};

} // namespace tilescope::exchange
