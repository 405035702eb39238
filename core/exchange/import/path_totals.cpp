#include "core/exchange/import/path_totals.h"

#include "core/query/path/path_tables.h"
#include "core/store/run_reader.h"
#include "core/store/tracks/path_totals.h"

#include <vector>

namespace tilescope::exchange {

void storePathTotals(const std::filesystem::path& file, RunId run, const ImportWatch& watch)
{
    std::vector<store::StepPathTotal> totals;
    {
        const store::RunReader reader(file);
        if (reader.counts(run).total() < store::kFewestForPathTotals)
            return;
        const query::PathTable paths =
            query::criticalPaths(reader, {.run = run}, [&watch] { return watch && !watch(1); });
        for (const query::PathRow& row : paths.rows)
            totals.push_back({.step = row.step,
                              .process = row.process,
                              .start = row.wall.start,
                              .end = row.wall.end,
                              .parts = row.parts});
    }
    if (!totals.empty())
        store::writePathTotals(file, run, totals);
}

} // namespace tilescope::exchange
