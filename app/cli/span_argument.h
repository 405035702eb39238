#pragma once

#include "core/query/runs/time_span.h"

#include <array>
#include <optional>
#include <string>

namespace tilescope::cli {

/// The values of --from and --to.
/// \param from, to  ns since the first event; empty: not given
/// \return          none if both are empty
/// \throws Error    not a number, or the span is empty
std::optional<query::TimeSpan> spanOf(const std::string& from, const std::string& to);

/// The values for two runs: one number for both, or one each, separated by a comma. `0,` limits only the first.
std::array<std::optional<query::TimeSpan>, 2> spansOf(const std::string& from, const std::string& to);

} // namespace tilescope::cli
