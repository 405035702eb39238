#include "core/query/tables/step_tables.h"

#include "core/analysis/time/path_glob.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>

namespace tilescope::query {

StepsTable steps(const store::RunReader& reader, const EventQuery& query)
{
    StepsTable table{.rows = {}, .runs = chooseRuns(reader, query.run)};
    for (const store::RunRecord& record : table.runs) {
        std::vector<Range> stepRanges;
        reader.eachRange({.run = record.run}, [&](const Range& range) {
            if (range.step != kNoStep && analysis::fromStepDown(reader.text(range.path)) == "step")
                stepRanges.push_back(range);
            return true;
        });
        std::sort(stepRanges.begin(), stepRanges.end(),
                  [](const Range& a, const Range& b) { return a.start < b.start; });
        const bool onGpu = reader.counts(record.run).deviceEvents > 0;
        for (const Range& range : stepRanges) {
            StepRow row{.run = record.run, .step = range.step, .onGpu = onGpu};
            row.partition.wall = {range.start, range.end};
            if (onGpu) {
                const store::EventWindow window{.run = record.run, .from = range.start, .to = range.end};
                row.partition = analysis::partitionStep(row.partition.wall, reader.deviceEvents(window),
                                                        reader.apiCalls(window));
            }
            table.rows.push_back(row);
        }
    }
    return table;
}

} // namespace tilescope::query
