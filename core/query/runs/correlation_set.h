#pragma once

#include "core/base/ids.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace tilescope::query {

/// Correlations of few among many events: most of the others are told by one bit.
class CorrelationSet {
public:
    void insert(CorrelationId correlation)
    {
        if (!correlation || !all_.insert(correlation.value).second)
            return;
        constexpr std::size_t kBitsOfOne = 16;
        if (bits_.size() < kBitsOfOne * all_.size()) {
            bits_.assign(std::bit_ceil(2 * kBitsOfOne * all_.size()), false);
            for (const std::uint32_t each : all_)
                bits_[placeOf(each)] = true;
        }
        bits_[placeOf(correlation.value)] = true;
    }
    bool has(CorrelationId correlation) const
    {
        return !bits_.empty() && bits_[placeOf(correlation.value)] && all_.contains(correlation.value);
    }

private:
    /// Numbers of launches follow each other.
    std::size_t placeOf(std::uint32_t correlation) const { return correlation & (bits_.size() - 1); }

    std::unordered_set<std::uint32_t> all_;
    std::vector<bool> bits_; ///< a power of two of them
};

} // namespace tilescope::query
