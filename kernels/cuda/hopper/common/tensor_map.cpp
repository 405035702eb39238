#include "kernels/cuda/hopper/common/tensor_map.h"

#include "kernels/cuda/common/device.h"

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace tilescope::kernels::hopper {

namespace {

using Encoder = decltype(&cuTensorMapEncodeTiled);

/// The driver's encoder. Looked up at run time, because programs that link this must start without a driver.
Encoder findEncoder()
{
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault,
                                         &result) != cudaSuccess ||
        result != cudaDriverEntryPointSuccess)
        throw std::runtime_error("the CUDA driver has no cuTensorMapEncodeTiled (it is older than 12.0)");
    return reinterpret_cast<Encoder>(function);
}

CUtensorMapDataType dataType(ElementType type, Delivery delivery)
{
    if (type == ElementType::Float32) {
        return delivery == Delivery::RoundedToTf32 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                                                   : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    }
    return type == ElementType::BFloat16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
}

CUtensorMap encoded(CUtensorMapDataType type, cuuint64_t elementBytes, void* data, std::int64_t columns,
                    std::int64_t rows, std::int64_t heads, std::int64_t batch, std::int64_t rowStride,
                    std::int64_t headStride, std::int64_t batchStride, int boxRows, int boxHeads,
                    L2Promotion promotion)
{
    static const Encoder encode = findEncoder();
    const cuuint64_t sizes[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows),
                                static_cast<cuuint64_t>(heads), static_cast<cuuint64_t>(batch)};
    const cuuint64_t strides[] = {static_cast<cuuint64_t>(rowStride) * elementBytes,
                                  static_cast<cuuint64_t>(headStride) * elementBytes,
                                  static_cast<cuuint64_t>(batchStride) * elementBytes};
    const cuuint32_t box[] = {static_cast<cuuint32_t>(128 / elementBytes), static_cast<cuuint32_t>(boxRows),
                              static_cast<cuuint32_t>(boxHeads), 1};
    const cuuint32_t steps[] = {1, 1, 1, 1};
    CUtensorMap map;
    const auto tryOnce = [&] {
        return encode(&map, type, 4, data, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                      CU_TENSOR_MAP_SWIZZLE_128B,
                      promotion == L2Promotion::Bytes128 ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B
                                                         : CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    };
    CUresult result = tryOnce();
    // This is a driver function. A thread that has not used the runtime yet (autograd's, at its first op) has
    // no context. cudaSetDevice() comes first because only it is allowed while a graph is captured.
    if (result == CUDA_ERROR_INVALID_CONTEXT && cudaSetDevice(currentDevice()) == cudaSuccess) {
        result = tryOnce();
    }
    if (result == CUDA_ERROR_INVALID_CONTEXT && cudaFree(nullptr) == cudaSuccess) {
        result = tryOnce();
    }
    if (result != CUDA_SUCCESS)
        throw std::runtime_error("the CUDA driver refuses a tensor map (error " + std::to_string(result) +
                                 ")");
    return map;
}

} // namespace

CUtensorMap tensorMap(ElementType type, void* data, std::int64_t columns, std::int64_t rows,
                      std::int64_t heads, std::int64_t batch, std::int64_t rowStride, std::int64_t headStride,
                      std::int64_t batchStride, int boxRows, int boxHeads, Delivery delivery,
                      L2Promotion promotion)
{
    return encoded(dataType(type, delivery), type == ElementType::Float32 ? 4 : 2, data, columns, rows, heads,
                   batch, rowStride, headStride, batchStride, boxRows, boxHeads, promotion);
}

CUtensorMap byteTensorMap(void* data, std::int64_t columns, std::int64_t rows, std::int64_t heads,
                          std::int64_t batch, std::int64_t rowStride, std::int64_t headStride,
                          std::int64_t batchStride, int boxRows, int boxHeads)
{
    return encoded(CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, data, columns, rows, heads, batch, rowStride, headStride,
                   batchStride, boxRows, boxHeads, L2Promotion::Bytes256);
}

} // namespace tilescope::kernels::hopper
