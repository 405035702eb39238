#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// A name as a reader sees it: demangled, without what compilers and loaders append (`.kd`, `[clone .kd]`,
/// Triton's `_0d1d2d`). Equal to `name` in most cases. O(length).
std::string readableKernelName(std::string_view name);

/// The parts of a readable kernel name.
struct KernelName {
    std::string_view qualified; ///< at::native::vectorized_elementwise_kernel, without result type and
                                ///< arguments
    std::string_view root;      ///< vectorized_elementwise_kernel: the last component
    std::string_view subject;   ///< the function or functor that a generic kernel applies (MulFunctor,
                                ///< silu_kernel); otherwise root
    std::string_view type;      ///< fp32, bf16, fp16, fp64, fp8, i64 …; empty if the name has none
    std::vector<std::string_view> arguments; ///< of the outermost template, as written
};

/// Parses a readable name. Views point into `name`.
///
/// Looks through the wrappers of ATen's generic kernels (gpu_kernel_impl, BinaryFunctor, ReduceOp,
/// func_wrapper_t …); other names are their own subject. Never fails: a text that is not a C++ name is one
/// component. O(length).
KernelName parseKernelName(std::string_view name);

/// The short name of a library kernel whose name encodes tile and type (cuBLAS' nvjet and xmma, CUTLASS,
/// cuDNN, memory-efficient and flash attention, Triton): `nvjet gemm bf16 128x64x64 TNT`. Empty for other
/// kernels.
std::string libraryShortName(const KernelName& name);

/// The subject as words: masked_fill_kernel becomes `masked fill`, CUDAFunctor_add `add`,
/// RowwiseMomentsCUDAKernel `rowwise moments`.
std::string subjectWords(std::string_view subject);

} // namespace tilescope::analysis
