// Divides the work of the CPU kernels into tasks.
#include "kernels/cpu/instruction_set.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

namespace tilescope::kernels {

namespace {

constexpr std::size_t kAlignment = 64;

/// Scratch memory of the calling thread, at least `bytes`. Kept between tasks, because new pages would take
/// as long as a tile's arithmetic.
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

/// Number of parts of a head's keys. Two tasks per thread balance causal parts.
std::int64_t keyParts(const CpuTileKernels& kernels, const AttentionShape& shape, int threads)
{
    const std::int64_t heads = shape.batch * shape.keyHeads;
    const std::int64_t wanted = heads >= threads ? 1 : tiles(2 * threads, heads);
    return std::clamp<std::int64_t>(wanted, 1, std::min<std::int64_t>(8, tiles(shape.keys, kernels.keyTile)));
}

/// Calls body(batch, head, first row) for every tile of `rows` rows of every head. The last tiles come first,
/// because under a causal mask they take longest.
template <class Body>
void forEachTile(std::int64_t batch, std::int64_t headsPerBatch, std::int64_t rows, std::int64_t tile,
                 const ParallelFor& parallelFor, const Body& body)
{
    const std::int64_t heads = batch * headsPerBatch;
    const std::int64_t tilesPerHead = tiles(rows, tile);
    parallelFor(heads * tilesPerHead, [&](std::int64_t task) {
        const std::int64_t index = tilesPerHead - 1 - task / heads;
        const std::int64_t head = task % heads;
        body(head / headsPerBatch, head % headsPerBatch, index * tile);
    });
}

template <class Body>
void forEachQueryTile(const CpuTileKernels& kernels, const AttentionShape& shape,
                      const ParallelFor& parallelFor, const Body& body)
{
    forEachTile(shape.batch, shape.queryHeads, shape.queries, kernels.queryTile, parallelFor, body);
}

} // namespace

std::size_t cpuForwardWorkspaceBytes(const CpuTileKernels& kernels, const AttentionProblem& problem)
{
    return kernels.forwardWorkspace(problem.shape);
}

std::size_t cpuBackwardWorkspaceBytes(const CpuTileKernels& kernels, const AttentionProblem& problem,
                                      int threads)
{
    return kernels.backwardWorkspace(problem.shape, keyParts(kernels, problem.shape, threads));
}

void attentionForwardCpu(const CpuTileKernels& kernels, const AttentionProblem& problem,
                         const ForwardTensors& tensors, const ParallelFor& parallelFor)
{
    const AttentionShape& shape = problem.shape;
    if (kernels.pack) {
        forEachTile(shape.batch, shape.keyHeads, shape.keys, kernels.keyTile, parallelFor,
                    [&](std::int64_t batch, std::int64_t head, std::int64_t key) {
                        kernels.pack(problem, tensors, batch, head, key);
                    });
    }
    const std::size_t scratch = kernels.forwardScratch(shape.headDim);
    forEachQueryTile(kernels, shape, parallelFor,
                     [&](std::int64_t batch, std::int64_t head, std::int64_t query) {
                         kernels.forward(problem, tensors, threadScratch(scratch), batch, head, query);
                     });
}

void attentionBackwardCpu(const CpuTileKernels& kernels, const AttentionProblem& problem,
                          const BackwardTensors& tensors, int threads, const ParallelFor& parallelFor)
{
    const AttentionShape& shape = problem.shape;
    const std::size_t scratch = kernels.backwardScratch(shape.headDim);
    const std::int64_t parts = keyParts(kernels, shape, threads);
    if (kernels.delta) {
        forEachQueryTile(kernels, shape, parallelFor,
                         [&](std::int64_t batch, std::int64_t head, std::int64_t query) {
                             kernels.delta(problem, tensors, batch, head, query);
                         });
    }
    // Part 0 has the first keys, which most queries see under a causal mask.
    const std::int64_t heads = shape.batch * shape.keyHeads;
    parallelFor(heads * parts, [&](std::int64_t task) {
        const std::int64_t head = task % heads;
        kernels.backward(problem, tensors, threadScratch(scratch), head / shape.keyHeads,
                         head % shape.keyHeads, task / heads, parts);
    });
    forEachQueryTile(kernels, shape, parallelFor,
                     [&](std::int64_t batch, std::int64_t head, std::int64_t query) {
                         kernels.gradQ(problem, tensors, parts, batch, head, query);
                     });
}

std::size_t cpuForwardWorkspaceBytes(const AttentionProblem& problem)
{
    return cpuForwardWorkspaceBytes(cpuTileKernels(problem.type), problem);
}

std::size_t cpuBackwardWorkspaceBytes(const AttentionProblem& problem, int threads)
{
    return cpuBackwardWorkspaceBytes(cpuTileKernels(problem.type), problem, threads);
}

void attentionForwardCpu(const AttentionProblem& problem, const ForwardTensors& tensors,
                         const ParallelFor& parallelFor)
{
    attentionForwardCpu(cpuTileKernels(problem.type), problem, tensors, parallelFor);
}

void attentionBackwardCpu(const AttentionProblem& problem, const BackwardTensors& tensors, int threads,
                          const ParallelFor& parallelFor)
{
    attentionBackwardCpu(cpuTileKernels(problem.type), problem, tensors, threads, parallelFor);
}

} // namespace tilescope::kernels
