#pragma once

#include "kernels/cpu/packed_blocks.h"

/// The micro-kernel of the packed kernels: keeps 32 x 32 of C in registers over the whole depth, in fp32.
///
///     AMX          tdpbf16ps   16 x 16 x 32 multiply-adds in 16 clocks; four tiles of C, two of each factor
///     AMX-FP16     tdpfp16ps   the same of fp16
///     AVX512_BF16  vdpbf16ps   16 x 2 multiply-adds; 8 rows x 2 vectors of C at a time
///
/// AMX adds the 16 products of even depth, those of odd depth, both sums, and the result to C. AVX512_BF16
/// adds pair by pair. All round to nearest and treat denormal bf16 numbers as 0.
namespace tilescope::kernels::TILESCOPE_ISA {

#if defined(__AMX_BF16__)

/// Configures the calling thread's tile registers during a task: all eight have 16 rows of 64 bytes.
///
/// Every user of the registers (oneDNN too) configures them before use. They are released at the end, because
/// a thread with live tiles costs the operating system 8 KB at each context switch. The process must have
/// permission to use them (cpuInstructionSets()).
class TileRegisters {
public:
    TileRegisters()
    {
        struct alignas(64) {
            std::uint8_t palette = 1, startRow = 0, reserved[14] = {};
            std::uint16_t bytesPerRow[16] = {64, 64, 64, 64, 64, 64, 64, 64};
            std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
        } const shape;
        static_assert(sizeof(shape) == 64);
        asm volatile("ldtilecfg %0" ::"m"(shape));
    }
    ~TileRegisters() { _tile_release(); }
    TileRegisters(const TileRegisters&) = delete;
    TileRegisters& operator=(const TileRegisters&) = delete;
};

/// C += left right in tile registers.
template <class T, int c, int left, int right> inline void multiplyTiles()
{
#if defined(TILESCOPE_AMX_FP16)
    if constexpr (__is_same(T, Half)) {
        // tdpfp16ps, which GCC 12 does not support: VEX.128.F2.0F38.W0 5C /r.
        asm volatile(".byte 0xc4, 0xe2, %c0, 0x5c, %c1" ::"i"((~right & 15) << 3 | 3),
                     "i"(0xc0 | c << 3 | left));
        return;
    }
#endif
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(left), "i"(right));
}

template <class T>
inline void product32(const Block* const (&left)[2], const Block* const (&right)[2], std::int64_t depthBlocks,
                      float* c, std::int64_t stride, Result result)
{
    // The intrinsic of a tile load does not declare that it reads memory, so that earlier stores must be
    // forced.
    asm volatile("" ::: "memory");
    const long rowBytes = static_cast<long>(stride) * 4;
    float* const lower = c + kBlockRows * stride;
    if (result == Result::Accumulate) {
        _tile_loadd(0, c, rowBytes);
        _tile_loadd(1, c + kBlockRows, rowBytes);
        _tile_loadd(2, lower, rowBytes);
        _tile_loadd(3, lower + kBlockRows, rowBytes);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    constexpr int kParts = PartsOf<T>::kCount;
    for (std::int64_t k = 0; k < depthBlocks; ++k) {
        for (const auto& [l, r] : PartsOf<T>::kTerms) {
            _tile_loadd(4, left[0] + k * kParts + l, 64);
            _tile_loadd(6, right[0] + k * kParts + r, 64);
            multiplyTiles<T, 0, 4, 6>();
            _tile_loadd(7, right[1] + k * kParts + r, 64);
            multiplyTiles<T, 1, 4, 7>();
            _tile_loadd(5, left[1] + k * kParts + l, 64);
            multiplyTiles<T, 2, 5, 6>();
            multiplyTiles<T, 3, 5, 7>();
        }
    }
    _tile_stored(0, c, rowBytes);
    _tile_stored(1, c + kBlockRows, rowBytes);
    _tile_stored(2, lower, rowBytes);
    _tile_stored(3, lower + kBlockRows, rowBytes);
}

#else

class TileRegisters {
public:
    TileRegisters() {}
};

template <class T>
inline void product32(const Block* const (&left)[2], const Block* const (&right)[2], std::int64_t depthBlocks,
                      float* c, std::int64_t stride, Result result)
{
    constexpr int kParts = PartsOf<T>::kCount;
    constexpr int kRows = 8;
    for (std::int64_t row = 0; row < 2 * kBlockRows; row += kRows, c += kRows * stride) {
        const std::int64_t blockRow = row % kBlockRows;
        __m512 sum[kRows][2] = {};
        if (result == Result::Accumulate) {
            for (int m = 0; m < kRows; ++m) {
                sum[m][0] = _mm512_load_ps(c + m * stride);
                sum[m][1] = _mm512_load_ps(c + m * stride + 16);
            }
        }
        for (std::int64_t k = 0; k < depthBlocks; ++k) {
            for (const auto& [l, r] : PartsOf<T>::kTerms) {
                const Block& a = left[row / kBlockRows][k * kParts + l];
                const Block* const b[2] = {right[0] + k * kParts + r, right[1] + k * kParts + r};
                for (int p = 0; p < kBlockRows; ++p) {
                    const auto b0 = reinterpret_cast<__m512bh>(_mm512_load_si512(b[0]->pairs[p]));
                    const auto b1 = reinterpret_cast<__m512bh>(_mm512_load_si512(b[1]->pairs[p]));
                    for (int m = 0; m < kRows; ++m) {
                        const auto pair = reinterpret_cast<__m512bh>(
                            _mm512_set1_epi32(static_cast<int>(a.pairs[blockRow + m][p])));
                        sum[m][0] = _mm512_dpbf16_ps(sum[m][0], pair, b0);
                        sum[m][1] = _mm512_dpbf16_ps(sum[m][1], pair, b1);
                    }
                }
            }
        }
        for (int m = 0; m < kRows; ++m) {
            _mm512_store_ps(c + m * stride, sum[m][0]);
            _mm512_store_ps(c + m * stride + 16, sum[m][1]);
        }
    }
}

#endif

/// C (rows x columns, multiples of 32) = or += left right, over the blocks of depth [firstDepth, endDepth).
/// Rows of C start at multiples of 64 bytes.
template <class T>
inline void blockProduct(PackedMatrix<T> left, PackedMatrix<T> right, Matrix<float> c, std::int64_t rows,
                         std::int64_t columns, std::int64_t firstDepth, std::int64_t endDepth, Result result)
{
    for (std::int64_t n = 0; n < columns; n += 2 * kBlockRows) {
        const std::int64_t j = n / kBlockRows;
        const Block* const b[2] = {right.at(j, firstDepth), right.at(j + 1, firstDepth)};
        for (std::int64_t m = 0; m < rows; m += 2 * kBlockRows) {
            const std::int64_t i = m / kBlockRows;
            const Block* const a[2] = {left.at(i, firstDepth), left.at(i + 1, firstDepth)};
            product32<T>(a, b, endDepth - firstDepth, c.row(m) + n, c.stride, result);
        }
    }
}

} // namespace tilescope::kernels::TILESCOPE_ISA
