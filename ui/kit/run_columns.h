#pragma once

#include "core/exchange/runs/run_columns.h"
#include "core/query/file_session.h"
#include "ui/kit/table_cells.h"

#include <QString>

namespace tilescope::ui {

/// A run of several, by its letter and title.
struct NamedRun {
    QString letter; ///< may be empty
    QString title;
    const query::RunSummary* summary = nullptr;
};

/// What exchange::RunColumns reads.
inline const RunResult& resultOf(const NamedRun& run)
{
    return run.summary->result;
}

inline const std::optional<analysis::Statistics>& stepOf(const NamedRun& run)
{
    return run.summary->step;
}

inline const std::string& workloadOf(const NamedRun& run)
{
    return run.summary->workload;
}

/// A column with the letter and title of a run. Takes the remaining width.
TableColumn nameColumn();
TableCell nameCell(const NamedRun& run);

/// The look of a status: its reason is on hover.
void showStatus(TableCell& cell, const NamedRun& run);

/// A ratio of two values with three digits; a dash if one is missing or the second is 0.
TableCell makeRatio(std::optional<double> of, std::optional<double> to);

/// The median timed step in ns; none if no step was timed.
std::optional<double> medianStepOf(const query::RunSummary& run);
std::optional<double> peakAllocatedOf(const query::RunSummary& run);

} // namespace tilescope::ui
