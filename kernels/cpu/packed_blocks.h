#pragma once

#include "kernels/cpu/tiles.h"

#include <immintrin.h>

/// Matrices of 16-bit numbers in the layout that AMX and AVX512_BF16 multiply.
///
/// These instructions add products of adjacent numbers along the depth: a 32-bit lane holds a pair of bf16
/// (fp16) numbers. A block has the size of an AMX tile register, 16 rows of 16 pairs:
///
///     left factor   pairs[m][p] = elements (m, 2p) and (m, 2p + 1)    16 rows x 32 deep
///     right factor  pairs[p][n] = elements (2p, n) and (2p + 1, n)    32 deep x 16 columns
///
/// The left block of a matrix and the right block of its transpose are each other's transpose in 32-bit
/// lanes.
namespace tilescope::kernels::TILESCOPE_ISA {

inline constexpr std::int64_t kBlockRows = 16;
inline constexpr std::int64_t kBlockDepth = 32;

struct alignas(64) Block {
    std::uint32_t pairs[kBlockRows][kBlockDepth / 2];
};

template <class Index> constexpr Index roundUp(Index value, Index multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

/// The 16-bit parts whose sum is an element, and the products of parts that make a product of elements, the
/// smallest first. Each part is the remainder rounded to bf16, at most 2^-9 of the previous part; the last
/// leaves no remainder. Products below 2^-26 of the whole (fp16: 2^-18) are omitted.
///
/// Parts below 2^-126 count as 0, so that fp32 numbers below about 1e-33 lose their last bits. Numbers above
/// 3.39e38 count as infinite.
template <class T> struct PartsOf;
template <> struct PartsOf<BFloat16> {
    static constexpr int kCount = 1;
    static constexpr int kTerms[][2] = {{0, 0}};
};
#if defined(TILESCOPE_AMX_FP16)
template <> struct PartsOf<Half> {
    static constexpr int kCount = 1;
    static constexpr int kTerms[][2] = {{0, 0}};
};
#else
template <> struct PartsOf<Half> {
    static constexpr int kCount = 2;
    static constexpr int kTerms[][2] = {{1, 0}, {0, 1}, {0, 0}};
};
#endif
template <> struct PartsOf<float> {
    static constexpr int kCount = 3;
    static constexpr int kTerms[][2] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
};

/// A factor of a product in blocks. Block (i, k) holds rows (columns of a right factor) 16 i to 16 i + 15 and
/// depth 32 k to 32 k + 31. The parts of a block are adjacent.
template <class T> struct PackedMatrix {
    Block* blocks;
    std::int64_t depthBlocks;

    Block* at(std::int64_t across, std::int64_t depth) const
    {
        return blocks + (across * depthBlocks + depth) * PartsOf<T>::kCount;
    }
};

template <class T> constexpr std::int64_t packedBlocks(std::int64_t across, std::int64_t depth)
{
    return across / kBlockRows * (depth / kBlockDepth) * PartsOf<T>::kCount;
}

/// Rows of a tensor in the caller's memory.
template <class T> struct SourceRows {
    const T* data;
    std::int64_t stride;
    std::int64_t rows;
    std::int64_t columns;
};

// --- between vectors of 16 numbers and parts -----------------------------------------------------

inline __mmask16 firstLanes(std::int64_t count)
{
    return count >= 16 ? 0xffff : count <= 0 ? 0 : static_cast<__mmask16>((1u << count) - 1);
}

inline __m512 widen(__m256i bfloats)
{
    return reinterpret_cast<__m512>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bfloats), 16));
}

