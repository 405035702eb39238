#pragma once

#include "core/query/runs/process_filter.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::query {

/// What a run's file stores and a comparison then need not read from events: the parts of steps instead of host calls, and
/// the memory that modules allocate instead of allocations. Empty if the file stores no totals.
class SideTotals {
public:
    SideTotals() = default;
    SideTotals(const store::RunReader& reader, RunId run);

    /// The totals of these steps, which are all of a process, in the same order; none if the file has others.
    /// \param steps    their ranges on the host, by start
    /// \param process  none: the only one of the run
    std::optional<std::vector<store::StepTotal>> stepsOf(ProcessIndex process,
                                                         std::span<const Range> steps) const;

    /// Bytes of devices that the traced steps of a process allocated, by path; null: unknown.
    const std::map<StringId, double>* allocatedIn(ProcessIndex process) const;

private:
    std::map<ProcessIndex, std::vector<store::StepTotal>> steps_;
    std::map<ProcessIndex, std::map<StringId, double>> allocated_;
    bool knowsAllocated_ = false;
};

} // namespace tilescope::query
