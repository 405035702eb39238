#pragma once

#include "core/predict/graph.h"
#include "core/predict/target_device.h"

#include <compare>
#include <cstdint>

namespace tilescope::predict {

/// A product C = A B, for each of `batch` pairs, as oneDNN gets it from LibTorch on a CPU: A is (rows, inner) and B is
/// (inner, columns).
struct CpuProduct {
    Type type = Type::Float32; ///< of A, B and C
    std::int64_t batch = 1;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t inner = 0;
    bool isFirstTransposed = false; ///< A is stored by columns

    auto operator<=>(const CpuProduct&) const = default;
};

/// oneDNN's memory_tracking::registry_t aligns each buffer to so many bytes.
inline constexpr std::int64_t kBufferAlignment = 128;

/// The memory in which oneDNN computes a product, in bytes; it is freed when the product is computed. 0 if LibTorch does
/// not use oneDNN for the product: fp32, small products, and types that the processor does not compute.
///
/// Source: LibTorch 2.11, aten/src/ATen/native/mkldnn/Matmul.cpp; oneDNN 3.10.2, src/cpu/x64/matmul. The blocks depend on
/// the number of threads and on the processor's instructions; those of tiles are in core/predict/onednn_tiles.h.
std::int64_t productScratch(const CpuProduct& product, const TargetDevice& device);

} // namespace tilescope::predict
