#pragma once

#include "core/exchange/export/export_options.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilescope::exchange {

/// Stacks that share their beginnings, with the GPU time spent at the end of each.
class StackTree {
public:
    using Node = std::uint32_t;
    static constexpr Node kRoot = 0; ///< the empty stack

    struct Entry {
        Node parent = kRoot;
        std::uint32_t name = 0; ///< index into names()
        std::int64_t ns = 0;    ///< that ends here, without what is below
        std::int64_t count = 0; ///< of activities that end here
    };

    /// The stack `parent` followed by a frame. O(length), amortised.
    Node child(Node parent, std::string_view name);
    void add(Node node, std::int64_t ns);

    /// By Node. A parent stands before its children; entry 0 is the root.
    const std::vector<Entry>& entries() const { return entries_; }
    /// Each text once.
    const std::vector<std::string>& names() const { return names_; }
    /// The indices of the names of a stack, outermost first.
    std::vector<std::uint32_t> stackOf(Node node) const;
    /// Nanoseconds and activities of all stacks.
    std::int64_t totalNs() const;
    std::int64_t totalCount() const;

private:
    std::vector<Entry> entries_{Entry{}};
    std::vector<std::string> names_;
    std::unordered_map<std::string, std::uint32_t> nameIndex_;
    std::unordered_map<std::uint64_t, Node> children_; ///< by parent and name
};

/// The GPU time of a run by what launched it: rank (if there are several processes), frames of the interpreter
/// that were open at the launch, components of the module path, ops from the outermost to the one that launched,
/// and the name of the kernel, copy or memset.
///
/// Each activity counts once, at the end of one stack: times of activities that overlap add up. Levels that the
/// run does not have are left out.
/// Memory: the distinct stacks, 8 bytes for each op and, if the run has frames, 20 bytes for each activity.
/// \throws Error  the run has no GPU activities
StackTree gpuStacks(const store::RunReader& reader, const store::RunRecord& run,
                    const ExportOptions& options = {});

} // namespace tilescope::exchange
