#include "core/exchange/import/process_numbers.h"

#include <limits>
#include <set>
#include <unordered_set>

namespace tilescope::exchange {

namespace {

const TracedProcess& processOf(const ForeignTrace& trace, ProcessIndex index)
{
    return trace.topology.processes[static_cast<std::size_t>(index.value)];
}

bool areOneDevice(const ForeignTrace& trace, const KnownDevice& a, const KnownDevice& b)
{
    if (!a.facts.uuid.empty() && !b.facts.uuid.empty())
        return a.facts.uuid == b.facts.uuid;
    const TracedProcess& first = processOf(trace, a.process);
    const TracedProcess& second = processOf(trace, b.process);
    const bool areRanks = first.rank && second.rank && *first.rank != *second.rank;
    return a.facts.ordinal == b.facts.ordinal && first.host == second.host && !areRanks;
}

void numberDevices(ForeignTrace& trace)
{
    std::set<std::int16_t> taken;
    std::vector<std::size_t> firsts; // the known devices that gave their facts to the run
    for (std::size_t i = 0; i < trace.devices.size(); ++i) {
        KnownDevice& device = trace.devices[i];
        if (!device.process)
            continue;
        for (const std::size_t earlier : firsts)
            if (areOneDevice(trace, device, trace.devices[earlier])) {
                device.number = trace.devices[earlier].number;
                break;
            }
        if (device.number)
            continue;
        std::int32_t number = device.facts.ordinal;
        if (number < 0 || number > std::numeric_limits<std::int16_t>::max() ||
            taken.contains(static_cast<std::int16_t>(number)))
            for (number = 0; taken.contains(static_cast<std::int16_t>(number));)
                ++number;
        device.number = DeviceIndex{static_cast<std::int16_t>(number)};
        taken.insert(device.number.value);
        firsts.push_back(i);
        TracedDevice facts = device.facts;
        facts.id = device.number;
        if (facts.host.empty())
            facts.host = processOf(trace, device.process).host;
        trace.topology.devices.push_back(std::move(facts));
    }
    // Of processes that were left out: their counters are those of the device that has the ordinal.
    for (KnownDevice& device : trace.devices)
        for (const std::size_t first : firsts)
            if (!device.process && !device.number &&
                trace.devices[first].facts.ordinal == device.facts.ordinal)
                device.number = trace.devices[first].number;
}

/// Numbers of 32 bits: the native one, unless it is taken or does not fit.
class Numbers {
public:
    explicit Numbers(std::uint32_t spare) : spare_(spare) {}

    std::uint32_t numberFor(std::int64_t native)
    {
        // The largest stands for "none".
        if (native >= 0 && native < std::numeric_limits<std::uint32_t>::max() &&
            taken_.insert(static_cast<std::uint32_t>(native)).second)
            return static_cast<std::uint32_t>(native);
        while (!taken_.insert(spare_).second)
            ++spare_;
        return spare_;
    }

private:
    std::unordered_set<std::uint32_t> taken_;
    std::uint32_t spare_; // numbers from here on are unlikely to be native
};

void numberStreams(ForeignTrace& trace)
{
    constexpr std::uint32_t kSpareStreams = 1'000'000;
    std::map<DeviceIndex, Numbers> numbers;
    const std::vector<bool> used = trace.usedStreams();
    for (std::size_t i = 0; i < used.size(); ++i) {
        KnownStream& stream = trace.streams[i];
        if (!used[i]) // its activities went to another process, or were left out
            continue;
        const DeviceIndex device = trace.devices[stream.device].number;
        stream.number =
            StreamId{numbers.try_emplace(device, kSpareStreams).first->second.numberFor(stream.native)};
        trace.topology.streams.push_back({.device = device,
                                          .id = stream.number,
                                          .process = stream.process,
                                          .native = stream.native,
                                          .context = stream.context});
    }
}

} // namespace

void numberProcesses(ForeignTrace& trace)
{
    constexpr std::uint32_t kSpareThreads = 1U << 31;
    Numbers threads(kSpareThreads);
    for (KnownThread& thread : trace.threads)
        thread.number = ThreadId{threads.numberFor(thread.native)};
    numberDevices(trace);
    numberStreams(trace);
}

void numberCorrelations(ForeignTrace& trace)
{
    std::vector<std::uint32_t> highest(trace.topology.processes.size(), 0);
    const auto note = [&](ProcessIndex process, std::uint32_t correlation) {
        auto& known = highest[static_cast<std::size_t>(process.value)];
        known = std::max(known, correlation);
    };
    for (const HostRow& row : trace.host)
        if (row.kind == HostKind::ApiCall || row.kind == HostKind::Launch)
            note(trace.processOf(row), row.extra);
    for (const DeviceRow& row : trace.activities)
        note(trace.processOf(row), row.correlation);
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < highest.size(); ++i) {
        // Ids beyond 32 bits wrap: they label events, which the assembly connects before.
        trace.topology.processes[i].firstCorrelation = static_cast<std::uint32_t>(next);
        next += highest[i];
    }
}

} // namespace tilescope::exchange
