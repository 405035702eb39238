#pragma once

#include "app/record/python_layout.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tilescope::trace {
class ThreadLog;
}

namespace tilescope::record {

// The stacks of Python's threads, read from memory without the interpreter: that of a thread which launches by the thread
// itself, in the midst of the launch, and by HostSampler between launches.

/// A thread whose stack HostSampler reads: one that launches and runs Python.
struct SampledThread {
    std::atomic<std::uint32_t> thread{0}; ///< of the operating system; 0: the place is free
    std::atomic<std::uintptr_t> state{0}; ///< its PyThreadState
    std::atomic<int> core{-1};            ///< that it ran on lately
    std::atomic<const trace::ThreadLog*> log{nullptr};
};
inline constexpr std::size_t kMostSampledThreads = 64;

/// Where the interpreter says what it does; 0: unknown.
struct InterpreterState {
    std::uintptr_t lock = 0;       ///< PythonLayout::kLockBytes from here on
    std::uintptr_t collecting = 0; ///< an int
};

/// What PythonStacks and HostSampler know of this process' Python. Never destroyed.
struct PythonStacks {
    /// Compares the stack of the calling thread, as the memory has it, with what Python says of it.
    ///
    /// The caller holds the interpreter's lock.
    /// \param minor  of Python 3
    /// \return       what differs, in one sentence; empty: nothing
    static std::string check(int minor);
    /// Lets threads tell their stacks when they launch. Call it after check() found nothing.
    static void start() noexcept;
    /// Ends that before the interpreter ends, and waits until no thread reads its stack.
    static void stop() noexcept;
    /// Also ends by itself when the interpreter begins to end: it frees the stacks much later.
    static bool isOn() noexcept { return on.load(std::memory_order_acquire) && isInitialized() != 0; }
    /// In a forked child, by its only thread: the sampled threads are the parent's.
    static void forgetThreads() noexcept;

    static PythonLayout layout; ///< of check()
    static InterpreterState interpreter;
    static std::atomic<bool> on;
    static int (*isInitialized)(); ///< Py_IsInitialized; set before `on`
    static std::array<SampledThread, kMostSampledThreads> threads;
};

} // namespace tilescope::record
