#pragma once

#include "kernels/include/attention.h"

#include <vector>

namespace tilescope::kernels {

/// The tile kernels of one element type, compiled for one instruction set.
struct CpuTileKernels {
    std::int64_t queryTile; ///< rows of a task of forward, delta and gradQ
    std::int64_t keyTile;   ///< rows of a task of pack; keys of one head are split in these for backward

    std::size_t (*forwardScratch)(std::int64_t headDim);
    std::size_t (*backwardScratch)(std::int64_t headDim);
    std::size_t (*forwardWorkspace)(const AttentionShape& shape);
    std::size_t (*backwardWorkspace)(const AttentionShape& shape, std::int64_t parts);

    /// Runs for every tile of keys before forward; null where forward reads the tensors as they are.
    void (*pack)(const AttentionProblem&, const ForwardTensors&, std::int64_t batch, std::int64_t keyHead,
                 std::int64_t firstKey);
    void (*forward)(const AttentionProblem&, const ForwardTensors&, std::byte* scratch, std::int64_t batch,
                    std::int64_t head, std::int64_t firstQuery);
    /// Runs for every tile of queries before backward; null where backward finds delta itself.
    void (*delta)(const AttentionProblem&, const BackwardTensors&, std::int64_t batch, std::int64_t head,
                  std::int64_t firstQuery);
    void (*backward)(const AttentionProblem&, const BackwardTensors&, std::byte* scratch, std::int64_t batch,
                     std::int64_t keyHead, std::int64_t part, std::int64_t parts);
    void (*gradQ)(const AttentionProblem&, const BackwardTensors&, std::int64_t parts, std::int64_t batch,
                  std::int64_t head, std::int64_t firstQuery);
};

/// What instruction_set.cpp defines each time that it is compiled: kernels by ElementType, null for types
/// that this set has nothing to add for.
struct CpuInstructionSet {
    const char* name;
    const CpuTileKernels* kernels[4];
};
extern const CpuInstructionSet kSse2;
extern const CpuInstructionSet kAvx2;
extern const CpuInstructionSet kAvx512;
extern const CpuInstructionSet kAvx512Bf16;
extern const CpuInstructionSet kAmx;
extern const CpuInstructionSet kAmxFp16;

/// Those that this processor has and the operating system lets this process use, the best first. The first
/// call asks Linux for the tile registers of AMX, for the whole process and its life.
const std::vector<const CpuInstructionSet*>& cpuInstructionSets();

/// The best kernels for a type here.
const CpuTileKernels& cpuTileKernels(ElementType type);

/// attentionForwardCpu() and its like with kernels of the caller's choice, which this processor must be able
/// to run.
std::size_t cpuForwardWorkspaceBytes(const CpuTileKernels& kernels, const AttentionProblem& problem);
std::size_t cpuBackwardWorkspaceBytes(const CpuTileKernels& kernels, const AttentionProblem& problem,
                                      int threads);
void attentionForwardCpu(const CpuTileKernels& kernels, const AttentionProblem& problem,
                         const ForwardTensors& tensors, const ParallelFor& parallelFor);
void attentionBackwardCpu(const CpuTileKernels& kernels, const AttentionProblem& problem,
                          const BackwardTensors& tensors, int threads, const ParallelFor& parallelFor);

} // namespace tilescope::kernels
