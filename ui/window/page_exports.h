#pragma once

#include "ui/kit/exporter.h"

namespace tilescope::ui {

class Page;
class RunDock;

/// Everything that a page shows: the page as a whole, then its plots and tables, named by their accessible
/// names.
std::vector<Exportable> exportablesOf(QWidget& page, const QString& title);

/// Everything that can be exported from a page: the page as a whole, its timeline, plots and tables, its
/// cards, flags, findings and lists of facts, the grid of a sweep's points; and the run list beside it.
std::vector<Exportable> exportsOf(Page& page, RunDock& dock);

/// The names of the overview's cards and of the machine's findings there.
QString keyFiguresName();
QString findingsName();

} // namespace tilescope::ui
