#pragma once

#include "core/analysis/kernels/kernel_families.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace tilescope::query {

/// What a box means, and so its colour on every page: the kernel families in the order of the contract, then
/// what only timelines show. The window's palette gives each its colour.
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
    Api,                 ///< a CUDA call of the host
    Busy,                ///< the device works
    GapLaunching,        ///< the device waits while the host prepares the next launch
    GapSynchronising,    ///< the host waits too
    GapTracing,          ///< known cost of tracing
    GapUnexplained,
};
inline constexpr std::size_t kHueCount = static_cast<std::size_t>(Hue::GapUnexplained) + 1;
inline constexpr std::size_t kFamilyCount = static_cast<std::size_t>(Hue::Other) + 1;

/// Words of the families and of the reasons for a gap, as people see them.
std::string_view hueWord(Hue hue);

/// The hue of a kernel family.
Hue hueOf(analysis::KernelFamily family);

/// The hue of a kernel family's word, as files and tables have it; Other for a word that is none.
Hue hueOfFamily(std::string_view family);

/// The hue of a host op by its name (aten::mm, AddmmBackward0): that of its family.
Hue hueOfOp(std::string_view name);

/// The hue of a range by its path.
Hue hueOfRange(std::string_view path);

} // namespace tilescope::query
