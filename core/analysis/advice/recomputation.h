#pragma once

#include "core/model/events.h"

#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// Finds the ops of forward that run again within backward, as checkpointing has them.
///
/// Autograd gives ops of forward a sequence number, for which they must record a graph. In backward, ops run without
/// recording one, unless backward repeats forward. An op is recomputed if it, or an op around it, has a sequence number of
/// its own and lies within the op of a backward node. The derivative of a gradient (create_graph) looks the same.
///
/// Ops in any order, then questions. 12 bytes an op.
class RecomputedOps {
public:
    void add(const Op& op);
    /// O(depth).
    bool has(OpId op) const;
    /// Whether there is an op of backward at all.
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

/// Whether a kernel computes the forward pass of attention, by the names of PyTorch's, FlashAttention's and cuDNN's. Backward
/// runs it only to recompute, which also shows where a compiled graph has no ops.
bool computesForwardAttention(std::string_view kernel);

} // namespace tilescope::analysis
