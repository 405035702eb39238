#pragma once

#include "core/exchange/tables/table.h"
#include "core/store/sql_query.h"

#include <memory>
#include <span>

namespace tilescope::exchange {

/// The rows of a statement. A name that several columns share gets a number: `id`, `id_2`.
Table tableOf(std::shared_ptr<const store::SqlResult> result);

/// The functions of Tilescope that statements can call: of a kernel's name kernel_name(name), the short one that tables
/// show, and kernel_family(name).
std::span<const store::SqlTextFunction> sqlFunctions();

/// Views and tables with their columns.
Table tableOf(std::shared_ptr<const std::vector<store::SqlSource>> sources);

} // namespace tilescope::exchange
