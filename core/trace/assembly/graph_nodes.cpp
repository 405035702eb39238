#include "core/trace/assembly/graph_nodes.h"

namespace tilescope::trace {

const HostContext* GraphNodes::find(std::uint64_t node) const
{
    // A copy of a copy of … : CUDA makes two at most; more means that the notes contradict each other.
    constexpr int kMostCopies = 16;
    for (int copies = 0; copies < kMostCopies; ++copies) {
        const auto found = nodes_.find(node);
        if (found == nodes_.end())
            return nullptr;
        if (found->second.original == 0)
            return found->second.context.path == kNone ? nullptr : &found->second.context;
        node = found->second.original;
    }
    return nullptr;
}

} // namespace tilescope::trace
