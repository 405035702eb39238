#pragma once

#include "core/exchange/import/foreign_rows.h"

namespace tilescope::exchange {

/// Rule "the same recording twice": two files of one rank would count its work twice.
/// \throws Error (Usage)  names the two files
void requireOneFilePerRank(const ForeignTrace& trace);

} // namespace tilescope::exchange
