#pragma once

#include "core/model/spec.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tilescope {

/// Head dims that a backend takes.
struct HeadDims {
    std::int64_t maximum = 1'048'576; ///< that of every spec: no limit
    std::int64_t multiple = 1;        ///< in fp32 and tf32
    std::int64_t halfMultiple = 1;    ///< in bf16 and fp16

    constexpr bool take(std::int64_t headDim, bool isHalf) const
    {
        return headDim <= maximum && headDim % (isHalf ? halfMultiple : multiple) == 0;
    }
    bool operator==(const HeadDims&) const = default;
};

/// What a backend refuses only on a GPU. The engine asks LibTorch, which also knows the GPU.
struct CudaLimits {
    HeadDims headDims = {};
    bool halfOnly = false;   ///< no fp32 and no tf32
    bool bf16Only = false;   ///< no other precision at all
    bool sharedHeads = true; ///< kv_heads may be less than heads
    bool mask = true;        ///< causal with kv_len > seq_len, which PyTorch takes as a mask
};

/// The kernels between which PyTorch's scaled_dot_product_attention chooses.
enum class TorchKernel : std::uint8_t { Flash, Efficient, Cudnn, Math };

/// The facts about an attention backend that several parts of the program need. How to add a backend:
/// resources/help/develop/attention-backend.md.
struct BackendTraits {
    Backend backend = Backend::Naive;
    std::string_view name; ///< as specs and tables write it
    std::string_view description;
    /// Writes the score matrix to memory: softmax is a separate operation, and backward reads its result.
    bool keepsScores = false;
    bool isFused = false;  ///< one kernel computes attention, not several operations of LibTorch
    bool isOurs = false;   ///< its kernels are those of kernels/; a build may have only some for GPUs
    bool hasTiles = false; ///< uses the spec's tile_q and tile_k
    /// Takes q as (batch·kvHeads, heads/kvHeads·N, d), k and v as (batch·kvHeads, N, d); others take
    /// (batch, heads, N, d) and (batch, kvHeads, N, d).
    bool groupsHeads = false;
    bool needsCuda = false;
    bool isForwardOnly = false;                  ///< has no gradients
    bool runsInFusedStep = false;                ///< is the attention of compile: fused
    bool generates = false;                      ///< takes the lm's mode generate
    bool inductorCompiles = false;               ///< compile: inductor compiles the same attention
    std::optional<Precision> products = {};      ///< precision of its products, if not that of the spec
    std::optional<TorchKernel> torchKernel = {}; ///< the only one that PyTorch may choose
    HeadDims headDims = {};
    CudaLimits onCuda = {};
};

/// Whether a backend takes a problem on a GPU that has its kernels. bf16Only aside: fp16 is like bf16 here.
constexpr bool takesOnCuda(const BackendTraits& traits, std::int64_t headDim, bool isHalf, bool sharesHeads,
                           bool hasMask)
{
    const CudaLimits& limits = traits.onCuda;
    return traits.headDims.take(headDim, isHalf) && limits.headDims.take(headDim, isHalf) &&
           (isHalf || !limits.halfOnly) && (limits.sharedHeads || !sharesHeads) && (limits.mask || !hasMask);
}

/// In the order of Backend, which is that of lists of backends.
inline constexpr std::array kBackendTraits{
    BackendTraits{.backend = Backend::Naive,
                  .name = "naive",
                  .description = "scores, softmax and output as operations of LibTorch; keeps all scores",
                  .keepsScores = true,
                  .groupsHeads = true,
                  .generates = true,
                  .inductorCompiles = true},
    BackendTraits{.backend = Backend::FlashTorch,
                  .name = "flash-torch",
                  .description = "FlashAttention-2 written in operations of LibTorch",
                  .hasTiles = true},
    BackendTraits{.backend = Backend::Flash,
                  .name = "flash",
                  .description = "Tilescope's own kernels",
                  .isFused = true,
                  .isOurs = true,
                  .runsInFusedStep = true,
                  .generates = true,
                  .headDims = {.maximum = 256}},
    BackendTraits{.backend = Backend::FlashFp8,
                  .name = "flash-fp8",
                  .description = "Tilescope's kernel with products in FP8 (E4M3), forward only",
                  .isFused = true,
                  .isOurs = true,
                  .needsCuda = true,
                  .isForwardOnly = true,
                  .products = Precision::Fp8,
                  .headDims = {.maximum = 128, .multiple = 64, .halfMultiple = 64},
                  .onCuda = {.halfOnly = true, .bf16Only = true}},
    BackendTraits{.backend = Backend::Sdpa,
                  .name = "sdpa",
                  .description = "the kernel that PyTorch chooses",
                  .isFused = true,
                  .generates = true,
                  .inductorCompiles = true},
    BackendTraits{.backend = Backend::SdpaFlash,
                  .name = "sdpa-flash",
                  .description = "PyTorch's copy of FlashAttention-2",
                  .isFused = true,
                  .torchKernel = TorchKernel::Flash,
                  .onCuda = {.headDims = {.maximum = 256}, .halfOnly = true, .mask = false}},
    // Its loads are 16 bytes wide, and it does not pad.
    BackendTraits{.backend = Backend::SdpaEfficient,
                  .name = "sdpa-efficient",
                  .description = "PyTorch's memory-efficient kernel",
                  .isFused = true,
                  .needsCuda = true,
                  .torchKernel = TorchKernel::Efficient,
                  .headDims = {.multiple = 4, .halfMultiple = 8},
                  .onCuda = {.sharedHeads = false}},
    BackendTraits{.backend = Backend::SdpaCudnn,
                  .name = "sdpa-cudnn",
                  .description = "cuDNN's kernel",
                  .isFused = true,
                  .needsCuda = true,
                  .torchKernel = TorchKernel::Cudnn,
                  .headDims = {.maximum = 256, .multiple = 8, .halfMultiple = 8},
                  .onCuda = {.halfOnly = true}},
    BackendTraits{.backend = Backend::SdpaMath,
                  .name = "sdpa-math",
                  .description = "PyTorch's reference in plain operations; keeps all scores",
                  .keepsScores = true,
                  .torchKernel = TorchKernel::Math}};

constexpr const BackendTraits& traitsOf(Backend backend)
{
    return kBackendTraits[static_cast<std::size_t>(backend)];
}

/// nullptr if no backend has that name.
constexpr const BackendTraits* findBackend(std::string_view name)
{
    for (const BackendTraits& traits : kBackendTraits)
        if (traits.name == name)
            return &traits;
    return nullptr;
}

static_assert([] {
    for (std::size_t i = 0; i < kBackendTraits.size(); ++i)
        if (kBackendTraits[i].backend != static_cast<Backend>(i))
            return false;
    return true;
}());

} // namespace tilescope
