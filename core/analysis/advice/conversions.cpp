#include "core/analysis/advice/conversions.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tilescope::analysis {

bool convertsType(std::string_view kernel)
{
    const auto has = [kernel](std::string_view word) { return kernel.find(word) != std::string_view::npos; };
    constexpr std::array<std::string_view, 3> kToType{"float16_copy_kernel", "float8_copy_kernel",
                                                      "tofloat32_copy_kernel"};
    if (std::ranges::any_of(kToType, has))
        return true;
    // ATen's copy kernel casts while loading only if the types of its operands differ.
    return has("direct_copy_kernel") && (has("LoadWithCast") || has("gpu_kernel_impl<"));
}

Stake costlyConversions(std::vector<GroupedTime> conversions, std::span<const Interval> walls,
                        std::span<const Interval> others,
                        const std::map<std::uint32_t, Nanoseconds>& products, const ProductRates& rates)
{
    Stake stake = stakeOf(std::move(conversions), walls, others);
    const double gain = rates.low && rates.fp32 && *rates.fp32 > 0 ? *rates.low / *rates.fp32 - 1 : 0;
    stake.time = Nanoseconds(0);
    for (StakePart& part : stake.parts) {
        const auto found = products.find(part.group);
        const Nanoseconds saved =
            found == products.end()
                ? Nanoseconds(0)
                : Nanoseconds(std::llround(gain * static_cast<double>(found->second.count())));
        part.atStake = std::max(part.atStake - saved, Nanoseconds(0));
        stake.time += part.atStake;
    }
    std::ranges::stable_sort(stake.parts, std::greater(), &StakePart::atStake);
    return stake;
}

} // namespace tilescope::analysis
