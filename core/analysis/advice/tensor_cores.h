#pragma once

#include "core/analysis/advice/stake.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// Rates of a device's dense matrix products, FLOP/s; none: unknown, or not supported.
struct ProductRates {
    std::optional<double> fp32 = {}; ///< outside the tensor cores
    std::optional<double> tf32 = {};
    std::optional<double> low = {}; ///< bf16, fp16

    /// The fastest rate on tensor cores.
    std::optional<double> tensor() const;
};

/// Whether the name of a kernel of cuBLAS, CUTLASS or cuDNN says that it multiplies fp32 matrices outside the
/// tensor cores: `simt_sgemm`, `…_ffma_…`, `sgemm` without `tf32`.
bool multipliesOutsideTensorCores(std::string_view kernel);

/// What tensor cores save at most: the time of the products times 1 - fp32 rate / rate of the tensor cores.
/// \param products  in any order
/// \param others    other activity of the device: a result of unionOf()
/// \return          nothing at stake if tensor cores are not faster
Stake unusedTensorCores(std::vector<GroupedTime> products, std::span<const Interval> walls,
                        std::span<const Interval> others, const ProductRates& rates);

} // namespace tilescope::analysis
