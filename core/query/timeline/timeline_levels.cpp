#include "core/query/timeline/timeline_levels.h"

#include "core/store/rows/lanes.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tilescope::query {

// The content of a time interval: nanoseconds per class and number of events.
struct Track::Tally {
    std::array<std::int64_t, kHueCount> time{};
    std::int64_t events = 0;
    std::size_t only = 0; ///< one of the counted events

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

// First event from `low` on that starts at or after `time`. Galloping search from `guess`.
std::size_t Track::firstFrom(double time, std::size_t low, std::size_t guess) const
{
    const std::size_t n = starts_.size();
    std::size_t high = n; // the answer is in [low, high]
    guess = std::min(guess, n);
    std::size_t step = 1;
    if (guess < n && double(starts_[guess]) < time) {
        low = guess + 1;
        for (; low + step < n && double(starts_[low + step]) < time; step *= 2)
            low += step;
        high = std::min(low + step, n);
    } else {
        high = guess;
        for (; high >= low + step && double(starts_[high - step]) >= time; step *= 2)
            high -= step;
        low = high >= low + step ? high - step + 1 : low;
    }
    const auto first = starts_.begin() + std::ptrdiff_t(low);
    const auto last = starts_.begin() + std::ptrdiff_t(high);
    return std::size_t(
        std::lower_bound(first, last, time, [](std::int64_t s, double t) { return double(s) < t; }) -
        starts_.begin());
}

// Prefetches what a column that ends near event `index` needs. Columns are far apart in memory and would
// otherwise wait for it one after another.
void Track::fetchAhead(std::size_t index) const
{
    if (index >= starts_.size())
        return;
    __builtin_prefetch(&starts_[index]);
    __builtin_prefetch(&lengths_[index]);
    __builtin_prefetch(&classes_[index]);
    __builtin_prefetch(&sums_[index / kBlock * hues_.size()]);
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

// Adds the full lengths of events [first, last).
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

// The total length per class of all events before `index`, from the nearer of the two adjacent sums.
void Track::lengthsBefore(std::size_t index, ClassTimes& times) const
{
    const std::size_t classes = hues_.size();
    const std::size_t block = (index + kBlock / 2) / kBlock;
    const std::int64_t* sums = &sums_[std::min(block, size() / kBlock) * classes];
    std::copy_n(sums, classes, times.begin());
    const std::size_t at = std::min(block, size() / kBlock) * kBlock;
    for (std::size_t i = at; i < index; ++i)
        times[classes_[i]] += length(i);
    for (std::size_t i = index; i < at; ++i)
        times[classes_[i]] -= length(i);
}

// The events that a column boundary cuts.
struct Track::Cut {
    std::size_t head = kNoEvent; // began before the column
    double headTime = 0;         // its time within the column
    std::size_t tail = kNoEvent; // the last event that begins in the column
    double tailTime = 0;         // its time after the column
    static constexpr std::size_t kNoEvent = SIZE_MAX;
};

void Track::fill(Column& column, const ClassTimes& before, const ClassTimes& behind, const Cut& cut,
                 double perColumn) const
{
    double most = -1;
    double covered = 0;
    std::size_t best = 0;
    const std::size_t headClass = cut.head == Cut::kNoEvent ? kHueCount : classes_[cut.head];
    const std::size_t tailClass = cut.tailTime > 0 ? classes_[cut.tail] : kHueCount;
    for (std::size_t k = 0; k < hues_.size(); ++k) {
        double time = double(behind[k] - before[k]);
        if (k == headClass)
            time += cut.headTime;
        if (k == tailClass)
            time -= cut.tailTime;
        covered += time;
        if (time > most) {
            most = time;
            best = k;
        }
    }
    // If no event has a length, the last one decides.
    const std::size_t last = cut.tail != Cut::kNoEvent ? cut.tail : cut.head;
    column.hue = covered > 0 ? hues_[best] : hue(last);
    column.coverage = float(std::clamp(covered / perColumn, 0.0, 1.0));
}

void Track::columns(double from, double perColumn, std::span<Column> out) const
{
    // Fewer events than this are summed one by one.
    constexpr std::size_t kFew = kBlock;
    std::fill(out.begin(), out.end(), Column{});
    constexpr std::size_t kAhead = 4; // columns
    std::size_t next = firstFrom(from, 0, starts_.size() / 2);
    std::size_t count = 0; // events that began in the previous column
    ClassTimes before;     // of events that begin before this column
    lengthsBefore(next, before);
    ClassTimes behind = before; // of events that begin before its right edge
    for (std::size_t c = 0; c < out.size(); ++c) {
        const double left = from + double(c) * perColumn;
        const double right = from + double(c + 1) * perColumn;
        if (next > 0 && double(end(next - 1)) >= right) {
            // One event covers the whole column, and perhaps many more.
            const std::size_t item = next - 1;
            const double whole = std::floor((double(end(item)) - from) / perColumn);
            const std::size_t until = std::clamp(std::size_t(whole), c + 1, out.size());
            std::fill(out.begin() + std::ptrdiff_t(c), out.begin() + std::ptrdiff_t(until),
                      Column{1.0F, hue(item), std::uint32_t(item)});
            c = until - 1;
            continue;
        }
        Cut cut;
        if (next > 0 && double(end(next - 1)) > left)
            cut = {.head = next - 1, .headTime = double(end(next - 1)) - left};
        const std::size_t last = next < starts_.size() ? firstFrom(right, next, next + count) : next;
        count = last - next;
        if (count > kFew)
            fetchAhead(last + kAhead * count);
        const std::size_t events = last - next + (cut.head == Cut::kNoEvent ? 0 : 1);
        if (events == 0) {
            if (next == starts_.size())
                return;
            // No event until the next one: skip to the column where it begins.
            const double empty = std::floor((double(starts_[next]) - from) / perColumn);
            if (empty > double(c) + 1)
                c = std::size_t(std::min(empty, double(out.size()))) - 1;
            continue;
        }
        if (last - next > kFew)
            lengthsBefore(last, behind);
        else
            for (std::size_t i = next; i < last; ++i)
                behind[classes_[i]] += length(i);
        if (last > next) {
            cut.tail = last - 1;
            cut.tailTime = std::max(0.0, double(end(last - 1)) - right);
        }
        fill(out[c], before, behind, cut, perColumn);
        out[c].item = events > 1 ? Column::kSeveral : std::uint32_t(last > next ? cut.tail : cut.head);
        next = last;
        before = behind;
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

void TrackBuilder::resize(std::size_t events)
{
    assert(track_.starts_.empty());
    track_.starts_.resize(events);
    track_.lengths_.resize(events);
    track_.names_.resize(events);
    track_.classes_.resize(events);
}

TrackBuilder::Part TrackBuilder::part(std::size_t first)
{
    Part part;
    part.starts_ = track_.starts_.data() + first;
    part.lengths_ = track_.lengths_.data() + first;
    part.names_ = track_.names_.data() + first;
    part.classes_ = track_.classes_.data() + first;
    part.first_ = first;
    return part;
}

void TrackBuilder::complete(const Part& part)
{
    track_.long_.insert(track_.long_.end(), part.long_.begin(), part.long_.end());
}

std::uint8_t TrackBuilder::classOf(Hue hue)
{
    std::uint8_t& index = classOf_[std::size_t(hue)];
    if (index == kNone) {
        index = std::uint8_t(track_.hues_.size());
        track_.hues_.push_back(hue);
    }
    return index;
}

void TrackBuilder::add(std::int64_t start, std::int64_t end, std::uint32_t name, Hue hue)
{
    assert(start <= end && start >= lastEnd_);
    const std::uint8_t index = classOf(hue);
    const std::int64_t length = end - start;
    if (length >= Track::kLong)
        track_.long_.emplace_back(std::uint32_t(track_.starts_.size()), length);
    track_.starts_.push_back(start);
    track_.lengths_.push_back(length >= Track::kLong ? Track::kLong : std::uint32_t(length));
    track_.names_.push_back(name);
    track_.classes_.push_back(index);
    lastEnd_ = end;
}

void TrackBuilder::finish()
{
    isFinished_ = true;
    track_.starts_.shrink_to_fit();
    track_.lengths_.shrink_to_fit();
    track_.names_.shrink_to_fit();
    track_.classes_.shrink_to_fit();
    const std::size_t classes = track_.hues_.size();
    const std::size_t blocks = track_.size() / Track::kBlock + 1;
    track_.sums_.resize(blocks * classes);
    std::array<std::int64_t, kHueCount> sum{};
    std::int64_t* before = track_.sums_.data();
    for (std::size_t block = 0; block < blocks; ++block, before += classes) {
        std::copy_n(sum.begin(), classes, before);
        const std::size_t end = std::min(track_.size(), (block + 1) * Track::kBlock);
        for (std::size_t i = block * Track::kBlock; i < end; ++i) {
            const std::int64_t length = track_.length(i);
            sum[track_.classes_[i]] += length;
            track_.longest_ = std::max(track_.longest_, length);
        }
    }
}

Track TrackBuilder::build() &&
{
    if (!isFinished_)
        finish();
    return std::move(track_);
}

void TrackBuilder::removeLast()
{
    const std::size_t last = track_.size() - 1;
    if (!track_.long_.empty() && track_.long_.back().first == last)
        track_.long_.pop_back();
    track_.starts_.pop_back();
    track_.lengths_.pop_back();
    track_.names_.pop_back();
    track_.classes_.pop_back();
    lastEnd_ = last == 0 ? INT64_MIN : track_.end(last - 1);
}

void RowsBuilder::add(std::int64_t start, std::int64_t end, std::uint32_t name, Hue hue)
{
    if (start < lastStart_)
        late_.push_back({start, end, name, hue});
    else
        place({start, end, name, hue});
}

void RowsBuilder::place(const Event& event)
{
    const std::size_t row =
        store::rowFor(event.start, rows_.size(), [this](std::size_t i) { return rows_[i].lastEnd(); });
    if (row == rows_.size())
        rows_.emplace_back();
    rows_[row].add(event.start, event.end, event.name, event.hue);
    lastStart_ = event.start;
}

void RowsBuilder::settle()
{
    if (late_.empty())
        return;
    const std::int64_t from = std::ranges::min(late_, {}, &Event::start).start;
    for (TrackBuilder& row : rows_)
        while (row.size() > 0 && row.track().start(row.size() - 1) >= from) {
            const std::size_t i = row.size() - 1;
            const Track& track = row.track();
            late_.push_back({track.start(i), track.end(i), track.name(i), track.hue(i)});
            row.removeLast();
        }
    while (!rows_.empty() && rows_.back().size() == 0)
        rows_.pop_back();
    std::ranges::stable_sort(late_, [](const Event& a, const Event& b) {
        return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    for (const Event& event : late_)
        place(event);
    late_.clear();
}

TrackBuilder& RowsBuilder::row(std::size_t row)
{
    if (row >= rows_.size())
        rows_.resize(row + 1);
    return rows_[row];
}

std::vector<Track> RowsBuilder::build() &&
{
    settle();
    std::vector<Track> tracks;
    tracks.reserve(rows_.size());
    for (TrackBuilder& row : rows_)
        tracks.push_back(std::move(row).build());
    return tracks;
}

} // namespace tilescope::query
