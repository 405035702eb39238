#include "ui/memory/memory_run_reading.h"

#include <utility>

#include <algorithm>

namespace tilescope::ui {

std::vector<MemoryRun> readMemoryOutlines(const std::vector<SelectedRun>& runs,
                                          const query::Cancelled& cancelled)
{
    std::vector<MemoryRun> outlines;
    for (const SelectedRun& run : runs) {
        if (cancelled())
            break;
        auto session = run.file->borrow();
        auto history = query::memoryOutline(session->reader(), run.key.run);
        if (!history)
            break; // reading the blocks of a short run takes no longer
        MemoryRun outline{.letter = run.letter, .title = run.title, .history = history};
        outline.steps = query::tracedSteps(session->reader(), run.key.run, history->origin);
        outline.isOutline = true;
        outlines.push_back(std::move(outline));
    }
    return outlines;
}

std::vector<MemoryRun> readMemoryRuns(const std::vector<SelectedRun>& runs, const query::Cancelled& cancelled)
{
    std::vector<MemoryRun> read;
    for (const SelectedRun& run : runs) {
        auto session = run.file->borrow();
        const store::RunReader& reader = session->reader();
        MemoryRun one{.letter = run.letter, .title = run.title, .history = nullptr};
        reader.atOnce([&] {
            if (&run != &runs.front())
                one.history = query::memoryOutline(reader, run.key.run);
            if (!one.history)
                one.history =
                    query::memoryHistory(reader, run.key.run, cancelled, query::MemoryParts::WithoutOps);
            if (&run == &runs.front() && one.history)
                if (const auto outside =
                        query::outsideOf(reader.memory(run.key.run).readings, one.history->device))
                    one.context = outside->most.count;
            one.devices = std::max<std::size_t>(1, reader.parties(run.key.run).devices.size());
            if (one.history && !one.history->empty())
                one.steps = query::tracedSteps(reader, run.key.run, one.history->origin);
        });
        if (!one.history || cancelled())
            return {};
        if (!one.history->empty())
            read.push_back(std::move(one));
    }
    return read;
}

} // namespace tilescope::ui
