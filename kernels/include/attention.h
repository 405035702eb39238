#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

struct CUstream_st;

/// Scaled dot-product attention, o = softmax(scale * q k^T) v, without ever storing the queries x keys
/// matrix.
///
/// Plain C++: no torch, no CUDA header. Pointers are the caller's; nothing here allocates tensors, and
/// nothing checks what kernels/torch has checked before (that layer owns the sentences a user reads).
///
/// The tiling, the running maximum and the recomputation in backward are FlashAttention's
/// (Dao et al. 2022, arXiv:2205.14135; Dao 2023, arXiv:2307.08691; Shah et al. 2024, arXiv:2407.08608).
namespace tilescope::kernels {

enum class ElementType : std::uint8_t { Float32, Float64, Float16, BFloat16 };

/// How fp32 inputs are multiplied on a GPU: with fp32's accuracy, or rounded to TF32 (10 bits of mantissa) on
/// tensor cores. The CPU always multiplies with fp32's accuracy.
enum class Fp32Mode : std::uint8_t { Ieee, Tf32 };

inline constexpr int kMaxHeadDim = 256;

/// Sizes, all at least 1. `keyHeads` divides `queryHeads`: consecutive query heads share one key head.
struct AttentionShape {
    std::int64_t batch = 0;
    std::int64_t queryHeads = 0;
    std::int64_t keyHeads = 0;
    std::int64_t queries = 0; ///< rows of q, o
    std::int64_t keys = 0;    ///< rows of k, v
    int headDim = 0;          ///< 1 to kMaxHeadDim, the same for q, k, v, o
};

/// What to compute, apart from where the data lies.
struct AttentionProblem {
    AttentionShape shape;
    ElementType type = ElementType::Float32;
    Fp32Mode fp32 = Fp32Mode::Ieee;
    double scale = 1; ///< positive (the torch layer turns other scales into negated queries, or queries of 0)
    /// Query i sees key j when j <= i + keys - queries (aligned bottom right). Rows that see no key give o =
    /// 0, log-sum-exp = -infinity and gradients 0.
    bool causal = false;
    bool deterministic = false; ///< backward gives the same bits each run
};

/// A (batch, head, row, column) view; the last dimension is contiguous, strides count elements.
template <class Pointer> struct View {
    Pointer data = nullptr;
    std::int64_t batchStride = 0;
    std::int64_t headStride = 0;
    std::int64_t rowStride = 0;
};
using ConstView = View<const void*>;
using MutableView = View<void*>;

/// Whether backward needs more of each row than its log-sum-exp.
///
/// Rounding a log-sum-exp of 6 to fp32 moves every probability of its row by 2e-7, more than all other errors
/// of fp32 arithmetic together. So exact precisions keep what forward used itself: RowStatistics.
constexpr bool keepsRowStatistics(ElementType type, Fp32Mode fp32)
{
    return type == ElementType::Float64 || (type == ElementType::Float32 && fp32 == Fp32Mode::Ieee);
}

/// The probability of score s in a row is exp(s * scale - offset) * reciprocal, to the last bit as forward
/// had it (on a CPU exp((s - offset) * scale) * reciprocal). Rows without keys: reciprocal 0.
template <class Accumulator> struct RowStatistics {
    Accumulator offset;     ///< the row's largest scaled score, rounded (on a CPU the largest score itself)
    Accumulator reciprocal; ///< one over the sum of the row's exponentials
};

/// Rows of statistics are (batch, queryHeads, queries), dense, in fp32 (fp64 for fp64 inputs).
struct ForwardTensors {
    ConstView q, k, v;
    MutableView o;
    void* logSumExp = nullptr;  ///< natural logarithm
    void* statistics = nullptr; ///< RowStatistics, or null where nobody wants them
    void* workspace = nullptr;  ///< CPU: as large as cpuForwardWorkspaceBytes() says; contents do not matter
};

struct BackwardTensors {
    ConstView q, k, v, o, gradO;
    const void* logSumExp = nullptr;  ///< where keepsRowStatistics() says no
    const void* statistics = nullptr; ///< where it says yes
    /// Gradient of the log-sum-exp, a number a row as the statistics, or null for 0. The gradient of a row's
    /// scores is P (dP - delta + gradLogSumExp), so kernels subtract it from delta = rowsum(gradO * o).
    const void* gradLogSumExp = nullptr;
    MutableView gradQ, gradK, gradV;
    void* workspace = nullptr; ///< as large as the device's workspace function says; contents do not matter
};

/// Runs body(0) to body(count - 1), in about that order, on as many threads as the caller wants.
using ParallelFor =
    std::function<void(std::int64_t count, const std::function<void(std::int64_t task)>& body)>;

/// Where the CPU kernels keep keys and values in the layout of their products, for types that need one (bf16,
/// and fp16 where the processor multiplies bf16 in tiles): as large as k and v, at most twice.
std::size_t cpuForwardWorkspaceBytes(const AttentionProblem& problem);

/// Where the CPU kernels keep delta and the partial query gradients: linear in queries, never queries x keys.
/// \param threads  how many will work: more threads than heads split the keys of a head
std::size_t cpuBackwardWorkspaceBytes(const AttentionProblem& problem, int threads);

/// The CPU kernels, in the best instructions that this processor has: AVX-512, AVX2 or SSE2, and for 16-bit
/// types the products of bf16 pairs of AMX or AVX512_BF16. All sum in fp32 (fp64 for fp64 inputs). Return
/// when the outputs are written; no exceptions of their own.
void attentionForwardCpu(const AttentionProblem& problem, const ForwardTensors& tensors,
                         const ParallelFor& parallelFor);
void attentionBackwardCpu(const AttentionProblem& problem, const BackwardTensors& tensors, int threads,
                          const ParallelFor& parallelFor);

// --- CUDA ----------------------------------------------------------------------------------------

/// Opaque here, cudaStream_t to those who have CUDA's headers.
using CudaStream = ::CUstream_st*;

/// Fewest bytes that addresses, strides and the head dim of CUDA tensors must be a multiple of.
inline constexpr int kCudaAlignment = 16;

/// delta, the queries' gradient in fp32, and turns where the order of additions is fixed.
std::size_t cudaBackwardWorkspaceBytes(const AttentionProblem& problem);

/// Starts the CUDA kernels on the current device; they run on `stream` when its work before them is done.
/// \throws std::runtime_error  one sentence: no kernel for this problem in this build, or what CUDA said at
/// launch
void attentionForwardCuda(const AttentionProblem& problem, const ForwardTensors& tensors, CudaStream stream);
void attentionBackwardCuda(const AttentionProblem& problem, const BackwardTensors& tensors,
                           CudaStream stream);

} // namespace tilescope::kernels
