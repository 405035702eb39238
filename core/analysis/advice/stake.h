#pragma once

#include "core/analysis/time/busy_time.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// A stretch of time that counts for a group. The caller defines what the group number means.
struct GroupedTime {
    Interval time{};
    std::uint32_t group = 0;
};

/// What one group contributes to the time at stake.
struct StakePart {
    std::uint32_t group = 0;
    std::int64_t count = 0; ///< number of stretches
    Nanoseconds total{0};   ///< sum of their lengths; overlaps count twice
    Nanoseconds atStake{0};

    bool operator==(const StakePart&) const = default;
};

/// Time that a remedy saves at most. Each instant belongs to one group, so `time` is the sum of the parts.
struct Stake {
    Nanoseconds time{0};
    std::vector<StakePart> parts = {}; ///< most at stake first; then by group
};

/// The union of `times` within `walls`, minus `others`. An instant in several of the times belongs to the one
/// that starts first. Stretches outside all walls do not count.
/// \param times   in any order
/// \param walls   disjoint, in start order
/// \param others  a result of unionOf()
/// O(n log n).
Stake stakeOf(std::vector<GroupedTime> times, std::span<const Interval> walls,
              std::span<const Interval> others = {});

/// The stake with each part multiplied by the share of its group.
/// \param share  of a group, from 0 to 1
Stake scaled(const Stake& stake, const std::function<double(std::uint32_t group)>& share);

/// The stakes of several processes as one: the parts of a group add up.
Stake sumOf(std::span<const Stake> stakes);

/// Time of copies or of communication that could run beside compute.
///
/// Such time is exposed where no compute runs. In each wall, compute that overlaps neither copies nor
/// communication limits how much can be hidden. If more is exposed, the earliest part counts.
/// \param times    in any order
/// \param compute  a result of unionOf()
/// O(n log n).
Stake exposedStake(std::vector<GroupedTime> times, std::span<const Interval> walls,
                   std::span<const Interval> compute);

} // namespace tilescope::analysis
