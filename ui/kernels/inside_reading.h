#pragma once

#include "core/query/kernels/inside_difference.h"
#include "core/query/kernels/inside_limit.h"
#include "core/query/kernels/inside_table.h"
#include "core/query/kernels/kernel_launches.h"
#include "core/query/kernels/kernel_sources.h"
#include "core/query/kernels/metrics_table.h"
#include "ui/kit/workspace.h"

#include <map>
#include <optional>
#include <set>
#include <string>

namespace tilescope::ui {

/// What was sampled inside the kernels of a run.
struct InsideReading {
    query::InsideTable kernels;
    query::InsideTable lines;
    query::InsideTable instructions;
    query::InsideTable reasons;
    std::map<std::string, query::KernelLaunches> launches;
    std::map<std::string, query::KernelSourceFile> sources;
    query::MetricsTable metrics; ///< by kernel

    /// A metric of a kernel; none: it has too few samples.
    std::optional<double> metric(const std::string& kernel, std::string_view name) const;
};

/// The same of one or two runs; the second is compared with the first.
struct InsideReadings {
    InsideReading shown;                                 ///< of the run that is shown: the second of two
    std::optional<InsideReading> before;                 ///< of the first of two
    std::optional<query::InsideDifference> difference;   ///< by line, if both were sampled
    std::optional<query::InsideDifference> instructions; ///< the same by instruction
    /// By kernel the kernels of the run before that it is compared with, by their full names; several: instances of a template.
    std::map<std::string, std::set<std::string>> pairs;

    /// Those of a kernel.
    std::set<std::string> kernelsBefore(const std::string& kernel) const;
};

/// Not for the GUI thread.
/// \param before   the run to compare with
/// \throws Error   a file cannot be read
InsideReadings readInside(const SelectedRun& shown, const std::optional<SelectedRun>& before,
                          const query::Cancelled& cancelled);

} // namespace tilescope::ui
