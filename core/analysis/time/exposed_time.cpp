#include "core/analysis/time/exposed_time.h"

#include <algorithm>

namespace tilescope::analysis {

namespace {

/// Finds the intervals that overlap a window. Intervals are sorted and disjoint; windows come in start order.
class Passing {
public:
    explicit Passing(std::span<const Interval> all) : all_(all) {}

    std::span<const Interval> of(const Interval& window)
    {
        while (first_ < all_.size() && all_[first_].end <= window.start)
            ++first_;
        std::size_t last = first_;
        while (last < all_.size() && all_[last].start < window.end)
            ++last;
        return all_.subspan(first_, last - first_);
    }

private:
    std::span<const Interval> all_;
    std::size_t first_ = 0;
};

} // namespace

std::vector<Nanoseconds> exposedTimes(std::span<const Interval> pieces, std::span<const Interval> covers,
                                      std::span<const Interval> walls)
{
    Passing passingCovers(covers);
    Passing passingWalls(walls);
    std::vector<Nanoseconds> times;
    times.reserve(pieces.size());
    Timestamp until = Timestamp::min();
    for (const Interval& piece : pieces) {
        // Earlier pieces began before this piece, so any overlap with them is at its beginning.
        const Interval rest{std::max(piece.start, until), piece.end};
        until = std::max(until, piece.end);
        if (rest.start >= rest.end) {
            times.emplace_back(0);
            continue;
        }
        const std::vector<Interval> alone = difference(std::vector{rest}, passingCovers.of(rest));
        times.push_back(lengthOf(intersection(alone, passingWalls.of(rest))));
    }
    return times;
}

} // namespace tilescope::analysis
