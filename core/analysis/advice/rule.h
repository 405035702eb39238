#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilescope::analysis {

/// What advice can be about.
enum class AdviceRule : std::uint8_t {
    LaunchBound,          ///< the GPU is idle while the host prepares launches
    SmallKernels,         ///< series of short kernels that could be fused
    Synchronization,      ///< the GPU is idle because the host waited for it
    PageableCopy,         ///< copies from or to memory that is not page-locked
    ExposedCopy,          ///< copies between host and device that no other work overlaps
    ExposedCommunication, ///< collectives that no other work overlaps
    LowOccupancy,         ///< kernels whose launch leaves most of the GPU's warps unused
    TensorCores,          ///< fp32 products outside of the tensor cores
    Conversions,          ///< type conversions that cost more than the faster products save
    Recomputation,        ///< forward work repeated in backward
    Fragmentation,        ///< memory that the allocator holds without use
    DataLoading,          ///< the GPU, or a host without one, waits for data
    LateRank,             ///< the rank waits in collectives for the same other rank, step after step
    LateGather,           ///< work waits for an all-gather that it needs
    KernelStalls,         ///< warps of kernels wait and leave issue slots empty
    GarbageCollection,    ///< the GPU is idle while Python collects garbage
    HostOptimizer,        ///< the GPU is idle while the host prepares the optimizer's launches
    Logging,              ///< the GPU is idle while the host logs
    StartUp, ///< the GPU is idle while the host does what it does once: initialises, compiles, loads kernels
    HostCopies,         ///< copies between host and device that no other work could hide
    SmallCollectives,   ///< small all-reduces that could be one
    UnevenRanks,        ///< a rank computes longer than the others
    ConvolutionLayouts, ///< kernels that change the layout of convolutions' tensors
    EagerSteps,         ///< steps that launch what other steps replay as a graph
    IdleTensorPipe,     ///< products whose warps wait while the tensor pipe is idle
    ExcessTraffic,      ///< kernels that move more bytes of device memory than their ops need
    LowIssue,           ///< kernels with many warps that issue few instructions
    ReducedClocks,      ///< kernels that run while the GPU reduces its clocks
    HostBoundDecode,    ///< the GPU waits for the host while a program decodes
    GrowingAttention,   ///< attention of decode iterations takes longer as the context grows
    SmallBatch,         ///< products of decode iterations read all weights for few sequences
    StallingPrefill,    ///< sequences that are being decoded wait for prompts of others
    HostSampling,       ///< the host chooses tokens from logits that each iteration copies to it
    IterationCopies,    ///< each decode iteration copies the same again
};
inline constexpr std::size_t kAdviceRules = 34;
/// Rules from this one on are about programs that generate text.
inline constexpr AdviceRule kFirstOfGeneration = AdviceRule::HostBoundDecode;

/// launch-bound, small-kernels, synchronization, …
std::string_view wordOf(AdviceRule rule);

/// Share of the wall time from which time at stake is worth a finding.
inline constexpr double kLeastShareAtStake = 0.005;

} // namespace tilescope::analysis
