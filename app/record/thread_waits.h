#pragma once

#include <cstdint>
#include <optional>

namespace tilescope::record {

/// What the system says of a thread of this process: how long it waited for a core, and what it waits for now. Keeps two
/// files of /proc open, in the table of descriptors of the calling thread. One thread.
class ThreadWaits {
public:
    ThreadWaits() = default;
    ~ThreadWaits() { close(); }
    ThreadWaits(const ThreadWaits&) = delete;
    ThreadWaits& operator=(const ThreadWaits&) = delete;

    /// Without these files nothing is known.
    void open(std::uint32_t thread) noexcept;
    void close() noexcept;

    /// Since the thread began: time in which it could run and had no core, ns. None: unknown.
    std::optional<std::int64_t> withoutCore() const noexcept;
    /// Whether it runs, or could if it had a core. None: unknown.
    std::optional<bool> isRunnable() const noexcept;
    /// The word of memory by which the thread is woken up, as for a lock (futex). 0: it waits for something else, or runs.
    std::uintptr_t awaitedWord() const noexcept;

private:
    int scheduling_ = -1; ///< /proc/self/task/TID/schedstat
    int call_ = -1;       ///< /proc/self/task/TID/syscall
};

} // namespace tilescope::record
