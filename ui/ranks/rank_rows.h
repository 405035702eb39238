#pragma once

#include "core/query/ranks/rank_tables.h"
#include "ui/kit/table_model.h"
#include "ui/overview/overview_figures.h"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace tilescope::ui {

/// The steps that the run's ranks recorded, ascending.
std::vector<std::int32_t> stepsOf(const query::RanksTable& table);

/// A bar for each rank: the parts of a step, or their means over all steps.
/// \param step   none: all
/// \param found  only of these processes; none: of all
std::vector<StepBar> rankBars(const query::RanksTable& table, std::optional<std::int32_t> step,
                              const std::optional<std::set<ProcessIndex>>& found = {});

/// The collectives of a step, or all. The id of a row is its index in `table.collectives`.
TableData collectiveRows(const query::RanksTable& table, std::optional<std::int32_t> step);

/// The part of each rank in a collective.
TableData collectiveRankRows(const query::CollectiveRow& collective);

} // namespace tilescope::ui
