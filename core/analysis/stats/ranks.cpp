#include "core/analysis/stats/ranks.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tilescope::analysis {

std::vector<double> ranksOf(std::span<const double> values)
{
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    std::vector<double> ranks(values.size());
    for (std::size_t i = 0; i < order.size();) {
        std::size_t end = i;
        while (end < order.size() && values[order[end]] == values[order[i]])
            ++end;
        for (std::size_t j = i; j < end; ++j)
            ranks[order[j]] = static_cast<double>(i + end + 1) / 2;
        i = end;
    }
    return ranks;
}

} // namespace tilescope::analysis
