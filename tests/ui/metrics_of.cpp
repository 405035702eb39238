#include "tests/ui/metrics_of.h"

#include "core/analysis/kernels/kernel_families.h"
#include "core/model/metric.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tilescope::test {

std::vector<CounterTrack> metricsOf(const TraceBatch& batch, const StringTable& strings)
{
    constexpr Nanoseconds kLength{100'000};
    struct Use {
        double active, tensor, read, write;
    };
    const auto useOf = [&](const DeviceEvent& event) -> Use {
        switch (analysis::KernelFamilies::standard().describe(strings.text(event.name), event.kind).family) {
        case analysis::KernelFamily::Matmul:
            return {96, 68, 16, 7};
        case analysis::KernelFamily::Attention:
            return {94, 41, 5, 3};
        default:
            return {89, 0, 41, 33};
        }
    };
    Timestamp start = batch.deviceEvents.front().start;
    Timestamp end = start;
    for (const DeviceEvent& event : batch.deviceEvents)
        end = std::max(end, event.end);
    const auto count = std::size_t((end - start) / kLength);
    std::vector<Use> uses(count, Use{});
    for (const DeviceEvent& event : batch.deviceEvents) {
        const Use use = useOf(event);
        for (auto i = std::size_t((event.start - start) / kLength); i < count; ++i) {
            const Timestamp from = start + kLength * std::int64_t(i);
            if (from >= event.end)
                break;
            const double share =
                double((std::min(event.end, from + kLength) - std::max(event.start, from)).count()) /
                double(kLength.count());
            for (double Use::*const value : {&Use::active, &Use::tensor, &Use::read, &Use::write})
                uses[i].*value = std::min(100.0, uses[i].*value + share * use.*value);
        }
    }
    std::vector<CounterTrack> tracks;
    const std::pair<std::string_view, double Use::*> kMeasured[] = {{kSmActive, &Use::active},
                                                                    {kTensorActive, &Use::tensor},
                                                                    {kDramRead, &Use::read},
                                                                    {kDramWrite, &Use::write}};
    for (const auto& [name, value] : kMeasured) {
        const std::size_t hole = count * 3 / 4;
        for (const auto& [first, last] : {std::pair(std::size_t{0}, hole), std::pair(hole + 5, count)}) {
            if (first >= last)
                continue;
            CounterTrack track{.name = std::string(name), .unit = "%", .device = DeviceIndex{0}};
            track.end = start + kLength * std::int64_t(last);
            for (std::size_t i = first; i < last; ++i)
                track.points.push_back(
                    {start + kLength * std::int64_t(i), std::int64_t(uses[i].*value * kPartsOfCounterUnit)});
            tracks.push_back(std::move(track));
        }
    }
    return tracks;
}

} // namespace tilescope::test
