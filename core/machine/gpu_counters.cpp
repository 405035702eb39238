#include "core/machine/counter_source.h"
#include "core/machine/nvml_device.h"
#include "core/model/counter_track.h"

#include <array>
#include <span>

namespace tilescope::machine {

namespace {

using Kind = SourceCounter::Kind;

constexpr double kHzPerMhz = 1e6;
constexpr double kBytesPerKb = 1e3;
constexpr double kBytesPerKib = 1024;
constexpr double kWattsPerMw = 1e-3;
constexpr std::uint64_t kAlways = 100; // percent

enum GpuCounter : std::size_t {
    SmClock,
    MemoryClock,
    Power,
    Temperature,
    GpuUtilisation,
    MemoryUtilisation,
    PcieReceived,
    PcieSent,
    NvlinkReceived,
    NvlinkSent,
    PowerCap,
    ThermalSlowdown,
    HardwareSlowdown,
    kGpuCounters
};

constexpr std::array<SourceCounter, kGpuCounters> kCountersOfGpu{{
    {"SM clock", "Hz", Kind::Level, kHzPerMhz},
    {"Memory clock", "Hz", Kind::Level, kHzPerMhz},
    {"Power", "W", Kind::Level, kWattsPerMw},
    {"Temperature", "°C", Kind::Level, 1},
    {"GPU utilisation", "%", Kind::Level, 1},
    {"Memory utilisation", "%", Kind::Level, 1},
    {"PCIe received", "B/s", Kind::Total, 1},
    {"PCIe sent", "B/s", Kind::Total, 1},
    {"NVLink received", "B/s", Kind::Total, kBytesPerKib},
    {"NVLink sent", "B/s", Kind::Total, kBytesPerKib},
    {kPowerCapCounter, "%", Kind::Level, 1},
    {kThermalSlowdownCounter, "%", Kind::Level, 1},
    {kHardwareSlowdownCounter, "%", Kind::Level, 1},
}};

// In this order in Nvml::fields().
constexpr std::array kFields{Nvml::Field::PowerMilliwatt, Nvml::Field::PcieReceivedBytes,
                             Nvml::Field::PcieSentBytes, Nvml::Field::NvlinkReceivedKib,
                             Nvml::Field::NvlinkSentKib};
constexpr std::size_t kNvlinkFields = 3; // the first of those that only GPUs with NVLink have

class GpuCounters final : public CounterSource {
public:
    GpuCounters(const Nvml& nvml, Nvml::Device device)
        : nvml_(nvml), device_(device), hasNvlink_(nvml.nvlinkBandwidth(device).has_value())
    {
        const auto pcie = nvml_.fields(device_, std::span(kFields).subspan(1, 1)).front();
        hasPcieTotals_ = pcie.has_value();
        for (const GpuCounter counter : {PcieReceived, PcieSent}) {
            if (!pcie)
                counters_[counter] = {counters_[counter].name, "B/s", Kind::Level, kBytesPerKb};
            else if (!pcie->isWide)
                counters_[counter].kind = Kind::NarrowTotal;
        }
    }

    std::span<const SourceCounter> counters() const override { return counters_; }

    void read(std::span<std::optional<std::uint64_t>> values) override
    {
        values[SmClock] = nvml_.clockMhz(device_, Nvml::Clock::Sm);
        values[MemoryClock] = nvml_.clockMhz(device_, Nvml::Clock::Memory);
        values[Temperature] = nvml_.temperature(device_);
        if (const auto busy = nvml_.utilization(device_)) {
            values[GpuUtilisation] = busy->gpu;
            values[MemoryUtilisation] = busy->memory;
        }
        readFields(values);
        readSlowdowns(values);
    }

private:
    void readFields(std::span<std::optional<std::uint64_t>> values)
    {
        const auto fields =
            nvml_.fields(device_, std::span(kFields).first(hasNvlink_ ? kFields.size() : kNvlinkFields));
        const auto valueOf = [&fields](std::size_t field) {
            return fields[field] ? std::optional(fields[field]->value) : std::nullopt;
        };
        values[Power] = valueOf(0);
        // Older drivers have only a mean of the last second.
        if (!values[Power])
            values[Power] = nvml_.powerMilliwatt(device_);
        if (hasPcieTotals_) {
            values[PcieReceived] = valueOf(1);
            values[PcieSent] = valueOf(2);
        } else {
            readThroughput(values);
        }
        if (hasNvlink_) {
            values[NvlinkReceived] = valueOf(3);
            values[NvlinkSent] = valueOf(4);
        }
    }

    // Each call takes 20 ms, so that the directions take turns; the other one keeps its value.
    void readThroughput(std::span<std::optional<std::uint64_t>> values)
    {
        received_ = !received_;
        auto& turn = received_ ? throughput_.first : throughput_.second;
        turn = nvml_.pcieThroughput(device_, received_ ? Nvml::Direction::Received : Nvml::Direction::Sent);
        if (received_ && turn && !throughput_.second)
            throughput_.second = nvml_.pcieThroughput(device_, Nvml::Direction::Sent);
        values[PcieReceived] = throughput_.first;
        values[PcieSent] = throughput_.second;
    }

    void readSlowdowns(std::span<std::optional<std::uint64_t>> values) const
    {
        const std::optional<std::uint64_t> reasons = nvml_.throttleReasons(device_);
        const auto share = [&reasons](std::uint64_t bits) -> std::optional<std::uint64_t> {
            if (!reasons)
                return {};
            return (*reasons & bits) != 0 ? kAlways : 0;
        };
        values[PowerCap] = share(kSoftwarePowerCap);
        values[ThermalSlowdown] = share(kThermalSoftware | kThermalHardware);
        values[HardwareSlowdown] = share(kHardwareSlowdown | kPowerBrake);
    }

    const Nvml& nvml_;
    const Nvml::Device device_;
    const bool hasNvlink_;
    bool hasPcieTotals_ = false;
    std::array<SourceCounter, kGpuCounters> counters_ = kCountersOfGpu;
    bool received_ = false;                                                  // whose turn was last
    std::pair<std::optional<unsigned>, std::optional<unsigned>> throughput_; // received, sent
};

} // namespace

std::unique_ptr<CounterSource> gpuCounters(int cudaIndex)
{
    const Nvml* nvml = Nvml::instance();
    const Nvml::Device device = nvml ? deviceOf(*nvml, cudaIndex) : nullptr;
    return device ? std::make_unique<GpuCounters>(*nvml, device) : nullptr;
}

} // namespace tilescope::machine
