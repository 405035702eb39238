#include "core/base/number_text.h"
#include "core/machine/machine.h"
#include "core/machine/nvml_device.h"
#include "core/machine/small_file.h"
#include "core/machine/visible_devices.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace tilescope::machine {

namespace {

template <class Value>
void add(std::vector<EnvironmentEntry>& entries, std::string key, const std::optional<Value>& value,
         std::string unit = {})
{
    if (value)
        entries.push_back({std::move(key), fmt::format("{}", *value), std::move(unit)});
}

std::string othersOn(const Nvml& nvml, Nvml::Device device)
{
    std::string others;
    for (const Nvml::Process& process : nvml.computeProcesses(device)) {
        if (process.pid == static_cast<unsigned>(getpid()))
            continue;
        const std::string name = readFirstLine(fmt::format("/proc/{}/comm", process.pid));
        others += fmt::format("{}{} {}", others.empty() ? "" : ", ", process.pid, name);
        if (process.usedBytes)
            others += fmt::format(" ({} MiB)", *process.usedBytes >> 20);
    }
    return others.empty() ? "none" : others;
}

/// Properties that do not change during a run.
void addFixed(std::vector<EnvironmentEntry>& entries, const Nvml& nvml, Nvml::Device device)
{
    add(entries, "driver", nvml.driverVersion());
    if (const auto cuda = nvml.cudaVersion())
        entries.push_back({"driver.cuda", fmt::format("{}.{}", *cuda / 1000, *cuda % 1000 / 10)});
    add(entries, "gpu.name", nvml.name(device));
    add(entries, "gpu.uuid", nvml.uuid(device));
    if (const auto memory = nvml.memory(device))
        entries.push_back({"gpu.memory", std::to_string(memory->total), "B"});
    add(entries, "gpu.power_limit", nvml.powerLimitMilliwatt(device), "mW");
    add(entries, "gpu.clock.sm.max", nvml.maxClockMhz(device, Nvml::Clock::Sm), "MHz");
    add(entries, "gpu.clock.memory.max", nvml.maxClockMhz(device, Nvml::Clock::Memory), "MHz");
    add(entries, "gpu.nvlink", nvml.nvlinkBandwidth(device), "B/s");
    add(entries, "gpu.mig", nvml.migEnabled(device));
    add(entries, "gpu.persistence", nvml.persistence(device));
}

} // namespace

Nvml::Device deviceOf(const Nvml& nvml, int cudaIndex)
{
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    const std::string word =
        visibleDevice(visible ? std::optional<std::string_view>(visible) : std::nullopt, cudaIndex);
    if (const auto index = parseNumber<unsigned>(word))
        return nvml.byIndex(*index);
    return word.empty() ? nullptr : nvml.byUuid(word);
}

std::vector<EnvironmentEntry> gpuEnvironment(int index, Moment moment)
{
    const Nvml* nvml = Nvml::instance();
    const Nvml::Device device = nvml ? deviceOf(*nvml, index) : nullptr;
    if (!device)
        return {};
    std::vector<EnvironmentEntry> entries;
    if (moment == Moment::Before)
        addFixed(entries, *nvml, device);
    const std::string when = moment == Moment::Before ? ".before" : ".after";
    add(entries, "gpu.clock.sm" + when, nvml->clockMhz(device, Nvml::Clock::Sm), "MHz");
    add(entries, "gpu.clock.memory" + when, nvml->clockMhz(device, Nvml::Clock::Memory), "MHz");
    add(entries, "gpu.power" + when, nvml->powerMilliwatt(device), "mW");
    add(entries, "gpu.temperature" + when, nvml->temperature(device), "C");
    if (const auto reasons = nvml->throttleReasons(device))
        entries.push_back({"gpu.throttle_reasons" + when, throttleReasonNames(*reasons)});
    if (const auto memory = nvml->memory(device))
        entries.push_back({"gpu.memory_used" + when, std::to_string(memory->used), "B"});
    entries.push_back({"gpu.other_processes" + when, othersOn(*nvml, device)});
    return entries;
}

std::optional<std::int64_t> processMemory(int index)
{
    const Nvml* nvml = Nvml::instance();
    const Nvml::Device device = nvml ? deviceOf(*nvml, index) : nullptr;
    if (!device)
        return {};
    for (const Nvml::Process& process : nvml->computeProcesses(device))
        if (process.pid == static_cast<unsigned>(getpid()) && process.usedBytes)
            return static_cast<std::int64_t>(*process.usedBytes);
    return {};
}

} // namespace tilescope::machine
