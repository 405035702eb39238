#pragma once

#include "kernels/include/attention.h"

#include <cstdint>
#include <span>

/// Kernels of a language model's training step, apart from attention and matrix products. Plain C++: neither
/// LibTorch nor CUDA headers.
///
/// *Elements* are of the type of the products: bf16, fp32 or (CPU only) fp64. *Sums* are fp64 for fp64
/// elements, otherwise fp32: the residual stream, weights of norms, gradients of weights. Tensors are dense and
/// row-major. CUDA kernels take addresses that are multiples of 16 bytes and widths that are multiples of
/// kLmVector. Results are the same bits in each run.
namespace tilescope::kernels {

inline constexpr std::int64_t kLmVector = 8;
inline constexpr std::int64_t kMaxNormWidth = 8'192; ///< on CUDA

/// sum = x + addend; y = sum / rms(sum) * weight, where rms(s) = sqrt(mean(s^2) + epsilon).
struct AddRmsNorm {
    std::int64_t rows = 0;
    std::int64_t width = 0;
    double epsilon = 0;
    const void* x = nullptr;       ///< sums
    const void* addend = nullptr;  ///< elements; null: sum is x and is not written
    const void* weight = nullptr;  ///< sums (width)
    void* sum = nullptr;           ///< sums
    void* y = nullptr;             ///< elements
    void* reciprocalRms = nullptr; ///< sums (rows)
};

/// The gradient of `sum` above, plus that of its other use. Row r adds to row r mod parts of weightParts, whose
/// column sums are the gradient of the weight.
struct RmsNormBackward {
    std::int64_t rows = 0;
    std::int64_t width = 0;
    std::int64_t parts = 0;
    const void* gradY = nullptr; ///< elements
    const void* x = nullptr;     ///< sums: `sum` of forward
    const void* weight = nullptr;
    const void* reciprocalRms = nullptr;
    const void* gradResidual = nullptr; ///< sums, or null
    void* gradX = nullptr;              ///< sums
    void* gradXRounded = nullptr;       ///< elements: gradX once more, for products
    void* weightParts = nullptr;        ///< sums (parts, width)
};

/// The sums of the columns of weightParts above.
struct SumParts {
    std::int64_t parts = 0;
    std::int64_t width = 0;
    const void* x = nullptr; ///< sums (parts, width)
    void* sum = nullptr;     ///< sums (width)
};

/// Rotates pairs of neighbours in the first heads * headDim columns of each row, in place. Row r has position
/// r mod positions.
struct RotateHeads {
    std::int64_t rows = 0;
    std::int64_t width = 0;
    std::int64_t heads = 0;
    std::int64_t headDim = 0;
    std::int64_t positions = 0;
    const void* rotation = nullptr; ///< sums (positions, headDim / 2, 2): cosine and sine
    void* x = nullptr;              ///< elements (rows, width)
    bool inverse = false;
};

/// y = silu(x[:, :width]) * x[:, width:].
struct SwiGlu {
    std::int64_t rows = 0;
    std::int64_t width = 0;
    const void* x = nullptr; ///< elements (rows, 2 width)
    void* y = nullptr;       ///< elements (rows, width)
};

/// In place: x becomes its gradient, and gradY becomes y.
struct SwiGluBackward {
    std::int64_t rows = 0;
    std::int64_t width = 0;
    void* x = nullptr;
    void* gradY = nullptr;
};

/// losses[r] = log(sum(exp(logits[r]))) - logits[r][target]; logits become their gradients times `scale`. A
/// target outside the vocabulary makes its row NaN.
struct CrossEntropy {
    std::int64_t rows = 0;
    std::int64_t vocabulary = 0;
    double scale = 1;
    const std::int64_t* targets = nullptr;
    void* logits = nullptr; ///< elements (rows, vocabulary); any vocabulary
    void* losses = nullptr; ///< sums (rows)
};

/// Row v of gradWeight is the sum of the rows of gradient whose token is v, in the order of rows. Tokens are in
/// range.
struct EmbeddingBackward {
    std::int64_t tokens = 0;
    std::int64_t vocabulary = 0;
    std::int64_t width = 0;
    const std::int64_t* token = nullptr;
    const void* gradient = nullptr; ///< sums (tokens, width)
    void* gradWeight = nullptr;     ///< sums (vocabulary, width)
};

/// Writes fp32 values as sums of bf16 numbers: part 0 is the value rounded to nearest, part 1 the remainder rounded to
/// nearest, part 2 the remaining difference. Their sum is exactly the value if no part underflows and part 0 is finite.
///
/// Copies of the parts are side by side, as (rows, copies * width), or below each other, as (copies * rows,
/// width). The order is 0 1 2 for a right factor and 2 1 0 for a left factor; with six copies, 0 1 2 0 1 0 and
/// 2 1 0 1 0 0. The product of six copies is then the sum of the six largest products of parts, smallest first.
struct SplitBf16 {
    std::int64_t rows = 0;
    std::int64_t width = 0;
    std::int64_t copies = 3; ///< 3 or 6
    bool left = false;
    bool below = false;
    const float* x = nullptr; ///< (rows, width)
    void* parts = nullptr;    ///< bf16

