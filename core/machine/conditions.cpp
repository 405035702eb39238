#include "core/machine/conditions.h"

#include "core/machine/nvml.h"
#include "core/machine/nvml_device.h"
#include "core/machine/small_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

namespace tilescope::machine {

namespace {

namespace fs = std::filesystem;

/// The second number of schedstat: nanoseconds on a run queue.
std::optional<Nanoseconds> waitOf(const fs::path& task)
{
    std::istringstream text(readSmallFile(task / "schedstat"));
    std::int64_t running = 0;
    std::int64_t waiting = 0;
    if (!(text >> running >> waiting))
        return {};
    return Nanoseconds(waiting);
}

std::map<int, Nanoseconds> waitsOfThreads()
{
    std::map<int, Nanoseconds> waits;
    std::error_code ended; // a thread may end during the iteration
    for (auto entry = fs::directory_iterator("/proc/self/task", ended); entry != fs::directory_iterator();
         entry.increment(ended)) {
        const std::string name = entry->path().filename().string();
        int thread = 0;
        const auto parsed = std::from_chars(name.data(), name.data() + name.size(), thread);
        if (parsed.ec != std::errc{})
            continue;
        if (const auto waited = waitOf(entry->path()))
            waits.emplace(thread, *waited);
    }
    return waits;
}

/// The shares of the time between two moments in which the threads that lived throughout waited for a core.
std::vector<double> waitingShares(const Conditions& from, const Conditions& to)
{
    const auto elapsed = static_cast<double>((to.at - from.at).count());
    std::vector<double> shares;
    for (const auto& [thread, waited] : to.waited)
        if (const auto before = from.waited.find(thread); before != from.waited.end() && elapsed > 0)
            shares.push_back(static_cast<double>((waited - before->second).count()) / elapsed);
    return shares;
}

/// The columns are cpu user nice system idle iowait irq softirq steal …
void readTicks(Conditions& conditions)
{
    constexpr int kSteal = 7;
    std::istringstream line(readFirstLine("/proc/stat"));
    std::string word;
    line >> word;
    std::int64_t all = 0;
    std::int64_t ticks = 0;
    for (int column = 0; column <= kSteal && line >> ticks; ++column) {
        all += ticks;
        if (column == kSteal)
            conditions.stolen = ticks;
    }
    if (conditions.stolen)
        conditions.allTicks = all;
}

} // namespace

Conditions conditionsNow(std::optional<int> gpu)
{
    Conditions conditions{.at = TraceClock::now(), .waited = waitsOfThreads()};
    readTicks(conditions);
    const Nvml* nvml = gpu ? Nvml::instance() : nullptr;
    const Nvml::Device device = nvml ? deviceOf(*nvml, *gpu) : nullptr;
    if (device) {
        conditions.smClockMhz = nvml->clockMhz(device, Nvml::Clock::Sm);
        conditions.throttleReasons = nvml->throttleReasons(device);
    }
    return conditions;
}

std::optional<double> waitingShare(const Conditions& from, const Conditions& to)
{
    const std::vector<double> shares = waitingShares(from, to);
    return shares.empty() ? std::nullopt : std::optional(std::ranges::max(shares));
}

std::optional<double> someWaitingShare(const Conditions& from, const Conditions& to)
{
    const std::vector<double> shares = waitingShares(from, to);
    double allHadCores = 1;
    for (const double share : shares)
        allHadCores *= 1 - std::clamp(share, 0.0, 1.0);
    return shares.empty() ? std::nullopt : std::optional(1 - allHadCores);
}

std::optional<double> stolenShare(const Conditions& from, const Conditions& to)
{
    if (!from.stolen || !to.stolen || *to.allTicks <= *from.allTicks)
        return {};
    return static_cast<double>(*to.stolen - *from.stolen) /
           static_cast<double>(*to.allTicks - *from.allTicks);
}

std::vector<std::string> slowdowns(const Conditions& from, const Conditions& to)
{
    std::vector<std::string> names;
    const std::uint64_t reasons = from.throttleReasons.value_or(0) | to.throttleReasons.value_or(0);
    for (const std::uint64_t bit : {kHardwareSlowdown, kThermalSoftware, kThermalHardware, kPowerBrake})
        if ((reasons & bit) != 0)
            names.push_back(throttleReasonNames(bit));
    return names;
}

} // namespace tilescope::machine
