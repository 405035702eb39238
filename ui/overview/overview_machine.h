#pragma once

#include "ui/kit/key_value_table.h"
#include "ui/overview/overview_figures.h"

#include <QString>

#include <vector>

namespace tilescope::ui {

/// The machine and program of a run. For an imported run: its format, hosts, ranks and GPUs, as far as the
/// source says.
std::vector<KeyValueRow> machineRows(const OverviewRun& run);

/// "NVIDIA H200", "2 × NVIDIA H200"; empty if the devices have no names.
QString gpusOf(const RunTopology& topology);

} // namespace tilescope::ui
