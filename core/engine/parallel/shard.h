#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

namespace tilescope::engine {

/// The elements of a dense tensor as a vector, in the order of memory. Shares the memory.
at::Tensor flatView(const at::Tensor& tensor);

/// The equal parts into which ranks divide the elements of a tensor, in the order of memory. If the number of
/// elements is not a multiple of the ranks, the last parts are padded beyond the end of the tensor.
struct ShardLayout {
    std::int64_t elements = 0;
    int ranks = 1;

    std::int64_t part() const { return (elements + ranks - 1) / ranks; } ///< elements of a part
    std::int64_t padded() const { return part() * ranks; }
    bool isEven() const { return padded() == elements; }
    std::int64_t begin(int rank) const { return std::min(rank * part(), elements); }
    /// Elements of the tensor in the part of a rank.
    std::int64_t count(int rank) const { return std::min(part(), elements - begin(rank)); }
};

/// `flat` itself if the layout is even, otherwise a copy padded with zeros.
at::Tensor padded(const at::Tensor& flat, const ShardLayout& layout);
/// A rank's part of a padded() vector. Shares the memory.
at::Tensor partOf(const at::Tensor& padded, const ShardLayout& layout, int rank);

} // namespace tilescope::engine
