#include "core/exchange/import/launch_index.h"

#include <algorithm>
#include <limits>

namespace tilescope::exchange {

void LaunchIndex::expect(const ForeignTrace& trace)
{
    struct Extent {
        std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
        std::uint32_t most = 0;
        std::size_t count = 0;
    };
    std::vector<Extent> extents(trace.topology.processes.size());
    const auto processOf = [&](const DeviceRow& row) {
        return static_cast<std::size_t>(trace.streams[row.stream].process.value);
    };
    for (const DeviceRow& row : trace.activities)
        if (row.correlation != 0) {
            Extent& extent = extents[processOf(row)];
            extent.least = std::min(extent.least, row.correlation);
            extent.most = std::max(extent.most, row.correlation);
            ++extent.count;
        }
    processes_.resize(extents.size());
    for (std::size_t i = 0; i < extents.size(); ++i) {
        const Extent& extent = extents[i];
        if (extent.count == 0)
            continue;
        const std::size_t width = std::size_t{extent.most} - extent.least + 1;
        constexpr std::size_t kSparsest = 16;
        constexpr std::size_t kSmall = 1 << 10;
        processes_[i].least = extent.least;
        if (width <= kSmall || width / kSparsest <= extent.count)
            processes_[i].dense.assign(width, kUnwanted);
    }
    for (const DeviceRow& row : trace.activities) {
        OfProcess& process = processes_[processOf(row)];
        if (const std::uint64_t external = trace.activityFacts[row.extra].externalId; external != 0)
            process.ops.emplace(external, kWanted);
        if (row.correlation == 0)
            continue;
        if (process.dense.empty())
            process.sparse.emplace(row.correlation, kWanted);
        else
            process.dense[row.correlation - process.least] = kWanted;
    }
}

void LaunchIndex::note(ProcessIndex process, std::uint32_t correlation, const Launch& launch)
{
    OfProcess& known = processes_[static_cast<std::size_t>(process.value)];
    std::uint32_t* slot = nullptr;
    if (!known.dense.empty()) {
        const std::size_t at = std::size_t{correlation} - known.least;
        slot = correlation >= known.least && at < known.dense.size() ? &known.dense[at] : nullptr;
    } else if (const auto found = known.sparse.find(correlation); found != known.sparse.end()) {
        slot = &found->second;
    }
    // The first call of an id is the outermost: the runtime's, not the driver's that it makes.
    if (!slot || *slot != kWanted)
        return;
    *slot = static_cast<std::uint32_t>(launches_.size()) + 2;
    launches_.push_back(launch);
}

void LaunchIndex::noteOp(ProcessIndex process, std::uint64_t externalId, const Launch& op)
{
    auto& ops = processes_[static_cast<std::size_t>(process.value)].ops;
    const auto found = externalId == 0 ? ops.end() : ops.find(externalId);
    if (found == ops.end() || found->second != kWanted)
        return;
    found->second = static_cast<std::uint32_t>(launches_.size()) + 2;
    launches_.push_back(op);
}

bool LaunchIndex::isWanted(ProcessIndex process, std::uint32_t correlation) const
{
    const OfProcess& known = processes_[static_cast<std::size_t>(process.value)];
    if (known.dense.empty())
        return known.sparse.contains(correlation);
    const std::size_t at = std::size_t{correlation} - known.least;
    return correlation >= known.least && at < known.dense.size() && known.dense[at] != kUnwanted;
}

const Launch* LaunchIndex::find(ProcessIndex process, std::uint32_t correlation) const
{
    const OfProcess& known = processes_[static_cast<std::size_t>(process.value)];
    std::uint32_t slot = kUnwanted;
    if (correlation == 0)
        return nullptr;
    if (!known.dense.empty())
        slot = known.dense[correlation - known.least];
    else if (const auto found = known.sparse.find(correlation); found != known.sparse.end())
        slot = found->second;
    return slot <= kWanted ? nullptr : &launches_[slot - 2];
}

const Launch* LaunchIndex::findOp(ProcessIndex process, std::uint64_t externalId) const
{
    if (externalId == 0)
        return nullptr;
    const auto& ops = processes_[static_cast<std::size_t>(process.value)].ops;
    const auto found = ops.find(externalId);
    return found == ops.end() || found->second <= kWanted ? nullptr : &launches_[found->second - 2];
}

} // namespace tilescope::exchange