/// The first `count` of 16 elements; the others are 0 and not read.
inline __m512 load16(const BFloat16* from, std::int64_t count)
{
    return widen(_mm256_maskz_loadu_epi16(firstLanes(count), from));
}
inline __m512 load16(const Half* from, std::int64_t count)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(firstLanes(count), from));
}
/// Makes all NaN equal: rounding the mantissa of some would carry into the sign.
inline __m512 load16(const float* from, std::int64_t count)
{
    const __m512 x = _mm512_maskz_loadu_ps(firstLanes(count), from);
    return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), _mm512_set1_ps(__builtin_nanf("")));
}
inline void store16(BFloat16* to, __m512 values, std::int64_t count)
{
    _mm256_mask_storeu_epi16(to, firstLanes(count), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(values)));
}
inline void store16(Half* to, __m512 values, std::int64_t count)
{
    _mm256_mask_storeu_epi16(to, firstLanes(count), _mm512_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
}
inline void store16(float* to, __m512 values, std::int64_t count)
{
    _mm512_mask_storeu_ps(to, firstLanes(count), values);
}

enum class Order {
    SideBySide, ///< 16 numbers, then the other 16: a row of a left factor
    InPairs     ///< lane i of the first next to lane i of the second: a row of a right factor
};

/// The source of lane i of 32 16-bit numbers: the odd ones of 2 x 32, which are the upper halves of fp32
/// numbers, or 32 adjacent numbers.
template <Order order, bool upperHalves> struct Lanes {
    alignas(64) std::uint16_t from[32];
    constexpr Lanes() : from{}
    {
        for (std::uint16_t i = 0; i < 32; ++i) {
            const std::uint16_t number = order == Order::SideBySide ? i : i / 2 + i % 2 * 16;
            from[i] = upperHalves ? 2 * number + 1 : number;
        }
    }
};

/// The parts of 32 numbers.
template <class T, Order order> inline void split(__m512 a, __m512 b, __m512i (&parts)[PartsOf<T>::kCount])
{
    if constexpr (PartsOf<T>::kCount == 1) {
        __m512i rounded;
        if constexpr (__is_same(T, Half)) {
            rounded =
                _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT)),
                                   _mm512_cvtps_ph(b, _MM_FROUND_TO_NEAREST_INT), 1);
        } else {
            rounded = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b, a));
        }
        static constexpr Lanes<order, false> kLanes;
        parts[0] = order == Order::SideBySide
                       ? rounded
                       : _mm512_permutexvar_epi16(_mm512_load_si512(kLanes.from), rounded);
    } else {
        static constexpr Lanes<order, true> kLanes;
        const __m512i upperHalf = _mm512_set1_epi32(static_cast<int>(0xffff0000));
        const __m512i half = _mm512_set1_epi32(0x8000);
        for (int part = 0; part < PartsOf<T>::kCount; ++part) {
            const bool last = part + 1 == PartsOf<T>::kCount; // at most 8 bits remain, or may be truncated
            const __m512i x = _mm512_add_epi32(_mm512_castps_si512(a), last ? __m512i{} : half);
            const __m512i y = _mm512_add_epi32(_mm512_castps_si512(b), last ? __m512i{} : half);
            parts[part] = _mm512_permutex2var_epi16(x, _mm512_load_si512(kLanes.from), y);
            a -= _mm512_castsi512_ps(_mm512_and_si512(x, upperHalf));
            b -= _mm512_castsi512_ps(_mm512_and_si512(y, upperHalf));
        }
    }
}

/// Of an infinity only the first part is kept: the remainder would be NaN.
inline void dropNaN(__m512i& part)
{
    const __m512i magnitude = _mm512_and_si512(part, _mm512_set1_epi16(0x7fff));
    part = _mm512_maskz_mov_epi16(_mm512_cmple_epi16_mask(magnitude, _mm512_set1_epi16(0x7f80)), part);
}

// --- packing -------------------------------------------------------------------------------------

template <int Step> struct Exchange {
    alignas(64) std::uint32_t first[16];
    alignas(64) std::uint32_t second[16];
    constexpr Exchange() : first{}, second{}
    {
        for (std::uint32_t lane = 0; lane < 16; ++lane) {
            first[lane] = (lane & Step) ? 16 + lane - Step : lane;
            second[lane] = (lane & Step) ? 16 + lane : lane + Step;
        }
    }
};

/// Swaps the off-diagonal halves of every 2 Step x 2 Step square.
template <int Step> inline void exchange(__m512i (&rows)[kBlockRows])
{
    static constexpr Exchange<Step> kLanes;
    const __m512i toFirst = _mm512_load_si512(kLanes.first);
    const __m512i toSecond = _mm512_load_si512(kLanes.second);
#pragma GCC unroll 16
    for (int i = 0; i < kBlockRows; ++i) {
        if ((i & Step) == 0) {
            const __m512i first = rows[i];
            rows[i] = _mm512_permutex2var_epi32(first, toFirst, rows[i + Step]);
            rows[i + Step] = _mm512_permutex2var_epi32(first, toSecond, rows[i + Step]);
        }
    }
}

