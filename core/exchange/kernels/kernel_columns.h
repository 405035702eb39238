#pragma once

#include "core/exchange/tables/column_of.h"
#include "core/query/kernels/kernel_tables.h"
#include "core/query/kernels/op_tables.h"

namespace tilescope::exchange {

/// The columns of tables of kernels, copies and memsets, of ops, and of their groups. WorkColumns has their work,
/// OpColumns the times of ops.
struct KernelColumns {
    using Row = query::KernelRow;
    using Of = ColumnOf<Row>;

    Of name = Of("name", "name", &Row::key, {.audience = Audience::Programs});
    Of shortName = Of("short_name", "kernel", &Row::shortName, {.keep = 2, .elidable = true});
    Of family = Of("family", "family", [](const Row& row) { return wordOf(row.family); });
    Of kernels = Of("kernels", "kernels", &Row::kernels, {.keep = 0});
    Of instances = Of("instances", "count", &Row::instances);
    Of steps = Of("steps", "steps", &Row::steps, {.keep = 0});
    Of instancesPerStep = Of("instances_per_step", "per step", [](const Row& row) {
        return row.steps > 0 ? std::optional(row.instancesPerStep()) : std::nullopt;
    });
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
    Of tensor = Of("tensor_percent", "tensor", &Row::tensorActive, {.unit = Unit::Percent});
    Of does = Of("does", "does", [](const Row& row) { return cellOrNull(row.does); },
                 {.keep = 0, .elidable = true});
};

/// The times of ops, with and without the ops that they call.
struct OpColumns {
    using Row = query::KernelRow;
    using Of = ColumnOf<Row>;

    Of total = Of("total_ns", "total", &Row::withCalls, {.unitGroup = 1});
    Of self = Of("self_ns", "self", &Row::total, {.keep = 2, .unitGroup = 1});
    Of mean = Of("avg_ns", "mean",
                 [](const Row& row) {
                     return row.withCalls ? std::optional(*row.withCalls / row.instances) : std::nullopt;
                 },
                 {.keep = 0});
    Of percent = Of("percent", "self time", &Row::percent, {.unit = Unit::Percent, .keep = 2});
};

/// The columns of ranges.
struct RangeColumns {
    using Row = analysis::RangeTotal;
    using Of = ColumnOf<Row>;

    /// \param onGpu  whether the run has GPU times
    explicit RangeColumns(bool onGpu)
        : gpu("gpu_ns", "GPU", &Row::gpu, {.keep = onGpu ? 2 : 0, .unitGroup = 1}),
          percent("percent", onGpu ? "of GPU time" : "of step", &Row::percent,
                  {.unit = Unit::Percent, .keep = 2})
    {
    }

    Of path = Of("path", "range", &Row::path, {.keep = 2, .elidable = true});
    Of instances = Of("instances", "count", &Row::instances);
    Of wall = Of("wall_ns", "wall", &Row::wall, {.unitGroup = 1});
    Of gpu;
    Of percent;
};

} // namespace tilescope::exchange
