#pragma once

#include <cstdint>

/// Vectors, conversions and the small matrix product of the CPU kernels.
///
/// Compiled once for each instruction set, in its own namespace (TILESCOPE_ISA, set by CMake). Do not use
/// inline functions of the standard library here: the linker might use their AVX-512 copies everywhere.
namespace tilescope::kernels::TILESCOPE_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
inline constexpr int kProductRows = 12; // 24 accumulators of 32 registers
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
inline constexpr int kProductRows = 6; // 12 accumulators of 16 registers
#else
inline constexpr int kVectorBytes = 16;
inline constexpr int kProductRows = 6;
#endif

struct BFloat16 {
    std::uint16_t bits;
};
struct Half {
    std::uint16_t bits;
};

/// Accumulation type of an element type.
template <class T> struct AccumulatorOf {
    using type = float;
};
template <> struct AccumulatorOf<double> {
    using type = double;
};

template <class Acc> inline constexpr int kWidth = kVectorBytes / int(sizeof(Acc));

template <class Acc> struct VectorOf;
template <> struct VectorOf<float> {
    typedef float type __attribute__((vector_size(kVectorBytes)));
    typedef float unaligned __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
    typedef std::int32_t integers __attribute__((vector_size(kVectorBytes)));
};
template <> struct VectorOf<double> {
    typedef double type __attribute__((vector_size(kVectorBytes)));
    typedef double unaligned __attribute__((vector_size(kVectorBytes), aligned(8), may_alias));
    typedef std::int64_t integers __attribute__((vector_size(kVectorBytes)));
};
template <class Acc> using Vector = typename VectorOf<Acc>::type;

template <class Acc> inline Vector<Acc> load(const Acc* from)
{
    return *reinterpret_cast<const typename VectorOf<Acc>::unaligned*>(from);
}
template <class Acc> inline void store(Acc* to, Vector<Acc> value)
{
    *reinterpret_cast<typename VectorOf<Acc>::unaligned*>(to) = value;
}
template <class Acc> inline Vector<Acc> broadcast(Acc value)
{
    return Vector<Acc>{} + value;
}

inline float toAccumulator(float value)
{
    return value;
}
inline double toAccumulator(double value)
{
    return value;
}
inline float toAccumulator(BFloat16 value)
{
    return __builtin_bit_cast(float, std::uint32_t{value.bits} << 16);
}
inline float toAccumulator(Half value)
{
    const std::uint32_t magnitude = std::uint32_t{value.bits} & 0x7fff;
    const std::uint32_t sign = (std::uint32_t{value.bits} & 0x8000) << 16;
    // Changes the exponent from fp16's bias to fp32's by a multiplication, which also normalises denormals.
    const float moved = __builtin_bit_cast(float, magnitude << 13) * 0x1p112f;
    const std::uint32_t special = magnitude >= 0x7c00 ? 0x7f800000u : 0u;
    return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, moved) | special | sign);
}

inline void fromAccumulator(float value, float& to)
{
    to = value;
}
inline void fromAccumulator(double value, double& to)
{
    to = value;
}
inline void fromAccumulator(float value, BFloat16& to)
{
    const auto bits = __builtin_bit_cast(std::uint32_t, value);
    const std::uint32_t roundedToEven = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    to.bits = static_cast<std::uint16_t>(value != value ? 0x7fc0 : roundedToEven);
}
inline void fromAccumulator(float value, Half& to)
{
    to.bits = __builtin_bit_cast(std::uint16_t, static_cast<_Float16>(value));
}

/// e^x for x up to about 88, with an error of about 1 ulp; exactly 1 at 0, and 0 below -87. NaN stays NaN.
inline Vector<float> exponential(Vector<float> x)
{
    const Vector<float> lowest = broadcast(-87.0f);
    const auto tiny = x < lowest;
    x = tiny ? lowest : x;
    // Adding 1.5 * 2^23 leaves the nearest integer in the low mantissa bits.
    const Vector<float> shifted = x * 1.44269504f + 12582912.0f;
    const Vector<float> power = shifted - 12582912.0f;
    // ln 2 in two parts, the first short enough for exact multiples.
    const Vector<float> f = x - power * 0.693359375f + power * 2.12194440e-4f;
    // Minimax polynomial of e^f on [-ln2/2, ln2/2], relative error 3.3e-9.
    Vector<float> p = broadcast(1.38131453e-3f);
    p = p * f + 8.36941900e-3f;
    p = p * f + 4.16684568e-2f;
    p = p * f + 1.66665148e-1f;
    p = p * f + 4.99999931e-1f;
    p = (p * f) * f + f + 1.0f;
    using Integers = VectorOf<float>::integers;
    const Integers exponent = reinterpret_cast<Integers>(shifted) << 23;
    const auto scaled = reinterpret_cast<Vector<float>>(reinterpret_cast<Integers>(p) + exponent);
    return tiny ? Vector<float>{} : scaled;
}

