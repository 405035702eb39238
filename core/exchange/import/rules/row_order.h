#pragma once

#include "core/exchange/import/foreign_rows.h"

namespace tilescope::exchange {

/// Rule "equal intervals": sorts host rows by start, the longest first, and device rows by start. Rows that are equal in
/// this order keep the order of adding, ops that of their numbers if all of an interval have one. O(n log n), O(n) if
/// they are sorted.
void sortRows(ForeignTrace& trace);

/// Rule "duplicates": whether an op or call equals the one before it in its thread in all its facts.
bool repeats(const ForeignTrace& trace, const HostRow& before, const HostRow& row);

} // namespace tilescope::exchange
