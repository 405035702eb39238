#pragma once

#include "kernels/include/attention.h"

#include <cuda.h>

#include <cstdint>

namespace tilescope::kernels::hopper {

/// Whether TMA rounds fp32 elements to TF32. wgmma ignores the last 13 bits, which truncates; TMA can round
/// to nearest instead.
enum class Delivery : unsigned char { Unchanged, RoundedToTf32 };

/// How much of a row of memory a read of a part of it brings to the L2 cache. Rows that are read once, in order and by all
/// multiprocessors, take up to 10 % longer with 256 bytes (decode, H200).
enum class L2Promotion : unsigned char { Bytes128, Bytes256 };

/// TMA's descriptor of a (batch, head, row, column) tensor of fp32, bf16 or fp16: boxes of `boxHeads` x
/// `boxRows` rows by 128 bytes, written to shared memory with the 128-byte swizzle. Strides count elements.
/// \throws std::runtime_error  if the driver rejects the map
CUtensorMap tensorMap(ElementType type, void* data, std::int64_t columns, std::int64_t rows,
                      std::int64_t heads, std::int64_t batch, std::int64_t rowStride, std::int64_t headStride,
                      std::int64_t batchStride, int boxRows, int boxHeads = 1,
                      Delivery delivery = Delivery::Unchanged, L2Promotion promotion = L2Promotion::Bytes256);

/// The same of bytes: boxes of 128 columns.
CUtensorMap byteTensorMap(void* data, std::int64_t columns, std::int64_t rows, std::int64_t heads,
                          std::int64_t batch, std::int64_t rowStride, std::int64_t headStride,
                          std::int64_t batchStride, int boxRows, int boxHeads = 1);

/// Whether a tensor map can describe the view: strides are multiples of 16 bytes and not 0 (a broadcast
/// view).
template <class Pointer> bool mappable(const View<Pointer>& view, int elementBytes = 2)
{
    const auto steps = [=](std::int64_t stride) { return stride > 0 && stride * elementBytes % 16 == 0; };
    return reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0 && steps(view.rowStride) &&
           steps(view.headStride) && steps(view.batchStride);
}

} // namespace tilescope::kernels::hopper
