#pragma once

#include "kernels/include/attention.h"

#include <cstdint>

/// Kernels of a decode step that are not those of a training step (kernels/include/lm.h, attention.h). Plain C++: neither
/// LibTorch nor CUDA headers.
namespace tilescope::kernels {

/// y = x weight^T for few rows, which reads each weight once. Sums are in fp32, and results the same bits
/// in each run. Addresses are multiples of 16 bytes. The kernel begins to read the weight while the kernel before it in the
/// stream ends, so that one must not write the weight.
struct RowsProduct {
    std::int64_t rows = 0;
    std::int64_t in = 0; ///< a multiple of kRowsProductVector
    std::int64_t out = 0;
    const void* x = nullptr;       ///< bf16 (rows, in)
    const void* weight = nullptr;  ///< (out, in)
    bool weightIsFp8 = false;      ///< E4M3; otherwise bf16
    const float* scales = nullptr; ///< (out) of the columns of y, or null
    void* y = nullptr;             ///< bf16 (rows, out)
};
inline constexpr std::int64_t kMostProductRows = 16; ///< with weights in E4M3
inline constexpr std::int64_t kMostProductRowsInBf16 = 8;
/// Larger weights in bf16 are read as fast by cuBLAS (kernels/NOTES.md).
inline constexpr std::int64_t kMostProductBytesInBf16 = 1 << 27;
inline constexpr std::int64_t kRowsProductVector = 16;

/// Launched on the current device and stream; asynchronous.
/// \throws std::runtime_error  if the launch fails
void rowsProductCuda(const RowsProduct& product, CudaStream stream);

/// The packed projection (batch, (heads + 2 keyHeads) headDim) of one new token of each sequence: rotates the queries in
/// place, and writes the rotated keys and the values to the cache. The keys in x are not written. A key head of sequence b is
/// at keys + b * batchStride + head * headStride, or where there are rows, at keys + rows[b] * rowStride + head * headStride;
/// values likewise. Strides count elements; head dims and strides are multiples of 8.
struct StoreHeads {
    std::int64_t batch = 0;
    std::int64_t heads = 0;
    std::int64_t keyHeads = 0;
    std::int64_t headDim = 0;
    const void* rotation = nullptr; ///< fp32 (headDim / 2, 2): cosine and sine of the token's position
    void* x = nullptr;
    void* keys = nullptr;
    void* values = nullptr;
    std::int64_t batchStride = 0;
    std::int64_t headStride = 0;
    std::int64_t rowStride = 0;
    const std::int64_t* rows = nullptr; ///< (batch), or null
};

/// \param type  bf16 or fp32
/// \throws std::runtime_error  if the launch fails
void storeHeadsCuda(ElementType type, const StoreHeads& store, CudaStream stream);

/// Keys and values by pages: token t of sequence b is row pages[b * sequenceStride + t / pageTokens] * pageTokens + t %
/// pageTokens of k and v, whose batch strides are 0.
struct PagedKeys {
    const int* pages = nullptr; ///< null: k and v have one row after another
    std::int64_t sequenceStride = 0;
    int pageTokens = 1;
};

/// Whether a kernel computes this problem with keys and values by pages: that of few queries and many keys.
bool cudaAttentionReadsPages(const AttentionProblem& problem);

/// attentionForwardCuda() with keys and values by pages, of which problem.shape.keys are read. The same bits as without pages.
/// \throws std::runtime_error  if the launch fails
void attentionForwardPagedCuda(const AttentionProblem& problem, const ForwardTensors& tensors,
                               const PagedKeys& paged, CudaStream stream);

} // namespace tilescope::kernels
