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
    Matmul, ///< also grouped products and those of experts
    Convolution,
    Attention, ///< also cache writes and rotary embeddings
    Softmax,
    Norm,
    Elementwise, ///< also quantisation
    Reduction,   ///< also sampling, top-k and sorting
    Embedding,
    Scan, ///< prefix sums and the recurrences of state-space models
    Optimizer,
    Copy,
    Memset,
    Collective, ///< every kernel that communicates
    Other
};
inline constexpr std::size_t kKernelFamilies = 14;

std::string_view wordOf(KernelFamily family); ///< matmul, attention, …

/// A description of a kernel for readers.
struct KernelDescription {
    KernelFamily family = KernelFamily::Other;
    std::string shortName; ///< `softmax forward bf16`, at most 120 characters; empty only if the name is
    std::string does;      ///< one line: what the kernel computes
};

/// The rules that assign kernels to families: resources/families/rules.yaml by the kernel's name and
/// resources/families/ops.yaml by the op that launched it, whose headers describe their syntax. The first
/// matching rule applies.
///
/// Immutable; any thread. Describing a name takes O(rules x length): do it once per distinct name. Of longer
/// names, the first 4,096 characters count.
class KernelFamilies {
public:
    /// \param file  rules for names of kernels
    /// \param ops   rules for names of ops; may be empty
    /// \throws Error  a file is missing, is not YAML or has an invalid rule (file:line:column)
    static KernelFamilies load(const std::filesystem::path& file, const std::filesystem::path& ops = {});

    /// The rules in Tilescope's resources, loaded on first use.
    static const KernelFamilies& standard();

    KernelDescription describe(std::string_view name, DeviceEventKind kind = DeviceEventKind::Kernel) const;

    /// The family of an op's work by the words in its name: `vllm::unified_attention`. Other if the rules for
    /// ops do not know it. analysis::familyOfOp() knows more ops.
    KernelFamily familyOfOp(std::string_view op) const;

    ~KernelFamilies();
    KernelFamilies(KernelFamilies&&) noexcept;
    KernelFamilies& operator=(KernelFamilies&&) noexcept;

private:
    struct Rule;
    KernelFamilies();
    std::unique_ptr<std::vector<Rule>> rules_;
    std::unique_ptr<std::vector<Rule>> ops_;
};

} // namespace tilescope::analysis
