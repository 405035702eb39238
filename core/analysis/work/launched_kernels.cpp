#include "core/analysis/work/launched_kernels.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace tilescope::analysis {

namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value)
{
    hash = (hash ^ (value + 0x9E37'79B9'7F4A'7C15ULL)) * 0xBF58'476D'1CE4'E5B9ULL;
    return hash ^ hash >> 31;
}

/// The positions of the events, by stream and time.
std::vector<std::size_t> orderOf(std::span<const DeviceEvent> device)
{
    std::vector<std::size_t> order(device.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
        return std::tuple(device[i].device, device[i].stream, device[i].start);
    });
    return order;
}

/// A number for each event; events that are alike have the same number.
std::vector<std::uint64_t> kindsOf(std::span<const DeviceEvent> device)
{
    const bool knowsLaunches = std::ranges::all_of(device, [](const DeviceEvent& event) {
        return event.kind != DeviceEventKind::Kernel || event.launch.grid[0] != 0;
    });
    std::map<std::tuple<StringId, LaunchConfig, std::int64_t>, std::uint64_t> numbers;
    std::vector<std::uint64_t> kinds;
    kinds.reserve(device.size());
    for (const DeviceEvent& event : device)
        kinds.push_back(
            numbers
                .try_emplace({event.name, knowsLaunches ? event.launch : LaunchConfig{}, event.bytes},
                             numbers.size() + 1)
                .first->second);
    return kinds;
}

} // namespace

LaunchedKernels::LaunchedKernels(std::span<const DeviceEvent> device)
    : device_(device), contexts_(device.size())
{
    const std::vector<std::size_t> order = orderOf(device);
    const std::vector<std::uint64_t> kinds = kindsOf(device);
    std::size_t streamBegin = 0;
    for (std::size_t at = 0; at < order.size(); ++at) {
        const DeviceEvent& event = device[order[at]];
        if (const DeviceEvent& before = device[order[at == 0 ? 0 : at - 1]];
            before.device != event.device || before.stream != event.stream)
            streamBegin = at;
        std::uint64_t hash = kinds[order[at]];
        std::size_t back = 0;
        for (std::size_t i = 0; i < kContexts.size(); ++i) {
            for (; back < kContexts[i]; ++back)
                hash = mixed(hash, at >= streamBegin + back + 1 ? kinds[order[at - back - 1]] : 0);
            contexts_[order[at]][i] = mixed(hash, i);
        }
    }
}

void LaunchedKernels::add(const DeviceEvent& event, std::size_t op, bool doesWork, std::span<const Op> ops)
{
    for (const std::uint64_t context : contextsOf(event)) {
        const auto [known, isNew] = known_.try_emplace(context, Launcher{op, doesWork});
        Launcher& launcher = known->second;
        ++launcher.kernels;
        launcher.isAmbiguous = launcher.isAmbiguous || launcher.doesWork != doesWork ||
                               ops[launcher.op].name != ops[op].name ||
                               ops[launcher.op].shapes != ops[op].shapes;
    }
}

const LaunchedKernels::Launcher* LaunchedKernels::find(const DeviceEvent& event) const
{
    for (const std::uint64_t context : contextsOf(event)) {
        const auto known = known_.find(context);
        if (known == known_.end())
            return nullptr;
        const bool isRepeated = known->second.kernels > 1 || context == contextsOf(event).front();
        if (!known->second.isAmbiguous)
            return isRepeated ? &known->second : nullptr;
    }
    return nullptr;
}

} // namespace tilescope::analysis
