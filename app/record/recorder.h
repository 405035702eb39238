#pragma once

#include "app/record/collective_log.h"
#include "app/record/window.h"
#include "core/base/mutex.h"

#include <cstdint>
#include <string_view>

namespace tilescope::record {

/// Memory that the program is known to hold now.
struct HeldMemory {
    std::string_view category; ///< word of a MemoryCategory
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    std::string_view name;
    std::string_view shape;
    std::string_view dtype;
    int device = -1; ///< CUDA's number; -1: the CPU
};

/// Records the process that loaded this library into a working file in the folder TILESCOPE_RECORD_FOLDER: the events
/// that its threads note through core/trace and those that CUPTI reports.
///
/// A separate thread writes new events every few milliseconds; the last are written when the process exits. A process
/// that a signal ends loses what it noted since. A failure ends the recording, never the program. A forked child has a
/// recording of its own, which starts with its first range, step or use of CUDA. Any thread may call the functions; none
/// throws.
class Recorder {
public:
    /// Starts recording host ranges, once.
    /// \return  whether this process is recorded, or will be as a forked child
    static bool start() noexcept;
    /// Held by fork(), and by whoever initialises NVTX for an image of the program: NVTX in a child would wait for ever
    /// for an initialisation that another thread had begun.
    static Mutex& startGuard() noexcept;
    /// Starts the recording of a forked child, in which something is about to be noted.
    /// \return  whether events are recorded now
    static bool startInChild() noexcept;
    /// Starts recording the device, once; for the thread that initialises CUDA.
    static void startDevice() noexcept;
    /// Whether events are recorded now; false while the recording pauses.
    static bool isRecording() noexcept;
    /// Whether this process has a recording, also while it pauses.
    static bool isStarted() noexcept;

    /// Notes a range of the calling thread that does not nest in its other ranges.
    static void noteRange(std::string_view name, std::uint32_t thread, std::int64_t start,
                          std::int64_t end) noexcept;
    /// A range is about to be opened, which may start the recording.
    static void noteOpening(std::string_view name) noexcept;
    /// Notes a fact about the process, for example how its memory was recorded. The latest value of a key counts.
    static void noteFact(std::string_view key, std::string_view value) noexcept;
    static void noteHeld(const HeldMemory& memory) noexcept;
    /// The calling thread starts a collective.
    /// \return  its number for endCollective(); 0: it is not recorded
    static std::uint64_t startCollective(const StartedCollective& collective) noexcept;
    static void endCollective(std::uint64_t number) noexcept;
    /// From now on DeviceAllocLog records the allocators of this many devices, which are empty now.
    static void startDeviceMemory(int devices) noexcept;
    /// A range was opened: the first step begins with the first.
    static void noteOpened() noexcept;
    /// A step of the program ends now; the next one begins.
    static void endStep() noexcept;
    /// A step may have ended now. What the thread does later decides whether it was one.
    /// \param isOneAtTheEnd  it is one if the process ends before that
    static void notePossibleStep(bool isOneAtTheEnd) noexcept;
    static void decidePossibleSteps(bool areSteps) noexcept;
    /// Leaves CUPTI to a profiler of the program until the process ends: to torch.profiler if the user asked for it.
    static void yieldDevice(Profiler profiler) noexcept;
    /// Ends the recording before the process ends; it does not start again.
    static void end() noexcept;
    /// The same for a process that ends now with this status, without exit().
    static void endedWith(int status) noexcept;
    /// Writes all events so far, for a process that may end without exit(). Waits a second at most.
    static void flush() noexcept;
    /// Writes all events so far before the process tells another one what it did, which may end it then. Does nothing where
    /// that would take more than a twentieth of the program's time.
    static void save() noexcept;
};

} // namespace tilescope::record
