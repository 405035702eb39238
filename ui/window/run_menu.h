#pragma once

#include "ui/kit/workspace.h"

#include <vector>

class QMenu;

namespace tilescope::ui {

class RunEdits;

/// Adds what can be done with runs of the list: show, compare, repeat, copy the command, note, tag, delete.
/// \param runs  those that the user selected, the clicked one first; not empty, none twice
void fillRunMenu(QMenu& menu, Workspace& workspace, RunEdits& edits, const std::vector<RunKey>& runs);

} // namespace tilescope::ui
