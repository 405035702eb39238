#pragma once

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

/// Records the process that loaded this library: what its threads note through core/trace, and what CUPTI
/// reports, into the working file of the process in the folder TILESCOPE_RECORD_FOLDER.
///
/// A thread of its own writes every half second what has arrived; the rest is written when the process exits or
/// gets SIGTERM. A failure ends the recording, never the program. In a forked child nothing is recorded. All
/// functions may be called by any thread; none throws.
class Recorder {
public:
    /// Starts recording host ranges, once.
    /// \return  whether this process is recorded
    static bool start() noexcept;
    /// Starts recording the device, once; for the thread that initialises CUDA.
    static void startDevice() noexcept;
    /// Whether what happens now is recorded: not while the recording pauses.
    static bool isRecording() noexcept;
    /// Whether this process has a recording, also between the parts of it that are recorded.
    static bool isStarted() noexcept;

    /// Notes a range that did not nest, of the calling thread.
    static void noteRange(std::string_view name, std::uint32_t thread, std::int64_t start,
                          std::int64_t end) noexcept;
    /// A range is about to be opened, which may start the recording.
    static void noteOpening(std::string_view name) noexcept;
    /// Notes a fact of the process: how its memory, its ops were recorded.
    static void noteFact(std::string_view key, std::string_view value) noexcept;
    static void noteHeld(const HeldMemory& memory) noexcept;
    /// From now on DeviceAllocLog records the allocators of this many devices, which are empty now.
    static void startDeviceMemory(int devices) noexcept;
    /// A range was opened: the first step begins with the first.
    static void noteOpened() noexcept;
    /// A step of the program ends now; the next one begins.
    static void endStep() noexcept;
    /// Leaves CUPTI to a profiler of the program for the rest of its life, if the user asked for it.
    static void yieldDevice() noexcept;
    /// Ends the recording before the process does; it does not start again.
    static void end() noexcept;
    /// Writes what has arrived, for a process that ends without exit(). Waits for it a second at most.
    static void flush() noexcept;
};

} // namespace tilescope::record
