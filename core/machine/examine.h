#pragma once

#include "core/base/error.h"
#include "core/machine/machine.h"
#include "core/machine/nvml.h"
#include "core/machine/torch_location.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

namespace tilescope::machine {

// examine() in two halves: what the machine is like, as plain facts, and what that means for Tilescope. A
// test can say what a machine is like.

/// Value of an environment variable, empty where it is unset.
using Environment = std::function<std::string(const char* name)>;

struct HostFacts {
    std::string glibc = {};
    unsigned threads = 1;
    double load = 0;
    std::string governor = {}; ///< of the first CPU; empty where the kernel does not scale clocks
    std::uint64_t memoryBytes = 0;
    std::uint64_t swappedBytes = 0; ///< in use of the swap
};
HostFacts hostFacts();
std::vector<Finding> findingsOf(const HostFacts& host);

struct DiskFacts {
    std::filesystem::path folder = {};
    std::string unreadable = {}; ///< why it cannot be looked at; else empty
    bool writable = true;
    std::uint64_t freeBytes = 0;
    std::string network = {}; ///< NFS, Lustre, …; empty on a disk of this machine
};
DiskFacts diskFacts();
std::vector<Finding> findingsOf(const DiskFacts& disk);

struct ProgramFacts {
    std::filesystem::path engine = {};
    bool engineThere = true;
    bool engineLoads = true;
    std::string engineWords = {};            ///< what it, or the loader, printed where it does not load
    std::optional<TorchLocation> torch = {}; ///< none: where the engine's own run path says
    std::optional<Error> torchRefused = {};  ///< why the torch that is named, or that was found, does not fit
    bool windowThere = true;
    bool display = true;
};
/// Starts the engine with --version, up to a second.
ProgramFacts programFacts();
std::vector<Finding> findingsOf(const ProgramFacts& programs);

struct GpuFacts {
    bool opens = true; ///< false: the driver lists it but does not open it
    std::string name = {};
    int capability = 0; ///< 90 for 9.0; 0 where the driver does not tell
    Nvml::Memory memory = {};
    std::optional<unsigned> powerLimitWatt = {};
    std::size_t otherProcesses = 0;
    bool mig = false;
    std::uint64_t throttleReasons = 0;
};
struct DriverFacts {
    Nvml::Absence absence = Nvml::Absence::None;
    bool kernelModule = false; ///< loaded, whatever is visible of it here
    std::string version = {};
    int cuda = 0;                                   ///< the newest that it serves: 13000
    std::optional<std::string> visibleDevices = {}; ///< CUDA_VISIBLE_DEVICES, where it is set
    std::optional<bool> countersRestricted = {}; ///< to administrators; none where the driver does not tell
    bool administrator = false;                  ///< this process has CAP_SYS_ADMIN
    std::vector<GpuFacts> gpus = {};
};
DriverFacts driverFacts();
std::vector<Finding> findingsOf(const DriverFacts& driver);

/// Profilers that run now or were asked for by the environment, and would hold what the tracer needs.
/// \param commands  names of running processes
std::vector<std::string> rivalProfilers(const std::vector<std::string>& commands,
                                        const Environment& environment);
std::vector<Finding> findingsOfRivals(const std::vector<std::string>& rivals);

/// Whether the NVIDIA driver keeps hardware counters to administrators, from the text of
/// /proc/driver/nvidia/params; none where that does not tell.
std::optional<bool> countersAreRestricted(std::string_view params);

/// Whether the text of a /proc/PID/status names CAP_SYS_ADMIN among the effective capabilities.
bool isAdministrator(std::string_view status);

} // namespace tilescope::machine
