#include "core/machine/counter_log.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilescope::machine {

namespace {

std::int64_t partsOf(double value)
{
    constexpr double kMost = 9e18; // of 64 bits
    return static_cast<std::int64_t>(std::llround(std::min(value * kPartsOfCounterUnit, kMost)));
}

} // namespace

CounterLog::CounterLog(std::unique_ptr<CounterSource> source, DeviceIndex device) : source_(std::move(source))
{
    for (const SourceCounter& counter : source_->counters())
        tracks_.push_back({.name = counter.name, .unit = counter.unit, .device = device});
    values_.resize(tracks_.size());
    last_.resize(tracks_.size());
}

void CounterLog::read()
{
    std::ranges::fill(values_, std::nullopt);
    const Timestamp before = TraceClock::now();
    source_->read(values_);
    const Timestamp time = before + (TraceClock::now() - before) / 2;
    for (std::size_t i = 0; i < values_.size(); ++i) {
        if (values_[i])
            add(i, time, *values_[i]);
        else if (last_[i]) // otherwise this machine does not have the counter
            ++tracks_[i].failed;
    }
}

void CounterLog::add(std::size_t counter, Timestamp time, std::uint64_t value)
{
    const SourceCounter& about = source_->counters()[counter];
    CounterTrack& track = tracks_[counter];
    const std::optional<Last> last = last_[counter];
    last_[counter] = Last{time, value};
    if (about.kind == SourceCounter::Kind::Level) {
        track.points.push_back({time, partsOf(static_cast<double>(value) * about.scale)});
        track.end = time;
        return;
    }
    if (!last || time <= last->time)
        return;
    constexpr std::uint64_t kNarrow = std::numeric_limits<std::uint32_t>::max();
    const std::uint64_t growth = about.kind == SourceCounter::Kind::NarrowTotal
                                     ? (value - last->total) & kNarrow
                                     : value - last->total;
    if (about.kind == SourceCounter::Kind::Total && value < last->total) {
        ++track.failed; // it was reset
        return;
    }
    const double seconds = std::chrono::duration<double>(time - last->time).count();
    track.points.push_back({last->time, partsOf(static_cast<double>(growth) * about.scale / seconds)});
    track.end = time;
}

std::vector<CounterTrack> CounterLog::take()
{
    std::erase_if(tracks_, [](const CounterTrack& track) { return track.points.empty(); });
    return std::move(tracks_);
}

} // namespace tilescope::machine
