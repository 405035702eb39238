#pragma once

#include "core/query/file_session.h"

#include <QString>

namespace tilescope::ui {

/// The name of a run's peak: "peak allocated"; for a memory snapshot, "peak requested".
inline QString peakName(const query::RunSummary& run)
{
    return QStringLiteral("peak ") + QString::fromUtf8(run.traits().heldWord());
}

} // namespace tilescope::ui
