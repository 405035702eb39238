#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// The parts of a demangled kernel name that tell kernels apart for a reader.
struct KernelName {
    std::string_view qualified; ///< at::native::vectorized_elementwise_kernel: no result type, no arguments
    std::string_view root;      ///< vectorized_elementwise_kernel: its last component
    std::string_view subject;   ///< the function or functor that a generic kernel applies (MulFunctor,
                                ///< silu_kernel); else root
    std::string_view type;      ///< fp32, bf16, fp16, fp64, fp8, i64 …; empty where the name has none
    std::vector<std::string_view> arguments; ///< of the outermost template, as they stand
};

/// Takes a demangled name apart. Views point into `name`.
///
/// Knows the wrappers of ATen's generic kernels (gpu_kernel_impl, BinaryFunctor, ReduceOp, func_wrapper_t …)
/// and looks through them; anything else is its own subject. Never fails: what is no C++ name is one
/// component. O(length).
KernelName parseKernelName(std::string_view name);

/// The short name of a kernel of a library that encodes its tile and type in the name (cuBLAS' nvjet and
/// xmma, CUTLASS, cuDNN, memory-efficient and flash attention, Triton): `nvjet gemm bf16 128x64x64 TNT`.
/// Empty for any other.
std::string libraryShortName(const KernelName& name);

/// The subject in words: masked_fill_kernel is `masked fill`, CUDAFunctor_add `add`, RowwiseMomentsCUDAKernel
/// `rowwise moments`.
std::string subjectWords(std::string_view subject);

} // namespace tilescope::analysis
