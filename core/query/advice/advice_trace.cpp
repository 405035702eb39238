#include "core/query/advice/advice_trace.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tilescope::query {

std::uint32_t AdviceSources::of(AdviceSource source)
{
    const auto [known, isNew] = numbers_.try_emplace(source, static_cast<std::uint32_t>(list_.size()));
    if (isNew)
        list_.push_back(std::move(source));
    return known->second;
}

bool ActivityKind::isPageable() const
{
    return event == DeviceEventKind::Memcpy && fullName.find("Pageable") != std::string::npos;
}

bool ActivityKind::isBetweenHostAndDevice() const
{
    return event == DeviceEventKind::Memcpy &&
           (copy == CopyKind::HostToDevice || copy == CopyKind::DeviceToHost);
}

bool ActivityKind::isLowPrecisionProduct() const
{
    if (family != analysis::KernelFamily::Matmul && family != analysis::KernelFamily::Convolution &&
        family != analysis::KernelFamily::Attention)
        return false;
    const auto has = [this](std::string_view word) { return name.find(word) != std::string::npos; };
    return has("bf16") || has("fp16") || has("fp8");
}

Nanoseconds AdviceTrace::wall() const
{
    return analysis::lengthOf(walls);
}

std::vector<analysis::GroupedTime> AdviceTrace::timesOf(const SourceOf& sourceOf) const
{
    std::vector<std::optional<std::uint32_t>> known;
    for (const ActivityKind& kind : kinds)
        known.push_back(sourceOf(kind));
    std::vector<analysis::GroupedTime> times;
    for (const Activity& activity : activities)
        if (known[activity.kind])
            times.push_back({activity.time, *known[activity.kind]});
    return times;
}

std::optional<std::size_t> AdviceTrace::stepOf(const Activity& activity) const
{
    const auto next = std::ranges::upper_bound(walls, activity.time.start, {}, &analysis::Interval::start);
    if (next == walls.begin() || std::prev(next)->end <= activity.time.start)
        return {};
    return static_cast<std::size_t>(next - walls.begin() - 1);
}

const std::vector<analysis::Interval>&
AdviceTrace::busyWith(const std::function<bool(const ActivityKind&)>& has) const
{
    std::vector<char> known;
    for (const ActivityKind& kind : kinds)
        known.push_back(has(kind) ? 1 : 0);
    constexpr std::size_t kMostKept = 1'000'000;
    if (activities.size() > kMostKept && !busyWith_.contains(known))
        busyWith_.clear();
    const auto [found, isNew] = busyWith_.try_emplace(known);
    if (!isNew)
        return found->second;
    std::vector<analysis::Interval> times;
    for (const Activity& activity : activities)
        if (known[activity.kind] != 0)
            times.push_back(activity.time);
    found->second = unionOf(std::move(times));
    return found->second;
}

std::int64_t AdviceTraces::steps() const
{
    std::int64_t steps = 0;
    for (const AdviceTrace& trace : processes)
        steps += std::ssize(trace.walls);
    return steps;
}

Nanoseconds AdviceTraces::wall() const
{
    Nanoseconds wall{0};
    for (const AdviceTrace& trace : processes)
        wall += trace.wall();
    return wall;
}

bool AdviceTraces::any(bool AdviceTrace::*property) const
{
    return std::ranges::any_of(processes, property);
}

bool AdviceTraces::anyKind(const std::function<bool(const ActivityKind&)>& is) const
{
    return std::ranges::any_of(
        processes, [&is](const AdviceTrace& trace) { return std::ranges::any_of(trace.kinds, is); });
}

} // namespace tilescope::query
