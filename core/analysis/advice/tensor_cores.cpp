#include "core/analysis/advice/tensor_cores.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace tilescope::analysis {

std::optional<double> ProductRates::tensor() const
{
    if (!tf32 || !low)
        return tf32 ? tf32 : low;
    return std::max(*tf32, *low);
}

bool multipliesOutsideTensorCores(std::string_view kernel)
{
    std::string name(kernel);
    std::ranges::transform(name, name.begin(), [](char c) {
        return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    });
    const auto has = [&name](std::string_view word) { return name.find(word) != std::string::npos; };
    constexpr std::array<std::string_view, 8> kOnTensorCores{"tf32",  "tensorop", "s1688", "s884",
                                                             "h1688", "h884",     "hmma",  "mma_sync"};
    if (std::ranges::any_of(kOnTensorCores, has))
        return false;
    return has("sgemm") || has("_ffma_") || has("scudnn");
}

Stake unusedTensorCores(std::vector<GroupedTime> products, std::span<const Interval> walls,
                        std::span<const Interval> others, const ProductRates& rates)
{
    const std::optional<double> tensor = rates.tensor();
    const double saved = tensor && rates.fp32 && *tensor > 0 ? std::max(0.0, 1 - *rates.fp32 / *tensor) : 0;
    return scaled(stakeOf(std::move(products), walls, others), [saved](std::uint32_t) { return saved; });
}

} // namespace tilescope::analysis
