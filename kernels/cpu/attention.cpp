// Cuts the CPU kernels' work into tasks and picks the instruction set.
#include "kernels/cpu/instruction_set.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

namespace tilescope::kernels {

namespace {

const CpuInstructionSet& widestInstructionSet()
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
        return kAvx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
        return kAvx2;
    }
    return kSse2;
}

const CpuInstructionSet& instructionSet()
{
    static const CpuInstructionSet* const widest = &widestInstructionSet();
    return *widest;
}

const CpuTileKernels& kernelsFor(ElementType type)
{
    return instructionSet().kernels[static_cast<std::size_t>(type)];
}

constexpr std::size_t kAlignment = 64;

/// Scratch memory of the calling thread, at least `bytes`: kept between tasks, since fresh pages would cost
/// as much as a tile's arithmetic.
std::byte* threadScratch(std::size_t bytes)
{
    struct Free {
        void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{kAlignment}); }
    };
    thread_local std::unique_ptr<std::byte, Free> memory;
    thread_local std::size_t size = 0;
    if (size < bytes) {
        memory.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kAlignment})));
        size = bytes;
    }
    return memory.get();
}

std::int64_t tiles(std::int64_t count, std::int64_t tile)
{
    return (count + tile - 1) / tile;
}

/// Into how many parts the keys of a head are split. Two tasks a thread even out causal parts.
std::int64_t keyParts(const AttentionShape& shape, int threads)
{
    const std::int64_t heads = shape.batch * shape.keyHeads;
    const std::int64_t wanted = heads >= threads ? 1 : tiles(2 * threads, heads);
    return std::clamp<std::int64_t>(wanted, 1,
                                    std::min<std::int64_t>(8, tiles(shape.keys, instructionSet().keyTile)));
}

/// Calls body(batch, head, firstQuery) for every tile of queries, last tiles first: under a causal mask they
/// are the longest, and what starts last should be short.
template <class Body>
void forEachQueryTile(const AttentionShape& shape, const ParallelFor& parallelFor, const Body& body)
{
    const std::int64_t tile = instructionSet().queryTile;
    const std::int64_t heads = shape.batch * shape.queryHeads;
    const std::int64_t tilesPerHead = tiles(shape.queries, tile);
    parallelFor(heads * tilesPerHead, [&](std::int64_t task) {
        const std::int64_t index = tilesPerHead - 1 - task / heads;
        const std::int64_t head = task % heads;
        body(head / shape.queryHeads, head % shape.queryHeads, index * tile);
    });
}

} // namespace

std::size_t cpuBackwardWorkspaceBytes(const AttentionProblem& problem, int threads)
{
    return kernelsFor(problem.type).workspace(problem.shape, keyParts(problem.shape, threads));
}

void attentionForwardCpu(const AttentionProblem& problem, const ForwardTensors& tensors,
                         const ParallelFor& parallelFor)
{
    const CpuTileKernels& kernels = kernelsFor(problem.type);
    const std::size_t scratch = kernels.forwardScratch(problem.shape.headDim);
    forEachQueryTile(problem.shape, parallelFor,
                     [&](std::int64_t batch, std::int64_t head, std::int64_t query) {
                         kernels.forward(problem, tensors, threadScratch(scratch), batch, head, query);
                     });
}

void attentionBackwardCpu(const AttentionProblem& problem, const BackwardTensors& tensors, int threads,
                          const ParallelFor& parallelFor)
{
    const AttentionShape& shape = problem.shape;
    const CpuTileKernels& kernels = kernelsFor(problem.type);
    const std::size_t scratch = kernels.backwardScratch(shape.headDim);
    const std::int64_t parts = keyParts(shape, threads);
    forEachQueryTile(shape, parallelFor, [&](std::int64_t batch, std::int64_t head, std::int64_t query) {
        kernels.delta(problem, tensors, batch, head, query);
    });
    // Part 0 sees the first keys, which under a causal mask the most queries see.
    const std::int64_t heads = shape.batch * shape.keyHeads;
    parallelFor(heads * parts, [&](std::int64_t task) {
        const std::int64_t head = task % heads;
        kernels.backward(problem, tensors, threadScratch(scratch), head / shape.keyHeads,
                         head % shape.keyHeads, task / heads, parts);
    });
    forEachQueryTile(shape, parallelFor, [&](std::int64_t batch, std::int64_t head, std::int64_t query) {
        kernels.gradQ(problem, tensors, parts, batch, head, query);
    });
}

} // namespace tilescope::kernels
