#include "core/query/oom_report.h"

#include <algorithm>

namespace tilescope::query {

namespace {

constexpr std::size_t kHolders = 10;

/// What failed, and who had the memory then.
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
    if (!history.segments.empty()) {
        const analysis::SegmentMap map = history.segmentsAt(time);
        report.largestFree = Bytes{map.largestFree()};
        report.fragmentation = Bytes{map.use().fragmentation()};
        report.reserved = Bytes{map.use().reserved()};
        // LibTorch puts what the driver has left where other events have their address.
        report.deviceFree = Bytes{static_cast<std::int64_t>(failure.address)};
    }
    for (const std::uint32_t index : history.aliveAt(time)) {
        if (report.holders.size() == kHolders)
            break;
        const MemoryLife& block = history.blocks[index];
        report.holders.push_back({Bytes{block.bytes}, block.category, std::string(history.text(block.path)),
                                  std::string(history.text(block.op)), std::string(history.text(block.name)),
                                  std::string(history.text(block.shape))});
    }
    for (std::size_t i = 0; i < kMemoryCategories; ++i)
        if (!history.curves[i].empty())
            if (const Bytes bytes{history.curves[i].at(time)}; bytes.count > 0)
                report.categories.emplace_back(static_cast<MemoryCategory>(i), bytes);
    std::ranges::stable_sort(report.categories, std::ranges::greater{},
                             [](const auto& entry) { return entry.second; });
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
    report.info = report.run.result.oom.value_or(OomInfo{});
    const auto history = memoryHistory(reader, report.run.run);
    const auto failure = std::ranges::find(history->events.rbegin(), history->events.rend(), AllocAction::Oom,
                                           &AllocEvent::action);
    if (failure != history->events.rend())
        addScene(report, reader, *history, *failure);
    return report;
}

} // namespace tilescope::query
