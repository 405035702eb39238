// The findings about driver, GPUs and other profilers, derived from facts.

#include "core/machine/examine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace tilescope::machine {

using Verdict = Finding::Verdict;

namespace {

/// CUDA 13.0 in NVML's encoding.
constexpr int kCudaNeeded = 13000;
constexpr const char* kDriverNeeded = "580";
/// The lowest compute capability that LibTorch's CUDA 13 build supports.
constexpr int kCapabilityNeeded = 75;
constexpr int kCapabilityOfFlash = 80;

Finding whyThereIsNoDriver(const DriverFacts& driver)
{
    const std::string newer = std::string("install NVIDIA driver ") + kDriverNeeded + " or newer";
    using Absence = Nvml::Absence;
    switch (driver.absence) {
    case Absence::Mismatch:
        return {Verdict::Missing, "driver",
                "the NVIDIA kernel module and the driver's libraries have different versions",
                "reboot, or reload the module: the driver was updated while it was loaded"};
    case Absence::NoPermission:
        return {Verdict::Missing, "driver", "this user has no access to the NVIDIA driver",
                "request access to /dev/nvidia*, often through the group video or render"};
    default:
        break;
    }
    if (driver.kernelModule)
        return {Verdict::Missing, "GPU",
                "the NVIDIA driver is loaded, but its libraries are not visible here",
                "in a container: start it with --gpus all (Docker) or --nv (Apptainer)"};
    return {Verdict::Note, "GPU", "no NVIDIA driver: runs use the CPU", "for an NVIDIA GPU " + newer};
}

Finding ofDriver(const DriverFacts& driver)
{
    const std::string text =
        fmt::format("{}, supports CUDA {}.{}", driver.version, driver.cuda / 1000, driver.cuda % 1000 / 10);
    if (driver.cuda < kCudaNeeded)
        return {Verdict::Missing, "driver", text + "; LibTorch needs 13.0",
                std::string("install NVIDIA driver ") + kDriverNeeded + " or newer"};
    return {Verdict::Ok, "driver", text, ""};
}

Finding ofGpu(const GpuFacts& gpu, std::size_t index)
{
    const std::string topic = fmt::format("GPU {}", index);
    if (!gpu.opens)
        return {
            Verdict::Missing, topic, "the driver lists it but does not open it",
            "nvidia-smi gives the reason; it may have fallen off the bus, or this user may have no access"};
    std::string text =
        fmt::format("{}, {} of {} MiB free", gpu.name, gpu.memory.free >> 20, gpu.memory.total >> 20);
    if (gpu.powerLimitWatt)
        text += fmt::format(", power limit {} W", *gpu.powerLimitWatt);
    if (gpu.capability > 0 && gpu.capability < kCapabilityNeeded)
        return {Verdict::Missing, topic,
                text + fmt::format(", compute capability {}.{}; LibTorch for CUDA 13 needs 7.5",
                                   gpu.capability / 10, gpu.capability % 10),
                "use another GPU, or device: cpu"};
    std::string remedy;
    const auto note = [&](const std::string& what, const char* fix) {
        text += ", " + what;
        remedy += (remedy.empty() ? "" : "; ") + std::string(fix);
    };
    if (gpu.capability > 0 && gpu.capability < kCapabilityOfFlash)
        note("older than compute capability 8.0", "backend flash is skipped; use sdpa-efficient");
    if (gpu.otherProcesses > 0)
        note(fmt::format("used by {} other process{}", gpu.otherProcesses,
                         gpu.otherProcesses == 1 ? "" : "es"),
             "measurements need an idle GPU: wait, or choose another with CUDA_VISIBLE_DEVICES");
    if (gpu.mig)
        note(
            "split by MIG",
            "runs use one instance, not the whole GPU; select one with CUDA_VISIBLE_DEVICES, or disable MIG");
    constexpr std::uint64_t kIdleOrClocks = 0x1 | 0x2;
    if ((gpu.throttleReasons & ~kIdleOrClocks) != 0)
        note("slowed down by: " + throttleReasonNames(gpu.throttleReasons & ~kIdleOrClocks),
             "let it cool, or raise that limit");
    return {remedy.empty() ? Verdict::Ok : Verdict::Note, topic, text, remedy};
}

Finding ofCounters(const DriverFacts& driver)
{
    if (!driver.countersRestricted)
        return {Verdict::Note, "counters", "unknown whether hardware counters are permitted",
                "try `counters: [dram__bytes_read.sum]`; everything else works without them"};
    if (*driver.countersRestricted && !driver.administrator)
        return {Verdict::Note, "counters", "the driver restricts hardware counters to administrators",
                "as root: echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' > "
                "/etc/modprobe.d/tilescope.conf, then reboot; in a container: --cap-add SYS_ADMIN"};
    return {Verdict::Ok, "counters", "permitted", ""};
}

} // namespace

