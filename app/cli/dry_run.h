#pragma once

#include "app/cli/sweep_command.h"
#include "core/session/supervisor/forecast.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace tilescope::cli {

/// Prints the predicted time and memory of the points of a sweep, without running them: a table, or one JSON
/// object per line: an event `point` with a forecast for each, and a final `forecast`.
/// \param present  number of further points that the file already holds
void showDryRun(std::ostream& out, const std::vector<session::SweepPoint>& points,
                const session::ForecastTarget& target, Format format, std::size_t present);

/// Parses the `80 GiB` of --capacity.
/// \throws Error  not an amount of memory
Bytes capacityFrom(const std::string& text);

} // namespace tilescope::cli