inline Vector<double> exponential(Vector<double> x)
{
    Vector<double> result{};
    for (int lane = 0; lane < kWidth<double>; ++lane) {
        result[lane] = __builtin_exp(x[lane]);
    }
    return result;
}

inline float logarithm(float x)
{
    return __builtin_logf(x);
}
inline double logarithm(double x)
{
    return __builtin_log(x);
}

/// A row-major matrix of accumulators in scratch memory. Rows are padded to whole vectors plus one, so that a
/// column does not map to a single set of the cache.
template <class Acc> struct Matrix {
    Acc* data;
    std::int64_t stride;
    Acc* row(std::int64_t index) const { return data + index * stride; }
};

/// The left factor of a product: element (m, k) at data[m * rowStride + k * depthStride], so that a
/// transposed matrix needs no copy.
template <class Acc> struct LeftFactor {
    const Acc* data;
    std::int64_t rowStride;
    std::int64_t depthStride;
};
template <class Acc> LeftFactor<Acc> asIs(Matrix<Acc> matrix)
{
    return {matrix.data, matrix.stride, 1};
}
template <class Acc> LeftFactor<Acc> transposed(Matrix<Acc> matrix)
{
    return {matrix.data, 1, matrix.stride};
}

enum class Result { Overwrite, Accumulate };

/// Rows x (Columns vectors) of C in registers over the whole depth.
template <int Rows, int Columns, class Acc>
inline void productTile(LeftFactor<Acc> a, const Acc* b, std::int64_t bStride, Acc* c, std::int64_t cStride,
                        std::int64_t depth, Result result)
{
    Vector<Acc> sum[Rows][Columns] = {};
    for (std::int64_t k = 0; k < depth; ++k) {
        Vector<Acc> right[Columns];
        for (int n = 0; n < Columns; ++n) {
            right[n] = load(b + k * bStride + n * kWidth<Acc>);
        }
        for (int m = 0; m < Rows; ++m) {
            const Vector<Acc> left = broadcast(a.data[m * a.rowStride + k * a.depthStride]);
            for (int n = 0; n < Columns; ++n) {
                sum[m][n] += left * right[n];
            }
        }
    }
    for (int m = 0; m < Rows; ++m) {
        for (int n = 0; n < Columns; ++n) {
            Acc* to = c + m * cStride + n * kWidth<Acc>;
            store(to, result == Result::Accumulate ? load(to) + sum[m][n] : sum[m][n]);
        }
    }
}

template <int Columns, class Acc>
inline void productColumns(LeftFactor<Acc> a, const Acc* b, std::int64_t bStride, Acc* c,
                           std::int64_t cStride, std::int64_t rows, std::int64_t depth, Result result)
{
    std::int64_t m = 0;
    const auto advance = [&](int by) {
        m += by;
        a.data += by * a.rowStride;
        c += by * cStride;
    };
    for (; m + kProductRows <= rows; advance(kProductRows)) {
        productTile<kProductRows, Columns>(a, b, bStride, c, cStride, depth, result);
    }
    for (; m + 4 <= rows; advance(4)) {
        productTile<4, Columns>(a, b, bStride, c, cStride, depth, result);
    }
    for (; m < rows; advance(1)) {
        productTile<1, Columns>(a, b, bStride, c, cStride, depth, result);
    }
}

/// C = A B or C += A B for `rows` x `columns` and a depth of `depth`. Columns are rounded up to whole
/// vectors: the rows of B and C must be that long.
template <class Acc>
void product(LeftFactor<Acc> a, Matrix<Acc> b, Matrix<Acc> c, std::int64_t rows, std::int64_t columns,
             std::int64_t depth, Result result)
{
    constexpr int width = kWidth<Acc>;
    // Sums of short sums have smaller rounding errors than one long sum, and 32 rows of B stay in the L1
    // cache.
    constexpr std::int64_t slice = 32;
    for (std::int64_t k = 0; k < depth; k += slice) {
        const std::int64_t deep = depth - k < slice ? depth - k : slice;
        std::int64_t n = 0;
        for (; n + width < columns; n += 2 * width) {
            productColumns<2>(a, b.data + n, b.stride, c.data + n, c.stride, rows, deep, result);
        }
        if (n < columns) {
            productColumns<1>(a, b.data + n, b.stride, c.data + n, c.stride, rows, deep, result);
        }
        a.data += slice * a.depthStride;
        b.data += slice * b.stride;
        result = Result::Accumulate;
    }
}

} // namespace tilescope::kernels::TILESCOPE_ISA
