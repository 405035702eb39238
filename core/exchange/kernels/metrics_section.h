#pragma once

#include "core/exchange/tables/table.h"
#include "core/query/kernels/metrics_table.h"

#include <memory>

namespace tilescope::exchange {

/// The section `metrics` of `tilescope show` for people: a row for each kernel, family or step, a column for each metric.
Table tableOf(std::shared_ptr<const query::MetricsTable> metrics);

/// The same for programs: a row for each metric of each kernel, family or step, with n and interval.
Table valuesOf(std::shared_ptr<const query::MetricsTable> metrics);

/// One sentence: why a run has no metrics, and what would record them.
std::string whyNoMetrics(const query::MetricsTable& metrics);

} // namespace tilescope::exchange
