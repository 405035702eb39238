#include "core/query/step_curve.h"

#include <algorithm>
#include <cassert>

namespace tilescope::query {

StepCurve::StepCurve(std::vector<std::int64_t> times, std::vector<std::int64_t> values)
    : times_(std::move(times)), values_(std::move(values))
{
    assert(times_.size() == values_.size());
    std::vector<Extremes> below;
    for (std::size_t i = 0; i < values_.size(); i += kFanout) {
        const auto first = values_.begin() + std::ptrdiff_t(i);
        const auto last = values_.begin() + std::ptrdiff_t(std::min(i + kFanout, values_.size()));
        const auto [low, high] = std::minmax_element(first, last);
        below.push_back({*low, *high});
    }
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

// Extremes of values [first, last): single values up to a block, then blocks, level by level, from both ends.
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
                take(values_[i], values_[i]);
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

std::int64_t StepCurve::at(std::int64_t time) const
{
    const auto after = std::upper_bound(times_.begin(), times_.end(), time);
    return after == times_.begin() ? values_.front() : values_[std::size_t(after - times_.begin()) - 1];
}

std::pair<std::int64_t, std::int64_t> StepCurve::extremes(std::int64_t from, std::int64_t to) const
{
    const auto first = std::size_t(std::upper_bound(times_.begin(), times_.end(), from) - times_.begin());
    const auto last = std::size_t(std::upper_bound(times_.begin(), times_.end(), to) - times_.begin());
    const std::int64_t carried = first == 0 ? values_.front() : values_[first - 1];
    const Extremes inside = among(first, last);
    return {std::min(carried, inside.low), std::max(carried, inside.high)};
}

std::int64_t StepCurve::highest(std::int64_t from, std::int64_t to) const
{
    const auto first = std::size_t(std::upper_bound(times_.begin(), times_.end(), from) - times_.begin());
    const auto last = std::size_t(std::upper_bound(times_.begin(), times_.end(), to) - times_.begin());
    const std::int64_t carried = first == 0 ? values_.front() : values_[first - 1];
    const std::int64_t greatest = among(first, last).high;
    if (greatest <= carried)
        return from;
    std::size_t i = first;
    while (values_[i] != greatest) {
        // Over the largest block that begins here and does not hold it.
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
    return times_[i];
}

void StepCurve::columns(double from, double perColumn, std::span<CurveColumn> out) const
{
    const auto firstAfter = [this](double time, std::size_t hint) {
        return std::size_t(std::upper_bound(times_.begin() + std::ptrdiff_t(hint), times_.end(), time,
                                            [](double t, std::int64_t value) { return t < double(value); }) -
                           times_.begin());
    };
    std::size_t next = firstAfter(from, 0);
    std::int64_t carried = next == 0 ? values_.front() : values_[next - 1];
    for (std::size_t c = 0; c < out.size(); ++c) {
        const double right = from + double(c + 1) * perColumn;
        out[c] = {carried, carried, carried};
        if (next == times_.size() || double(times_[next]) > right)
            continue;
        const std::size_t last = firstAfter(right, next);
        const Extremes inside = among(next, last);
        out[c].low = std::min(carried, inside.low);
        out[c].high = std::max(carried, inside.high);
        carried = out[c].last = values_[last - 1];
        next = last;
    }
}

std::size_t StepCurve::peak() const
{
    // From the top down, into the first that holds it.
    const std::int64_t greatest = levels_.back().front().high;
    std::size_t at = 0;
    for (std::size_t level = levels_.size() - 1; level > 0; --level)
        for (at *= kFanout; levels_[level - 1][at].high != greatest;)
            ++at;
    for (at *= kFanout; values_[at] != greatest;)
        ++at;
    return at;
}

} // namespace tilescope::query
