#pragma once

#include "core/exchange/tables/table.h"
#include "core/query/runs/counter_table.h"

#include <memory>

namespace tilescope::exchange {

/// The section `counters` of `tilescope show`.
Table tableOf(std::shared_ptr<const query::CountersTable> counters);

} // namespace tilescope::exchange
