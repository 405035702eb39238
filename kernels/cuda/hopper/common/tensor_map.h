#pragma once

#include "kernels/include/attention.h"

#include <cuda.h>

#include <cstdint>

namespace tilescope::kernels::hopper {

/// What becomes of an fp32 element on its way to shared memory: wgmma does not look at the last 13 bits of
/// it, and the copy engine can round them away (to nearest) where it would truncate.
enum class Delivery : unsigned char { Unchanged, RoundedToTf32 };

/// What the copy engine needs to know of a (batch, head, row, column) tensor of fp32, bf16 or fp16: boxes of
/// `boxHeads` x `boxRows` rows by 128 bytes, written to shared memory with the 128-byte swizzle. Strides
/// count elements.
/// \throws std::runtime_error  where the driver refuses the map
CUtensorMap tensorMap(ElementType type, void* data, std::int64_t columns, std::int64_t rows,
                      std::int64_t heads, std::int64_t batch, std::int64_t rowStride, std::int64_t headStride,
                      std::int64_t batchStride, int boxRows, int boxHeads = 1,
                      Delivery delivery = Delivery::Unchanged);

/// Whether such a map can be made: 16-byte steps, and no stride of 0 (a broadcast view).
template <class Pointer> bool mappable(const View<Pointer>& view, int elementBytes = 2)
{
    const auto steps = [=](std::int64_t stride) { return stride > 0 && stride * elementBytes % 16 == 0; };
    return reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0 && steps(view.rowStride) &&
           steps(view.headStride) && steps(view.batchStride);
}

} // namespace tilescope::kernels::hopper
