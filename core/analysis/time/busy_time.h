#pragma once

#include "core/base/units.h"
#include "core/model/events.h"

#include <span>
#include <vector>

namespace tilescope::analysis {

/// A half-open time interval.
struct Interval {
    Timestamp start{};
    Timestamp end{};

    Nanoseconds length() const { return end - start; }
    bool operator==(const Interval&) const = default;
};

/// The union of the intervals: sorted, disjoint, none empty. O(n log n).
std::vector<Interval> unionOf(std::vector<Interval> intervals);

/// The parts of `inside` that `covers` does not cover.
/// \param covers  a result of unionOf()
/// O(n).
std::vector<Interval> complement(Interval inside, std::span<const Interval> covers);

/// The times that are in both `a` and `b`.
/// \param a, b  results of unionOf()
/// O(n).
std::vector<Interval> intersection(std::span<const Interval> a, std::span<const Interval> b);

/// The times in `a` but not in `b`.
/// \param a, b  results of unionOf()
/// O(n).
std::vector<Interval> difference(std::span<const Interval> a, std::span<const Interval> b);

/// Sum of the lengths.
Nanoseconds lengthOf(std::span<const Interval> intervals);

} // namespace tilescope::analysis
