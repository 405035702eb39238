#pragma once

#include "core/engine/attention/saved_tensors.h"
#include "core/model/memory.h"

#include <string>

namespace tilescope::engine {

class Device;
class Experiment;

/// The current figures of the allocator and the driver. Session thread.
MemoryReading readMemory(const Device& device, const std::string& moment);

/// Reads the holders of a device's memory at certain points of a step, which allocation events alone do not
/// contain. Session thread, except lookAtRecomputed().
class MemoryReader {
public:
    MemoryReader(const Device& device, const Experiment& experiment);

    /// Reads parameters, gradients, optimizer state, inputs and library workspaces.
    void lookAtHeld();
    /// Reads what the autograd graph of the step holds for backward. Call before backward.
    void lookAtGraph();
    /// Like lookAtGraph(), for a recomputed part. On the backward thread, while the session thread waits for
    /// it.
    void lookAtRecomputed(const at::Tensor& output);

    /// Returns and clears what was read since the last call: held, saved.
    MemoryFacts takeInstants();
    /// Everything allocated now: blocks with their holders, segments, readings.
    MemoryFacts takeStock(const std::string& moment) const;
    MemoryReading read(const std::string& moment) const;
    /// Number of nodes whose saved tensors cannot be read, and the reason of the first.
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
