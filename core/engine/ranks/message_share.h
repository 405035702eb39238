#pragma once

#include <algorithm>
#include <cstdint>

namespace tilescope::engine {

/// The share of a message of `count` elements that rank `rank` of `ranks` adds up: elements `begin` to `end`
/// - 1. Shares begin at multiples of kUnit elements, so that kernels read whole vectors.
struct MessageShare {
    static constexpr std::int64_t kUnit = 64;

    std::int64_t begin = 0;
    std::int64_t end = 0;

    std::int64_t count() const { return end - begin; }
    bool operator==(const MessageShare&) const = default;
};

inline MessageShare shareOf(std::int64_t count, int rank, int ranks)
{
    const std::int64_t units = (count + MessageShare::kUnit - 1) / MessageShare::kUnit;
    const std::int64_t share = (units + ranks - 1) / ranks * MessageShare::kUnit;
    const auto from = [&](int of) { return std::min(of * share, count); };
    return {.begin = from(rank), .end = from(rank + 1)};
}

} // namespace tilescope::engine
