// Collects the facts for examine().

#include "core/base/environment_variable.h"
#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/machine/examine.h"
#include "core/machine/filesystem_kind.h"
#include "core/machine/program_output.h"
#include "core/machine/small_file.h"

#include <gnu/libc-version.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

namespace tilescope::machine {

namespace fs = std::filesystem;

namespace {

/// Loads the engine like the supervisor: with the torch that the user named, otherwise through the engine's
/// run path, otherwise with the first torch found.
void loadEngine(ProgramFacts& facts)
{
    const std::vector<std::string> ask{facts.engine.string(), "--version"};
    const auto askWithTorch = [&] {
        return outputOf(ask, {{"LD_LIBRARY_PATH", libraryPathWith(*facts.torch)}}, true);
    };
    try {
        facts.torch = torchFromEnvironment();
        ProgramOutput output = facts.torch ? askWithTorch() : outputOf(ask, {}, true);
        if (output.code != 0 && !facts.torch && (facts.torch = findTorch()))
            output = askWithTorch();
        facts.engineLoads = output.code == 0;
        facts.engineWords = facts.engineLoads ? std::string() : output.text;
    } catch (const Error& error) {
        facts.torchRefused = error;
    }
}

GpuFacts gpuFacts(const Nvml& nvml, unsigned index)
{
    const Nvml::Device device = nvml.byIndex(index);
    if (!device)
        return {.opens = false};
    GpuFacts gpu{.name = nvml.name(device).value_or("unnamed"),
                 .capability = nvml.computeCapability(device).value_or(0),
                 .memory = nvml.memory(device).value_or(Nvml::Memory{}),
                 .otherProcesses = nvml.computeProcesses(device).size(),
                 .mig = nvml.migEnabled(device).value_or(false),
                 .throttleReasons = nvml.throttleReasons(device).value_or(0)};
    if (const auto limit = nvml.powerLimitMilliwatt(device))
        gpu.powerLimitWatt = *limit / 1000;
    return gpu;
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

} // namespace

HostFacts hostFacts()
{
    HostFacts host{.glibc = gnu_get_libc_version(),
                   .threads = std::max(1U, std::thread::hardware_concurrency()),
                   .governor = readFirstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")};
    getloadavg(&host.load, 1);
    struct sysinfo memory {};
    if (sysinfo(&memory) == 0) {
        const std::uint64_t unit = memory.mem_unit;
        host.memoryBytes = memory.totalram * unit;
        host.swappedBytes = (memory.totalswap - memory.freeswap) * unit;
    }
    return host;
}

DiskFacts diskFacts()
{
    std::error_code error;
    DiskFacts disk{.folder = fs::current_path(error)};
    if (!error)
        disk.freeBytes = fs::space(disk.folder, error).available;
    if (error)
        disk.unreadable = error.message();
    disk.writable = access(disk.folder.c_str(), W_OK) == 0;
    disk.network = networkFilesystem(disk.folder).value_or("");
    return disk;
}

ProgramFacts programFacts()
{
    ProgramFacts facts{.engine = siblingProgram("TILESCOPE_ENGINE", "tilescope-engine")};
    facts.engineThere = access(facts.engine.c_str(), X_OK) == 0;
    if (facts.engineThere)
        loadEngine(facts);
    std::error_code none; // the list of files of core/hosts
    facts.isCopied = std::filesystem::exists(executablePath().parent_path().parent_path() / "manifest", none);
    facts.windowThere = access(siblingProgram("TILESCOPE_GUI", "tilescope-gui").c_str(), X_OK) == 0;
    facts.display = std::getenv("DISPLAY") || std::getenv("WAYLAND_DISPLAY");
    return facts;
}

DriverFacts driverFacts()
{
    DriverFacts driver{.absence = Nvml::absence(),
                       .kernelModule = fs::exists("/proc/driver/nvidia/version"),
                       .countersRestricted =
                           countersAreRestricted(readSmallFile("/proc/driver/nvidia/params")),
                       .administrator = isAdministrator(readSmallFile("/proc/self/status"))};
    if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"))
        driver.visibleDevices = visible;
    if (const Nvml* nvml = Nvml::instance()) {
        driver.version = nvml->driverVersion().value_or("unknown");
        driver.cuda = nvml->cudaVersion().value_or(0);
        for (unsigned index = 0; index < nvml->deviceCount(); ++index)
            driver.gpus.push_back(gpuFacts(*nvml, index));
    }
    return driver;
}

std::vector<Finding> examine()
{
    std::vector<Finding> findings;
    for (const std::vector<Finding>& part :
         {findingsOf(hostFacts()), findingsOf(diskFacts()), findingsOf(programFacts()),
          findingsOf(driverFacts()),
          findingsOfRivals(rivalProfilers(runningCommands(), environmentVariable))})
        findings.insert(findings.end(), part.begin(), part.end());
    return findings;
}

} // namespace tilescope::machine
