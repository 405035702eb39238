#include "core/query/timeline/step_curve.h"

#include <algorithm>
#include <cassert>

namespace tilescope::query {

void StepCurve::Offsets::assign(std::vector<std::int64_t> wide)
{
    if (std::ranges::any_of(wide, [](std::int64_t offset) { return offset < 0 || offset > UINT32_MAX; }))
        wide_ = std::move(wide);
    else
        narrow_.assign(wide.begin(), wide.end());
}

StepCurve::StepCurve(std::vector<std::int64_t> times, std::vector<std::int64_t> values) : size_(times.size())
{
    assert(times.size() == values.size());
    std::vector<Extremes> below;
    below.reserve(size_ / kFanout + 1);
    begins_.reserve(size_ / kFanout + 1);
    for (std::size_t i = 0; i < size_; i += kFanout) {
        const std::size_t end = std::min(i + kFanout, size_);
        const auto [low, high] =
            std::minmax_element(values.begin() + std::ptrdiff_t(i), values.begin() + std::ptrdiff_t(end));
        below.push_back({*low, *high});
        begins_.push_back(times[i]);
        for (std::size_t j = i; j < end; ++j) {
            times[j] -= begins_.back();
            values[j] -= below.back().low;
        }
    }
    later_.assign(std::move(times));
    above_.assign(std::move(values));
    while (below.size() > 1) {
        std::vector<Extremes> above;
        for (std::size_t i = 0; i < below.size(); i += kFanout) {
            Extremes extremes = below[i];
            for (std::size_t j = i + 1; j < std::min(i + kFanout, below.size()); ++j) {
                extremes.low = std::min(extremes.low, below[j].low);
                extremes.high = std::max(extremes.high, below[j].high);
            }
            above.push_back(extremes);
        }
        levels_.push_back(std::move(below));
        below = std::move(above);
    }
    if (!below.empty())
        levels_.push_back(std::move(below));
}

StepCurve StepCurve::ofChanges(std::span<const std::int64_t> times, std::span<const std::int64_t> values)
{
    StepCurveDrawing drawing;
    for (std::size_t i = 0; i < times.size(); ++i)
        drawing.add(times[i], values[i]);
    return drawing.curve();
}

// Extremes of values [first, last): single values up to a block boundary, then blocks level by level, from
// both ends.
StepCurve::Extremes StepCurve::among(std::size_t first, std::size_t last) const
{
    Extremes result{INT64_MAX, INT64_MIN};
    const auto take = [&result](std::int64_t low, std::int64_t high) {
        result.low = std::min(result.low, low);
        result.high = std::max(result.high, high);
    };
    for (std::size_t level = 0; first < last; ++level) {
        const auto entry = [&](std::size_t i) {
            if (level == 0)
                take(value(i), value(i));
            else
                take(levels_[level - 1][i].low, levels_[level - 1][i].high);
        };
        const bool topmost = level == levels_.size();
        while (first < last && (first % kFanout != 0 || topmost))
            entry(first++);
        while (first < last && last % kFanout != 0)
            entry(--last);
        first /= kFanout;
        last /= kFanout;
    }
    return result;
}

// Index of the first change after `time`, not before `hint`.
template <class Time> std::size_t StepCurve::firstAfter(Time time, std::size_t hint) const
{
    const auto isBefore = [](Time wanted, std::int64_t begin) { return wanted < static_cast<Time>(begin); };
    const auto block =
        std::upper_bound(begins_.begin() + std::ptrdiff_t(hint / kFanout), begins_.end(), time, isBefore);
    const auto next = std::size_t(block - begins_.begin()) * kFanout;
    std::size_t i = std::max(hint, next == 0 ? 0 : next - kFanout);
    const std::size_t end = std::min(size_, next);
    while (i < end && !isBefore(time, this->time(i)))
        ++i;
    return i;
}

std::int64_t StepCurve::at(std::int64_t time) const
{
    const std::size_t after = firstAfter(time);
    return value(after == 0 ? 0 : after - 1);
}

std::pair<std::int64_t, std::int64_t> StepCurve::stepAt(std::int64_t time, std::int64_t end) const
{
    const std::size_t after = std::max<std::size_t>(firstAfter(time), 1);
    return {this->time(after - 1), after < size_ ? this->time(after) : end};
}

std::pair<std::int64_t, std::int64_t> StepCurve::extremes(std::int64_t from, std::int64_t to) const
{
    const std::size_t first = firstAfter(from);
    const std::size_t last = firstAfter(to, first);
    const std::int64_t carried = value(first == 0 ? 0 : first - 1);
    const Extremes inside = among(first, last);
    return {std::min(carried, inside.low), std::max(carried, inside.high)};
}

std::int64_t StepCurve::highest(std::int64_t from, std::int64_t to) const
{
    const std::size_t first = firstAfter(from);
    const std::size_t last = firstAfter(to, first);
    const std::int64_t carried = value(first == 0 ? 0 : first - 1);
    const std::int64_t greatest = among(first, last).high;
    if (greatest <= carried)
        return from;
    std::size_t i = first;
    while (value(i) != greatest) {
        // Skip the largest block that begins here and does not contain the value.
        std::size_t skip = 1;
        std::size_t span = kFanout;
        for (const auto& level : levels_) {
            if (i % span != 0 || i + span > last || level[i / span].high >= greatest)
                break;
            skip = span;
            span *= kFanout;
        }
        i += skip;
    }
    return time(i);
}

void StepCurve::columns(double from, double perColumn, std::span<CurveColumn> out) const
{
    std::size_t next = firstAfter(from, 0);
    std::int64_t carried = value(next == 0 ? 0 : next - 1);
    for (std::size_t c = 0; c < out.size(); ++c) {
        const double right = from + double(c + 1) * perColumn;
        out[c] = {carried, carried, carried};
        if (next == size_ || double(time(next)) > right)
            continue;
        const std::size_t last = firstAfter(right, next);
        const Extremes inside = among(next, last);
        out[c].low = std::min(carried, inside.low);
        out[c].high = std::max(carried, inside.high);
        carried = out[c].last = value(last - 1);
        next = last;
    }
}

std::size_t StepCurve::peak() const
{
    // Descend from the top into the first block that contains the maximum.
    const std::int64_t greatest = levels_.back().front().high;
    std::size_t at = 0;
    for (std::size_t level = levels_.size() - 1; level > 0; --level)
        for (at *= kFanout; levels_[level - 1][at].high != greatest;)
            ++at;
    for (at *= kFanout; value(at) != greatest;)
        ++at;
    return at;
}

std::size_t StepCurve::memory() const
{
    std::size_t bytes = begins_.size() * sizeof(begins_[0]) + later_.memory() + above_.memory();
    for (const auto& level : levels_)
        bytes += level.size() * sizeof(level[0]);
    return bytes;
}

} // namespace tilescope::query
