#pragma once

#include "kernels/include/attention.h"

#include <bit>
#include <cmath>
#include <cstdint>

/// Quantisation to E4M3 (OCP 8-bit floating point specification 1.0: 4 bits of exponent, 3 of mantissa, no infinities) for
/// products in 8 bits. Plain C++: neither LibTorch nor CUDA headers.
///
/// A value x with scale s is stored as x / s, rounded to nearest, ties to even. The scale is the largest
/// magnitude among the values that share it, divided by kLargestE4m3, so nothing is clipped. If that
/// magnitude is below kLeastQuantized, the scale is 1 and all values become 0. An infinite value makes all
/// values with its scale NaN; a NaN stays NaN. CPU and CUDA give the same bits.
namespace tilescope::kernels {

inline constexpr float kLargestE4m3 = 448;
inline constexpr float kLeastQuantized =
    0x1p-110F; ///< scale and reciprocal are normal fp32 numbers from here on

/// One scale per row: s[r] = max |x[r]| / kLargestE4m3.
struct QuantizeRows {
    std::int64_t rows = 0;
    std::int64_t width = 0;
    const void* x = nullptr;        ///< bf16 or fp32 (rows, width)
    std::uint8_t* values = nullptr; ///< E4M3 (rows, width)
    float* scales = nullptr;        ///< (rows)
};

/// One scale per matrix, and the values in both orders: a product takes its right factor by columns, and forward and
/// backward multiply by a weight and by its transpose.
struct QuantizeMatrix {
    std::int64_t rows = 0;
    std::int64_t width = 0;
    const void* x = nullptr;            ///< bf16 or fp32 (rows, width)
    std::uint8_t* values = nullptr;     ///< E4M3 (rows, width)
    std::uint8_t* transposed = nullptr; ///< E4M3 (width, rows)
    float* scales = nullptr;  ///< the scale max(rows, width) times, for products with one scale per column
    float* largest = nullptr; ///< max |x|; 0 on entry
};

/// The scale of a row or matrix with this largest magnitude; the CUDA kernels use the same function.
struct E4m3Scale {
    float scale = 1;
    float reciprocal = 0; ///< multiplies the values

    static constexpr E4m3Scale of(float largest)
    {
        return largest < kLeastQuantized ? E4m3Scale{}
                                         : E4m3Scale{largest / kLargestE4m3, kLargestE4m3 / largest};
    }
};

/// The bits of a value in E4M3, for the CPU. Beyond kLargestE4m3 it saturates.
inline std::uint8_t e4m3Bits(float value)
{
    constexpr std::uint8_t kNan = 0x7f;
    constexpr std::uint32_t kMost = 0x7e;
    constexpr float kSmallestNormal = 0x1p-6F;
    constexpr float kUnitsOfSubnormals = 512;
    constexpr int kDropped = 20; // bits of fp32's mantissa
    constexpr std::uint32_t kBias = (127 - 7) << 3;
    if (std::isnan(value))
        return kNan;
    const float magnitude = std::fabs(value);
    std::uint32_t code = 0;
    if (magnitude >= kLargestE4m3) {
        code = kMost;
    } else if (magnitude < kSmallestNormal) {
        code = static_cast<std::uint32_t>(std::nearbyint(magnitude * kUnitsOfSubnormals));
    } else {
        const auto bits = std::bit_cast<std::uint32_t>(magnitude);
        code = ((bits + (1U << (kDropped - 1)) - 1 + (bits >> kDropped & 1)) >> kDropped) - kBias;
    }
    return static_cast<std::uint8_t>(code | (std::signbit(value) ? 0x80U : 0U));
}

// --- CPU: plain loops, for references and tests -------------------------------------------------------------

/// Rows begin to end - 1.
/// \throws std::runtime_error  another type than bf16 or fp32
void quantizeRowsCpu(ElementType type, const QuantizeRows& quantize, std::int64_t begin, std::int64_t end);
void quantizeMatrixCpu(ElementType type, const QuantizeMatrix& quantize);

// --- CUDA: launched on the current device and stream; asynchronous -----------------------------------------

inline constexpr std::int64_t kFp8Multiple =
    16; ///< rows and widths are multiples of it on CUDA, as products in 8 bits require
inline constexpr std::int64_t kMaxQuantizedRow = 32'768; ///< widest row on CUDA

/// Any number of rows. Addresses are multiples of 16 bytes.
/// \throws std::runtime_error  the launch fails, or another type than bf16 or fp32
void quantizeRowsCuda(ElementType type, const QuantizeRows& quantize, CudaStream stream);
void quantizeMatrixCuda(ElementType type, const QuantizeMatrix& quantize, CudaStream stream);

} // namespace tilescope::kernels
