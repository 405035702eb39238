#pragma once

#include "core/query/kernels/kernel_tables.h"

#include <functional>

namespace tilescope::query {

/// Completes rows by name or family with the use of the tensor cores by samples, unless it was counted. Does nothing
/// where the query selects places or a time span, of which samples are not known.
void addMetrics(const store::RunReader& reader, const KernelQuery& query, KernelsTable& table,
                const std::function<bool()>& cancelled);

} // namespace tilescope::query
