#pragma once

#include "core/analysis/advice/stake.h"
#include "core/analysis/advice/tensor_cores.h"

#include <map>
#include <span>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// Whether a kernel of PyTorch changes the type of a tensor's elements, by its name.
bool convertsType(std::string_view kernel);

/// The time that removing conversions saves: at each place, the time of the conversions minus the time that the faster
/// products save there, if the difference is positive.
///
/// They let products run in bf16 or fp16. In fp32 the products would take at most rate of bf16 / rate of fp32 as long, so
/// the conversions of a place save at most the time of its products times that quotient less 1. This favours the
/// conversions: TF32 would be slower than bf16 by less.
/// \param conversions  by place (group), in any order
/// \param products     time of products in bf16 and fp16 by place
/// \param others       other activity of the device: a result of unionOf()
Stake costlyConversions(std::vector<GroupedTime> conversions, std::span<const Interval> walls,
                        std::span<const Interval> others,
                        const std::map<std::uint32_t, Nanoseconds>& products, const ProductRates& rates);

} // namespace tilescope::analysis
