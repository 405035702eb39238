#pragma once

#include "app/record/block_maker.h"
#include "app/record/calibration.h"
#include "app/record/collective_log.h"
#include "app/record/device_thread.h"
#include "app/record/host_sampler.h"
#include "app/record/possible_steps.h"
#include "app/record/recorder.h"
#include "app/record/settings.h"
#include "app/record/window.h"
#include "core/base/try_mutex.h"
#include "core/record/control.h"
#include "core/record/sampling_turns.h"
#include "core/record/working_file.h"
#include "core/trace/cupti/pc_sampler.h"

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
/// process ends. A forked child has another one.
///
/// The writing thread has file descriptors of its own or, where the system refuses that, uses none once its file is mapped;
/// the other functions are called in threads of the program and use none. Any thread may call them. They may throw:
/// Recorder, which the program's threads call, catches.
class Recording {
public:
    /// Opens the recording, unless this system does not let it: then isOpen() stays false.
    /// \param facts  further facts about the process
    /// \throws std::system_error  the process may not start a thread
    explicit Recording(Settings settings, ProcessFacts facts = {});

    /// Whether this process has a recording, also while it pauses.
    static bool isOpen() noexcept { return open_.load(std::memory_order_relaxed); }
    /// \return  whether it was open
    static bool close() noexcept;
    /// Whether noteOpening() must be told of ranges.
    static bool awaitsRange() noexcept { return awaitsRange_.load(std::memory_order_relaxed); }
    static void awaitRange(bool awaits) noexcept { awaitsRange_.store(awaits); }
    /// Lets the writing thread write what was noted so far, and waits for it a second at most.
    /// \param mayEnd  the process may end now: the recording is complete if nothing follows
    /// \return        whether it was written
    bool flush(bool mayEnd);
    /// Writes what was noted so far if that does not take much of the program's time.
    void save();

    void startDevice();
    /// Leaves CUPTI to a profiler of the program until the process ends.
    void yieldDevice(Profiler profiler);
    /// Ends the recording, from the thread that ends the process.
    void end();
    const Settings& settings() const { return settings_; }
    /// The facts that hold for forked children as well. For the thread that forks, which holds forkMutex().
    ProcessFacts factsForChildren() const NO_THREAD_SAFETY_ANALYSIS { return lasting_; }
    Mutex& forkMutex() { return mutex_; }

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
    void notePossibleStep(bool isOneAtTheEnd);
    void decidePossibleSteps(bool areSteps);
    /// The process ends.
    void endPossibleSteps() { endSteps(possibleSteps_.takeAtTheEnd(), true); }

private:
    void pollForEnd();
    void endSteps(const PossibleSteps::Steps& steps, bool processEnds);
    /// \return  its number, counted from 0
    std::int64_t noteStep(std::int64_t start, std::int64_t end, std::uint32_t thread);
    /// What follows from the window.
    void stepNoted(std::int64_t step, std::int64_t end);
    trace::CuptiApi* apiIfAny();
    trace::CuptiSession* sessionIfAny();
    trace::PcSampler* pcSamplerIfAny();
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
    /// Lets the kernels of the session be sampled. Says why if that is not possible.
    void prepareSampler(trace::CuptiSession& session) REQUIRES(windowMutex_) EXCLUDES(mutex_);
    void setSampler(bool on) REQUIRES(windowMutex_);
    /// Ends the recording of the device for good.
    /// \return  whether it did; it may have ended before, or not have begun
    bool stopDevice(std::string_view reason) EXCLUDES(windowMutex_, mutex_);
    void detachSoon(trace::CuptiSession& session) EXCLUDES(windowMutex_, mutex_);

    // The writing thread.
    void run() noexcept;
    void record();
    bool openFile();
    void watchWindow();
    /// Writes what was noted.
    /// \param flushes  asks CUPTI for the records that it holds
    /// \param forced   the process may end now
    /// \return         whether there was anything
    bool turn(trace::CuptiSession* session, bool flushes, bool forced) noexcept;
    bool hasNotes();
    void write(bool all = false);
    /// \param all  also what is not old enough to be written
    void takePcSamples(WorkingBlock& block, trace::Losses& losses, bool all);
    void finish(trace::CuptiSession* session) noexcept;
    /// What the options asked for and the program did not do; empty: nothing.
    std::string missed() const;
    /// Calls `use`, which may call CUDA's driver, in a thread with the program's descriptors.
    void withDriver(const std::function<void()>& use);
    /// Ends the recording for a reason of our own, which the file keeps. The program goes on, and the file keeps what
    /// it has.
    void giveUp(std::string_view reason) noexcept;
    /// The same for the exception in flight.
    void giveUp() noexcept;
    /// Notes the reason beside the working file, or tells it to `tilescope record` where the folder is out of reach.
    void sayEnd(std::string_view reason) noexcept;
    /// The reason where the working file cannot be written.
    std::string unwritable() const;

