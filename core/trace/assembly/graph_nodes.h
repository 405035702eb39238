#pragma once

#include "core/trace/host/host_record.h"

#include <cstdint>
#include <unordered_map>

namespace tilescope::trace {

/// The origin of CUDA graph nodes: a replay launches hundreds of kernels with one call, and only the capture
/// shows which module requested each. One thread at a time.
///
/// Instantiation copies a captured node into an executable graph, and kernels refer to the copy. Records of
/// nodes and of copies may arrive in any order, because they come from several threads.
class GraphNodes {
public:
    void created(std::uint64_t node, const HostContext& context) { nodes_[node].context = context; }
    void cloned(std::uint64_t node, std::uint64_t original) { nodes_[node].original = original; }
    /// The place where the node, or the node that it was copied from, was created; null if unknown.
    /// O(copies).
    const HostContext* find(std::uint64_t node) const;
    bool empty() const { return nodes_.empty(); }

private:
    struct Node {
        HostContext context = {};
        std::uint64_t original = 0; ///< CUDA's node numbers start at 1 << 32
    };
    std::unordered_map<std::uint64_t, Node> nodes_;
};

} // namespace tilescope::trace