    /// The part that a copy is: copies 3 and 4 repeat the last two parts of a left factor, and so on.
    static constexpr std::int64_t part(std::int64_t copy, bool left)
    {
        const std::int64_t product = copy < 3   ? copy
                                     : copy < 5 ? copy - 3
                                                : 0;               // its place among those of equal size
        const std::int64_t most = copy < 3 ? 2 : copy < 5 ? 1 : 0; // the sum of both parts' numbers
        return left ? most - product : product;
    }
};

/// One weight of AdamW. A bf16 weight and its remainder together are an exact fp32 weight: its bits are
/// (weight << 16) + remainder, so the weight is the fp32 weight rounded to nearest. Other weights have no
/// remainder.
struct AdamwTensor {
    std::int64_t count = 0;
    void* weight = nullptr;            ///< bf16, or sums
    std::int16_t* remainder = nullptr; ///< null for sums
    const void* gradient = nullptr;    ///< sums, like the moments
    void* firstMoment = nullptr;
    void* secondMoment = nullptr;
};

/// AdamW's update of a bf16 weight (out, in) whose gradient is gradient^T x, summed in fp32. The gradient is not
/// stored.
struct AdamwProduct {
    std::int64_t tokens = 0;
    std::int64_t out = 0;
    std::int64_t in = 0;
    void* weight = nullptr; ///< bf16, with its remainder as in AdamwTensor
    std::int16_t* remainder = nullptr;
    float* firstMoment = nullptr;
    float* secondMoment = nullptr;
    const void* gradient = nullptr; ///< bf16 (tokens, out)
    const void* x = nullptr;        ///< bf16 (tokens, in)
};

struct AdamwOptions {
    double learningRate = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weightDecay = 1e-2;
};

// --- CPU: plain loops over rows begin to end - 1, for references and tests --------------------------------

void addRmsNormCpu(ElementType type, const AddRmsNorm& norm, std::int64_t begin, std::int64_t end);
/// Over parts instead of rows.
void rmsNormBackwardCpu(ElementType type, const RmsNormBackward& norm, std::int64_t begin, std::int64_t end);
/// Columns begin to end - 1. `type` is that of sums.
void sumPartsCpu(ElementType type, const SumParts& sum, std::int64_t begin, std::int64_t end);
void rotateHeadsCpu(ElementType type, const RotateHeads& rotate, std::int64_t begin, std::int64_t end);
void swiGluCpu(ElementType type, const SwiGlu& glu, std::int64_t begin, std::int64_t end);
void swiGluBackwardCpu(ElementType type, const SwiGluBackward& glu, std::int64_t begin, std::int64_t end);
void crossEntropyCpu(ElementType type, const CrossEntropy& loss, std::int64_t begin, std::int64_t end);
/// All rows. `type` is that of sums.
void embeddingBackwardCpu(ElementType type, const EmbeddingBackward& embedding);
void splitBf16Cpu(const SplitBf16& split, std::int64_t begin, std::int64_t end);
/// Elements begin to end - 1 of one tensor. `type` is that of the weight, `step` counts from 1.
void adamwCpu(ElementType type, const AdamwTensor& tensor, const AdamwOptions& options, double step,
              std::int64_t begin, std::int64_t end);

// --- CUDA: launched on the current device and stream; asynchronous -----------------------------------------

/// \throws std::runtime_error  if the launch fails; fp64 and fp16 elements have no kernels
void addRmsNormCuda(ElementType type, const AddRmsNorm& norm, CudaStream stream);
void rmsNormBackwardCuda(ElementType type, const RmsNormBackward& norm, CudaStream stream);
void sumPartsCuda(const SumParts& sum, CudaStream stream);
/// The number of parts that suits the current device.
std::int64_t rmsNormParts(std::int64_t rows);
void rotateHeadsCuda(ElementType type, const RotateHeads& rotate, CudaStream stream);
void swiGluCuda(ElementType type, const SwiGlu& glu, CudaStream stream);
void swiGluBackwardCuda(ElementType type, const SwiGluBackward& glu, CudaStream stream);
void crossEntropyCuda(ElementType type, const CrossEntropy& loss, CudaStream stream);
void embeddingBackwardCuda(const EmbeddingBackward& embedding, CudaStream stream);
/// Any width.
void splitBf16Cuda(const SplitBf16& split, CudaStream stream);
/// \param step  fp32 on the device, from 1
void adamwCuda(ElementType type, std::span<const AdamwTensor> tensors, const AdamwOptions& options,
               const float* step, CudaStream stream);
/// For compute capability 9.0; out and in are multiples of kLmVector. The sum over tokens has a fixed order.
void adamwProductCuda(const AdamwProduct& product, const AdamwOptions& options, const float* step,
                      CudaStream stream);

} // namespace tilescope::kernels
