#pragma once

#include "core/base/mutex.h"
#include "core/base/try_mutex.h"
#include "core/base/units.h"
#include "core/trace/cupti/context_watch.h"
#include "core/trace/cupti/pc_sampling_api.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilescope::trace {

/// A kernel, as the samples name it.
struct PcKernel {
    std::int32_t device = 0; ///< CUDA's number
    std::uint64_t cubin = 0; ///< CUPTI's checksum of its machine code
    std::string symbol;      ///< its name in the machine code, mangled
};

/// Samples of one instruction with one stall reason, read in some time.
struct PcCount {
    std::uint32_t kernel = 0; ///< number of a PcKernel, from 0 in the order in which they were seen
    std::uint32_t reason = 0; ///< index in PcSamples::reasons
    std::uint64_t offset = 0; ///< bytes from the beginning of the kernel
    std::uint64_t samples = 0;
    std::uint64_t unissued = 0; ///< those at which the scheduler issued no instruction of any warp
    Timestamp start = {};       ///< when the reading before ended
    Timestamp end = {};         ///< when they had been read
};

/// What was sampled since the last time.
struct PcSamples {
    std::vector<PcKernel> kernels; ///< those that were not handed over before
    std::vector<PcCount> counts;
    std::vector<std::pair<std::uint64_t, std::string>> cubins; ///< checksum and machine code, once
};

/// Totals since the beginning.
struct PcSamplerCounts {
    std::uint64_t samples = 0;
    std::uint64_t dropped = 0; ///< by the hardware
    std::uint64_t others = 0;  ///< in kernels that are not the program's, such as the driver's
    std::uint64_t full = 0;    ///< readings at which the hardware's buffer was full
    std::uint64_t failed = 0;  ///< readings that CUPTI refused
};

/// Samples the program counters of all warps (CUPTI's continuous mode: kernels run as without it). A thread of its own
/// empties CUPTI's buffers every 200 ms and adds the samples up by kernel, instruction and stall reason: those of every
/// 200 ms alone at first, of longer times the more there are, up to 5 s. Only the first context of the process is sampled: with a
/// second one at the same time or later, programs crashed (CUPTI 13.0).
///
/// Its thread has the program's file descriptors, as CUDA's driver uses them. The callbacks are called on the program's
/// threads; the other functions by the threads that start, stop and write the recording.
class PcSampler final : public ContextWatch {
public:
    /// Whether something may begin that cannot begin all the time. Any thread; it must not wait.
    using MayBegin = std::function<bool()>;
    /// \param folder    where the processes of a recording claim devices, because CUPTI samples for one process of a device;
    ///                  empty: no other process samples this one's devices
    /// \param mayBegin  samples only from when it has returned true; empty: all the time
    PcSampler(const PcSamplingApi& api, std::filesystem::path folder, MayBegin mayBegin);
    ~PcSampler() override;

    /// Starts to count samples in every context, or counts no more. Does not wait for the device. Once it has begun, the
    /// hardware goes on sampling until stop(): cuptiPCSamplingDisable() never returns if another thread launches meanwhile,
    /// and nor does that thread (CUPTI 13.0: each has a lock that the other one waits for).
    /// \return  whether it could; false: CUPTI was in use for too long, and sampling starts as soon as it is not
    bool setOn(bool on) noexcept;
    /// Stops sampling for good and ends the thread. What is left can then be taken. No thread launches any more.
    void stop() noexcept;

    /// Any thread.
    PcSamples take();
    PcSamplerCounts counts() const;
    /// The names that PcCount::reason refers to: `long_scoreboard`. Any thread.
    std::vector<std::string> reasons() const;
    /// Why samples are missing, in one sentence; empty: none are known to be. Any thread.
    std::string trouble() const;
    /// 2^n cycles lie between two samples of a multiprocessor; 0: unknown. Any thread.
    std::uint32_t period() const { return period_.load(); }

    void contextCreated(CUcontext context) noexcept override;
    void contextEnds(CUcontext context) noexcept override;
    void moduleLoaded(CUcontext context, std::string_view cubin) noexcept override;
    void moduleEnds(CUcontext context) noexcept override;

private:
    class Buffer;
    struct Context {
        CUcontext handle = nullptr;
        std::int32_t device = 0;
        bool isOn = false;
        bool isRefused = false;
        bool isChosen = false;              ///< the one that this process samples
        int failures = 0;                   ///< readings in a row
        std::unique_ptr<Buffer> read;       ///< that cuptiPCSamplingGetData() fills
        std::unique_ptr<Buffer> configured; ///< that CUPTI fills when sampling ends
    };
    /// A context was created or destroyed.
    struct Change {
        CUcontext handle = nullptr;
        bool isNew = false;
    };
    struct Reason {
        std::uint32_t index = 0;
        bool isUnissued = false;
    };
    struct Count {
        std::uint64_t samples = 0;
        std::uint64_t unissued = 0;
    };

