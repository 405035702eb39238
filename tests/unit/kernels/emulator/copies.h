#pragma once

#include "tests/unit/kernels/emulator/machine.h"

#include <cuda.h>

#include <cstdint>

/// TMA as described in PTX ISA 9.0 (5.5, 9.7.9.27): copies boxes of a tensor to and from shared memory with
/// the 128-byte swizzle. And cp.async.
namespace tilescope::kernels::emulator {

/// The contents of a CUtensorMap, stored in its bytes.
struct TensorMap {
    unsigned char* data;
    std::int64_t sizes[4];   ///< columns, rows, heads, batch
    std::int64_t strides[3]; ///< of rows, heads, batch; in bytes
    int elementBytes;
    int boxRows;
    int boxHeads;
    bool roundToTf32; ///< to nearest, ties to even

    CUtensorMap encoded() const;
    static TensorMap decoded(const CUtensorMap& map);
};

/// The swizzled address: bits 4 to 6 are XORed with bits 7 to 9.
constexpr std::uint32_t swizzled(std::uint32_t address)
{
    return address ^ (address >> 7 & 7) << 4;
}

/// All are asynchronous.
void startLoad(const CUtensorMap& map, void* destination, Barrier& barrier, int column, int row, int head,
               int batch);
void startLoad(void* destination, const void* source, std::uint32_t bytes, Barrier& barrier);
void startStore(const CUtensorMap& map, const void* source, int column, int row, int head, int batch);
/// Adds floats to global memory.
void startAdd(float* destination, const float* source, std::uint32_t bytes);
/// Waits until this thread's stores and additions have read shared memory.
void awaitStores();

/// cp.async of 16 bytes, or zeros if not valid, in groups of the calling thread.
void startCopy16(std::uint32_t to, const void* from, bool valid);
void commitCopies();
/// Returns when at most `pending` committed groups are unfinished.
void awaitCopies(std::size_t pending);

} // namespace tilescope::kernels::emulator
