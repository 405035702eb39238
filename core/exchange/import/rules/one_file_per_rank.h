#pragma once

#include "core/exchange/import/foreign_rows.h"

namespace tilescope::exchange {

/// Rule "the same recording twice": two files of one rank, or with the same events, would count its work twice. O(n).
/// \throws Error (Usage)  names the two files
void requireOneFilePerRank(ForeignTrace& trace);

} // namespace tilescope::exchange
