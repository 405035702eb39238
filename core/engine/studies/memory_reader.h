#pragma once

#include "core/engine/attention/saved_tensors.h"
#include "core/model/memory.h"

#include <string>

namespace tilescope::engine {

class Device;
class Experiment;

/// What the allocator and the driver say now. Session thread.
MemoryReading readMemory(const Device& device, const std::string& moment);

/// Reads who holds which memory of a device at instants of a step: what its allocation events alone do not
/// tell. Session thread, except lookAtRecomputed().
class MemoryReader {
public:
    MemoryReader(const Device& device, const Experiment& experiment);

    /// Parameters, gradients, optimizer state, inputs and library workspaces as they are now.
    void lookAtHeld();
    /// What the autograd graph of the step holds for backward; before backward.
    void lookAtGraph();
    /// The same of a part that backward computed again. On the thread that runs backward, which the session
    /// thread waits for.
    void lookAtRecomputed(const at::Tensor& output);

    /// What the instants since the last call told: held, saved.
    MemoryFacts takeInstants();
    /// All that is allocated now: blocks with their holders, segments, readings.
    MemoryFacts takeStock(const std::string& moment) const;
    MemoryReading read(const std::string& moment) const;
    /// Nodes of a graph that did not say what they hold, and the first one's reason.
    std::int64_t unreadNodes() const { return unreadNodes_; }
    const std::string& unreadReason() const { return unreadReason_; }

private:
    std::vector<HeldStorage> heldNow() const;
    void noteSaved(const at::Tensor& root);

    const Device& device_;
    const Experiment& experiment_;
    MemoryFacts instants_;
    std::int64_t unreadNodes_ = 0;
    std::string unreadReason_;
};

} // namespace tilescope::engine
