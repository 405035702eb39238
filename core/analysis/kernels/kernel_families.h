#pragma once

#include "core/base/ids.h"
#include "core/model/events.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// The kind of work that a kernel does, in display order.
enum class KernelFamily : std::uint8_t {
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
    Other
};
inline constexpr std::size_t kKernelFamilies = 12;

std::string_view wordOf(KernelFamily family); ///< matmul, attention, …

/// A description of a kernel for readers.
struct KernelDescription {
    KernelFamily family = KernelFamily::Other;
    std::string shortName; ///< `softmax forward bf16`; empty only if the full name is empty empty
    std::string does;      ///< one line: what the kernel computes
};

/// The rules that assign kernels to families: resources/families/rules.yaml, whose header describes their
/// syntax. The first matching rule applies.
///
/// Immutable; any thread. Describing a name takes O(rules x length): do it once per distinct name.
class KernelFamilies {
public:
    /// \throws Error  the file is missing, is not YAML or has an invalid rule (file:line:column)
    static KernelFamilies load(const std::filesystem::path& file);

    /// The rules in Tilescope's resources, loaded on first use.
    static const KernelFamilies& standard();

    KernelDescription describe(std::string_view name, DeviceEventKind kind = DeviceEventKind::Kernel) const;

    ~KernelFamilies();
    KernelFamilies(KernelFamilies&&) noexcept;
    KernelFamilies& operator=(KernelFamilies&&) noexcept;

private:
    struct Rule;
    KernelFamilies();
    std::unique_ptr<std::vector<Rule>> rules_;
};

} // namespace tilescope::analysis
