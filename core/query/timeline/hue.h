#pragma once

#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/waiting/host_cause.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilescope::query {

/// The meaning of a box, which determines its colour on every page: a kernel family, or a kind that only
/// timelines show. The window's palette maps each to a colour.
class Hue {
public:
    /// The kinds that are not families; they are numbered after these.
    enum Kind : std::uint8_t {
        Range = analysis::kKernelFamilies, ///< a step, phase or module
        RangeAttention,                    ///< a range of an attention module
        RangeAttentionInner,               ///< scores, softmax, output inside it
        Api,                               ///< a CUDA call on the host
        Busy,                              ///< the device is active
        GapLaunching,                      ///< idle while the host prepares the next launch
        GapSynchronizing,                  ///< idle while the host waits
        GapTracing,                        ///< known cost of tracing
        GapUnexplained,
        Frame,        ///< a call in a stack, of the program's own code
        LibraryFrame, ///< the same, of a library or the interpreter
        FirstWait,    ///< what the host does while a GPU is idle: one for each analysis::HostCause
        LastWait = FirstWait + analysis::kHostCauses - 1,
    };
    using enum analysis::KernelFamily;

    constexpr Hue(analysis::KernelFamily family) : index_(static_cast<std::uint8_t>(family)) {}
    constexpr Hue(Kind kind) : index_(kind) {}
    /// \pre index < kHueCount
    constexpr explicit Hue(std::size_t index) : index_(static_cast<std::uint8_t>(index)) {}

    constexpr explicit operator std::size_t() const { return index_; }
    constexpr bool isFamily() const { return index_ < analysis::kKernelFamilies; }
    constexpr bool isWait() const { return index_ >= FirstWait && index_ <= LastWait; }
    constexpr bool isGap() const { return index_ >= GapLaunching && index_ <= GapUnexplained; }
    constexpr auto operator<=>(const Hue&) const = default;

private:
    std::uint8_t index_;
};
inline constexpr std::size_t kHueCount = Hue::LastWait + 1;

/// The display name of a family or of the reason for a gap.
std::string_view hueWord(Hue hue);

/// The hue of a kernel family's name; Other for an unknown name.
Hue hueOfFamily(std::string_view family);

/// The hue of what the host does while a GPU is idle.
constexpr Hue hueOfCause(analysis::HostCause cause)
{
    return Hue(std::size_t{Hue::FirstWait} + static_cast<std::size_t>(cause));
}

/// The hue of a host op by its name (aten::mm, AddmmBackward0), from its family.
Hue hueOfOp(std::string_view name);

/// The hue of a range by its path.
Hue hueOfRange(std::string_view path);

/// The hue of a call in a Python stack ("train.py(96): step", "torch/nn/modules/module.py(1751): _call_impl",
/// "<built-in method mm>").
Hue hueOfFrame(std::string_view name);

} // namespace tilescope::query
