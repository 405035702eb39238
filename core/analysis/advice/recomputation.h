#pragma once

#include "core/model/events.h"

#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// Finds the ops of forward that run again within backward, as with checkpointing.
///
/// An op gets a sequence number from autograd if it records a graph. Ops of backward record none, except where
/// backward repeats forward. So an op is recomputed if it, or an op that contains it, has a sequence number of
/// its own and lies within the op of a backward node. The derivative of a gradient (create_graph) looks the same.
///
/// Add all ops, in any order, before the first query. Takes 12 bytes per op.
class RecomputedOps {
public:
    void add(const Op& op);
    /// O(depth).
    bool has(OpId op) const;
    /// Whether any op of backward was added.
    bool hasBackward() const { return hasBackward_; }

private:
    struct Facts {
        OpId parent = {};
        bool isKnown = false;
        bool isBackward = false;
        bool recordsGraph = false;
    };
    std::vector<Facts> ops_; ///< by OpId
    bool hasBackward_ = false;
};

/// Whether a kernel computes the forward pass of attention, judged by the names that PyTorch, FlashAttention and cuDNN use.
/// Backward runs such a kernel only to recompute; this also detects recomputation in compiled graphs, which have no ops.
bool computesForwardAttention(std::string_view kernel);

} // namespace tilescope::analysis
