#pragma once

#include "core/exchange/tables/table.h"
#include "ui/kit/table_model.h"

#include <QString>

#include <cstddef>

namespace tilescope::ui {

/// A table of `tilescope show` as it is, with the columns that a terminal shows. The id of a row is its number.
/// \param most  only the first rows
TableData sectionTable(const exchange::Table& table, std::size_t most = 10'000);

/// The notes below it, as one text.
QString sectionNotes(const exchange::Table& table);

} // namespace tilescope::ui
