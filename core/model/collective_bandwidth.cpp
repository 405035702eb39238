#include "core/model/collective_bandwidth.h"

#include <algorithm>
#include <array>

namespace tilescope {

namespace {

struct Rule {
    std::string_view op;
    bool isGathered; ///< the size is that of all ranks together
    double passes;   ///< the factor is that many times (n - 1) / n; 0: the factor is 1
};

constexpr std::array kBandwidthRules{Rule{"all_reduce", false, 2},     Rule{"all_gather", true, 1},
                                     Rule{"reduce_scatter", false, 1}, Rule{"all_to_all", false, 1},
                                     Rule{"broadcast", false, 0},      Rule{"reduce", false, 0}};

} // namespace

std::optional<Bandwidth> bandwidthOf(std::string_view op, std::int64_t bytes, std::int32_t ranks,
                                     Nanoseconds time)
{
    const auto* const rule = std::ranges::find(kBandwidthRules, op, &Rule::op);
    if (rule == kBandwidthRules.end() || bytes <= 0 || ranks < 1 || time.count() <= 0)
        return {};
    const double n = ranks;
    const double size = static_cast<double>(bytes) * (rule->isGathered ? n : 1);
    const double algorithm = size / static_cast<double>(time.count());
    return Bandwidth{algorithm, algorithm * (rule->passes > 0 ? rule->passes * (n - 1) / n : 1)};
}

} // namespace tilescope
