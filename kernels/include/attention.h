#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

struct CUstream_st;

/// Scaled dot-product attention, o = softmax(scale * q k^T) v, without storing the queries x keys matrix.
///
/// Plain C++, without headers of torch or CUDA. The caller owns all memory. Arguments are not checked:
/// kernels/torch checks them and writes the messages for users.
///
/// The tiling, the running maximum and the recomputation in backward are FlashAttention's
/// (Dao et al. 2022, arXiv:2205.14135; Dao 2023, arXiv:2307.08691; Shah et al. 2024, arXiv:2407.08608).
namespace tilescope::kernels {

enum class ElementType : std::uint8_t { Float32, Float64, Float16, BFloat16 };

/// How a GPU multiplies fp32 inputs: with fp32's accuracy, or rounded to TF32 (10 bits of mantissa) on tensor
/// cores. The CPU always multiplies with fp32's accuracy.
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

/// The computation, without the locations of the data.
struct AttentionProblem {
    AttentionShape shape;
    ElementType type = ElementType::Float32;
    Fp32Mode fp32 = Fp32Mode::Ieee;
    double scale = 1; ///< positive; for other scales kernels/torch negates or zeroes the queries
    /// Query i sees key j if j <= i + keys - queries (aligned bottom right). Rows that see no key have o = 0,
    /// log-sum-exp = -infinity and gradients 0.
    bool causal = false;
    bool deterministic = false; ///< backward returns the same bits in each run
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
/// Rounding a log-sum-exp of 6 to fp32 changes every probability of its row by 2e-7, more than all other
/// errors of fp32 arithmetic together. So exact precisions keep the numbers that forward used: RowStatistics.
constexpr bool keepsRowStatistics(ElementType type, Fp32Mode fp32)
{
    return type == ElementType::Float64 || (type == ElementType::Float32 && fp32 == Fp32Mode::Ieee);
}

/// The probability of score s in a row is exp(s * scale - offset) * reciprocal, or on a CPU
/// exp((s - offset) * scale) * reciprocal: the same bits as in forward. Rows without keys have reciprocal 0.
template <class Accumulator> struct RowStatistics {
    Accumulator offset;     ///< the row's largest scaled score, rounded (on a CPU the largest score itself)
    Accumulator reciprocal; ///< 1 / sum of the row's exponentials
};

/// Rows of statistics are (batch, queryHeads, queries), dense, in fp32 (fp64 for fp64 inputs).
struct ForwardTensors {
    ConstView q, k, v;
    MutableView o;
    void* logSumExp = nullptr;  ///< natural logarithm
    void* statistics = nullptr; ///< RowStatistics, or null if not wanted
    void* workspace = nullptr;  ///< size from the device's workspace function; uninitialised
};

struct BackwardTensors {
    ConstView q, k, v, o, gradO;
    const void* logSumExp = nullptr;  ///< if keepsRowStatistics() is false
    const void* statistics = nullptr; ///< if keepsRowStatistics() is true
    /// Gradient of the log-sum-exp, one number per row, or null for 0. The gradient of a row's
    /// scores is P (dP - delta + gradLogSumExp), so kernels subtract it from delta = rowsum(gradO * o).
    const void* gradLogSumExp = nullptr;
    MutableView gradQ, gradK, gradV;
    void* workspace = nullptr; ///< size from the device's workspace function; uninitialised
};

/// Runs body(0) to body(count - 1), in about this order, on any number of threads.
using ParallelFor =
    std::function<void(std::int64_t count, const std::function<void(std::int64_t task)>& body)>;

/// Memory for keys and values in the layout of the products, for types that need one (bf16, and fp16 if the
/// processor multiplies bf16 in tiles): the size of k and v, or at most twice.
std::size_t cpuForwardWorkspaceBytes(const AttentionProblem& problem);

/// Memory for delta and partial query gradients. Linear in the queries.
/// \param threads  number of threads; more threads than heads divide the keys of a head
std::size_t cpuBackwardWorkspaceBytes(const AttentionProblem& problem, int threads);

/// The CPU kernels, with the best instruction set of this processor: AVX-512, AVX2 or SSE2, and for 16-bit
/// types AMX or AVX512_BF16. Sums are in fp32 (fp64 for fp64 inputs). They return when the outputs are
/// written, and throw no exceptions of their own.
void attentionForwardCpu(const AttentionProblem& problem, const ForwardTensors& tensors,
                         const ParallelFor& parallelFor);
void attentionBackwardCpu(const AttentionProblem& problem, const BackwardTensors& tensors, int threads,
                          const ParallelFor& parallelFor);

// --- CUDA ----------------------------------------------------------------------------------------

/// cudaStream_t, without CUDA's headers.
using CudaStream = ::CUstream_st*;

/// Addresses, strides and the head dim of CUDA tensors must be multiples of this many bytes.
inline constexpr int kCudaAlignment = 16;

/// Memory for parts of outputs, if few queries see many keys; otherwise 0. For the current device.
std::size_t cudaForwardWorkspaceBytes(const AttentionProblem& problem);

/// Memory for delta, the queries' gradient in fp32, and semaphores in deterministic mode.
std::size_t cudaBackwardWorkspaceBytes(const AttentionProblem& problem);

/// Launches the CUDA kernels on the current device and `stream`. Asynchronous.
///
/// Scaled scores must not exceed 2^24, or rounding errors may make probabilities in backward infinite and
/// results NaN. kernels/torch checks this for scales above 16.
/// \throws std::runtime_error  if this build has no kernel for the problem, or the launch fails
void attentionForwardCuda(const AttentionProblem& problem, const ForwardTensors& tensors, CudaStream stream);

/// Forward with products in FP8 (E4M3) on compute capability 9.0. q, k, v and probabilities are rounded to
/// FP8, with one scale per block of rows; sums are in fp32. bf16 inputs and outputs, head dims 64 and 128.
bool cudaFp8Supports(const AttentionProblem& problem, const ForwardTensors& tensors);
/// Memory for the rounded inputs: half of q, k and v.
std::size_t cudaFp8WorkspaceBytes(const AttentionProblem& problem);
/// \throws std::runtime_error  if cudaFp8Supports() is false, or the launch fails
void attentionForwardFp8Cuda(const AttentionProblem& problem, const ForwardTensors& tensors,
                             CudaStream stream);

void attentionBackwardCuda(const AttentionProblem& problem, const BackwardTensors& tensors,
                           CudaStream stream);

} // namespace tilescope::kernels
