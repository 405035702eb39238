#pragma once

#include "core/query/runs/run_tables.h"
#include "ui/kit/table_model.h"

#include <vector>

namespace tilescope::ui {

/// The facts about the machines of one run or several, a column each; differences are highlighted.
/// \param titles  of the columns, one per run
TableData factRows(const std::vector<query::EnvironmentTable>& runs, const QStringList& titles);

} // namespace tilescope::ui
