#include "core/machine/capacity.h"
#include "core/machine/machine.h"
#include "core/machine/small_file.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <set>
#include <thread>

namespace tilescope::machine {

namespace {

namespace fs = std::filesystem;

/// The value of `key` in a file of `key<separator>value` lines; empty if the key is missing.
std::string fieldOf(std::string_view text, std::string_view key, char separator)
{
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!line.starts_with(key))
            continue;
        const std::size_t at = line.find(separator);
        if (at == std::string_view::npos ||
            line.substr(key.size(), at - key.size()).find_first_not_of(" \t") != std::string_view::npos)
            continue;
        std::string value(line.substr(at + 1));
        value.erase(0, value.find_first_not_of(" \t\""));
        value.erase(value.find_last_not_of(" \t\"") + 1);
        return value;
    }
    return {};
}

std::string cpuModel()
{
    const std::string info = readSmallFile("/proc/cpuinfo");
    std::string model = fieldOf(info, "model name", ':');
    return model.empty() ? fieldOf(info, "Processor", ':') : model;
}

/// The number of physical cores, from the sibling lists; 0 if the kernel does not report them.
std::size_t physicalCores()
{
    std::set<std::string> cores;
    for (unsigned cpu = 0; cpu < std::thread::hardware_concurrency(); ++cpu) {
        const std::string siblings =
            readFirstLine(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
        if (!siblings.empty())
            cores.insert(siblings);
    }
    return cores.size();
}

/// The CPUs that this process may use, as a list of ranges: `0-3,8`.
std::string affinity()
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return {};
    std::string list;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &set))
            continue;
        int last = cpu;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
            ++last;
        list +=
            (list.empty() ? "" : ",") + std::to_string(cpu) + (last > cpu ? "-" + std::to_string(last) : "");
        cpu = last;
    }
    return list;
}

std::string container()
{
    if (const char* apptainer = std::getenv("APPTAINER_CONTAINER"))
        return std::string("apptainer ") + apptainer;
    if (fs::exists("/.dockerenv"))
        return "docker";
    if (fs::exists("/run/.containerenv"))
        return "podman";
    return "none";
}

void addKiB(std::vector<EnvironmentEntry>& entries, const char* key, const std::string& field)
{
    std::int64_t kib = 0;
    if (std::from_chars(field.data(), field.data() + field.size(), kib).ec == std::errc{})
        entries.push_back({key, std::to_string(kib * 1024), "B"});
}

void addIf(std::vector<EnvironmentEntry>& entries, const char* key, std::string value)
{
    if (!value.empty())
        entries.push_back({key, std::move(value)});
}

/// Facts that do not change during the process. Read once: a sweep needs them for every point.
std::vector<EnvironmentEntry> fixedFacts()
{
    std::vector<EnvironmentEntry> entries;
    utsname system{};
    uname(&system);
    addIf(entries, "host", system.nodename);
    addIf(entries, "os", fieldOf(readSmallFile("/etc/os-release"), "PRETTY_NAME", '='));
    addIf(entries, "kernel", system.release);
    addIf(entries, "container", container());
    addIf(entries, "cpu.model", cpuModel());
    entries.push_back({"cpu.instruction_set", std::string(wordOf(cpuInstructionSet()))});
    entries.push_back({"cpu.threads", std::to_string(std::thread::hardware_concurrency())});
    if (const std::size_t cores = physicalCores(); cores > 0)
        entries.push_back({"cpu.cores", std::to_string(cores)});
    addKiB(entries, "memory.total", fieldOf(readSmallFile("/proc/meminfo"), "MemTotal", ':'));
    return entries;
}

} // namespace

std::span<const char* const> variablesThatMatter()
{
    static constexpr std::array names{"CUDA_VISIBLE_DEVICES",
                                      "CUDA_DEVICE_ORDER",
                                      "CUDA_LAUNCH_BLOCKING",
                                      "CUDA_MODULE_LOADING",
                                      "CUDA_DEVICE_MAX_CONNECTIONS",
                                      "PYTORCH_ALLOC_CONF",
                                      "PYTORCH_CUDA_ALLOC_CONF",
                                      "PYTORCH_NO_CUDA_MEMORY_CACHING",
                                      "NVIDIA_TF32_OVERRIDE",
                                      "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
                                      "CUBLAS_WORKSPACE_CONFIG",
                                      "CUBLASLT_WORKSPACE_SIZE",
                                      "OMP_NUM_THREADS",
                                      "OMP_PROC_BIND",
                                      "OMP_PLACES",
                                      "GOMP_CPU_AFFINITY",
                                      "MKL_NUM_THREADS",
                                      "KMP_AFFINITY",
                                      "ATEN_CPU_CAPABILITY",
                                      "ONEDNN_MAX_CPU_ISA",
                                      "MALLOC_ARENA_MAX",
                                      "LD_PRELOAD"};
    return names;
}

std::vector<EnvironmentEntry> hostEnvironment()
{
    static const std::vector<EnvironmentEntry> fixed = fixedFacts();
    std::vector<EnvironmentEntry> entries = fixed;
    addIf(entries, "cpu.affinity", affinity());
    addIf(entries, "cpu.governor", readFirstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    addIf(entries, "cpu.turbo_off", readFirstLine("/sys/devices/system/cpu/intel_pstate/no_turbo"));
    addKiB(entries, "memory.available", fieldOf(readSmallFile("/proc/meminfo"), "MemAvailable", ':'));
    addIf(entries, "memory.huge_pages", readFirstLine("/sys/kernel/mm/transparent_hugepage/enabled"));
    std::array<double, 3> load{};
    if (getloadavg(load.data(), 1) == 1)
        entries.push_back({"load", fmt::format("{:.2f}", load[0])});
    for (const char* name : variablesThatMatter())
        if (const char* value = std::getenv(name))
            entries.push_back({std::string("env.") + name, value});
    return entries;
}

} // namespace tilescope::machine
