// Cross entropy and its gradient, which replaces the logits; and the gradient of the embedding.
//
// Cross entropy is bound by memory: it reads a row from memory once, a second time from L2 (20 KB of bf16 at
// 10,000 words, 300 KB at 151,936), and writes it: 4 bytes per logit. One block per row.
//
// The gradient of the embedding writes all of its rows (4 bytes per number, almost all of them zeros) and reads
// one row per token. The block of the first token of a word adds the rows of all tokens of the word, in order.
#include "kernels/cuda/lm/elements.cuh"

#include <algorithm>
#include <cmath>

namespace tilescope::kernels {

namespace {

using namespace lm;

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / kWarp;

/// Calls work(value, column) for the logits of a row, in vectors if rows are aligned, and stores what it returns
/// if `kStores`.
template <bool kAligned, bool kStores, class T, class Work>
__device__ void forEachLogit(T* row, std::int64_t vocabulary, const Work& work)
{
    constexpr int kWidth = kAligned ? kVector : 1;
    for (std::int64_t column = std::int64_t{threadIdx.x} * kWidth; column < vocabulary;
         column += std::int64_t{kThreads} * kWidth) {
        if constexpr (kAligned) {
            float values[kVector];
            load(values, row + column);
#pragma unroll
            for (int i = 0; i < kVector; ++i)
                values[i] = work(values[i], column + i);
            if constexpr (kStores)
                store(row + column, values);
        } else {
            const float value = work(number(row[column]), column);
            if constexpr (kStores)
                put(row[column], value);
        }
    }
}

template <class T, bool kAligned>
__global__ void __launch_bounds__(kThreads) crossEntropyKernel(CrossEntropy loss)
{
    __shared__ float scratch[kMaxWarps];
    T* logits = static_cast<T*>(loss.logits) + std::int64_t{blockIdx.x} * loss.vocabulary;
    const std::int64_t target = loss.targets[blockIdx.x];
    const bool isValid = target >= 0 && target < loss.vocabulary;
    const float targetLogit = isValid ? number(logits[target]) : 0;

    // The running maximum of a thread starts finite, so that a row of -infinity has no NaN.
    float maximum = -FLT_MAX;
    float sum = 0;
    forEachLogit<kAligned, false>(logits, loss.vocabulary, [&](float value, std::int64_t) {
        if (value > maximum) {
            sum *= exponential<T>(maximum - value);
            maximum = value;
        }
        sum += exponential<T>(value - maximum);
        return value;
    });
    const float rowMaximum = combineBlock(maximum, -FLT_MAX, scratch, Max{});
    const float rowSum = combineBlock(sum * exponential<T>(maximum - rowMaximum), 0, scratch, Add{});
    if (threadIdx.x == 0)
        static_cast<float*>(loss.losses)[blockIdx.x] =
            isValid ? logf(rowSum) + rowMaximum - targetLogit : NAN;
    const float scale = isValid ? static_cast<float>(loss.scale) : NAN;
    const float reciprocal = 1 / rowSum;
    forEachLogit<kAligned, true>(logits, loss.vocabulary, [&](float value, std::int64_t column) {
        const float probability = exponential<T>(value - rowMaximum) * reciprocal;
        return (column == target ? probability - 1 : probability) * scale;
    });
}

__global__ void __launch_bounds__(kThreads) embeddingBackwardKernel(EmbeddingBackward embedding)
{
    __shared__ unsigned matches[kWarps];
    const std::int64_t first = blockIdx.x;
    const std::int64_t word = embedding.token[first];
    bool isLater = false;
    for (std::int64_t t = threadIdx.x; t < first; t += kThreads)
        isLater = isLater || embedding.token[t] == word;
    if (__syncthreads_or(isLater))
        return;
    float* target = static_cast<float*>(embedding.gradWeight) + word * embedding.width;
    for (std::int64_t begin = first; begin < embedding.tokens; begin += kThreads) {
        const std::int64_t t = begin + threadIdx.x;
        const unsigned found = __ballot_sync(~0U, t < embedding.tokens && embedding.token[t] == word);
        __syncthreads();
        if (threadIdx.x % kWarp == 0)
            matches[threadIdx.x / kWarp] = found;
        __syncthreads();
        for (int warp = 0; warp < kWarps; ++warp)
            for (unsigned left = matches[warp]; left != 0; left &= left - 1) {
                const std::int64_t token = begin + warp * kWarp + __ffs(static_cast<int>(left)) - 1;
                const float* gradient =
                    static_cast<const float*>(embedding.gradient) + token * embedding.width;
                for (std::int64_t i = threadIdx.x; i < embedding.width; i += kThreads)
                    target[i] += gradient[i];
            }
    }
}

} // namespace

void crossEntropyCuda(ElementType type, const CrossEntropy& loss, CudaStream stream)
{
    dispatch(type, [&]<class T>(T) {
        const auto kernel =
            loss.vocabulary % kVector == 0 ? crossEntropyKernel<T, true> : crossEntropyKernel<T, false>;
        kernel<<<static_cast<unsigned>(loss.rows), kThreads, 0, stream>>>(loss);
    });
    requireLaunched("cross_entropy_");
}

void embeddingBackwardCuda(const EmbeddingBackward& embedding, CudaStream stream)
{
    const std::size_t bytes =
        static_cast<std::size_t>(embedding.vocabulary * embedding.width) * sizeof(float);
    if (const cudaError_t status = cudaMemsetAsync(embedding.gradWeight, 0, bytes, stream);
        status != cudaSuccess)
        throw std::runtime_error(std::string("embedding_backward: ") + cudaGetErrorString(status));
    embeddingBackwardKernel<<<static_cast<unsigned>(embedding.tokens), kThreads, 0, stream>>>(embedding);
    requireLaunched("embedding_backward");
}

} // namespace tilescope::kernels
