#include "core/machine/examine.h"
#include "core/machine/nvml.h"
#include "core/machine/small_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace tilescope::machine {

namespace fs = std::filesystem;
using Verdict = Finding::Verdict;

namespace {

/// CUDA 13.0, as NVML counts.
constexpr int kCudaNeeded = 13000;
constexpr const char* kDriverNeeded = "580";

void examineDriver(std::vector<Finding>& findings, const Nvml& nvml)
{
    const std::string version = nvml.driverVersion().value_or("unknown");
    const int cuda = nvml.cudaVersion().value_or(0);
    const std::string text = fmt::format("{}, serves CUDA {}.{}", version, cuda / 1000, cuda % 1000 / 10);
    if (cuda < kCudaNeeded)
        findings.push_back({Verdict::Missing, "driver", text + "; LibTorch needs 13.0",
                            std::string("install NVIDIA driver ") + kDriverNeeded + " or newer"});
    else
        findings.push_back({Verdict::Ok, "driver", text, ""});
}

void examineDevice(std::vector<Finding>& findings, const Nvml& nvml, unsigned index)
{
    const std::string topic = fmt::format("GPU {}", index);
    const Nvml::Device device = nvml.byIndex(index);
    if (!device) {
        findings.push_back({Verdict::Missing, topic, "the driver lists it but does not open it",
                            "nvidia-smi says why; perhaps it fell off the bus, or this user may not use it"});
        return;
    }
    const auto memory = nvml.memory(device).value_or(Nvml::Memory{});
    std::string text = fmt::format("{}, {} of {} MiB free", nvml.name(device).value_or("unnamed"),
                                   memory.free >> 20, memory.total >> 20);
    if (const auto limit = nvml.powerLimitMilliwatt(device))
        text += fmt::format(", power limit {} W", *limit / 1000);
    std::string remedy;
    const auto others = nvml.computeProcesses(device);
    if (!others.empty()) {
        text += fmt::format(", used by {} other process{}", others.size(), others.size() == 1 ? "" : "es");
        remedy = "timings need it alone: wait, or choose another with CUDA_VISIBLE_DEVICES";
    }
    if (nvml.migEnabled(device).value_or(false)) {
        text += ", split by MIG";
        remedy = "an instance is not the whole GPU; name one in CUDA_VISIBLE_DEVICES, or switch MIG off";
    }
    constexpr std::uint64_t kIdleOrClocks = 0x1 | 0x2;
    if (const auto reasons = nvml.throttleReasons(device).value_or(0); (reasons & ~kIdleOrClocks) != 0) {
        text += ", slowed down by: " + throttleReasonNames(reasons);
        remedy = "let it cool, or raise the limit that is named";
    }
    findings.push_back({remedy.empty() ? Verdict::Ok : Verdict::Note, topic, text, remedy});
}

void examineCounters(std::vector<Finding>& findings)
{
    const std::optional<bool> restricted = countersAreRestricted(readSmallFile("/proc/driver/nvidia/params"));
    if (!restricted)
        findings.push_back({Verdict::Note, "counters",
                            "whether hardware counters are permitted cannot be told here",
                            "try `counters: [dram__bytes_read.sum]`; all else works without"});
    else if (*restricted && geteuid() != 0)
        findings.push_back({Verdict::Note, "counters", "the driver keeps hardware counters to administrators",
                            "as root: echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' > "
                            "/etc/modprobe.d/tilescope.conf, then reboot"});
    else
        findings.push_back({Verdict::Ok, "counters", "permitted", ""});
}

std::vector<std::string> runningCommands()
{
    std::vector<std::string> commands;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error))
        if (const std::string name = entry.path().filename();
            name.find_first_not_of("0123456789") == std::string::npos)
            commands.push_back(readFirstLine(entry.path() / "comm"));
    return commands;
}

void examineRivals(std::vector<Finding>& findings)
{
    const std::vector<std::string> rivals = rivalProfilers(runningCommands(), [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value ? value : "");
    });
    if (rivals.empty()) {
        findings.push_back({Verdict::Ok, "profilers", "none that would hold the tracer's interfaces", ""});
        return;
    }
    findings.push_back(
        {Verdict::Note, "profilers",
         fmt::format("{} may hold what the tracer needs", fmt::join(rivals, ", ")),
         "end it while tracing (dcgmi profile --pause for DCGM); runs go on untraced otherwise and say so"});
}

void explainMissingDriver(std::vector<Finding>& findings)
{
    if (fs::exists("/proc/driver/nvidia/version"))
        findings.push_back({Verdict::Missing, "GPU",
                            "the NVIDIA driver is loaded, but its libraries are not visible here",
                            "in a container: start it with --gpus all (Docker) or --nv (Apptainer)"});
    else
        findings.push_back({Verdict::Note, "GPU", "no NVIDIA driver: runs use the CPU",
                            std::string("for an NVIDIA GPU install driver ") + kDriverNeeded + " or newer"});
}

} // namespace

std::optional<bool> countersAreRestricted(std::string_view params)
{
    constexpr std::string_view kKey = "RmProfilingAdminOnly: ";
    const std::size_t at = params.find(kKey);
    if (at == std::string_view::npos || at + kKey.size() >= params.size())
        return {};
    return params[at + kKey.size()] != '0';
}

std::vector<std::string> rivalProfilers(const std::vector<std::string>& commands,
                                        const std::function<std::string(const char*)>& environment)
{
    // Names as the kernel keeps them: 15 characters at most.
    constexpr std::array kPrograms{"nsys",   "nsys-launcher", "ncu",          "nv-nsight-cu-cl",
                                   "nvprof", "nv-hostengine", "dcgm-exporter"};
    constexpr std::array kVariables{"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                                    "CUDA_INJECTION32_PATH"};
    std::vector<std::string> rivals;
    for (const char* program : kPrograms)
        if (std::ranges::find(commands, program) != commands.end())
            rivals.emplace_back(program);
    for (const char* variable : kVariables)
        if (const std::string value = environment(variable); !value.empty())
            rivals.push_back(std::string(variable) + "=" + value);
    return rivals;
}

void examineGpu(std::vector<Finding>& findings)
{
    const Nvml* nvml = Nvml::instance();
    if (!nvml) {
        explainMissingDriver(findings);
        return;
    }
    examineDriver(findings, *nvml);
    for (unsigned index = 0; index < nvml->deviceCount(); ++index)
        examineDevice(findings, *nvml, index);
    if (nvml->deviceCount() == 0)
        findings.push_back({Verdict::Missing, "GPU", "the driver sees none",
                            "nvidia-smi says why; in a job, ask for one (--gres=gpu:1)"});
    examineCounters(findings);
    examineRivals(findings);
}

} // namespace tilescope::machine
