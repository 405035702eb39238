#pragma once

#include "kernels/cpu/block_product.h"
#include "kernels/include/mask.h"

/// Tiles, scratch memory, the mask and the exponential of the packed kernels, forward and backward.
namespace tilescope::kernels::TILESCOPE_ISA {

/// Rows of queries per task, rows of keys per packed tile, and queries whose scores are held at a time.
///
/// The output of a group is loaded and stored once per tile of keys. 256 keys are 8 % faster than 128 (head
/// dim 64, N 512, bf16), although 32 KB of scores, 16 KB of probabilities and the tile of keys exceed an L1
/// cache of 48 KB.
inline constexpr std::int64_t kPackedQueryTile = 128;
inline constexpr std::int64_t kPackedKeyTile = 256;
inline constexpr std::int64_t kGroup = 32;
inline constexpr std::int64_t kGroups = kPackedQueryTile / kGroup;
inline constexpr int kHalves = 2; ///< vectors of 16 queries in a group
inline constexpr std::int64_t kKeyBlocks = kPackedKeyTile / kBlockDepth;

constexpr std::int64_t paddedDepth(std::int64_t headDim)
{
    return roundUp(headDim, kBlockDepth);
}

/// Allocates from a thread's scratch memory, aligned to cache lines. Without memory it counts bytes.
struct PackedScratch {
    std::byte* next;
    std::size_t bytes = 0;

    template <class Element> Element* take(std::int64_t count)
    {
        auto* const result = reinterpret_cast<Element*>(next ? next + bytes : nullptr);
        bytes += roundUp(static_cast<std::size_t>(count) * sizeof(Element), std::size_t{64});
        return result;
    }
    template <class T> PackedMatrix<T> packed(std::int64_t across, std::int64_t depth)
    {
        return {take<Block>(packedBlocks<T>(across, depth)), depth / kBlockDepth};
    }
    Matrix<float> matrix(std::int64_t rows, std::int64_t columns)
    {
        return {take<float>(rows * columns), columns};
    }
};

/// The scale in powers of two. Never 0, because masked scores must stay -infinity.
inline float powerScale(const AttentionProblem& problem)
{
    const float scale = static_cast<float>(problem.scale * 1.4426950408889634);
    return scale < __FLT_MIN__ ? __FLT_MIN__ : scale;
}

/// 2^x for x <= 127; exactly 1 at 0, and 0 below -125. NaN stays NaN. The relative error is 2e-9 before the
/// rounding to fp32; for 16-bit elements, whose rounding error is at least 2.4e-4, it is 3e-6.
template <class T> inline __m512 exponential2(__m512 x)
{
    // Adding 1.5 * 2^23 leaves the nearest integer in the low mantissa bits.
    const __m512 shifted = x + 12582912.0f;
    const __m512 f = x - (shifted - 12582912.0f);
    // Minimax polynomials of 2^f on [-1/2, 1/2] among those that are 1 at 0.
    __m512 p;
    if constexpr (__is_same(T, float)) {
        p = _mm512_set1_ps(1.53533621e-4f);
        p = p * f + 1.33988745e-3f;
        p = p * f + 9.61843736e-3f;
        p = p * f + 5.55033247e-2f;
        p = p * f + 2.40226479e-1f;
        p = p * f + 6.93147203e-1f;
    } else {
        p = _mm512_set1_ps(9.5828533e-3f);
        p = p * f + 5.59064258e-2f;
        p = p * f + 2.40240986e-1f;
        p = p * f + 6.93124193e-1f;
    }
    p = p * f + 1.0f;
    const __m512i scaled =
        _mm512_add_epi32(_mm512_castps_si512(p), _mm512_slli_epi32(_mm512_castps_si512(shifted), 23));
    const __mmask16 kept = _mm512_cmp_ps_mask(shifted, _mm512_set1_ps(12582912.0f - 125.0f), _CMP_NLT_UQ);
    return _mm512_castsi512_ps(_mm512_maskz_mov_epi32(kept, scaled));
}

/// The number to subtract from the scores of a row whose largest is `maximum`: 0 for -infinity, because
/// -infinity - (-infinity) would be NaN.
inline __m512 baseOf(__m512 maximum)
{
    const __mmask16 none = _mm512_cmp_ps_mask(maximum, _mm512_set1_ps(-__builtin_inff()), _CMP_EQ_OQ);
    return _mm512_mask_mov_ps(maximum, none, _mm512_setzero_ps());
}

/// Sets hidden scores to -infinity, in transposed scores (keys x one group of queries).
/// \param mask      of the whole problem
/// \param count     keys that exist in the tile
/// \param rows      rows of the tile that are read
inline void maskScores(const MaskPolicy<std::int64_t>& mask, std::int64_t firstQuery, std::int64_t firstKey,
                       std::int64_t count, std::int64_t rows, Matrix<float> scores)
{
    const auto seenInTile = [&](std::int64_t query) {
        const std::int64_t seen = mask.keysSeenBy(query) - firstKey;
        return seen < 0 ? 0 : smaller(seen, count);
    };
    const std::int64_t first = seenInTile(firstQuery);
    if (first >= rows) {
        return;
    }
    for (int half = 0; half < kHalves; ++half) {
        alignas(64) std::int32_t seen[16];
        for (int lane = 0; lane < 16; ++lane) {
            seen[lane] = static_cast<std::int32_t>(seenInTile(firstQuery + half * 16 + lane));
        }
        const __m512i limit = _mm512_load_si512(seen);
        for (std::int64_t j = first; j < rows; ++j) {
            float* const at = scores.row(j) + half * 16;
            const __mmask16 sees = _mm512_cmpgt_epi32_mask(limit, _mm512_set1_epi32(static_cast<int>(j)));
            _mm512_store_ps(at,
                            _mm512_mask_mov_ps(_mm512_set1_ps(-__builtin_inff()), sees, _mm512_load_ps(at)));
        }
    }
}

/// Rows of a tile of keys that a group of queries sees, in whole blocks; 0 or less if it sees none.
inline std::int64_t rowsSeen(const MaskPolicy<std::int64_t>& mask, std::int64_t lastQuery,
                             std::int64_t firstKey, std::int64_t count)
{
    return roundUp(smaller(mask.keysSeenBy(lastQuery) - firstKey, count), kBlockDepth);
}

/// Writes `factor` times the transpose of `from` (head dim x a group of queries) to `rows` rows of a tensor.
template <class T>
void storeTransposed(Matrix<float> from, const __m512 (&factor)[kHalves], std::int64_t rows,
                     std::int64_t columns, T* to, std::int64_t stride)
{
    for (int half = 0; half < kHalves; ++half) {
        const std::int64_t count = smaller(rows - half * 16, std::int64_t{16});
        for (std::int64_t column = 0; column < columns && count > 0; column += 16) {
            __m512i block[kBlockRows];
            for (int c = 0; c < 16; ++c) {
                block[c] =
                    _mm512_castps_si512(_mm512_load_ps(from.row(column + c) + half * 16) * factor[half]);
            }
            transpose(block);
            for (std::int64_t i = 0; i < count; ++i) {
                store16(to + (half * 16 + i) * stride + column, _mm512_castsi512_ps(block[i]),
                        columns - column);
            }
        }
    }
}

} // namespace tilescope::kernels::TILESCOPE_ISA
