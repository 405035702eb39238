#pragma once

#include <cstdint>
#include <string_view>

namespace tilescope::record {

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

    /// Notes a range that did not nest, of the calling thread.
    static void noteRange(std::string_view name, std::uint32_t thread, std::int64_t start,
                          std::int64_t end) noexcept;
    /// A range is about to be opened, which may start the recording.
    static void noteOpening(std::string_view name) noexcept;
    /// A range was opened: the first step begins with the first.
    static void noteOpened() noexcept;
    /// A step of the program ends now; the next one begins.
    static void endStep() noexcept;
    /// Leaves CUPTI to a profiler of the program for the rest of its life, if the user asked for it.
    static void yieldDevice() noexcept;
    /// Writes what has arrived, for a process that ends without exit(). Waits for it a second at most.
    static void flush() noexcept;
};

} // namespace tilescope::record
