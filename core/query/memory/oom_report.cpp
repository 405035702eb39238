#include "core/query/memory/oom_report.h"

#include "core/base/error.h"
#include "core/config/run_again.h"
#include "core/config/schema.h"
#include "core/model/parallelism.h"
#include "core/predict/predict_memory.h"
#include "core/predict/predict_time.h"
#include "core/query/runs/run_device.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>

namespace tilescope::query {

namespace {

constexpr std::size_t kHolders = 10;

/// The failed request, and the holders of memory at that time.
void addScene(OomReport& report, const store::RunReader& reader, const MemoryHistory& history,
              const AllocEvent& failure)
{
    report.asked = Bytes{failure.bytes};
    report.path = failure.path ? std::string(reader.text(failure.path)) : std::string();
    if (failure.op)
        reader.eachOp({.run = history.run.run}, [&](const Op& op) {
            if (op.id == failure.op)
                report.op = reader.text(op.name);
            return op.id != failure.op;
        });
    const std::int64_t time = (failure.time - history.origin).count();
    report.allocated = Bytes{history.allocated.at(time)};
    report.reserved = Bytes{history.reserved.at(time)};
    if (history.hasSegments()) {
        const analysis::SegmentMap map = history.segmentsAt(time);
        report.largestFree = Bytes{map.largestFree()};
        report.fragmentation = Bytes{map.use().fragmentation()};
        report.reserved = Bytes{map.use().reserved()};
        // LibTorch stores the driver's free memory in the address of such events.
        report.deviceFree = Bytes{static_cast<std::int64_t>(failure.address)};
    }
    report.holders = history.aliveAt(time);
    report.holders.resize(std::min(report.holders.size(), kHolders));
    for (std::size_t i = 0; i < kMemoryCategories; ++i)
        if (!history.curves[i].empty())
            if (const Bytes bytes{history.curves[i].at(time)}; bytes.count > 0)
                report.categories.emplace_back(static_cast<MemoryCategory>(i), bytes);
    std::ranges::stable_sort(report.categories, std::ranges::greater{},
                             [](const auto& entry) { return entry.second; });
}

/// The device of the run. Its capacity is what the allocator had reserved at the failure plus the driver's
/// free memory.
predict::TargetDevice deviceOf(const OomReport& report, const store::RunReader& reader)
{
    predict::TargetDevice device = deviceOfRun(reader, report.run);
    const OomInfo info = report.run.result.oom.value_or(OomInfo{});
    const auto held = info.reserved ? info.reserved : info.allocated;
    const Bytes left = report.deviceFree.value_or(Bytes{});
    if (held && (report.deviceFree || !device.capacity))
        device.capacity = *held + left;
    return device;
}

/// The step of the spec with a suggestion's changes, by the measured ceilings of the device.
std::optional<double> stepOf(const ExperimentSpec& spec, const predict::Suggestion& suggestion,
                             const predict::TargetDevice& device, const predict::DeviceRates& rates)
{
    try {
        const auto time =
            predict::predictTime(config::withChanges(spec, suggestion.keys).front(), device, rates);
        return time ? std::optional(time->stepSeconds) : std::nullopt;
    } catch (const Error&) { // a spec of an older version may break today's rules; running it says so
        return {};
    }
}

void addSuggestions(OomReport& report, const store::RunReader& reader)
{
    const auto spec = config::specOf(report.run.specJson);
    if (!spec)
        return;
    predict::TargetDevice device = deviceOf(report, reader);
    // The figures of the report are those of one rank; a prediction divides the memory of a CPU among the ranks.
    if (!device.isCuda && device.capacity && hasRanks(*spec))
        device.capacity = Bytes{device.capacity->count * spec->gpus};
    // The capacity of a CPU is not recorded; deviceOf() then has a lower bound.
    if (device.isCuda)
        report.limit = device.capacity;
    if (spec->memoryLimit)
        report.limit = report.limit ? std::min(*report.limit, *spec->memoryLimit) : *spec->memoryLimit;
    if (const auto prediction = predict::predictMemory(*spec, device))
        report.needed = prediction->peakReserved.value_or(prediction->peakAllocated);
    const auto rates = predict::DeviceRates::from(reader.ceilings(), device);
    for (predict::Suggestion& suggestion : predict::suggestions(*spec, device)) {
        const auto step = rates ? stepOf(*spec, suggestion, device, *rates) : std::nullopt;
        report.suggestions.push_back({std::move(suggestion), step});
    }
}

} // namespace

std::optional<bool> OomReport::fragmentationIsToBlame() const
{
    if (!asked || !reserved || !allocated || !largestFree)
        return {};
    return *reserved - *allocated >= *asked && *largestFree < *asked;
}

OomReport oomReport(const store::RunReader& reader, std::optional<RunId> run)
{
    OomReport report{.run = chooseRun(reader, run)};
    if (const auto& info = report.run.result.oom) {
        report.phase = info->phase;
        report.asked = info->requested;
        report.allocated = info->allocated;
        report.reserved = info->reserved;
    }
    report.history = memoryHistory(reader, report.run.run);
    const std::vector<AllocEvent>& events = report.history->events;
    const auto failure =
        std::ranges::find(events.rbegin(), events.rend(), AllocAction::Oom, &AllocEvent::action);
    if (failure != events.rend())
        addScene(report, reader, *report.history, *failure);
    if (report.run.result.status == RunStatus::Oom)
        addSuggestions(report, reader);
    return report;
}

} // namespace tilescope::query
