#pragma once

#include "core/query/event_tables.h"
#include "ui/models/table_model.h"

namespace tilescope::ui {

enum class MemoryColumn { Path, Op, Category, Bytes, Bar, Count };

/// The largest blocks that are alive at an instant, and what was allocated before the trace, as rows.
/// A row's id is its index into `live.blocks`; -1 for what was there before the trace.
/// \param most  rows at most: nobody reads on, and the largest come first
TableData memoryRows(const query::LiveMemoryTable& live, std::size_t most);

} // namespace tilescope::ui
