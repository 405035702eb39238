#pragma once

#include "core/analysis/advice/stake.h"
#include "core/analysis/advice/tensor_cores.h"

#include <map>
#include <span>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// Whether the name of a PyTorch kernel says that it changes the type of a tensor's elements.
bool convertsType(std::string_view kernel);

/// The time that removing conversions saves: at each place, the time of the conversions minus the time that the faster
/// products save there, if the difference is positive.
///
/// Conversions let products run in bf16 or fp16. In fp32 the products of a place would take at most q = bf16
/// rate / fp32 rate times as long, so its conversions save at most (q - 1) times the time of its products.
/// This estimate favours the conversions: in TF32, the products would lose less.
/// \param conversions  by place (group), in any order
/// \param products     time of products in bf16 and fp16 by place
/// \param others       other activity of the device: a result of unionOf()
Stake costlyConversions(std::vector<GroupedTime> conversions, std::span<const Interval> walls,
                        std::span<const Interval> others,
                        const std::map<std::uint32_t, Nanoseconds>& products, const ProductRates& rates);

} // namespace tilescope::analysis
