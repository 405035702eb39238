#pragma once

#include "core/analysis/advice/rule.h"
#include "core/query/advice/advice_trace.h"

#include <array>
#include <cstdint>
#include <string>

namespace tilescope::query {

/// What makes the work of small kernels less, or already did.
enum class KernelOrigin : std::uint8_t {
    Eager,     ///< an op of its own
    Compiler,  ///< a compiler has fused it: TorchInductor or XLA
    Product,   ///< a matrix product, a convolution or attention
    Optimizer, ///< of an optimizer that launches a kernel for each of its ops
    FusedOptimizer
};
inline constexpr std::size_t kKernelOrigins = 5;

KernelOrigin originOf(const ActivityKind& kind);

/// What the recording shows that the program does already, so that no remedy asks for it.
struct MethodsInUse {
    enum class Framework : std::uint8_t { Unknown, PyTorch, Jax };

    Framework framework = Framework::Unknown; ///< by the names of kernels, and ops
    bool compiles = false;                    ///< TorchInductor made some kernels
    double replayed = 0; ///< the share of the time of the GPU's work that CUDA graphs replay
    bool fusesOptimizer = false;
    bool usesTf32 = false;          ///< some products
    bool usesLowPrecision = false;  ///< some products: bf16, fp16, fp8
    bool hasFixedCache = false;     ///< keys and values are written into a cache of fixed size
    bool loadsInWorkers = false;    ///< worker processes load batches
    bool copiesOnOwnStream = false; ///< copies between host and device never run on a stream of kernels

    /// Whether graphs replay more than a small part.
    bool replays() const { return replayed >= kFewReplayed; }

    static constexpr double kFewReplayed = 0.1;
};

/// Reads the activities once.
MethodsInUse methodsInUse(const AdviceTraces& traces);

/// What to do about it, without what is done already.
std::string remedyOf(analysis::AdviceRule rule, const MethodsInUse& methods);

/// How to make kernels fewer.
/// \param shares  of what is at stake, by origin
std::string remedyOfSmallKernels(const std::array<double, kKernelOrigins>& shares,
                                 const MethodsInUse& methods);

} // namespace tilescope::query
