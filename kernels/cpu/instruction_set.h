#pragma once

#include "kernels/include/attention.h"

namespace tilescope::kernels {

/// The tile kernels of one element type, compiled for one instruction set.
struct CpuTileKernels {
    std::size_t (*forwardScratch)(std::int64_t headDim);
    std::size_t (*backwardScratch)(std::int64_t headDim);
    std::size_t (*workspace)(const AttentionShape& shape, std::int64_t parts);

    void (*forward)(const AttentionProblem&, const ForwardTensors&, std::byte* scratch, std::int64_t batch,
                    std::int64_t head, std::int64_t firstQuery);
    void (*delta)(const AttentionProblem&, const BackwardTensors&, std::int64_t batch, std::int64_t head,
                  std::int64_t firstQuery);
    void (*backward)(const AttentionProblem&, const BackwardTensors&, std::byte* scratch, std::int64_t batch,
                     std::int64_t keyHead, std::int64_t part, std::int64_t parts);
    void (*gradQ)(const AttentionProblem&, const BackwardTensors&, std::int64_t parts, std::int64_t batch,
                  std::int64_t head, std::int64_t firstQuery);
};

/// What instruction_set.cpp defines each time that it is compiled: kernels by ElementType, and the tile
/// sizes.
struct CpuInstructionSet {
    std::int64_t queryTile;
    std::int64_t keyTile;
    CpuTileKernels kernels[4];
};
extern const CpuInstructionSet kSse2;
extern const CpuInstructionSet kAvx2;
extern const CpuInstructionSet kAvx512;

} // namespace tilescope::kernels
