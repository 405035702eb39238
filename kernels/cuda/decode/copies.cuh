#pragma once

#include "kernels/cuda/decode/parameters.h"
#include "kernels/cuda/decode/swizzled_tile.h"

namespace tilescope::kernels {

/// A tile of an item.
struct DecodePosition {
    int item;
    int tile;
    __device__ void advance(int tilesPerItem)
    {
        if (++tile == tilesPerItem) {
            tile = 0;
            ++item;
        }
    }
};

/// Keys and values by asynchronous copies of 16 bytes, which all threads start: each one chunk of every kRowsAtOnce-th row.
/// Loads go on from item to item.
template <class Element, int kHeadDim, DecodeCtas kCtas, int kStages> class DecodeCopies {
public:
    using Tile = SwizzledTile<Element, kHeadDim>;
    static constexpr int kTileKeys = decodeTileKeys(kHeadDim, kCtas);
    static constexpr int kBarrierBytes = 0;
    static constexpr int kProducerThreads = 0; ///< beside those that compute
    struct Source {};

    /// \param stages  kStages x (keys | values)
    __device__ DecodeCopies(const DecodeParameters& parameters, const Source&, std::byte* stages, std::byte*,
                            DecodePosition first, int tiles)
        : p(parameters), base(stages), at(first), left(tiles)
    {
        enterItem();
    }

    /// Starts loading the first tiles. False for threads that only load: they have then loaded everything.
    __device__ bool begin()
    {
        for (int stage = 0; stage < kStages - 1; ++stage) {
            start(stage);
        }
        return true;
    }
    /// Waits for the tile in `stage`. All warps have then read the one before, and the next tile is loaded in its place. What
    /// threads wrote to shared memory before is visible to all.
    /// \param first  whether the tile is the first of an item
    __device__ void next(int stage, bool /*first*/)
    {
        ptx::waitCopies<kStages - 2>();
        __syncthreads();
        start(stage == 0 ? kStages - 1 : stage - 1);
    }
    /// This warp no longer accesses the stage.
    /// \param written  whether threads have written to it
    __device__ void release(int /*stage*/, bool /*written*/) {}
    /// A barrier of the threads that compute.
    __device__ static void barrier() { __syncthreads(); }

private:
    static constexpr int kThreads = decodeWarps(kCtas) * 32;
    static constexpr int kChunksPerRow = Tile::kColumns / Tile::kChunk;
    static constexpr int kRowsAtOnce = kThreads / kChunksPerRow;
    static constexpr int kLoads = kTileKeys / kRowsAtOnce;
    static_assert(kRowsAtOnce % 8 == 0, "the swizzle of a thread's chunks must be the same in each row");

    const DecodeParameters& p;
    std::byte* base;
    DecodePosition at;
    int left; ///< tiles to load
    const Element* key;
    const Element* value;

    __device__ static int row() { return threadIdx.x / kChunksPerRow; }
    __device__ static int column() { return threadIdx.x % kChunksPerRow * Tile::kChunk; }

    /// Starts loading a tile, if there is one, and goes to the next.
    __device__ void start(int stage)
    {
        if (left > 0) {
            const Tile keyTile{base + 2 * stage * Tile::bytes(kTileKeys)};
            const Tile valueTile{base + (2 * stage + 1) * Tile::bytes(kTileKeys)};
            const bool exists = column() < p.shape.headDim;
            const int rows = exists ? p.shape.keys - at.tile * kTileKeys - row() : 0;
            if (p.paged.pages) {
                loadPaged(keyTile.address(row(), column()), valueTile.address(row(), column()), rows);
            } else {
                load(keyTile.address(row(), column()), key, p.k.rowStride, rows);
                load(valueTile.address(row(), column()), value, p.v.rowStride, rows);
                key += kTileKeys * p.k.rowStride;
                value += kTileKeys * p.v.rowStride;
            }
            --left;
            at.advance(p.split.tilesPerItem);
            if (at.tile == 0) {
                enterItem();
            }
        }
        ptx::commitCopies(); // also without copies, because waits count groups
    }

    __device__ void enterItem()
    {
        if (left > 0) {
            const int batch = at.item / p.shape.keyHeads;
            const int keyHead = at.item % p.shape.keyHeads;
            const std::int64_t first = p.paged.pages ? 0 : std::int64_t{at.tile} * kTileKeys + row();
            key = headOf<Element>(p.k, batch, keyHead) + first * p.k.rowStride + column();
            value = headOf<Element>(p.v, batch, keyHead) + first * p.v.rowStride + column();
        }
    }

    /// Like load() for keys and values by pages. Keys and values of a token are in the same row, so each row is looked
    /// up once; the table stays in the L1 cache.
    __device__ void loadPaged(std::uint32_t toKey, std::uint32_t toValue, int rows) const
    {
        const int* pages = p.paged.pages + at.item / p.shape.keyHeads * p.paged.sequenceStride;
        const int first = at.tile * kTileKeys + row();
#pragma unroll
        for (int i = 0; i < kLoads; ++i) {
            const bool valid = i * kRowsAtOnce < rows;
            const auto token = static_cast<unsigned>(valid ? first + i * kRowsAtOnce : 0);
            const unsigned page = token / static_cast<unsigned>(p.paged.pageTokens);
            const std::int64_t from = std::int64_t{__ldg(pages + page)} * p.paged.pageTokens +
                                      (token - page * static_cast<unsigned>(p.paged.pageTokens));
            ptx::copyAsync16(toKey + i * kRowsAtOnce * Tile::kRowBytes, key + from * p.k.rowStride, valid);
            ptx::copyAsync16(toValue + i * kRowsAtOnce * Tile::kRowBytes, value + from * p.v.rowStride,
                             valid);
        }
    }

    /// \param rows  number of existing rows from this thread's first row on; further rows become zeros
    __device__ static void load(std::uint32_t to, const Element* from, std::int64_t rowStride, int rows)
    {
        const Element* row = from;
#pragma unroll
        for (int i = 0; i < kLoads; ++i, row += kRowsAtOnce * rowStride) {
            const bool valid = i * kRowsAtOnce < rows;
            ptx::copyAsync16(to + i * kRowsAtOnce * Tile::kRowBytes, valid ? row : from, valid);
        }
    }
};

} // namespace tilescope::kernels
