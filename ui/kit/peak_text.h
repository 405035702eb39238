#pragma once

#include "core/query/file_session.h"
#include "core/query/memory/memory_difference.h"

#include <QString>

namespace tilescope::ui {

/// The name of a run's peak: "peak allocated"; for a memory snapshot, "peak requested".
inline QString peakName(const query::RunSummary& run)
{
    return run.workload == query::kSnapshotWorkload ? QStringLiteral("peak requested")
                                                    : QStringLiteral("peak allocated");
}

} // namespace tilescope::ui
