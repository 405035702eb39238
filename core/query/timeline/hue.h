#pragma once

#include "core/analysis/kernels/kernel_families.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace tilescope::query {

/// The meaning of a box, which determines its colour on every page: the kernel families, then kinds that only
/// timelines show. The window's palette maps each to a colour.
enum class Hue : std::uint8_t {
    Matmul,
    Attention,
    Softmax,
    Norm,
    Elementwise,
    Reduction,
    Embedding,
    Optimizer,
    Copy,
    Memset,
    Collective,
    Other,
    Range,               ///< a step, phase or module
    RangeAttention,      ///< a range of an attention module
    RangeAttentionInner, ///< scores, softmax, output inside it
    Api,                 ///< a CUDA call on the host
    Busy,                ///< the device is active
    GapLaunching,        ///< idle while the host prepares the next launch
    GapSynchronising,    ///< idle while the host waits
    GapTracing,          ///< known cost of tracing
    GapUnexplained,
    Frame,        ///< a call in a stack, of the program's own code
    LibraryFrame, ///< the same, of a library or the interpreter
};
inline constexpr std::size_t kHueCount = static_cast<std::size_t>(Hue::LibraryFrame) + 1;
inline constexpr std::size_t kFamilyCount = static_cast<std::size_t>(Hue::Other) + 1;

/// The display name of a family or of the reason for a gap.
std::string_view hueWord(Hue hue);

/// The hue of a kernel family.
Hue hueOf(analysis::KernelFamily family);

/// The hue of a kernel family's name; Other for an unknown name.
Hue hueOfFamily(std::string_view family);

/// The hue of a host op by its name (aten::mm, AddmmBackward0), from its family.
Hue hueOfOp(std::string_view name);

/// The hue of a range by its path.
Hue hueOfRange(std::string_view path);

/// The hue of a call in a Python stack ("train.py(96): step", "torch/nn/modules/module.py(1751): _call_impl",
/// "<built-in method mm>").
Hue hueOfFrame(std::string_view name);

} // namespace tilescope::query
