#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// Positions of equal elements in two sequences.
struct AlignedPair {
    std::uint32_t a = 0;
    std::uint32_t b = 0;

    bool operator==(const AlignedPair&) const = default;
};

inline constexpr std::size_t kMostDifferences = 512;

/// A common subsequence of two sequences, such as the kernels of a step in two recordings: both positions ascend.
///
/// It is a longest one if the sequences differ in at most `mostDifferences` elements. Otherwise they are aligned
/// piece by piece: each piece ends at the furthest point that `mostDifferences` differences reach (E. W. Myers, "An
/// O(ND) Difference Algorithm and Its Variations", 1986).
/// O((n + m) * differences) time, O(mostDifferences^2) memory.
std::vector<AlignedPair> alignSequences(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                                        std::size_t mostDifferences = kMostDifferences);

} // namespace tilescope::analysis
