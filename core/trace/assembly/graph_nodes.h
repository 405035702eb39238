#pragma once

#include "core/trace/host/host_record.h"

#include <cstdint>
#include <unordered_map>

namespace tilescope::trace {

/// Where the nodes of CUDA graphs were made: a replay launches hundreds of kernels by one call, and only the
/// capture knows which module asked for which. One thread at a time.
///
/// Instantiation copies a captured node into an executable graph; kernels name the copy. Notes of nodes and
/// of copies may come in any order, as they come from several threads.
class GraphNodes {
public:
    void created(std::uint64_t node, const HostContext& context) { nodes_[node].context = context; }
    void cloned(std::uint64_t node, std::uint64_t original) { nodes_[node].original = original; }
    /// Where the node, or the one it is a copy of, was made; null where that was not seen. O(copies).
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
