#pragma once

#include "core/exchange/import/foreign_rows.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tilescope::exchange {

/// Indices of rows by their process, in the order of the rows: what looks at the rows of each process in turn looks at each row once.
class RowsByProcess {
public:
    /// \param processOf  the ProcessIndex of a row, below `processes`
    template <class Row, class ProcessOf>
    RowsByProcess(const std::vector<Row>& rows, std::size_t processes, ProcessOf processOf)
        : ends_(processes + 1, 0), indices_(rows.size())
    {
        const auto slot = [&](const Row& row) { return static_cast<std::size_t>(processOf(row).value); };
        for (const Row& row : rows)
            ++ends_[slot(row) + 1];
        for (std::size_t i = 1; i < ends_.size(); ++i)
            ends_[i] += ends_[i - 1];
        std::vector<std::size_t> next(ends_.begin(), ends_.end() - 1);
        for (std::size_t i = 0; i < rows.size(); ++i)
            indices_[next[slot(rows[i])]++] = static_cast<std::uint32_t>(i);
    }

    std::span<const std::uint32_t> of(ProcessIndex process) const
    {
        const auto slot = static_cast<std::size_t>(process.value);
        return std::span(indices_).subspan(ends_[slot], ends_[slot + 1] - ends_[slot]);
    }

private:
    std::vector<std::size_t> ends_; ///< by process: the first index of it, which is the end of the one before
    std::vector<std::uint32_t> indices_;
};

/// The rows of a trace by process, as long as no row is added to it.
struct TraceByProcess {
    explicit TraceByProcess(const ForeignTrace& trace)
        : host(trace.host, trace.topology.processes.size(),
               [&](const HostRow& row) { return trace.processOf(row); }),
          activities(trace.activities, trace.topology.processes.size(),
                     [&](const DeviceRow& row) { return trace.processOf(row); }),
          allocations(trace.allocations, trace.topology.processes.size(),
                      [](const ForeignAllocation& each) { return each.process; })
    {
    }

    RowsByProcess host;
    RowsByProcess activities;
    RowsByProcess allocations;
};

} // namespace tilescope::exchange
