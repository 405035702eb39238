#pragma once

#include "kernels/include/attention.h"

#include <vector>

namespace tilescope::kernels {

/// The tile kernels of one element type, compiled for one instruction set.
struct CpuTileKernels {
    std::int64_t queryTile; ///< rows per task of forward, delta and gradQ
    std::int64_t keyTile;   ///< rows per task of pack; backward divides a head's keys into these

    std::size_t (*forwardScratch)(std::int64_t headDim);
    std::size_t (*backwardScratch)(std::int64_t headDim);
    std::size_t (*forwardWorkspace)(const AttentionShape& shape);
    std::size_t (*backwardWorkspace)(const AttentionShape& shape, std::int64_t parts);

    /// Runs for every tile of keys before forward; null if forward reads the tensors directly.
    void (*pack)(const AttentionProblem&, const ForwardTensors&, std::int64_t batch, std::int64_t keyHead,
                 std::int64_t firstKey);
    void (*forward)(const AttentionProblem&, const ForwardTensors&, std::byte* scratch, std::int64_t batch,
                    std::int64_t head, std::int64_t firstQuery);
    /// Runs for every tile of queries before backward; null if backward computes delta itself.
    void (*delta)(const AttentionProblem&, const BackwardTensors&, std::int64_t batch, std::int64_t head,
                  std::int64_t firstQuery);
    void (*backward)(const AttentionProblem&, const BackwardTensors&, std::byte* scratch, std::int64_t batch,
                     std::int64_t keyHead, std::int64_t part, std::int64_t parts);
    void (*gradQ)(const AttentionProblem&, const BackwardTensors&, std::int64_t parts, std::int64_t batch,
                  std::int64_t head, std::int64_t firstQuery);
};

/// Kernels by ElementType, defined each time that instruction_set.cpp is compiled. Null for types for which
/// another set is as good.
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

/// The sets that this processor supports and the operating system allows, the best first. The first call
/// requests AMX's tile registers from Linux, for the whole process.
const std::vector<const CpuInstructionSet*>& cpuInstructionSets();

/// The best kernels for a type on this processor.
const CpuTileKernels& cpuTileKernels(ElementType type);

/// attentionForwardCpu() and attentionBackwardCpu() with kernels that the caller chooses. This processor must
/// support them.
std::size_t cpuForwardWorkspaceBytes(const CpuTileKernels& kernels, const AttentionProblem& problem);
std::size_t cpuBackwardWorkspaceBytes(const CpuTileKernels& kernels, const AttentionProblem& problem,
                                      int threads);
void attentionForwardCpu(const CpuTileKernels& kernels, const AttentionProblem& problem,
                         const ForwardTensors& tensors, const ParallelFor& parallelFor);
void attentionBackwardCpu(const CpuTileKernels& kernels, const AttentionProblem& problem,
                          const BackwardTensors& tensors, int threads, const ParallelFor& parallelFor);

} // namespace tilescope::kernels
