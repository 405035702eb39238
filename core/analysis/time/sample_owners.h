#pragma once

#include "core/analysis/stats/statistics.h"
#include "core/analysis/time/busy_time.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// Work of a device, by the group that samples are asked for: a kernel's name, a family.
struct OwnedWork {
    Interval time{};
    std::uint32_t group = 0;
};

inline constexpr std::uint32_t kNoOwner = 0xFFFF'FFFF;
/// The part of a sample that its owner fills, and all other work at most misses.
inline constexpr double kOwnedShare = 0.95;

/// For each sample of a device the group that it measures: at least 95 % of its time has work of that group, and at most
/// 5 % of its time has other work; kNoOwner where there is none. A sample is of the whole device, so that work at the same
/// time cannot be told apart.
/// \param samples  by start, disjoint
/// \param work     of the device, by start
/// O(samples + work + overlaps).
std::vector<std::uint32_t> sampleOwners(std::span<const Interval> samples, std::span<const OwnedWork> work);

/// The mean of samples that follow each other, and how well they know it.
struct SampleMean {
    double mean = 0;
    std::optional<ConfidenceInterval> ci95 =
        {}; ///< 1.96 standard deviations of the mean; none for fewer than kFewestSamples
};

/// Fewer samples say nothing.
inline constexpr std::int64_t kFewestSamples = 10;

/// Neighbouring samples are alike: the interval is that of the effective number of values (effectiveNumber()).
/// \param values  in the order of time; not empty
SampleMean meanOfSamples(std::span<const double> values);

} // namespace tilescope::analysis
