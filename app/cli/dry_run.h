#pragma once

#include "app/cli/sweep_command.h"
#include "core/session/supervisor/forecast.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace tilescope::cli {

/// Prints what the points of a sweep would take, each and together, and runs nothing: a table, or one JSON
/// object a line: an event `point` each, with a forecast, and `forecast` for all.
void showDryRun(std::ostream& out, const std::vector<session::SweepPoint>& points,
                const session::ForecastTarget& target, Format format);

/// `80 GiB` of --capacity.
/// \throws Error  not a size
Bytes capacityFrom(const std::string& text);

} // namespace tilescope::cli
