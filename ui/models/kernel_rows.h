#pragma once

#include "core/query/event_tables.h"
#include "core/query/kernel_stats.h"
#include "ui/models/table_model.h"

namespace tilescope::ui {

/// Columns of the kernels table.
enum class KernelColumn {
    Name,
    Family,
    Instances,
    Total,
    Bar,
    Share,
    Mean,
    Deviation,
    Least,
    Greatest,
    Range,
    Count
};

/// The kernels table by name or, where `families`, by family: one row a stat, its id the index into `stats`.
TableData kernelRows(const query::Timeline& timeline, const std::vector<query::KernelStat>& stats,
                     bool families);

/// The same grouped by something else (range, module, phase), as the file's tables give it.
TableData groupRows(const query::KernelsTable& table, const QString& title);

/// The short list of families: name, total, bar.
TableData familyRows(const std::vector<query::KernelStat>& families);

} // namespace tilescope::ui
