// Rotates the queries and keys of a new token, and writes its keys and values to the cache: between the first product of a
// block and attention, one kernel instead of three. Bound by its launch: a token has some ten thousand elements.
#include "kernels/cuda/common/overlap.h"
#include "kernels/cuda/lm/elements.cuh"
#include "kernels/include/generation.h"

namespace tilescope::kernels {

namespace {

using namespace lm;

constexpr int kThreads = 128;

/// One thread per vector of a row.
template <class T> __global__ void __launch_bounds__(kThreads) storeHeadsKernel(StoreHeads store)
{
    ptx::letNextKernelBegin();
    ptx::waitForKernelBefore();
    const std::int64_t sequence = blockIdx.x;
    const std::int64_t column = (std::int64_t{blockIdx.y} * kThreads + threadIdx.x) * kVector;
    const std::int64_t width = (store.heads + 2 * store.keyHeads) * store.headDim;
    if (column >= width)
        return;
    const std::int64_t head = column / store.headDim;
    const std::int64_t inHead = column % store.headDim;
    T* x = static_cast<T*>(store.x) + sequence * width + column;
    float values[kVector];
    load(values, x);
    const bool isValue = head >= store.heads + store.keyHeads;
    if (!isValue) {
        float rotation[kVector];
        load(rotation, static_cast<const float*>(store.rotation) + inHead);
#pragma unroll
        for (int i = 0; i < kVector; i += 2) {
            const float a = values[i];
            const float b = values[i + 1];
            values[i] = a * rotation[i] - b * rotation[i + 1];
            values[i + 1] = a * rotation[i + 1] + b * rotation[i];
        }
    }
    T* to = x;
    if (head >= store.heads) {
        const std::int64_t keyHead = (head - store.heads) % store.keyHeads;
        const std::int64_t row =
            store.rows ? store.rows[sequence] * store.rowStride : sequence * store.batchStride;
        to = static_cast<T*>(isValue ? store.values : store.keys) + row + keyHead * store.headStride + inHead;
    }
    lm::store(to, values);
}

} // namespace

void storeHeadsCuda(ElementType type, const StoreHeads& store, CudaStream stream)
{
    const std::int64_t vectors = (store.heads + 2 * store.keyHeads) * store.headDim / kVector;
    const dim3 grid(static_cast<unsigned>(store.batch),
                    static_cast<unsigned>((vectors + kThreads - 1) / kThreads));
    dispatch(type,
             [&]<class T>(T) { launchOverlapping(storeHeadsKernel<T>, grid, kThreads, 0, stream, store); });
    requireLaunched("store_heads_");
}

} // namespace tilescope::kernels
