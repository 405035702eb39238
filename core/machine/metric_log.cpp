#include "core/machine/metric_log.h"

#include "core/model/metric.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tilescope::machine {

namespace {

constexpr double kWhole = 100;
constexpr double kRounding = 1;     // above 100 %: counters of different units are not read at one instant
constexpr double kShortest = 0.9;   // of the interval
constexpr double kLongest = 1.1;    // likewise
constexpr double kIdle = 0.05;      // %: nothing happens
constexpr double kWorks = 1;        // %: of the multiprocessors' cycles, a kernel runs
constexpr double kFineness = 0.01;  // of a stored percentage: less is noise, and takes room
constexpr double kCoarseness = 1e6; // of a stored rate: MB/s, MHz
constexpr std::string_view kPercent = "%";

/// A value as it is stored.
double rounded(double value, std::string_view unit)
{
    if (unit == kPercent)
        return std::round(std::min(value, kWhole) / kFineness) * kFineness;
    if (unit == "B/s" || unit == "Hz")
        return std::round(value / kCoarseness) * kCoarseness;
    return value;
}

} // namespace

MetricLog::MetricLog(std::vector<ChosenMetric> metrics, DeviceIndex device, Nanoseconds interval)
    : metrics_(std::move(metrics)), device_(device), interval_(interval), values_(metrics_.size())
{
}

bool MetricLog::isPossible(Nanoseconds length, std::span<const double> values) const
{
    const double intervals = static_cast<double>(length.count()) / static_cast<double>(interval_.count());
    if (intervals < kShortest || intervals > kLongest)
        return false;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!std::isfinite(values[i]) || values[i] < 0 ||
            (metrics_[i].unit == kPercent && values[i] > kWhole + kRounding))
            return false;
    return true;
}

bool MetricLog::isIdle(std::span<const double> values) const
{
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::string_view unit = metrics_[i].unit;
        if (unit != "Hz" && values[i] > (unit == kPercent ? kIdle : unit == "B/s" ? kCoarseness / 2 : 0))
            return false;
    }
    return true;
}

bool MetricLog::isBusy(std::span<const double> values) const
{
    const auto active = std::ranges::find(metrics_, kSmActive, &ChosenMetric::name);
    return active == metrics_.end() ? !isIdle(values)
                                    : values[static_cast<std::size_t>(active - metrics_.begin())] > kWorks;
}

void MetricLog::add(Timestamp start, Timestamp end, std::span<const double> values)
{
    if (start == end)
        return; // CUPTI begins a new image with one
    const bool isFirst = last_ == Timestamp{};
    const Nanoseconds hole = isFirst ? Nanoseconds(0) : start - last_;
    const bool follows = !isFirst && std::abs(hole.count()) * 2 <= interval_.count();
    if (!isFirst && !follows && hole.count() > 0)
        lost_ += std::max<std::int64_t>(1, (hole.count() + interval_.count() / 2) / interval_.count());
    if (!isFirst && end <= last_) {
        ++dropped_; // the clock of the samples turned back
        return;
    }
    last_ = end;
    if (isFirst && end - start > 2 * interval_)
        return; // it begins when the hardware was set up
    if (!isPossible(end - start, values)) {
        ++dropped_;
        return;
    }
    if (starts_.size() >= kMostSamples) {
        ++lost_;
        return;
    }
    ++samples_;
    const bool continues = follows && !stretches_.empty() &&
                           std::abs((start - stretches_.back().end).count()) * 2 <= interval_.count();
    const bool idles = isIdle(values);
    busy_ += isBusy(values) ? 1 : 0;
    if (!continues)
        stretches_.push_back({.first = starts_.size()});
    const bool isSame = continues && idles && wasIdle_;
    wasIdle_ = idles;
    stretches_.back().end = end;
    if (isSame)
        return;
    // A sample begins where the one before ends; their times differ by rounding.
    starts_.push_back(start);
    for (std::size_t i = 0; i < values.size(); ++i)
        values_[i].push_back(static_cast<float>(values[i]));
}

std::vector<CounterTrack> MetricLog::take()
{
    std::vector<CounterTrack> tracks;
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
        for (std::size_t s = 0; s < stretches_.size(); ++s) {
            const std::size_t next = s + 1 < stretches_.size() ? stretches_[s + 1].first : starts_.size();
            CounterTrack track{.name = metrics_[i].name,
                               .unit = metrics_[i].unit,
                               .device = device_,
                               .end = stretches_[s].end};
            for (std::size_t k = stretches_[s].first; k < next; ++k)
                track.points.push_back(
                    {starts_[k], std::llround(rounded(static_cast<double>(values_[i][k]), track.unit) *
                                              kPartsOfCounterUnit)});
            tracks.push_back(std::move(track));
        }
        values_[i] = {}; // one copy of each at a time
    }
    starts_.clear();
    stretches_.clear();
    return tracks;
}

} // namespace tilescope::machine
