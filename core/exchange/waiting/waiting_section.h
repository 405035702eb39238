#pragma once

#include "core/exchange/tables/table.h"
#include "core/query/waiting/waiting_table.h"

#include <memory>

namespace tilescope::exchange {

/// The section `waiting` of `tilescope show`.
Table tableOf(std::shared_ptr<const query::WaitingTable> waiting);

} // namespace tilescope::exchange
