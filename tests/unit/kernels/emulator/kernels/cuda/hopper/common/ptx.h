#pragma once

/// Stands in for kernels/cuda/hopper/common/ptx.h in the emulator.

#include "kernels/cuda/hopper/common/tile_scheduler.h"
#include "tests/unit/kernels/emulator/copies.h"
#include "tests/unit/kernels/emulator/machine.h"

#include <cuda_bf16.h>
#include <vector_functions.h>

#include <algorithm>
#include <cmath>

namespace tilescope::kernels::hopper {

using emulator::Barrier;
using emulator::Machine;
using std::max;
using std::min;

inline std::uint32_t sharedAddress(const void* pointer)
{
    return Machine::here().address(pointer);
}

inline void initBarrier(Barrier& barrier, int arrivals)
{
    const auto count = static_cast<std::uint16_t>(arrivals);
    barrier.bytes = 0;
    barrier.pending = count;
    barrier.expected = count;
    barrier.phase = 0;
}
inline void fenceBarrierInit() {}
inline void arrive(Barrier& barrier)
{
    barrier.arrive();
}
inline void arriveExpecting(Barrier& barrier, std::uint32_t bytes)
{
    barrier.addBytes(static_cast<std::int32_t>(bytes));
    barrier.arrive();
}
inline void wait(Barrier& barrier, std::uint32_t parity)
{
    Machine::here().waitUntil("a barrier", [&barrier, parity] { return barrier.over(parity); });
}

inline void waitLong(Barrier& barrier, std::uint32_t parity)
{
    wait(barrier, parity);
}

inline void prefetchBox(const CUtensorMap&, int, int, int, int) {}
inline void loadBox(const CUtensorMap& map, void* destination, Barrier& barrier, int column, int row,
                    int head, int batch)
{
    emulator::startLoad(map, destination, barrier, column, row, head, batch);
}
inline void loadBytes(void* destination, const void* source, std::uint32_t bytes, Barrier& barrier)
{
    emulator::startLoad(destination, source, bytes, barrier);
}
inline void storeBox(const CUtensorMap& map, const void* source, int column, int row, int head, int batch)
{
    emulator::startStore(map, source, column, row, head, batch);
}
inline void addFloats(float* destination, const float* source, std::uint32_t bytes)
{
    emulator::startAdd(destination, source, bytes);
}
inline void addFourFloats(float* destination, float a, float b, float c, float d)
{
    const float values[] = {a, b, c, d};
    for (int i = 0; i < 4; ++i) {
        destination[i] += values[i];
    }
}
/// CTAs run one after another in the emulator, so that waiting for another one would not help.
inline unsigned loadAcquire(const unsigned* from)
{
    return *from;
}
inline void commitStores() {}
inline void waitStoresRead()
{
    emulator::awaitStores();
}
inline void waitStoresDone()
{
    emulator::awaitStores();
}
inline void fenceAsyncProxy() {}
inline void waitForPreviousKernel() {}

std::uint32_t loadWord(const void* from);
void storeMatrices(std::uint32_t address, std::uint32_t first, std::uint32_t second, std::uint32_t third,
                   std::uint32_t fourth);

template <int Registers> void acquireRegisters() {}
template <int Registers> void releaseRegisters() {}
inline void namedWait(int id, int threads)
{
    Machine::here().namedBarrier(static_cast<unsigned>(id), static_cast<unsigned>(threads), true);
}
inline void namedArrive(int id, int threads)
{
    Machine::here().namedBarrier(static_cast<unsigned>(id), static_cast<unsigned>(threads), false);
}

inline float exp2Approximate(float x)
{
    return std::exp2(x);
}

inline int claimTile(TileScheduler& scheduler)
{
    return static_cast<int>(scheduler.claimed++);
}
inline void retireCta(TileScheduler& scheduler, unsigned ctas)
{
    if (++scheduler.finishedCtas == ctas) {
        scheduler = {};
    }
}

} // namespace tilescope::kernels::hopper
