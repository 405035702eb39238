#pragma once

#include "ui/kit/key_value_table.h"
#include "ui/kit/workspace.h"

#include <QString>

#include <vector>

namespace tilescope::ui {

/// Marks a step time that includes the cost of tracing: the mean traced step of a recording, which has no timed ones.
inline QString tracedMark()
{
    return QStringLiteral("†");
}

/// The tool tip of a run in the list: name and status, reason, figures, keys, tag, note and flags.
QString tipOf(const query::RunSummary& run, const QString& title);

/// What the list shows below it about the selected runs: of one its keys and figures, of two their differences, of
/// more what varies among them.
std::vector<KeyValueRow> detailsOf(const std::vector<SelectedRun>& runs);

} // namespace tilescope::ui