std::vector<Finding> findingsOf(const DriverFacts& driver)
{
    if (driver.absence != Nvml::Absence::None)
        return {whyThereIsNoDriver(driver)};
    std::vector<Finding> findings{ofDriver(driver)};
    for (std::size_t index = 0; index < driver.gpus.size(); ++index)
        findings.push_back(ofGpu(driver.gpus[index], index));
    if (driver.gpus.empty())
        findings.push_back({Verdict::Missing, "GPU", "the driver lists none",
                            "nvidia-smi gives the reason; in a job, request one (--gres=gpu:1)"});
    else if (driver.visibleDevices && (driver.visibleDevices->empty() || *driver.visibleDevices == "-1" ||
                                       *driver.visibleDevices == "NoDevFiles"))
        findings.push_back({Verdict::Note, "GPU",
                            "CUDA_VISIBLE_DEVICES=" + *driver.visibleDevices + " hides every GPU",
                            "unset it; in a job, request a GPU (--gres=gpu:1)"});
    findings.push_back(ofCounters(driver));
    return findings;
}

std::vector<Finding> findingsOfRivals(const std::vector<std::string>& rivals)
{
    if (rivals.empty())
        return {{Verdict::Ok, "profilers", "no other profiler uses the tracer's interfaces", ""}};
    return {{Verdict::Note, "profilers",
             fmt::format("{} may occupy the tracer's interfaces", fmt::join(rivals, ", ")),
             "end it or unset the variable while tracing (dcgmi profile --pause for DCGM); otherwise runs "
             "are untraced and flagged"}};
}

std::optional<bool> countersAreRestricted(std::string_view params)
{
    constexpr std::string_view kKey = "RmProfilingAdminOnly: ";
    const std::size_t at = params.find(kKey);
    if (at == std::string_view::npos || at + kKey.size() >= params.size())
        return {};
    return params[at + kKey.size()] != '0';
}

bool isAdministrator(std::string_view status)
{
    constexpr std::string_view kKey = "\nCapEff:\t";
    constexpr int kSysAdmin = 21; // linux/capability.h
    constexpr int kHexadecimal = 16;
    const std::size_t at = status.find(kKey);
    if (at == std::string_view::npos)
        return false;
    std::uint64_t capabilities = 0;
    const char* digits = status.data() + at + kKey.size();
    std::from_chars(digits, status.data() + status.size(), capabilities, kHexadecimal);
    return (capabilities >> kSysAdmin & 1) != 0;
}

std::vector<std::string> rivalProfilers(const std::vector<std::string>& commands,
                                        const Environment& environment)
{
    // Process names as the kernel stores them: at most 15 characters.
    constexpr std::array kPrograms{"nsys",   "nsys-launcher", "ncu",          "nv-nsight-cu-cl",
                                   "nvprof", "nv-hostengine", "dcgm-exporter"};
    // Set by users for CUPTI tools, by Nsight Systems, by Nsight Compute, by nvprof, and for Kineto under a
    // daemon.
    constexpr std::array kVariables{"CUDA_INJECTION64_PATH",
                                    "CUDA_INJECTION32_PATH",
                                    "NVTX_INJECTION64_PATH",
                                    "NSYS_PROFILING_SESSION_ID",
                                    "NV_NSIGHT_INJECTION_TRANSPORT_TYPE",
                                    "NVPROF_ID",
                                    "KINETO_USE_DAEMON"};
    std::vector<std::string> rivals;
    for (const char* program : kPrograms)
        if (std::ranges::find(commands, program) != commands.end())
            rivals.emplace_back(program);
    for (const char* variable : kVariables)
        if (const std::string value = environment(variable); !value.empty())
            rivals.push_back(std::string(variable) + "=" + value);
    return rivals;
}

} // namespace tilescope::machine
