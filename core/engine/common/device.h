#pragma once

#include "core/base/units.h"

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>

namespace tilescope::engine {

/// Memory figures of an allocator; absent if the device's allocator does not report them.
struct MemoryFigures {
    std::optional<Bytes> allocated = {};
    std::optional<Bytes> reserved = {};
    std::optional<Bytes> peakAllocated = {}; ///< since resetPeaks()
    std::optional<Bytes> peakReserved = {};
};

/// The device of a point: synchronization, memory figures and memory limit. Session thread.
class Device {
public:
    explicit Device(at::Device device);

    at::Device torch() const { return device_; }
    bool isCuda() const { return device_.is_cuda(); }
    std::string name() const; ///< cpu, cuda:0

    /// Waits until the device is idle. Does nothing on a CPU, whose ops are synchronous.
    void synchronize() const;

    MemoryFigures memory() const;
    void resetPeaks() const;

    /// Makes allocations beyond `limit` fail like an out-of-memory error. None: no limit on a GPU; on a CPU
    /// 80 % of the available memory, divided by `processes`, so that the machine does not swap.
    void limitMemory(std::optional<Bytes> limit, int processes = 1) const;
    void liftMemoryLimit() const;

    /// Frees cached blocks and library workspaces, so that a point does not affect the figures of the next
    /// one.
    void clean() const;

private:
    at::Device device_;
};

/// Makes a GPU current in this thread for a scope; does nothing on a CPU.
///
/// Optionally on a separate stream: CUDA graphs cannot be captured on the default stream.
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

/// The size of the last allocation that failed on a CUDA device and the memory in use at that time. Reading
/// clears it.
struct RefusedAllocation {
    Bytes requested;
    Bytes allocated;
    Bytes reserved;
};
std::optional<RefusedAllocation> takeRefusedAllocation();

/// Initialises CUDA and observes failed allocations. Once per process, before the first CUDA tensor.
void initializeCuda();

} // namespace tilescope::engine