    void run() noexcept;
    bool hasTurn() const { return !mayBegin_ || mayBegin_(); }
    void switchTo(bool on) EXCLUDES(mutex_);
    /// In the order in which the contexts were created.
    void startAll() REQUIRES(cuptiMutex_);
    bool lockFor(int milliseconds) noexcept TILESCOPE_ATTRIBUTE(try_acquire_capability(true, cuptiMutex_));
    void takeInChanges() REQUIRES(cuptiMutex_);
    /// \return  whether no other process of the recording samples this device
    bool claim(std::int32_t device) REQUIRES(cuptiMutex_);
    void releaseClaims() REQUIRES(cuptiMutex_);
    void start(Context& context) REQUIRES(cuptiMutex_);
    void end(Context& context) REQUIRES(cuptiMutex_);
    void stopIn(Context& context) REQUIRES(cuptiMutex_);
    void forget(CUcontext handle) REQUIRES(cuptiMutex_);
    bool learnReasons(CUcontext context) REQUIRES(cuptiMutex_);
    CUptiResult configure(Context& context) REQUIRES(cuptiMutex_);
    void drain(Context& context) REQUIRES(cuptiMutex_);
    void drainAll() REQUIRES(cuptiMutex_);
    void add(const Context& context, const CUpti_PCSamplingData& data) REQUIRES(cuptiMutex_) EXCLUDES(mutex_);
    /// Ends a time of which samples are added up, if it has been long enough.
    void endSlice(bool always) REQUIRES(mutex_);
    std::uint32_t kernelOf(std::int32_t device, const CUpti_PCSamplingPCData& pc) REQUIRES(mutex_);
    void refuse(Context& context, CUptiResult result, const char* what) REQUIRES(cuptiMutex_);
    void noteTrouble(std::string sentence) EXCLUDES(mutex_);

    const PcSamplingApi api_;
    const std::filesystem::path folder_;
    const MayBegin mayBegin_;
    std::atomic<bool> ends_{false};
    std::atomic<bool> on_{false};
    std::atomic<std::uint32_t> period_{0};

    TryMutex cuptiMutex_; // held during calls of CUPTI; its callbacks only try to get it
    std::vector<std::unique_ptr<Context>> contexts_ GUARDED_BY(cuptiMutex_);
    std::vector<std::unique_ptr<Context>>
        ended_ GUARDED_BY(cuptiMutex_); ///< CUPTI may still write into their buffers
    bool hasChosen_ GUARDED_BY(cuptiMutex_) = false;
    std::vector<std::string> claims_ GUARDED_BY(cuptiMutex_); ///< symbolic links
    std::vector<Reason> reasonOf_ GUARDED_BY(cuptiMutex_);    ///< by CUPTI's index

    mutable Mutex mutex_;                            // never held during calls of CUPTI
    std::vector<Change> changes_ GUARDED_BY(mutex_); ///< that contexts_ does not have yet, in order
    std::vector<std::string> reasons_ GUARDED_BY(mutex_);
    std::map<std::tuple<std::int32_t, std::uint64_t, std::uint32_t>, std::uint32_t>
        kernels_ GUARDED_BY(mutex_);
    std::vector<PcKernel> newKernels_ GUARDED_BY(mutex_);
    std::unordered_map<std::uint64_t, std::uint32_t> places_ GUARDED_BY(mutex_); ///< by kernel << 32 | offset
    std::vector<Count> sums_ GUARDED_BY(mutex_);                                 ///< by place and reason
    Timestamp sliceStart_ GUARDED_BY(mutex_) = {}; ///< of what places_ and sums_ have
    Nanoseconds sliceLength_ GUARDED_BY(mutex_);
    std::size_t rowsUntilLonger_ GUARDED_BY(mutex_);
    std::vector<PcCount> counted_ GUARDED_BY(mutex_);              ///< of earlier times, not taken yet
    std::map<std::uint64_t, std::string> code_ GUARDED_BY(mutex_); ///< loaded and not sampled yet
    std::vector<std::uint64_t>
        sampledCode_ GUARDED_BY(mutex_); ///< of kernels whose code is to be handed over
    std::size_t codeBytes_ GUARDED_BY(mutex_) = 0;
    PcSamplerCounts counts_ GUARDED_BY(mutex_);
    std::string trouble_ GUARDED_BY(mutex_);
    bool leavesContexts_ GUARDED_BY(mutex_) = false; ///< some were not sampled
    bool hasStarted_ GUARDED_BY(mutex_) = false;
    Condition changed_;
    std::thread thread_;
};

} // namespace tilescope::trace
