#include "core/query/timeline_levels.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tilescope::query {

// What a stretch of time holds: per class its nanoseconds, and how many events.
struct Track::Tally {
    std::array<std::int64_t, kHueCount> time{};
    std::int64_t events = 0;
    std::size_t only = 0; ///< an event that was counted

    void clear(std::size_t classes)
    {
        std::fill_n(time.begin(), classes, 0);
        events = 0;
    }
};

std::int64_t Track::longLength(std::size_t i) const
{
    const auto found = std::lower_bound(long_.begin(), long_.end(), std::pair(std::uint32_t(i), INT64_MIN));
    return found->second;
}

std::size_t Track::firstFrom(std::int64_t time) const
{
    return std::size_t(std::lower_bound(starts_.begin(), starts_.end(), time) - starts_.begin());
}

// First event from `hint` on that starts at or after `time`; gallops, since the next column is near.
std::size_t Track::firstFrom(double time, std::size_t hint) const
{
    const std::size_t n = starts_.size();
    std::size_t step = 1;
    std::size_t low = hint;
    while (low + step < n && double(starts_[low + step]) < time) {
        low += step;
        step *= 2;
    }
    const auto first = starts_.begin() + std::ptrdiff_t(low);
    const auto last = starts_.begin() + std::ptrdiff_t(std::min(low + step + 1, n));
    return std::size_t(
        std::lower_bound(first, last, time, [](std::int64_t s, double t) { return double(s) < t; }) -
        starts_.begin());
}

std::pair<std::size_t, std::size_t> Track::overlapping(std::int64_t from, std::int64_t to) const
{
    std::size_t first = firstFrom(from);
    if (first > 0 && end(first - 1) > from)
        --first;
    return {first, std::max(first, firstFrom(to))};
}

void Track::scan(std::size_t first, std::size_t last, Tally& tally) const
{
    for (std::size_t i = first; i < last; ++i)
        tally.time[classes_[i]] += length(i);
}

// Adds the whole lengths of [first, last).
void Track::tally(std::size_t first, std::size_t last, Tally& tally) const
{
    const std::size_t blockFrom = (first + kBlock - 1) / kBlock;
    const std::size_t blockTo = last / kBlock;
    if (blockFrom < blockTo) {
        const std::size_t classes = hues_.size();
        scan(first, blockFrom * kBlock, tally);
        const std::int64_t* from = &sums_[blockFrom * classes];
        const std::int64_t* to = &sums_[blockTo * classes];
        for (std::size_t k = 0; k < classes; ++k)
            tally.time[k] += to[k] - from[k];
        scan(blockTo * kBlock, last, tally);
    } else {
        scan(first, last, tally);
    }
    tally.events += std::int64_t(last - first);
    if (last > first)
        tally.only = last - 1;
}

void Track::columns(double from, double perColumn, std::span<Column> out) const
{
    std::fill(out.begin(), out.end(), Column{});
    const std::size_t classes = hues_.size();
    std::size_t next = firstFrom(from, 0);
    Tally tallied;
    for (std::size_t c = 0; c < out.size(); ++c) {
        const double left = from + double(c) * perColumn;
        const double right = from + double(c + 1) * perColumn;
        if (next > 0 && double(end(next - 1)) >= right) {
            // One event reaches over the whole column, and perhaps over many more.
            const std::size_t item = next - 1;
            const double whole = std::floor((double(end(item)) - from) / perColumn);
            const std::size_t until = std::clamp(std::size_t(whole), c + 1, out.size());
            std::fill(out.begin() + std::ptrdiff_t(c), out.begin() + std::ptrdiff_t(until),
                      Column{1.0F, hue(item), std::uint32_t(item)});
            c = until - 1;
            continue;
        }
        tallied.clear(classes);
        double overhang = 0; // of the event that began before this column
        if (next > 0 && double(end(next - 1)) > left) {
            overhang = double(end(next - 1)) - left;
            tallied.events = 1;
            tallied.only = next - 1;
        }
        const std::size_t carried = next;
        const std::size_t last = next < starts_.size() ? firstFrom(right, next) : next;
        if (last == next && tallied.events == 0) {
            if (next == starts_.size())
                return;
            // Nothing until the next event: go on where it begins.
            const double empty = std::floor((double(starts_[next]) - from) / perColumn);
            if (empty > double(c) + 1)
                c = std::size_t(std::min(empty, double(out.size()))) - 1;
            continue;
        }
        tally(next, last, tallied);
        next = last;
        double most = -1;
        double covered = 0;
        std::size_t best = 0;
        const std::size_t tail = last > carried ? last - 1 : starts_.size();
        for (std::size_t k = 0; k < classes; ++k) {
            double time = double(tallied.time[k]);
            if (overhang > 0 && classes_[carried - 1] == k)
                time += overhang;
            if (tail < starts_.size() && classes_[tail] == k && double(end(tail)) > right)
                time -= double(end(tail)) - right;
            covered += time;
            if (time > most) {
                most = time;
                best = k;
            }
        }
        // Where nothing has length, the last event decides.
        out[c].hue = covered > 0 ? hues_[best] : hue(tallied.only);
        out[c].coverage = float(std::clamp(covered / perColumn, 0.0, 1.0));
        out[c].item = tallied.events == 1 ? std::uint32_t(tallied.only) : Column::kSeveral;
    }
}

