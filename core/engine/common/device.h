#pragma once

#include "core/base/units.h"

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>

namespace tilescope::engine {

/// What an allocator has given out; absent where this device's allocator does not tell.
struct MemoryFigures {
    std::optional<Bytes> allocated = {};
    std::optional<Bytes> reserved = {};
    std::optional<Bytes> peakAllocated = {}; ///< since resetPeaks()
    std::optional<Bytes> peakReserved = {};
};

/// The device a point runs on: waiting for it, its memory figures and its memory limit. Session thread.
class Device {
public:
    explicit Device(at::Device device);

    at::Device torch() const { return device_; }
    bool isCuda() const { return device_.is_cuda(); }
    std::string name() const; ///< cpu, cuda:0

    /// Waits until the device has nothing left to do. Nothing on a CPU, whose ops return when they are done.
    void synchronize() const;

    MemoryFigures memory() const;
    void resetPeaks() const;

    /// Lets allocations beyond `limit` fail as if the device had no more. None: what a GPU has, and on a CPU
    /// 80 % of what is available now, so that a machine never swaps to death.
    void limitMemory(std::optional<Bytes> limit) const;
    void liftMemoryLimit() const;

    /// Gives cached blocks and library workspaces back, so that one point does not show in the next one's
    /// figures.
    void clean() const;

private:
    at::Device device_;
};

/// Makes a GPU the current one of this thread for a scope; nothing on a CPU.
///
/// On a stream of its own where asked: CUDA graphs cannot be captured on the default stream.
class DeviceScope {
public:
    DeviceScope(const Device& device, bool ownStream = false);
    ~DeviceScope();
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

private:
    struct Guards;
    std::unique_ptr<Guards> guards_;
};

/// The size of the last allocation that a CUDA device refused and what was in use then; cleared by reading.
struct RefusedAllocation {
    Bytes requested;
    Bytes allocated;
    Bytes reserved;
};
std::optional<RefusedAllocation> takeRefusedAllocation();

/// Starts CUDA and watches for refused allocations; once a process, before the first CUDA tensor.
void initializeCuda();

} // namespace tilescope::engine