/// Transposes 16 x 16 lanes of 32 bits.
inline void transpose(__m512i (&rows)[kBlockRows])
{
    exchange<8>(rows);
    exchange<4>(rows);
    exchange<2>(rows);
    exchange<1>(rows);
}

/// 16 rows x 32 columns from (row, column): row m of the left block in lane vector m.
template <class T>
inline void loadRowsBlock(const SourceRows<T>& from, std::int64_t row, std::int64_t column,
                          __m512i (&block)[PartsOf<T>::kCount][kBlockRows])
{
    for (int m = 0; m < kBlockRows; ++m) {
        __m512i parts[PartsOf<T>::kCount] = {};
        if (row + m < from.rows) {
            const T* source = from.data + (row + m) * from.stride + column;
            const std::int64_t left = from.columns - column;
            split<T, Order::SideBySide>(load16(source, left), load16(source + 16, left - 16), parts);
        }
        for (int part = 0; part < PartsOf<T>::kCount; ++part) {
            block[part][m] = parts[part];
        }
    }
}

/// 32 rows x 16 columns from (row, column): rows 2p and 2p + 1 in pairs, row p of the right block.
template <class T>
inline void loadPairsBlock(const SourceRows<T>& from, std::int64_t row, std::int64_t column,
                           __m512i (&block)[PartsOf<T>::kCount][kBlockRows])
{
    const std::int64_t left = from.columns - column;
    for (int p = 0; p < kBlockRows; ++p) {
        const std::int64_t first = row + 2 * p;
        const T* source = from.data + first * from.stride + column;
        const __m512 a = load16(source, first < from.rows ? left : 0);
        const __m512 b = load16(source + from.stride, first + 1 < from.rows ? left : 0);
        __m512i parts[PartsOf<T>::kCount];
        split<T, Order::InPairs>(a, b, parts);
        for (int part = 0; part < PartsOf<T>::kCount; ++part) {
            block[part][p] = parts[part];
        }
    }
}

enum class Packing { AsIs, Transposed };

template <class T>
inline void storeBlock(__m512i (&block)[PartsOf<T>::kCount][kBlockRows], Packing packing, Block* to)
{
    for (int part = 0; part < PartsOf<T>::kCount; ++part) {
        if (part > 0) {
            for (__m512i& row : block[part]) {
                dropNaN(row);
            }
        }
        if (packing == Packing::Transposed) {
            transpose(block[part]);
        }
        for (int m = 0; m < kBlockRows; ++m) {
            _mm512_store_si512(to[part].pairs[m], block[part][m]);
        }
    }
}

/// AsIs: `from` as a left factor. Transposed: its transpose as a right factor.
/// Rows and columns are padded with zeros to multiples of 32.
template <class T> void packRows(const SourceRows<T>& from, Packing packing, PackedMatrix<T> to)
{
    for (std::int64_t row = 0; row < roundUp(from.rows, kBlockDepth); row += kBlockRows) {
        for (std::int64_t column = 0; column < from.columns; column += kBlockDepth) {
            __m512i block[PartsOf<T>::kCount][kBlockRows];
            loadRowsBlock(from, row, column, block);
            storeBlock<T>(block, packing, to.at(row / kBlockRows, column / kBlockDepth));
        }
    }
}

/// AsIs: `from` as a right factor. Transposed: its transpose as a left factor.
/// Rows and columns are padded with zeros to multiples of 32.
template <class T> void packPairs(const SourceRows<T>& from, Packing packing, PackedMatrix<T> to)
{
    for (std::int64_t row = 0; row < from.rows; row += kBlockDepth) {
        for (std::int64_t column = 0; column < roundUp(from.columns, kBlockDepth); column += kBlockRows) {
            __m512i block[PartsOf<T>::kCount][kBlockRows];
            loadPairsBlock(from, row, column, block);
            storeBlock<T>(block, packing, to.at(column / kBlockRows, row / kBlockDepth));
        }
    }
}

} // namespace tilescope::kernels::TILESCOPE_ISA
