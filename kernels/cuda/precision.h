#pragma once

#include "kernels/cuda/ptx.h"

#include <cstdint>
#include <type_traits>

namespace tilescope::kernels {

/// How one precision multiplies with mma.sync: its element type, how deep one instruction reaches, and what
/// becomes of the bits that were loaded before they are multiplied.
///
/// Fragments follow the instruction's layout, with lane l = 4 g + t: of A (16 x depth) a lane holds rows g
/// and g + 8, of B (depth x 8) column g, of C (16 x 8) rows g and g + 8, columns 2t and 2t + 1.
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
    /// Probabilities: a power of two of the score scaled by log2(e).
    static constexpr float kExponentUnit = 1.4426950408889634f;
    __device__ static float exponential(float x) { return ptx::exp2Approximate(x); }
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
    __device__ static A prepare(const std::uint32_t (&raw)[4])
    {
        return {
            {ptx::roundTf32(raw[0]), ptx::roundTf32(raw[1]), ptx::roundTf32(raw[2]), ptx::roundTf32(raw[3])}};
    }
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
};

/// fp32's accuracy on tensor cores: each factor is split into a TF32 part and a TF32 remainder, together 22
/// bits, and three of the four products are summed (Ootomo and Yokota 2022, arXiv:2203.03341). Tensor cores
/// truncate as they accumulate, so every instruction starts from 0 and ordinary additions, which round,
/// collect the results.
struct Fp32 {
    using Element = float;
    static constexpr int kDepth = 8;
    static constexpr bool kKeepsStatistics = true;
    struct A {
        std::uint32_t high[4];
        std::uint32_t low[4];
    };
    struct B {
        std::uint32_t high[2];
        std::uint32_t low[2];
    };
    __device__ static void split(std::uint32_t raw, std::uint32_t& high, std::uint32_t& low)
    {
        high = ptx::roundTf32(raw);
        low = ptx::roundTf32(__float_as_uint(__uint_as_float(raw) - __uint_as_float(high)));
    }
    __device__ static A prepare(const std::uint32_t (&raw)[4])
    {
        A a;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            split(raw[i], a.high[i], a.low[i]);
        }
        return a;
    }
    __device__ static B prepare(std::uint32_t first, std::uint32_t second)
    {
        B b;
        split(first, b.high[0], b.low[0]);
        split(second, b.high[1], b.low[1]);
        return b;
    }
    __device__ static void multiply(float (&c)[4], const A& a, const B& b)
    {
        float small[4] = {};
        ptx::multiplyTf32(small, a.low, b.high);
        ptx::multiplyTf32(small, a.high, b.low);
        float large[4] = {};
        ptx::multiplyTf32(large, a.high, b.high);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            c[i] = (c[i] + small[i]) + large[i];
        }
    }
    static constexpr float kExponentUnit = 1.0f;
    __device__ static float exponential(float x)
    {
        return expf(x);
    }
};

template <class Precision> inline constexpr bool kIsBf16 = std::is_same_v<Precision, Bf16>;
template <class Precision> inline constexpr bool kIsSixteenBit = sizeof(typename Precision::Element) == 2;

} // namespace tilescope::kernels
