#pragma once

#include "core/query/timeline/hue.h"

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tilescope::query {

/// A pixel column of a track: how much of its time is covered, the hue that holds most of that, and by what.
struct Column {
    static constexpr std::uint32_t kNothing = 0xFFFF'FFFF; ///< no event touches the column
    static constexpr std::uint32_t kSeveral = 0xFFFF'FFFE; ///< more than one does

    float coverage = 0; ///< 0 to 1; 0 with an item where only events without length touch it
    Hue hue = Hue::Other;
    std::uint32_t item = kNothing; ///< index of the only event, kSeveral, or kNothing
};

/// One row of a lane: intervals in start order that do not overlap, and what it takes to draw them at any
/// zoom with cost that follows pixels.
///
/// Times are nanoseconds from the timeline's origin. For every block of kBlock events it keeps, per hue, the
/// time covered before that block, so that the time of each hue in any column is a difference of two sums and
/// at most two partial blocks. 17 bytes an event and 8/kBlock more per hue. Immutable once built; any thread.
class Track {
public:
    static constexpr std::size_t kBlock = 16;

    std::size_t size() const { return starts_.size(); }
    std::int64_t start(std::size_t i) const { return starts_[i]; }
    std::int64_t length(std::size_t i) const { return lengths_[i] != kLong ? lengths_[i] : longLength(i); }
    std::int64_t end(std::size_t i) const { return starts_[i] + length(i); }
    std::uint32_t name(std::size_t i) const { return names_[i]; }
    Hue hue(std::size_t i) const { return hues_[classes_[i]]; }

    /// Fills one Column for each stretch of `perColumn` nanoseconds from `from` on. Exact: the covered times
    /// of the columns add up to the covered time of the window. O(columns * (log(events per column) + kBlock
    /// + hues)), and never more than the events in the window.
    void columns(double from, double perColumn, std::span<Column> out) const;

    /// Time covered within [from, to). O(log n + kBlock).
    std::int64_t covered(std::int64_t from, std::int64_t to) const;

    /// The same by hue.
    std::array<std::int64_t, kHueCount> coveredByHue(std::int64_t from, std::int64_t to) const;

    /// First event that starts at or after `time`. O(log n).
    std::size_t firstFrom(std::int64_t time) const;

    /// Events that overlap [from, to), as [first, last). O(log n).
    std::pair<std::size_t, std::size_t> overlapping(std::int64_t from, std::int64_t to) const;

    /// Bytes it occupies.
    std::size_t memory() const;

    friend class TrackBuilder;

private:
    static constexpr std::uint32_t kLong = 0xFFFF'FFFF;
    using ClassTimes = std::array<std::int64_t, kHueCount>; // ns by class
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

    std::vector<std::int64_t> starts_;
    std::vector<std::uint32_t> lengths_; // kLong: in long_
    std::vector<std::uint32_t> names_;
    std::vector<std::uint8_t> classes_; // index into hues_
    std::vector<Hue> hues_;             // those that occur, in the order of appearance
    std::vector<std::int64_t> sums_;    // [block * hues + class]: time covered before the block
    std::vector<std::pair<std::uint32_t, std::int64_t>> long_; // events of more than 4.29 s, by index
};

/// Makes a Track of events given in start order.
class TrackBuilder {
public:
    void reserve(std::size_t events);
    /// \pre start <= end, and start is at or after the last event's end
    void add(std::int64_t start, std::int64_t end, std::uint32_t name, Hue hue);
    std::int64_t lastEnd() const { return lastEnd_; }
    std::size_t size() const { return track_.size(); }
    const Track& track() const { return track_; } ///< only its events may be asked for
    void removeLast();
    Track build() &&;

private:
    Track track_;
    std::array<std::uint8_t, kHueCount> classOf_ = filled();
    std::int64_t lastEnd_ = INT64_MIN;

    static constexpr std::uint8_t kNone = 0xFF;
    static std::array<std::uint8_t, kHueCount> filled();
};

/// Rows of one lane: nested or overlapping events go to the first row below all that are still open.
///
/// Events come in start order, of two that start together the longer first. One that comes late waits until
/// the rows are asked for; then those behind it are placed anew: O(events that start after it).
class RowsBuilder {
public:
    void add(std::int64_t start, std::int64_t end, std::uint32_t name, Hue hue);
    /// A row whose events are known to belong there; made with those above it where there is none yet.
    TrackBuilder& row(std::size_t row);
    std::vector<Track> build() &&;
    /// Places what came late.
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
