#pragma once

#include "core/query/file_session.h"
#include "core/query/memory/memory_difference.h"

#include <QString>

namespace tilescope::ui {

/// What the peak of a run counts: "peak allocated"; of a memory snapshot "peak requested".
inline QString peakName(const query::RunSummary& run)
{
    return run.workload == query::kSnapshotWorkload ? QStringLiteral("peak requested")
                                                    : QStringLiteral("peak allocated");
}

} // namespace tilescope::ui
