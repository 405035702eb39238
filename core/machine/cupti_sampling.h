#pragma once

#include "core/base/units.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tilescope::machine {

/// The driver's CUDA interface, loaded at run time and never unloaded. Creates no context. One thread.
class CudaDriver {
public:
    /// \param library  a name that the loader searches for, or a path
    /// \throws Error (Environment)  there is no driver, or it does not start
    explicit CudaDriver(const std::string& library = "libcuda.so.1");

    /// The number of CUDA devices that this process may use.
    int devices() const;
    /// `GPU-…`, as nvidia-smi shows it; empty: unknown.
    std::string uuid(int device) const;
    /// Bytes per second of a device's memory at most: two transfers of its bus in each cycle of its clock. 0: unknown.
    double memoryPeak(int device) const;

private:
    void* library_;
};

/// What it takes to make values of samples.
struct SamplingTimes {
    std::int64_t samples = 0;
    std::chrono::nanoseconds decoding{0};   ///< by the thread that empties the hardware's buffer
    std::chrono::nanoseconds evaluating{0}; ///< by all threads that compute values
};

/// Counters of one GPU that are sampled all the time. One thread.
class DeviceSampling {
public:
    virtual ~DeviceSampling() = default;

    /// A sample: its time on CUPTI's clock, in ns, and the values of the metrics in their order.
    using Take = std::function<void(std::int64_t start, std::int64_t end, std::span<const double> values)>;
    /// Empties the hardware's buffer and passes on the samples that are evaluated and have not been passed on: other
    /// threads evaluate them meanwhile. After stop(): waits for all. They come in order.
    /// \return  whether the hardware had no room for samples
    /// \throws Error (Failure)  CUPTI fails; nothing more will come
    virtual bool read(const Take& take) = 0;
    /// Ends the sampling; read() once more passes on the last samples.
    virtual void stop() = 0;
    /// For the samples that were passed on.
    virtual SamplingTimes times() const = 0;
};

class SamplingFunctions;

/// The part of CUPTI that samples counters of whole GPUs (PM sampling), from CUDA 12.6 on, loaded at run time and never
/// unloaded. It needs no context and sees the work of all processes. One thread. The caller has made a CudaDriver.
class SamplingLibrary {
public:
    /// \param cupti  path of libcupti; the library of its metrics is beside it
    /// \throws Error (Environment)  it cannot be loaded, is too old, or does not start
    explicit SamplingLibrary(const std::filesystem::path& cupti);
    ~SamplingLibrary();
    SamplingLibrary(const SamplingLibrary&) = delete;
    SamplingLibrary& operator=(const SamplingLibrary&) = delete;

    /// How many passes a device needs to measure these metrics; 0: it does not have one of them.
    /// \throws Error (Environment)  this device cannot be sampled, or not by this user: with the remedy
    std::int64_t passes(int device, std::span<const std::string> metrics);
    /// \param metrics    that need one pass
    /// \param constants  so many of them, the last ones, do not change: evaluated for the first samples only
    /// \throws Error (Environment)  as of passes(), or another program uses the counters of the device
    std::unique_ptr<DeviceSampling> start(int device, std::vector<std::string> metrics, std::size_t constants,
                                          Nanoseconds interval);
    /// What CUPTI's clock shows now, in ns; 0: unknown.
    std::int64_t now() const;

private:
    std::shared_ptr<SamplingFunctions> functions_;
};

} // namespace tilescope::machine
