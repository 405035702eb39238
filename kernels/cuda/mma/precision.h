#pragma once

#include "kernels/cuda/common/ptx.h"
#include "kernels/cuda/mma/tiles.h"

#include <cstdint>
#include <type_traits>

namespace tilescope::kernels {

/// How a precision multiplies with mma.sync: its element type, the depth of one instruction, and the
/// conversion of loaded bits to operands.
///
/// Fragments have the instruction's layout. Lane l = 4 g + t holds rows g and g + 8 of A (16 x depth), column
/// g of B (depth x 8), and rows g and g + 8, columns 2t and 2t + 1 of C (16 x 8).
struct SixteenBit {
    static constexpr int kDepth = 16;
    static constexpr bool kKeepsStatistics = false;
    struct A {
        std::uint32_t bits[4];
    };
    struct B {
        std::uint32_t bits[2];
    };
    __device__ static A prepare(const std::uint32_t (&raw)[4]) { return {{raw[0], raw[1], raw[2], raw[3]}}; }
    __device__ static B prepare(std::uint32_t first, std::uint32_t second) { return {{first, second}}; }
    /// Probabilities are powers of two of scores scaled by log2(e).
    static constexpr float kExponentUnit = 1.4426950408889634f;
    __device__ static float exponential(float x) { return ptx::exp2Approximate(x); }
    /// The value of an element in products.
    __device__ static float rounded(float element) { return element; }
};

struct Bf16 : SixteenBit {
    using Element = __nv_bfloat16;
    __device__ static void multiply(float (&c)[4], const A& a, const B& b)
    {
        ptx::multiplyBf16(c, a.bits, b.bits);
    }
    __device__ static std::uint32_t pack(float low, float high) { return ptx::packBf16(low, high); }
};

struct Fp16 : SixteenBit {
    using Element = __half;
    __device__ static void multiply(float (&c)[4], const A& a, const B& b)
    {
        ptx::multiplyFp16(c, a.bits, b.bits);
    }
    __device__ static std::uint32_t pack(float low, float high) { return ptx::packFp16(low, high); }
};

/// fp32 in memory, rounded to TF32 for each product.
struct Tf32 {
    using Element = float;
    static constexpr int kDepth = 8;
    static constexpr bool kKeepsStatistics = false;
    using A = SixteenBit::A;
    using B = SixteenBit::B;
    __device__ static A round(const std::uint32_t (&raw)[4])
    {
        return {
            {ptx::roundTf32(raw[0]), ptx::roundTf32(raw[1]), ptx::roundTf32(raw[2]), ptx::roundTf32(raw[3])}};
    }
    __device__ static A prepare(const std::uint32_t (&raw)[4]) { return round(raw); }
    __device__ static B prepare(std::uint32_t first, std::uint32_t second)
    {
        return {{ptx::roundTf32(first), ptx::roundTf32(second)}};
    }
    __device__ static void multiply(float (&c)[4], const A& a, const B& b)
    {
        ptx::multiplyTf32(c, a.bits, b.bits);
    }
    static constexpr float kExponentUnit = 1.4426950408889634f;
    __device__ static float exponential(float x) { return ptx::exp2Approximate(x); }
    __device__ static float rounded(float element)
    {
        return __uint_as_float(ptx::roundTf32(__float_as_uint(element)));
    }
};

/// The same, but rounded once in shared memory (RowsCopy) instead of by each warp that reads it: faster in
/// backward, where eight warps do.
struct Tf32InTiles : Tf32 {
    __device__ static A prepare(const std::uint32_t (&raw)[4]) { return SixteenBit::prepare(raw); }
    __device__ static B prepare(std::uint32_t first, std::uint32_t second)
    {
        return SixteenBit::prepare(first, second);
    }
};

/// fp32's accuracy on tensor cores. Each factor is split into three bf16 parts with 24 bits in total. Of the
/// nine products the six significant ones are summed, the smallest first (after Ootomo and Yokota 2022,
/// arXiv:2203.03341, who split in two). Tensor cores truncate when they accumulate, so that the sum over each
/// depth starts from 0, and an ordinary addition, which rounds, adds it to the rest.
struct Fp32 {
    using Element = float;
    static constexpr int kDepth = 16;
    static constexpr bool kKeepsStatistics = true;
    static constexpr int kParts = 3;
    struct A {
        std::uint32_t part[kParts][4];
    };
    struct B {
        std::uint32_t part[kParts][2];
    };
    static constexpr int kTerms = 6;

    __device__ static void split(float low, float high, std::uint32_t (&parts)[kParts])
    {
#pragma unroll
        for (std::uint32_t& part : parts) {
            part = ptx::packBf16(low, high);
            low -= __uint_as_float(part << 16);
            high -= __uint_as_float(part & 0xffff0000U);
        }
    }
    /// \param raw  the two elements of each register of a 16-bit fragment, one after another
    __device__ static A prepare(const std::uint32_t (&raw)[8])
    {
        A a;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            std::uint32_t parts[kParts];
            split(__uint_as_float(raw[2 * i]), __uint_as_float(raw[2 * i + 1]), parts);
#pragma unroll
            for (int part = 0; part < kParts; ++part) {
                a.part[part][i] = parts[part];
            }
        }
        return a;
    }
    __device__ static void multiplyTerm(int term, float (&c)[4], const A& a, const B& b)
    {
        // The parts of each term: three terms of relative size 2^-16, two of 2^-8, one of 1.
        constexpr int kOfA[kTerms] = {2, 1, 0, 1, 0, 0};
        constexpr int kOfB[kTerms] = {0, 1, 2, 0, 1, 0};
        ptx::multiplyBf16(c, a.part[kOfA[term]], b.part[kOfB[term]]);
    }
    static constexpr float kExponentUnit = 1.0f;
    __device__ static float exponential(float x)
    {
        return expf(x);
    }
    __device__ static float rounded(float element)
    {
        return element;
    }
};

template <class Precision> inline constexpr bool kIsFp32 = std::is_same_v<Precision, Fp32>;
template <class Precision> inline constexpr bool kRoundsTiles = std::is_same_v<Precision, Tf32InTiles>;
template <class Precision> inline constexpr bool kIsSixteenBit = sizeof(typename Precision::Element) == 2;
template <class Precision>
inline constexpr Arithmetic kArithmetic = kIsSixteenBit<Precision>
                                              ? Arithmetic::SixteenBit
                                              : (kIsFp32<Precision> ? Arithmetic::Fp32 : Arithmetic::Tf32);

} // namespace tilescope::kernels
