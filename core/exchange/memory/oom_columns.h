#pragma once

#include "core/exchange/memory/memory_columns.h"
#include "core/exchange/tables/json_text.h"
#include "core/query/memory/oom_report.h"

#include <optional>

namespace tilescope::exchange {

/// The columns of the blocks that held the memory when a run was out of memory.
struct HolderColumns : MemoryBlockColumns {
    /// \param report  with a history; must outlive the columns
    explicit HolderColumns(const query::OomReport& report)
        : MemoryBlockColumns(*report.history),
          percent("percent", "share",
                  [&report](Row block) {
                      const auto whole = static_cast<double>(report.allocated.value_or(Bytes{}).count);
                      return whole > 0
                                 ? std::optional(
                                       100 * static_cast<double>(report.history->blocks[block].bytes) / whole)
                                 : std::nullopt;
                  },
                  {.unit = Unit::Percent})
    {
    }

    Of percent; ///< of what was allocated
};

/// The columns of the changes that make a run fit.
struct ChangeColumns {
    using Row = query::FittingChange;
    using Of = ColumnOf<Row>;

    /// \param limit  of the memory; none: unknown
    explicit ChangeColumns(std::optional<Bytes> limit)
        : left("left", "left",
               [limit](const Row& row) { return limit ? std::optional(*limit - row.peak()) : std::nullopt; },
               {.unitGroup = 1})
    {
    }

    Of change = Of("change", "change",
                   [](const Row& row) {
                       JsonObject change;
                       for (const auto& [key, value] : row.keys)
                           change.add(key, value);
                       return Cell(change.json());
                   },
                   {.audience = Audience::Programs});
    Of flags = Of("flags", "change", &Row::flags, {.audience = Audience::People});
    Of peakAllocated = Of("peak_allocated", "peak allocated", &Row::peakAllocated, {.unitGroup = 1});
    Of peakReserved = Of("peak_reserved", "peak reserved", &Row::peakReserved, {.unitGroup = 1});
    Of peak = Of("peak", "peak", &Row::peak, {.unitGroup = 1});
    Of left;
    Of step = Of(
        "step_ms", "step",
        [](const Row& row) { return row.stepSeconds ? std::optional(*row.stepSeconds * 1e3) : std::nullopt; },
        {.unit = Unit::Milliseconds});
};

} // namespace tilescope::exchange
