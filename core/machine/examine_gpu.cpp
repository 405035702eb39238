// What the facts about driver, GPUs and rival profilers mean.

#include "core/machine/examine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace tilescope::machine {

using Verdict = Finding::Verdict;

namespace {

/// CUDA 13.0, as NVML counts.
constexpr int kCudaNeeded = 13000;
constexpr const char* kDriverNeeded = "580";
/// The oldest that LibTorch's CUDA 13 build has code for, and that the kernels of `flash` have.
constexpr int kCapabilityNeeded = 75;
constexpr int kCapabilityOfFlash = 80;

Finding whyThereIsNoDriver(const DriverFacts& driver)
{
    const std::string newer = std::string("install NVIDIA driver ") + kDriverNeeded + " or newer";
    using Absence = Nvml::Absence;
    switch (driver.absence) {
    case Absence::Mismatch:
        return {Verdict::Missing, "driver",
                "the NVIDIA kernel module and the driver's libraries are of different versions",
                "reboot, or reload the module: the driver was updated while it was loaded"};
    case Absence::NoPermission:
        return {Verdict::Missing, "driver", "this user may not use the NVIDIA driver",
                "ask for access to /dev/nvidia*, often by membership in the group video or render"};
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
        fmt::format("{}, serves CUDA {}.{}", driver.version, driver.cuda / 1000, driver.cuda % 1000 / 10);
    if (driver.cuda < kCudaNeeded)
        return {Verdict::Missing, "driver", text + "; LibTorch needs 13.0",
                std::string("install NVIDIA driver ") + kDriverNeeded + " or newer"};
    return {Verdict::Ok, "driver", text, ""};
}

Finding ofGpu(const GpuFacts& gpu, std::size_t index)
{
    const std::string topic = fmt::format("GPU {}", index);
    if (!gpu.opens)
        return {Verdict::Missing, topic, "the driver lists it but does not open it",
                "nvidia-smi says why; perhaps it fell off the bus, or this user may not use it"};
    std::string text =
        fmt::format("{}, {} of {} MiB free", gpu.name, gpu.memory.free >> 20, gpu.memory.total >> 20);
    if (gpu.powerLimitWatt)
        text += fmt::format(", power limit {} W", *gpu.powerLimitWatt);
    if (gpu.capability > 0 && gpu.capability < kCapabilityNeeded)
        return {Verdict::Missing, topic,
                text + fmt::format(", compute capability {}.{}; LibTorch for CUDA 13 begins at 7.5",
                                   gpu.capability / 10, gpu.capability % 10),
                "use another GPU, or device: cpu"};
    std::string remedy;
    const auto note = [&](const std::string& what, const char* mend) {
        text += ", " + what;
        remedy += (remedy.empty() ? "" : "; ") + std::string(mend);
    };
    if (gpu.capability > 0 && gpu.capability < kCapabilityOfFlash)
        note("older than compute capability 8.0", "backend flash is skipped here: use sdpa-efficient");
    if (gpu.otherProcesses > 0)
        note(fmt::format("used by {} other process{}", gpu.otherProcesses,
                         gpu.otherProcesses == 1 ? "" : "es"),
             "timings need it alone: wait, or choose another with CUDA_VISIBLE_DEVICES");
    if (gpu.mig)
        note("split by MIG",
             "an instance is not the whole GPU; name one in CUDA_VISIBLE_DEVICES, or switch MIG off");
    constexpr std::uint64_t kIdleOrClocks = 0x1 | 0x2;
    if ((gpu.throttleReasons & ~kIdleOrClocks) != 0)
        note("slowed down by: " + throttleReasonNames(gpu.throttleReasons & ~kIdleOrClocks),
             "let it cool, or raise the limit that is named");
    return {remedy.empty() ? Verdict::Ok : Verdict::Note, topic, text, remedy};
}

Finding ofCounters(const DriverFacts& driver)
{
    if (!driver.countersRestricted)
        return {Verdict::Note, "counters", "whether hardware counters are permitted cannot be told here",
                "try `counters: [dram__bytes_read.sum]`; all else works without"};
    if (*driver.countersRestricted && !driver.administrator)
        return {Verdict::Note, "counters", "the driver keeps hardware counters to administrators",
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
        findings.push_back({Verdict::Missing, "GPU", "the driver sees none",
                            "nvidia-smi says why; in a job, ask for one (--gres=gpu:1)"});
    else if (driver.visibleDevices && (driver.visibleDevices->empty() || *driver.visibleDevices == "-1" ||
                                       *driver.visibleDevices == "NoDevFiles"))
        findings.push_back({Verdict::Note, "GPU",
                            "CUDA_VISIBLE_DEVICES=" + *driver.visibleDevices + " hides every GPU",
                            "unset it; in a job, ask for a GPU (--gres=gpu:1)"});
    findings.push_back(ofCounters(driver));
    return findings;
}

std::vector<Finding> findingsOfRivals(const std::vector<std::string>& rivals)
{
    if (rivals.empty())
        return {{Verdict::Ok, "profilers", "none that would hold the tracer's interfaces", ""}};
    return {{Verdict::Note, "profilers",
             fmt::format("{} may hold what the tracer needs", fmt::join(rivals, ", ")),
             "end it or unset the variable while tracing (dcgmi profile --pause for DCGM); runs go on "
             "untraced otherwise and say so"}};
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
    // Names as the kernel keeps them: 15 characters at most.
    constexpr std::array kPrograms{"nsys",   "nsys-launcher", "ncu",          "nv-nsight-cu-cl",
                                   "nvprof", "nv-hostengine", "dcgm-exporter"};
    // Set by a user for a tool of CUPTI's, by Nsight Systems, by Nsight Compute, by nvprof, and for a Kineto
    // that waits for orders of a daemon.
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
