#pragma once

#include "core/exchange/table.h"
#include "core/query/tables/waiting_table.h"

#include <memory>

namespace tilescope::exchange {

/// The section `waiting` of `tilescope show`.
Table tableOf(std::shared_ptr<const query::WaitingTable> waiting);

} // namespace tilescope::exchange
