#pragma once

#include "app/record/block_maker.h"
#include "app/record/calibration.h"
#include "app/record/collective_log.h"
#include "app/record/recorder.h"
#include "app/record/window.h"
#include "core/base/try_mutex.h"
#include "core/record/control.h"
#include "core/record/working_file.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tilescope::record {

/// The recording of this process and the thread that writes it. Never destroyed, because threads may call it until the
/// process ends.
///
/// Any thread may call the functions. They may throw: Recorder, which the program's threads call, catches.
class Recording {
public:
    /// \param folder  of the working files
    explicit Recording(const std::filesystem::path& folder);

    /// Whether this process has a recording, also while it pauses.
    static bool isOpen() noexcept { return open_.load(std::memory_order_relaxed); }
    static void open() noexcept { open_.store(true); }
    /// \return  whether it was open
    static bool close() noexcept;
    /// Whether noteOpening() must be told of ranges.
    static bool awaitsRange() noexcept { return awaitsRange_.load(std::memory_order_relaxed); }
    /// Asks the writing thread to write and waits for it a second at most. A signal handler may call it.
    static void writeNow() noexcept;

    void startDevice();
    /// Leaves CUPTI to a profiler of the program if the user asked for it.
    void yieldDevice();
    /// Ends the recording, from the thread that ends the process.
    void end();
    /// In a forked child, which has no thread that writes.
    void abandon() noexcept;

    /// Notes a fact of the process, which is written with the next block.
    void noteFact(std::string_view key, std::string_view value);
    void noteHeld(const HeldMemory& memory);
    CollectiveLog& collectives() { return collectives_; }
    void startDeviceMemory(int devices) { blocks_.startDeviceMemory(devices); }
    /// \param step  number of the step that it is, counted from 1; 0: none
    void noteRange(std::string_view name, std::uint32_t thread, std::int64_t start, std::int64_t end,
                   std::uint32_t step);
    void noteOpening(std::string_view name);
    void noteOpened() noexcept;
    void endStep();

private:
    trace::CuptiApi* apiIfAny();
    trace::CuptiSession* sessionIfAny();
    TraceLevel level() const { return window_.isFull ? TraceLevel::Full : TraceLevel::Kernels; }
    /// Starts or stops the recording of the device and the host. If another thread is doing that, leaves it to that
    /// thread. May be called in a callback of CUPTI.
    void setOn(bool on) EXCLUDES(windowMutex_, mutex_);
    /// Does what was last asked for. After every release of windowMutex_.
    void settle() EXCLUDES(windowMutex_, mutex_);
    void resume() REQUIRES(windowMutex_) EXCLUDES(mutex_);
    void pause() REQUIRES(windowMutex_) EXCLUDES(mutex_);
    void apply(Window::Change change) EXCLUDES(windowMutex_, mutex_);
    void prepareDevice() EXCLUDES(windowMutex_, mutex_);
    void stopDevice() EXCLUDES(windowMutex_, mutex_);
    void detachSoon(trace::CuptiSession& session) EXCLUDES(windowMutex_, mutex_);

    // The writing thread.
    void run();
    void watchWindow();
    void turn(trace::CuptiSession* session, bool due, bool forced) noexcept;
    void write();
    void finish(trace::CuptiSession* session) noexcept;
    /// Ends the recording for a reason of our own, which the file keeps. The program goes on, and the file keeps what
    /// it has.
    void giveUp(const std::string& reason) noexcept;

    static inline std::atomic<bool> open_{false};
    static inline std::atomic<bool> awaitsRange_{false};

    // The writing thread.
    BlockMaker blocks_;
    WorkingFileWriter file_;
    ControlSocket control_;
    bool delayOver_ = false;

    const Window window_;
    const std::int64_t startedAt_;
    std::atomic<std::int64_t> stepStart_{0};
    std::atomic<std::int64_t> steps_{0};
    std::atomic<std::int64_t> namedSteps_{0};
    std::atomic<bool> isPartial_{false}; ///< the current step began before the recording
    std::atomic<std::int64_t> onSince_{0};

    Mutex calibrationMutex_ ACQUIRED_BEFORE(windowMutex_);
    Calibration calibration_ GUARDED_BY(calibrationMutex_);
    TryMutex
        windowMutex_ ACQUIRED_BEFORE(mutex_); // held during calls of CUPTI; its callbacks only try to get it
    bool on_ GUARDED_BY(windowMutex_) = false;
    std::atomic<bool> isOn_{false};   ///< the same, for threads without the mutex
    std::atomic<bool> wanted_{false}; ///< what was asked for last
    bool yielded_ GUARDED_BY(windowMutex_) = false;

    Mutex mutex_; // never held during calls of CUPTI
    trace::Losses cuptiLosses_ GUARDED_BY(mutex_);
    bool detachAsked_ GUARDED_BY(mutex_) = false;
    std::vector<RangeRow> rows_ GUARDED_BY(mutex_);
    std::vector<HeldRow> held_ GUARDED_BY(mutex_);
    CollectiveLog collectives_{blocks_.strings()};
    ProcessFacts facts_ GUARDED_BY(mutex_);
    bool started_ GUARDED_BY(mutex_) = false;
    bool ending_ GUARDED_BY(mutex_) = false;
    bool ended_ GUARDED_BY(mutex_) = false;
    Condition changed_;

    // Set once, under the mutex; the writing thread reads them after it saw the session.
    std::unique_ptr<trace::CuptiApi> api_;
    std::unique_ptr<trace::CuptiSession> session_;
    std::thread thread_;
};

} // namespace tilescope::record
