#pragma once

#include "core/exchange/columns.h"
#include "core/exchange/table.h"
#include "core/query/runs/grouping.h"
#include "core/store/run_reader.h"

#include <memory>
#include <string>
#include <utility>

namespace tilescope::exchange {

// What the sections of `tilescope show` are put together from.

template <class Snapshot, class Get>
Column column(const std::shared_ptr<const Snapshot>& snapshot, std::string key, std::string title, Get get)
{
    return {.key = std::move(key),
            .title = std::move(title),
            .cell = [snapshot, get](std::size_t row) -> Cell { return get(snapshot->rows[row]); }};
}

inline Column with(Column column, Unit unit, int keep = 1, Audience audience = Audience::Everyone)
{
    column.unit = unit;
    column.keep = keep;
    column.audience = audience;
    return column;
}

inline Column elided(Column column, int keep = 2)
{
    column.elidable = true;
    column.keep = keep;
    return column;
}

inline Column forPrograms(Column column)
{
    column.audience = Audience::Programs;
    return column;
}

inline bool isCpuRun(const store::RunRecord& run)
{
    return run.result.device == "cpu";
}

/// Why a run has no events of a kind, as far as its record tells.
std::string whyNoEvents(const store::RunRecord& run, const std::string& what);

inline std::string titleOf(query::Grouping grouping)
{
    return std::string(query::wordOf(grouping));
}

} // namespace tilescope::exchange
