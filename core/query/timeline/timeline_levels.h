#pragma once

#include "core/query/timeline/hue.h"
#include "core/query/timeline/numbers.h"

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tilescope::query {

/// A pixel column of a track: the covered share of its time, the hue with the largest share, and the item.
struct Column {
    static constexpr std::uint32_t kNothing = 0xFFFF'FFFF; ///< no event touches the column
    static constexpr std::uint32_t kSeveral = 0xFFFF'FFFE; ///< more than one event does

    float coverage = 0; ///< 0 to 1; 0 with an item: only events of length 0 touch the column
    Hue hue = Hue::Other;
    std::uint32_t item = kNothing; ///< index of the only event, kSeveral, or kNothing
};

/// One row of a lane: disjoint intervals in start order, with an index that makes drawing at any zoom cost
/// O(pixels).
///
/// Times are nanoseconds from the timeline's origin. For every block of kBlock events the index stores, per
/// hue, the time covered before that block. The time of each hue in a column is therefore a difference of two
/// sums plus at most two partial blocks. 17 bytes per event and 8/kBlock per event and hue. Immutable once
/// built; any thread.
class Track {
public:
    static constexpr std::size_t kBlock = 16;

    std::size_t size() const { return starts_.size(); }
    std::int64_t start(std::size_t i) const { return starts_[i]; }
    std::int64_t length(std::size_t i) const { return lengths_[i] != kLong ? lengths_[i] : longLength(i); }
    std::int64_t end(std::size_t i) const { return starts_[i] + length(i); }
    /// The length of the longest event; 0 without events.
    std::int64_t longest() const { return longest_; }
    std::uint32_t name(std::size_t i) const { return names_[i]; }
    Hue hue(std::size_t i) const { return hues_[classes_[i]]; }

    /// Fills one Column for each interval of `perColumn` nanoseconds, starting at `from`. Exact: the covered
    /// times of the columns add up to that of the window. O(columns * (log(events per column) + kBlock +
    /// hues)), and at most O(events in the window).
    void columns(double from, double perColumn, std::span<Column> out) const;

    /// Time covered within [from, to). O(log n + kBlock).
    std::int64_t covered(std::int64_t from, std::int64_t to) const;

    /// The covered time by hue.
    std::array<std::int64_t, kHueCount> coveredByHue(std::int64_t from, std::int64_t to) const;

    /// First event that starts at or after `time`. O(log n).
    std::size_t firstFrom(std::int64_t time) const;

    /// Events that overlap [from, to), as [first, last). O(log n).
    std::pair<std::size_t, std::size_t> overlapping(std::int64_t from, std::int64_t to) const;

    /// Memory used, in bytes.
    std::size_t memory() const;

    friend class TrackBuilder;

private:
    static constexpr std::uint32_t kLong = 0xFFFF'FFFF;
    using ClassTimes = std::array<std::int64_t, kHueCount>; // nanoseconds per class
    struct Tally;
    struct Cut;

    std::int64_t longLength(std::size_t i) const;
    std::size_t firstFrom(double time, std::size_t low, std::size_t guess) const;
    void fetchAhead(std::size_t index) const;
    void lengthsBefore(std::size_t index, ClassTimes& times) const;
    void fill(Column& column, const ClassTimes& before, const ClassTimes& behind, const Cut& cut,
              double perColumn) const;
    void tally(std::size_t first, std::size_t last, Tally& tally) const;
    void scan(std::size_t first, std::size_t last, Tally& tally) const;
    std::int64_t coveredBefore(std::int64_t time) const;

    using LongLengths = std::vector<std::pair<std::uint32_t, std::int64_t>>; // by index

    Numbers<std::int64_t> starts_;
    Numbers<std::uint32_t> lengths_; // kLong: the length is in long_
    Numbers<std::uint32_t> names_;
    Numbers<std::uint8_t> classes_; // index into hues_
    std::vector<Hue> hues_;         // the hues of this track in order of appearance
    Numbers<std::int64_t> sums_;    // [block * hues + class]: time covered before the block
    LongLengths long_;              // of events of more than 4.29 s
    std::int64_t longest_ = 0;
};

/// Builds a Track from events in start order.
class TrackBuilder {
public:
    /// A part of a row that is written later, by any thread, but before finish().
    class Part {
    public:
        /// The next event of the part, in start order.
        /// \param hue  of classOf()
        void add(std::int64_t start, std::int64_t length, std::uint32_t name, std::uint8_t hue)
        {
            const bool isLong = std::uint64_t(length) >= Track::kLong;
            if (isLong)
                long_.emplace_back(std::uint32_t(first_ + at_), length);
            starts_[at_] = start;
            lengths_[at_] = isLong ? Track::kLong : std::uint32_t(length);
            names_[at_] = name;
            classes_[at_++] = hue;
        }

    private:
        friend class TrackBuilder;
        std::int64_t* starts_ = nullptr;
        std::uint32_t* lengths_ = nullptr;
        std::uint32_t* names_ = nullptr;
        std::uint8_t* classes_ = nullptr;
        std::size_t first_ = 0;
        std::size_t at_ = 0;
        Track::LongLengths long_;
    };
    /// Makes the row as long as its parts together, which part() then gives.
    /// \pre  the row is empty; nothing else is added to it
    void resize(std::size_t events);
    /// \param first  index of its first event
    Part part(std::size_t first);
    /// Takes what does not fit into a part. Parts in order.
    void complete(const Part& part);
    std::uint8_t classOf(Hue hue);

    void reserve(std::size_t events);
    /// \pre  start <= end; start >= the previous event's end
    void add(std::int64_t start, std::int64_t end, std::uint32_t name, Hue hue);
    std::int64_t lastEnd() const { return lastEnd_; }
    std::size_t size() const { return track_.size(); }
    const Track& track() const { return track_; } ///< only for access to its events
    void removeLast();
    /// Computes the index; build() calls it if needed. Several threads may finish different rows at the same time.
    void finish();
    Track build() &&;

private:
    Track track_;
    std::array<std::uint8_t, kHueCount> classOf_ = filled();
    std::int64_t lastEnd_ = INT64_MIN;
    bool isFinished_ = false;

    static constexpr std::uint8_t kNone = 0xFF;
    static std::array<std::uint8_t, kHueCount> filled();
};

/// Assigns events to the rows of a lane: an event goes to the first row below all open events.
///
/// Events arrive in start order; of two events with equal start, the longer one first. A late event waits
/// until the rows are requested; then the events after it are placed again: O(events that start after it).
class RowsBuilder {
public:
    void add(std::int64_t start, std::int64_t end, std::uint32_t name, Hue hue);
    /// Creates, if necessary, and returns the row for events whose row is known.
    TrackBuilder& row(std::size_t row);
    std::vector<TrackBuilder>& rows() { return rows_; }
    std::vector<Track> build() &&;
    /// Places late events.
    void settle();

private:
    struct Event {
        std::int64_t start;
        std::int64_t end;
        std::uint32_t name;
        Hue hue;
    };
    void place(const Event& event);

    std::vector<TrackBuilder> rows_;
    std::vector<Event> late_;
    std::int64_t lastStart_ = INT64_MIN;
};

} // namespace tilescope::query
