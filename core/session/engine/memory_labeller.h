#pragma once

#include "core/analysis/memory/memory_labels.h"
#include "core/analysis/time/step_growth.h"
#include "core/model/memory.h"

#include <string>
#include <vector>

namespace tilescope::session {

/// Assigns categories to the allocation events of a running point, and collects the memory facts to store.
///
/// The session thread calls learn() and facts() while nothing is recorded. The thread that consumes batches
/// calls label().
class MemoryLabeller {
public:
    explicit MemoryLabeller(StringTable& strings) : strings_(strings), labels_(strings) {}

    void learn(MemoryFacts&& facts);
    /// Also adds the loss `memory_unmatched` to the last batch if it has events that the reference step
    /// lacked.
    void label(TraceBatch& batch);
    /// Blocks, segments, readings, saved tensors, source locations.
    MemoryFacts facts() const;
    /// Flags about the memory of the traced steps: each left more allocated than the previous one.
    std::vector<std::string> flags() const;

private:
    void learnCaptured(CapturedStep&& captured);

    StringTable& strings_;
    analysis::MemoryLabels labels_;
    MemoryFacts facts_;
    CapturedStep captured_; ///< empty if no CUDA graph was captured
    bool learnt_ = false;   ///< a step was reference
    std::int64_t toldUnmatched_ = 0;
    analysis::StepGrowth growth_;
};

} // namespace tilescope::session