// Time covered before `time`.
std::int64_t Track::coveredBefore(std::int64_t time) const
{
    const std::size_t last = firstFrom(time);
    if (last == 0)
        return 0;
    const std::size_t classes = hues_.size();
    const std::size_t block = last / kBlock;
    std::int64_t total = 0;
    for (std::size_t k = 0; k < classes; ++k)
        total += sums_[block * classes + k];
    for (std::size_t i = block * kBlock; i < last; ++i)
        total += length(i);
    return total - std::max<std::int64_t>(0, end(last - 1) - time);
}

std::int64_t Track::covered(std::int64_t from, std::int64_t to) const
{
    return to > from ? coveredBefore(to) - coveredBefore(from) : 0;
}

std::array<std::int64_t, kHueCount> Track::coveredByHue(std::int64_t from, std::int64_t to) const
{
    std::array<std::int64_t, kHueCount> result{};
    const auto [first, last] = overlapping(from, to);
    if (first >= last)
        return result;
    Tally whole;
    tally(first, last, whole);
    for (std::size_t k = 0; k < hues_.size(); ++k)
        result[std::size_t(hues_[k])] = whole.time[k];
    result[std::size_t(hue(first))] -= std::max<std::int64_t>(0, from - start(first));
    result[std::size_t(hue(last - 1))] -= std::max<std::int64_t>(0, end(last - 1) - to);
    return result;
}

std::size_t Track::memory() const
{
    return starts_.capacity() * sizeof(std::int64_t) +
           (lengths_.capacity() + names_.capacity()) * sizeof(std::uint32_t) + classes_.capacity() +
           sums_.capacity() * sizeof(std::int64_t) + long_.capacity() * sizeof(long_[0]);
}

std::array<std::uint8_t, kHueCount> TrackBuilder::filled()
{
    std::array<std::uint8_t, kHueCount> none;
    none.fill(kNone);
    return none;
}

void TrackBuilder::reserve(std::size_t events)
{
    track_.starts_.reserve(events);
    track_.lengths_.reserve(events);
    track_.names_.reserve(events);
    track_.classes_.reserve(events);
}

void TrackBuilder::add(std::int64_t start, std::int64_t end, std::uint32_t name, Hue hue)
{
    assert(start <= end && start >= lastEnd_);
    std::uint8_t& index = classOf_[std::size_t(hue)];
    if (index == kNone) {
        index = std::uint8_t(track_.hues_.size());
        track_.hues_.push_back(hue);
    }
    const std::int64_t length = end - start;
    if (length >= Track::kLong)
        track_.long_.emplace_back(std::uint32_t(track_.starts_.size()), length);
    track_.starts_.push_back(start);
    track_.lengths_.push_back(length >= Track::kLong ? Track::kLong : std::uint32_t(length));
    track_.names_.push_back(name);
    track_.classes_.push_back(index);
    lastEnd_ = end;
}

Track TrackBuilder::build() &&
{
    Track track = std::move(track_);
    track.starts_.shrink_to_fit();
    track.lengths_.shrink_to_fit();
    track.names_.shrink_to_fit();
    track.classes_.shrink_to_fit();
    const std::size_t classes = track.hues_.size();
    const std::size_t blocks = track.size() / Track::kBlock + 1;
    track.sums_.assign(blocks * classes, 0);
    std::array<std::int64_t, kHueCount> sum{};
    for (std::size_t i = 0; i < track.size(); ++i) {
        if (i % Track::kBlock == 0)
            std::copy_n(sum.begin(), classes,
                        track.sums_.begin() + std::ptrdiff_t(i / Track::kBlock * classes));
        sum[track.classes_[i]] += track.length(i);
    }
    if (track.size() % Track::kBlock == 0)
        std::copy_n(sum.begin(), classes, track.sums_.begin() + std::ptrdiff_t((blocks - 1) * classes));
    return track;
}

std::size_t RowsBuilder::add(std::int64_t start, std::int64_t end, std::uint32_t name, Hue hue)
{
    std::size_t row = rows_.size();
    while (row > 0 && rows_[row - 1].lastEnd() <= start)
        --row;
    if (row == rows_.size())
        rows_.emplace_back();
    rows_[row].add(start, end, name, hue);
    return row;
}

TrackBuilder& RowsBuilder::row(std::size_t row)
{
    if (row >= rows_.size())
        rows_.resize(row + 1);
    return rows_[row];
}

std::vector<Track> RowsBuilder::build() &&
{
    std::vector<Track> tracks;
    tracks.reserve(rows_.size());
    for (TrackBuilder& row : rows_)
        tracks.push_back(std::move(row).build());
    return tracks;
}

} // namespace tilescope::query
