#include "core/query/kernels/kernel_launches.h"

#include "core/analysis/work/device_sheets.h"
#include "core/base/number_text.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tilescope::query {

namespace {

/// What is known of a device for bounds of occupancy.
struct DeviceLimits {
    std::optional<analysis::MultiprocessorLimits> limits = {};
    int multiprocessors = 0; ///< 0: unknown
};

/// By the device's name; null: unknown. Recordings of programs do not say more of a GPU.
const analysis::DeviceSheet* sheetOf(const std::vector<EnvironmentEntry>& environment,
                                     const RunTopology& topology, DeviceIndex device)
{
    std::string name;
    for (const TracedDevice& traced : topology.devices)
        if (traced.id == device)
            name = traced.name;
    for (const EnvironmentEntry& entry : environment)
        if (entry.key == "gpu.name" && name.empty())
            name = entry.value;
    return name.empty() ? nullptr : analysis::DeviceSheets::standard().find(name);
}

std::map<DeviceIndex, DeviceLimits> deviceLimits(const store::RunReader& reader, RunId run,
                                                 const std::set<DeviceIndex>& devices)
{
    const std::vector<EnvironmentEntry> environment = reader.environment(run);
    const RunTopology topology = reader.topology(run);
    std::map<DeviceIndex, DeviceLimits> known;
    for (const DeviceIndex device : devices) {
        const std::string gpu = "gpu." + std::to_string(device ? device.value : 0) + ".";
        std::string capability;
        DeviceLimits& limits = known[device];
        for (const EnvironmentEntry& entry : environment) {
            if (entry.key == gpu + "compute_capability")
                capability = entry.value;
            if (entry.key == gpu + "multiprocessors")
                limits.multiprocessors = parseNumber<int>(entry.value).value_or(0);
        }
        for (const TracedDevice& traced : topology.devices)
            if (traced.id == device && capability.empty()) {
                capability = traced.capability;
                limits.multiprocessors = traced.multiprocessors.value_or(0);
            }
        if (const analysis::DeviceSheet* const sheet = sheetOf(environment, topology, device);
            sheet && capability.empty()) {
            capability = sheet->capability;
            limits.multiprocessors = sheet->multiprocessors;
        }
        limits.limits = analysis::multiprocessorLimits(capability);
    }
    return known;
}

} // namespace

std::map<std::string, KernelLaunches> kernelLaunches(const store::RunReader& reader, RunId run,
                                                     const ProcessQuery& topology,
                                                     const std::function<bool()>& cancelled)
{
    struct Sums {
        KernelLaunches launches;
        std::map<std::pair<DeviceIndex, LaunchConfig>, std::int64_t> configs;
    };
    const ProcessFilter filter(reader, run, topology);
    std::map<StringId, Sums> sums;
    constexpr int kCheckEvery = 4096;
    int unchecked = 0;
    reader.eachDeviceEvent({.run = run}, [&](const DeviceEvent& event) {
        if (event.kind == DeviceEventKind::Kernel && filter.has(event)) {
            Sums& sum = sums[event.name];
            ++sum.launches.count;
            sum.launches.time += event.end - event.start;
            ++sum.configs[{event.device, event.launch}];
        }
        return ++unchecked % kCheckEvery != 0 || !cancelled();
    });
    std::set<DeviceIndex> devices;
    std::map<std::string, KernelLaunches> kernels;
    for (auto& [name, sum] : sums) {
        const auto usual =
            std::ranges::max_element(sum.configs, {}, [](const auto& each) { return each.second; });
        sum.launches.device = usual->first.first;
        sum.launches.usual = usual->first.second;
        sum.launches.ofUsual = usual->second;
        devices.insert(sum.launches.device);
        kernels.emplace(std::string(reader.text(name)), sum.launches);
    }
    const auto limits = deviceLimits(reader, run, devices);
    for (auto& [name, launches] : kernels) {
        const DeviceLimits& device = limits.at(launches.device);
        if (!device.limits)
            continue;
        launches.occupancy = analysis::occupancyOf(launches.usual, *device.limits);
        if (launches.occupancy && device.multiprocessors > 0)
            launches.waves = analysis::wavesOf(launches.usual, *launches.occupancy, device.multiprocessors);
    }
    return kernels;
}

} // namespace tilescope::query
