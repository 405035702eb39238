#pragma once

#include <ATen/core/Tensor.h>

namespace tilescope::engine {

/// Whether a product overwrites its target or adds to it.
enum class ProductTarget { Set, Add };

/// Who chooses the algorithm of a product of bf16 matrices on a GPU.
enum class ProductChoice {
    LibTorch, ///< cuBLAS's estimate, the same in every process
    Fastest   ///< a measurement, see multiplyInto()
};

/// target = a b, or target + a b. Not differentiable.
///
/// With ProductChoice::Fastest, the first call of a shape that sets the target and is not captured times the algorithms
/// that cuBLASLt proposes for the shape and keeps the fastest for the thread. Algorithms differ in the order of their
/// sums, so two processes may differ in rounding; all sum in fp32. Until a shape was timed, and where cuBLASLt has no
/// proposal, LibTorch chooses. Observers of ops see the product as `tilescope::mm`.
///
/// \param target  (m, n), row-major; of the type of the factors, or fp32 if they are bf16
/// \param a       (m, k); bf16 is timed if it is stored without gaps, by rows or by columns
/// \param b       (k, n), likewise
void multiplyInto(at::Tensor& target, ProductTarget how, const at::Tensor& a, const at::Tensor& b,
                  ProductChoice choice);

} // namespace tilescope::engine
