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

/// A process that loads data for the threads of this one: a fork of it.
struct LoadingProcess {
    std::atomic<std::uint32_t> process{0}; ///< its number; 0: the place is free
    std::atomic<std::uintptr_t> owner{0};  ///< the iterator that it loads for
    std::atomic<std::uintptr_t> state{0};  ///< PyThreadState of its main thread

    /// Frees the place of a process that has ended. Takes nothing from whoever waits for the process.
    /// \return  the process that has the place; 0: none
    std::uint32_t running() noexcept;
};

/// The processes that load data, and the code objects by which that is seen; 0: unknown.
struct Loading {
    static constexpr std::size_t kMost = 64;
    std::array<LoadingProcess, kMost> processes{};
    std::atomic<std::uintptr_t> waits{0}; ///< a thread waits for data in this method of an iterator
    std::array<std::atomic<std::uintptr_t>, 2>
        fetches{}; ///< a process that loads data does so in one of them
};

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
    /// The calling thread, which holds the interpreter's lock, has forked a process that loads data for it.
    /// \param owner    the iterator that it loads for
    /// \param waits    Loading::waits
    /// \param fetches  Loading::fetches
    static void addLoading(std::uint32_t process, std::uintptr_t owner, std::uintptr_t waits,
                           std::array<std::uintptr_t, 2> fetches) noexcept;
    /// In a forked child, by its only thread: the sampled threads and processes are the parent's.
    static void forgetThreads() noexcept;

    static PythonLayout layout; ///< of check()
    static InterpreterState interpreter;
    static std::atomic<bool> on;
    static int (*isInitialized)(); ///< Py_IsInitialized; set before `on`
    static std::array<SampledThread, kMostSampledThreads> threads;
    static Loading loading;
};

} // namespace tilescope::record
