#pragma once

#include "kernels/cuda/hopper/common/layout.h"
#include "kernels/cuda/hopper/common/ptx.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

/// What the warp-specialised kernels share: how producers and consumers pass the stages of a pipeline in
/// shared memory (layout.h) to each other.
namespace tilescope::kernels::hopper {

constexpr int kPanelColumns = kRowBytes / 2; ///< of 2-byte elements
constexpr int kWarpgroup = 128;
constexpr int kRowsPerConsumer = 64; ///< rows of one wgmma

/// The next stage of a ring buffer, and the parity of its barriers' phase.
template <int Stages> struct RingPosition {
    int stage = 0;
    std::uint32_t parity = 0;
    __device__ void advance()
    {
        if (++stage == Stages) {
            stage = 0;
            parity ^= 1;
        }
    }
};

/// Starts loading `rows` rows of a tile, panel by panel; `full` must expect rows * Panels * kRowBytes bytes.
template <int Panels, int Columns = kPanelColumns>
__device__ inline void loadTile(const CUtensorMap& map, unsigned char* tile, Barrier& full, int rows, int row,
                                int head, int batch)
{
#pragma unroll
    for (int panel = 0; panel < Panels; ++panel)
        loadBox(map, tile + panel * rows * kRowBytes, full, panel * Columns, row, head, batch);
}

/// Prefetches a tile into L2.
template <int Panels, int Columns = kPanelColumns>
__device__ inline void prefetchTile(const CUtensorMap& map, int row, int head, int batch)
{
#pragma unroll
    for (int panel = 0; panel < Panels; ++panel)
        prefetchBox(map, panel * Columns, row, head, batch);
}

/// One arrival per warp, after which none of its lanes reads the stage.
__device__ inline void release(Barrier& barrier)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        arrive(barrier);
}

/// The first of a thread's two rows in its consumer's 64 rows. The second is 8 rows below.
__device__ inline int rowInConsumer()
{
    return threadIdx.x / 4 % 8 + threadIdx.x / 32 % 4 * 16;
}

template <class Element> __device__ inline std::uint32_t pack(float first, float second)
{
    if constexpr (std::is_same_v<Element, __nv_bfloat16>) {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
        return reinterpret_cast<const std::uint32_t&>(pair);
    } else {
        const __half2 pair = __floats2half2_rn(first, second);
        return reinterpret_cast<const std::uint32_t&>(pair);
    }
}

/// Address of a 16-byte chunk of a row, in a tile whose panels have `panelRows` rows.
__device__ inline std::uint32_t chunkAddress(const unsigned char* tile, int panelRows, int row, int chunk)
{
    return sharedAddress(tile) + chunkOffset(panelRows, row, chunk);
}

} // namespace tilescope::kernels::hopper
