#pragma once

#include "core/predict/onednn_matmul.h"

#include <cstdint>
#include <optional>

namespace tilescope::predict {

/// The memory in which oneDNN computes a product in half precision with AMX's tiles, in bytes. None if it computes the
/// product without them, because it is small.
///
/// Source: oneDNN 3.10.2, src/cpu/x64/matmul/amx_blocking_heuristics.cpp (matmul_amx_blocking_params_micro_t) and
/// brgemm_matmul_utils.cpp.
std::optional<std::int64_t> tileProductScratch(const CpuProduct& product, std::int64_t threads);

} // namespace tilescope::predict
