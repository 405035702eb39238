#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilescope::machine {

/// The NVIDIA driver's management library, loaded at run time. No function creates a CUDA context. Any thread
/// may call any member; the object lives as long as the process.
class Nvml {
public:
    using Device = void*; ///< nvmlDevice_t

    enum class Clock : unsigned { Graphics = 0, Sm = 1, Memory = 2 };
    struct Process {
        unsigned pid = 0;
        std::optional<std::uint64_t> usedBytes;
    };
    struct Memory {
        std::uint64_t total = 0;
        std::uint64_t free = 0;
        std::uint64_t used = 0;
    };

    /// Percent of the driver's last sampling period in which a kernel ran, and in which memory was accessed.
    struct Utilization {
        unsigned gpu = 0;
        unsigned memory = 0;
    };
    /// Numbers of nvml.h.
    enum class Field : unsigned {
        NvlinkSpeedMbps = 90, ///< of a link, in one direction
        NvlinkSentKib = 138,  ///< by all links, since the driver was loaded
        NvlinkReceivedKib = 139,
        PowerMilliwatt = 186, ///< at this instant
        PcieSentBytes = 197,  ///< since the driver was loaded
        PcieReceivedBytes = 198,
    };
    struct FieldValue {
        std::uint64_t value = 0;
        bool isWide = false; ///< 64 bits; a counter of 32 bits starts again at 0
    };
    enum class Direction : unsigned { Sent = 0, Received = 1 };

    /// nullptr if the library is missing or does not respond; absence() gives the reason.
    static const Nvml* instance();
    enum class Absence {
        None,
        NoLibrary,    ///< libnvidia-ml is not visible to this process
        NoPermission, ///< this user has no access to the driver
        Mismatch,     ///< library and kernel module have different versions
        NoAnswer      ///< the driver is not loaded or does not start
    };
    static Absence absence();

    std::optional<std::string> driverVersion() const;
    std::optional<int> cudaVersion() const; ///< newest CUDA version that the driver supports: 13000
    unsigned deviceCount() const;
    Device byIndex(unsigned index) const;         ///< nullptr if there is none
    Device byUuid(const std::string& uuid) const; ///< nullptr if there is none
    std::optional<std::string> name(Device device) const;
    std::optional<std::string> uuid(Device device) const;
    std::optional<int> computeCapability(Device device) const; ///< 90 for 9.0
    std::optional<Memory> memory(Device device) const;
    std::optional<unsigned> clockMhz(Device device, Clock clock) const;
    std::optional<unsigned> maxClockMhz(Device device, Clock clock) const;
    std::optional<unsigned> powerLimitMilliwatt(Device device) const;
    std::optional<unsigned> powerMilliwatt(Device device) const;
    std::optional<unsigned> temperature(Device device) const;
    std::optional<Utilization> utilization(Device device) const;
    /// One value per field; none for a field that the device or driver does not have.
    std::vector<std::optional<FieldValue>> fields(Device device, std::span<const Field> fields) const;
    /// Kilobytes per second on the bus. The call takes as long as the driver measures: 20 ms.
    std::optional<unsigned> pcieThroughput(Device device, Direction direction) const;
    std::optional<std::uint64_t> throttleReasons(Device device) const; ///< bits of nvmlClocksEventReasons
    std::optional<bool> migEnabled(Device device) const;
    std::optional<bool> persistence(Device device) const;
    /// Bytes per second in one direction over all active NVLinks together; none without NVLink.
    std::optional<std::uint64_t> nvlinkBandwidth(Device device) const;
    std::vector<Process> computeProcesses(Device device) const;

private:
    explicit Nvml(void* library) : library_(library) {}
    /// The return code of the function; none if the library lacks it.
    template <class... Arguments>
    std::optional<int> statusOf(const char* function, Arguments... arguments) const;
    template <class... Arguments> bool call(const char* function, Arguments... arguments) const;
    struct Loaded;
    static const Loaded& loaded();

    void* library_;
};

// Bits of nvmlClocksEventReasons that limit the clocks under load; all but the first indicate a problem.
inline constexpr std::uint64_t kSoftwarePowerCap = 0x04;
inline constexpr std::uint64_t kHardwareSlowdown = 0x08;
inline constexpr std::uint64_t kThermalSoftware = 0x20;
inline constexpr std::uint64_t kThermalHardware = 0x40;
inline constexpr std::uint64_t kPowerBrake = 0x80;

/// The names of the set bits, joined by `, `; `none` if no bit is set.
std::string throttleReasonNames(std::uint64_t reasons);

} // namespace tilescope::machine
