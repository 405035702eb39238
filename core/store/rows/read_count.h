#pragma once

#include <atomic>
#include <cstdint>

namespace tilescope::store {

/// Lets a thread count the events that it reads from files, to show progress.
///
/// Events count each time they are read. While an object exists, its thread counts into its counter instead of that of an earlier one.
class ReadCount {
public:
    using Counter = std::atomic<std::int64_t>;

    /// \param counter  must outlive this object; null: nothing is counted
    explicit ReadCount(Counter* counter);
    ~ReadCount();
    ReadCount(const ReadCount&) = delete;
    ReadCount& operator=(const ReadCount&) = delete;

    /// What this thread counts into, for a thread that reads a part for it; null: it does not count.
    static Counter* ofThisThread();
    static void add(std::int64_t events);

private:
    Counter* const before_;
};

} // namespace tilescope::store
