#pragma once

#include "core/analysis/memory/memory_labels.h"
#include "core/analysis/time/step_growth.h"
#include "core/model/memory.h"

#include <string>
#include <vector>

namespace tilescope::session {

/// What a running point's memory is for: gives its allocation events their categories as they pass, and
/// gathers what is stored beside them.
///
/// The session thread calls learn() and facts() while no recording is on, the thread that consumes batches
/// label().
class MemoryBooks {
public:
    explicit MemoryBooks(StringTable& strings) : strings_(strings), labels_(strings) {}

    void learn(MemoryFacts&& facts);
    /// Also adds the loss `memory_unmatched` to a batch that ends with events the rehearsed step lacked.
    void label(TraceBatch& batch);
    /// Blocks, segments, readings, saved tensors, places in the code.
    MemoryFacts facts() const;
    /// What is wrong with the memory of the traced steps: each left more allocated than the one before.
    std::vector<std::string> flags() const;

private:
    void learnCaptured(CapturedStep&& captured);

    StringTable& strings_;
    analysis::MemoryLabels labels_;
    MemoryFacts facts_;
    CapturedStep captured_; ///< empty where no CUDA graph was captured
    bool learnt_ = false;   ///< a step was rehearsed
    std::int64_t toldUnmatched_ = 0;
    analysis::StepGrowth growth_;
};

} // namespace tilescope::session
