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

// The two halves of examine(): functions that collect facts about the machine, and functions that derive
// findings from facts. Tests supply their own facts.

/// The value of an environment variable; empty if unset.
using Environment = std::function<std::string(const char* name)>;

struct HostFacts {
    std::string glibc = {};
    unsigned threads = 1;
    double load = 0;
    std::string governor = {}; ///< of the first CPU; empty if the kernel does not scale clocks
    std::uint64_t memoryBytes = 0;
    std::uint64_t swappedBytes = 0; ///< swap in use
};
HostFacts hostFacts();
std::vector<Finding> findingsOf(const HostFacts& host);

struct DiskFacts {
    std::filesystem::path folder = {};
    std::string unreadable = {}; ///< why the folder cannot be examined; otherwise empty
    bool writable = true;
    std::uint64_t freeBytes = 0;
    std::string network = {}; ///< NFS, Lustre, …; empty for a local disk
};
DiskFacts diskFacts();
std::vector<Finding> findingsOf(const DiskFacts& disk);

struct ProgramFacts {
    std::filesystem::path engine = {};
    bool engineThere = true;
    bool engineLoads = true;
    std::string engineWords = {};            ///< output of the engine or of the loader if the engine does not
                                             ///< start
    std::optional<TorchLocation> torch = {}; ///< none: the engine's run path decides
    std::optional<Error> torchRefused = {};  ///< why the selected torch is unsuitable
    bool windowThere = true;
    bool isCopied = false; ///< by a Tilescope on another machine, which has the window
    bool display = true;
};
/// Starts the engine with --version; takes up to a second.
ProgramFacts programFacts();
std::vector<Finding> findingsOf(const ProgramFacts& programs);

struct GpuFacts {
    bool opens = true; ///< false: the driver lists the GPU but does not open it
    std::string name = {};
    int capability = 0; ///< 90 for 9.0; 0 if unknown
    Nvml::Memory memory = {};
    std::optional<unsigned> powerLimitWatt = {};
    std::size_t otherProcesses = 0;
    bool mig = false;
    std::uint64_t throttleReasons = 0;
};
struct DriverFacts {
    Nvml::Absence absence = Nvml::Absence::None;
    bool kernelModule = false; ///< loaded, even if its libraries are not visible here
    std::string version = {};
    int cuda = 0;                                   ///< newest supported version: 13000
    std::optional<std::string> visibleDevices = {}; ///< CUDA_VISIBLE_DEVICES, if set
    std::optional<bool> countersRestricted = {};    ///< restricted to administrators; none if unknown
    bool administrator = false;                     ///< this process has CAP_SYS_ADMIN
    std::vector<GpuFacts> gpus = {};
};
DriverFacts driverFacts();
std::vector<Finding> findingsOf(const DriverFacts& driver);

/// Profilers that are running, or that the environment requests, and that may occupy the tracer's interfaces.
/// \param commands  names of running processes
std::vector<std::string> rivalProfilers(const std::vector<std::string>& commands,
                                        const Environment& environment);
std::vector<Finding> findingsOfRivals(const std::vector<std::string>& rivals);

/// Whether the NVIDIA driver restricts hardware counters to administrators, from the text of
/// /proc/driver/nvidia/params. None if the text does not say.
std::optional<bool> countersAreRestricted(std::string_view params);

/// Whether the effective capabilities in the text of a /proc/PID/status include CAP_SYS_ADMIN.
bool isAdministrator(std::string_view status);

} // namespace tilescope::machine
