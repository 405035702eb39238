#pragma once

#include "kernels/cuda/decode/copies.cuh"
#include "kernels/cuda/hopper/common/pipeline.h"

/// How Hopper's decode kernels load keys and values: by TMA, whose boxes one thread starts.
namespace tilescope::kernels::hopper {

/// A tile as TMA writes it (layout.h): panels of 64 columns.
template <class ElementType, int kColumnCount, int kRowCount> struct BoxTile {
    using Element = ElementType;
    static constexpr int kColumns = kColumnCount;
    static constexpr int kChunk = 8; ///< elements of a 16-byte access
    static constexpr int kPanels = kColumns / kPanelColumns;
    static constexpr int kBytes = kPanels * kRowCount * kRowBytes;

    std::byte* base;

    __device__ std::uint32_t address(int row, int column) const
    {
        return sharedAddress(base) + chunkOffset(kRowCount, row, column / kChunk);
    }
};

/// Tensor maps of keys and values, with boxes of a tile's keys.
struct DecodeMaps {
    CUtensorMap k, v;
};

/// The interface is that of DecodeCopies. Without pages. One thread starts all loads.
template <class Element, int kHeadDim, DecodeCtas kCtas, int kStages> class DecodeBoxes {
public:
    static constexpr int kTileKeys = decodeTileKeys(kHeadDim, kCtas);
    using Tile = BoxTile<Element, kHeadDim, kTileKeys>;
    static constexpr int kBarrierBytes = kStages * sizeof(Barrier);
    static constexpr int kProducerThreads = 0;
    using Source = DecodeMaps;

    __device__ DecodeBoxes(const DecodeParameters& parameters, const Source& source, std::byte* stages,
                           std::byte* barriers, DecodePosition first, int tiles)
        : p(parameters), maps(source), base(stages), full(reinterpret_cast<Barrier*>(barriers)), at(first),
          left(tiles)
    {
        if (threadIdx.x == 0) {
            for (int stage = 0; stage < kStages; ++stage) {
                initBarrier(full[stage], 1);
            }
            fenceBarrierInit();
        }
    }

    __device__ bool begin()
    {
        for (int stage = 0; stage < kStages - 1; ++stage) {
            start(stage);
        }
        return true;
    }
    __device__ void next(int stage, bool /*first*/)
    {
        __syncthreads(); // the first one makes the barriers visible
        start(stage == 0 ? kStages - 1 : stage - 1);
        wait(full[stage], parity);
        parity ^= stage + 1 == kStages ? 1 : 0;
    }
    __device__ static void release(int /*stage*/, bool written)
    {
        if (written) {
            fenceAsyncProxy();
        }
    }
    __device__ static void barrier() { __syncthreads(); }

private:
    const DecodeParameters& p;
    const DecodeMaps& maps;
    std::byte* base;
    Barrier* full; ///< by stage
    DecodePosition at;
    int left; ///< tiles to load
    std::uint32_t parity = 0;

    /// Starts loading a tile, if there is one, and goes to the next.
    __device__ void start(int stage)
    {
        if (left == 0) {
            return;
        }
        if (threadIdx.x == 0) {
            const int batch = at.item / p.shape.keyHeads;
            const int keyHead = at.item % p.shape.keyHeads;
            auto* to = reinterpret_cast<unsigned char*>(base) + 2 * stage * Tile::kBytes;
            arriveExpecting(full[stage], 2 * Tile::kBytes);
            loadTile<Tile::kPanels>(maps.k, to, full[stage], kTileKeys, at.tile * kTileKeys, keyHead, batch);
            loadTile<Tile::kPanels>(maps.v, to + Tile::kBytes, full[stage], kTileKeys, at.tile * kTileKeys,
                                    keyHead, batch);
        }
        __syncwarp();
        --left;
        at.advance(p.split.tilesPerItem);
    }
};

} // namespace tilescope::kernels::hopper
