#include "core/exchange/import/rules/event_times.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace tilescope::exchange {

namespace {

/// The times that a clock may have; all of them where its events lie close together.
struct ClockWindow {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    std::vector<std::int64_t> starts;
    std::int64_t least = std::numeric_limits<std::int64_t>::min();
    std::int64_t most = std::numeric_limits<std::int64_t>::max();

    void include(std::int64_t start, std::int64_t end)
    {
        first = std::min(first, start);
        last = std::max(last, end);
    }
    bool isWide() const { return last > first && last - first > kFarNs; }
    void limit()
    {
        const auto middle = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
        std::ranges::nth_element(starts, middle);
        least = *middle - kFarNs;
        most = *middle + kFarNs;
    }
    bool has(std::int64_t start, std::int64_t end) const { return start >= least && end <= most; }
};

class FarEvents {
public:
    explicit FarEvents(ForeignTrace& trace) : trace_(trace)
    {
        windows_.resize(trace.topology.clocks.size() + 1);
        eachRow([](ClockWindow& window, const auto& row) { window.include(row.start, row.end); });
    }

    void leaveOut()
    {
        if (std::ranges::none_of(windows_, &ClockWindow::isWide))
            return;
        // Device activities decide only where there are no host events: it is their times that are missing.
        const auto take = [this](const auto& rows) {
            for (const auto& row : rows)
                if (ClockWindow& window = windowOf(trace_.processOf(row)); window.isWide())
                    window.starts.push_back(row.start);
        };
        take(trace_.host);
        std::vector<DeviceRow> alone;
        std::ranges::copy_if(trace_.activities, std::back_inserter(alone), [this](const DeviceRow& row) {
            return windowOf(trace_.processOf(row)).starts.empty();
        });
        take(alone);
        for (ClockWindow& window : windows_)
            if (window.isWide())
                window.limit();
        const auto isFar = [this](const auto& row) {
            return !windowOf(trace_.processOf(row)).has(row.start, row.end);
        };
        leaveOutAllocations(isFar);
        count(std::erase_if(trace_.host, isFar), "host events");
        count(std::erase_if(trace_.activities, isFar), "device activities");
        const auto isFarRecord = [this](const auto& record) {
            return !windowOf(record.process).has(nanosecondsOf(record.start), nanosecondsOf(record.end));
        };
        count(std::erase_if(trace_.waits, isFarRecord), "waits");
        count(std::erase_if(trace_.collectives,
                            [&](const Collective& each) { return !each.correlation && isFarRecord(each); }),
              "collectives");
    }

private:
    template <class Use> void eachRow(const Use& use)
    {
        for (const HostRow& row : trace_.host)
            use(windowOf(trace_.processOf(row)), row);
        for (const DeviceRow& row : trace_.activities)
            use(windowOf(trace_.processOf(row)), row);
    }

    ClockWindow& windowOf(ProcessIndex process)
    {
        const ClockIndex clock =
            process ? trace_.topology.processes[static_cast<std::size_t>(process.value)].clock : ClockIndex();
        return windows_[clock ? static_cast<std::size_t>(clock.value) : windows_.size() - 1];
    }

    /// Allocations stand in a list of their own, to which their host rows refer.
    template <class IsFar> void leaveOutAllocations(const IsFar& isFar)
    {
        std::vector<bool> far(trace_.allocations.size());
        for (const HostRow& row : trace_.host)
            if (row.kind == HostKind::Allocation && isFar(row))
                far[row.extra] = true;
        if (std::ranges::find(far, true) == far.end())
            return;
        std::vector<std::uint32_t> places(far.size());
        std::vector<ForeignAllocation> kept;
        for (std::size_t i = 0; i < far.size(); ++i) {
            places[i] = static_cast<std::uint32_t>(kept.size());
            if (!far[i])
                kept.push_back(trace_.allocations[i]);
        }
        for (HostRow& row : trace_.host)
            if (row.kind == HostKind::Allocation)
                row.extra = places[row.extra];
        trace_.allocations = std::move(kept);
    }

    void count(std::size_t events, std::string_view what)
    {
        if (events > 0)
            trace_.losses[{RecordLoss::NoTimestamp, std::string(what)}] += static_cast<std::int64_t>(events);
    }

    ForeignTrace& trace_;
    std::vector<ClockWindow> windows_; ///< by clock; the last: of processes without one
};

} // namespace

void leaveOutFarEvents(ForeignTrace& trace)
{
    FarEvents(trace).leaveOut();
}

} // namespace tilescope::exchange