    static inline std::atomic<bool> open_{false};
    static inline std::atomic<bool> awaitsRange_{false};

    // The writing thread.
    BlockMaker blocks_{[this](int device) {
        DeviceFacts facts;
        withDriver([&] { facts = factsOfDevice(device); });
        return facts;
    }};
    std::unique_ptr<WorkingFileWriter> file_;
    std::unique_ptr<HostSampler> sampler_; ///< null: Python stacks are not read
    ControlSocket control_;                ///< closed if hasDescriptors_ is false
    bool hasDescriptors_ = false;          ///< of its own; otherwise the thread opens nothing
    bool delayOver_ = false;
    std::int64_t pcSamplesWritten_ = 0; ///< when

    const Settings settings_;
    const Window& window_ = settings_.window;
    std::unique_ptr<InstructionTurn> turn_; ///< set before the constructor returns; null: there are none
    const std::int64_t startedAt_;
    const std::filesystem::path path_; ///< of the working file
    std::atomic<bool> wasOn_{false};
    std::atomic<bool> rangeSeen_{false}; ///< the one that starts the recording
    std::atomic<std::int64_t> stepStart_{0};
    std::atomic<std::int64_t> steps_{0};
    std::atomic<std::int64_t> namedSteps_{0};
    std::atomic<bool> isPartial_{false}; ///< the current step began before the recording
    std::atomic<std::int64_t> onSince_{0};
    PossibleSteps possibleSteps_;

    Mutex calibrationMutex_ ACQUIRED_BEFORE(windowMutex_);
    Calibration calibration_ GUARDED_BY(calibrationMutex_);
    TryMutex
        windowMutex_ ACQUIRED_BEFORE(mutex_); // held during calls of CUPTI; its callbacks only try to get it
    bool on_ GUARDED_BY(windowMutex_) = false;
    std::atomic<bool> isOn_{false};   ///< the same, for threads without the mutex
    std::atomic<bool> wanted_{false}; ///< what was asked for last
    std::string
        leftTo_ GUARDED_BY(windowMutex_); ///< the profiler that CUPTI was left to, as a sentence; empty: none

    Mutex mutex_; // never held during calls of CUPTI
    trace::Losses cuptiLosses_ GUARDED_BY(mutex_);
    bool detachAsked_ GUARDED_BY(mutex_) = false;
    std::vector<RangeRow> rows_ GUARDED_BY(mutex_);
    std::vector<HeldRow> held_ GUARDED_BY(mutex_);
    CollectiveLog collectives_{blocks_.strings()};
    ProcessFacts facts_ GUARDED_BY(mutex_);
    ProcessFacts lasting_ GUARDED_BY(mutex_); ///< those for children
    std::uint64_t flushesAsked_ GUARDED_BY(mutex_) = 0;
    std::uint64_t flushesDone_ GUARDED_BY(mutex_) = 0;
    bool mayEnd_ GUARDED_BY(mutex_) = false; ///< a flush since the last turn was asked for with mayEnd
    std::atomic<std::int64_t> saveDue_{0};   ///< from when on save() may take time
    bool started_ GUARDED_BY(mutex_) = false;
    bool ending_ GUARDED_BY(mutex_) = false;
    bool ended_ GUARDED_BY(mutex_) = false;
    Condition changed_;

    // Set once, under the mutex; the writing thread reads them after it saw the session.
    std::unique_ptr<trace::CuptiApi> api_;
    std::unique_ptr<trace::CuptiSession> session_;
    std::unique_ptr<DeviceThread> device_;
    std::unique_ptr<trace::PcSampler> pcSampler_; ///< null: kernels are not sampled
    std::thread thread_;
};

} // namespace tilescope::record
