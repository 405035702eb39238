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

/// What kind of work a kernel does; CONTRACT's list, in the order in which people should see it.
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

/// What a reader wants to know of a kernel besides its full name.
struct KernelDescription {
    KernelFamily family = KernelFamily::Other;
    std::string shortName; ///< `softmax forward bf16`; never empty unless the full name is
    std::string does;      ///< one line: what it computes
};

/// The rules that sort kernels into families: plain data in resources/families/rules.yaml, whose head says
/// how a rule is written. Rules are tried in order; the first that matches decides.
///
/// Immutable; any thread. Describing a name costs O(rules x length), so ask once per distinct name.
class KernelFamilies {
public:
    /// \throws Error  the file is missing, is no YAML or has a rule that is not understood (file:line:column)
    static KernelFamilies load(const std::filesystem::path& file);

    /// The rules in Tilescope's resources, loaded once.
    static const KernelFamilies& standard();

    KernelDescription describe(std::string_view name, DeviceEventKind kind = DeviceEventKind::Kernel) const;

    std::size_t rules() const;

    ~KernelFamilies();
    KernelFamilies(KernelFamilies&&) noexcept;
    KernelFamilies& operator=(KernelFamilies&&) noexcept;

private:
    struct Rule;
    KernelFamilies();
    std::unique_ptr<std::vector<Rule>> rules_;
};

} // namespace tilescope::analysis
