#include "ui/memory/memory_run_reading.h"

#include "core/predict/predict_memory.h"
#include "core/query/run_spec.h"
#include "core/query/runs/run_device.h"

#include <utility>

#include <algorithm>

namespace tilescope::ui {

namespace {

query::ProcessQuery topologyOf(const RunTopology& topology, std::optional<DeviceIndex> device)
{
    const bool has =
        device && std::ranges::find(topology.devices, *device, &TracedDevice::id) != topology.devices.end();
    return has ? query::ProcessQuery{.device = device->value} : query::ProcessQuery{};
}

void addGpus(MemoryRun& run, const RunTopology& topology)
{
    const TopologyIndex index(topology, {});
    for (const DeviceIndex gpu : run.history->gpus)
        run.gpus.emplace_back(gpu, QString::fromStdString(query::deviceTitle(index, gpu)));
}

// For the device on which the run was recorded.
std::optional<std::int64_t> predictedPeak(const store::RunReader& reader, const SelectedRun& run)
{
    const std::optional<ExperimentSpec> spec = query::specOf(*run.run);
    const std::optional<store::RunRecord> record = spec ? reader.run(run.key.run) : std::nullopt;
    if (!record)
        return {};
    const auto prediction = predict::predictMemory(*spec, query::deviceOfRun(reader, *record));
    return prediction ? std::optional(prediction->peakAllocated.count) : std::nullopt;
}

} // namespace

std::vector<MemoryRun> readMemoryOutlines(const std::vector<SelectedRun>& runs,
                                          std::optional<DeviceIndex> device,
                                          const query::Cancelled& cancelled)
{
    std::vector<MemoryRun> outlines;
    for (const SelectedRun& run : runs) {
        if (cancelled())
            break;
        auto session = run.file->borrow();
        const RunTopology topology = session->reader().topology(run.key.run);
        auto history = query::memoryOutline(session->reader(), run.key.run, topologyOf(topology, device));
        if (!history)
            break; // reading the blocks of a short run takes no longer
        MemoryRun outline{.letter = run.letter, .title = run.title, .history = history};
        addGpus(outline, topology);
        outline.span = run.span;
        outline.steps = query::tracedSteps(session->reader(), run.key.run, history->origin, history->device);
        outline.isOutline = true;
        outlines.push_back(std::move(outline));
    }
    return outlines;
}

std::vector<MemoryRun> readMemoryRuns(const std::vector<SelectedRun>& runs, std::optional<DeviceIndex> device,
                                      const query::Cancelled& cancelled)
{
    std::vector<MemoryRun> read;
    for (const SelectedRun& run : runs) {
        auto session = run.file->borrow();
        const store::RunReader& reader = session->reader();
        MemoryRun one{.letter = run.letter, .title = run.title, .history = nullptr};
        one.span = run.span;
        reader.atOnce([&] {
            const RunTopology topology = reader.topology(run.key.run);
            const query::ProcessQuery wanted = topologyOf(topology, device);
            if (&run != &runs.front())
                one.history = query::memoryOutline(reader, run.key.run, wanted);
            if (!one.history)
                one.history = query::memoryHistory(reader, run.key.run, cancelled,
                                                   query::MemoryParts::WithoutOps, wanted);
            if (&run == &runs.front() && one.history)
                if (const auto outside =
                        query::outsideOf(reader.memory(run.key.run).readings, one.history->device))
                    one.context = outside->most.count;
            if (&run == &runs.front() && one.history)
                one.predicted = predictedPeak(reader, run);
            if (one.predicted && run.run->result.peakAllocated)
                one.timedPeak = run.run->result.peakAllocated->count;
            if (one.history && !one.history->empty()) {
                addGpus(one, topology);
                one.steps = query::tracedSteps(reader, run.key.run, one.history->origin, one.history->device);
            }
        });
        if (!one.history || cancelled())
            return {};
        if (!one.history->empty())
            read.push_back(std::move(one));
    }
    return read;
}

} // namespace tilescope::ui
