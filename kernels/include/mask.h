#pragma once

#include <cstdint>

namespace tilescope::kernels {

/// The keys that a query sees, for the CPU, mma.sync and Hopper kernels.
///
/// The functions are constexpr, so that device code can call them. With a causal mask query i sees the keys
/// j <= i + keys - queries: the last query sees every key (aligned bottom right).
template <class Index> struct MaskPolicy {
    Index queries;
    Index keys;
    bool causal;

    constexpr bool sees(Index query, Index key) const
    {
        return key < keys && (!causal || key <= query + keys - queries);
    }

    /// `query` sees keys [0, result).
    constexpr Index keysSeenBy(Index query) const
    {
        if (!causal) {
            return keys;
        }
        const Index end = query + 1 + keys - queries;
        return end < 0 ? 0 : (end > keys ? keys : end);
    }

    /// Queries [result, queries) see `key`.
    constexpr Index firstQueryOf(Index key) const
    {
        const Index first = causal ? key + queries - keys : 0;
        return first < 0 ? 0 : (first > queries ? queries : first);
    }
};

} // namespace tilescope::kernels
