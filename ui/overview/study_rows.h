#pragma once

#include "core/report/document.h"
#include "ui/kit/table_model.h"

#include <QString>

namespace tilescope::ui {

/// `35 of 36 ok, 1 out of memory`.
QString stateOf(const report::PointCounts& counts);

/// One row per study: its question, its first finding and its state; the id is the index of the section.
TableData studyRows(const report::Document& document);

} // namespace tilescope::ui
