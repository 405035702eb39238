#pragma once

#include "core/trace/host/host_record.h"
#include "core/trace/host/ring.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

namespace tilescope::record {

/// Reads the Python stacks of the threads that launch, some hundred times a second, in a thread of its own: without the
/// interpreter's lock, without signals and without stopping the program. No read can fail with a signal. A stack is kept
/// only if it was the same in two readings.
///
/// The thread that writes the file owns it, starts it and drains it.
class HostSampler {
public:
    /// \param rate        samples a second of each thread
    /// \param opensFiles  the thread that starts it has descriptors of its own (separateDescriptors()): also tells what
    ///                    threads wait for
    HostSampler(double rate, bool opensFiles);
    ~HostSampler() { stop(); }
    HostSampler(const HostSampler&) = delete;
    HostSampler& operator=(const HostSampler&) = delete;

    /// Starts the thread once some thread launches and runs Python.
    /// \throws std::system_error  the process may not start a thread
    void startIfNeeded();
    /// Ends it, which takes a period at most.
    void stop() noexcept;

    /// Passes on stacks (Kind::Stack) and samples (Kind::Sample) in the order of reading.
    template <class Take> void drain(Take&& take) { ring_.drain(take); }

    struct Counts {
        std::uint64_t taken = 0;
        std::uint64_t unread = 0; ///< stacks that changed while they were read, or could not be read
        std::uint64_t late = 0;   ///< wake-ups more than 0.1 ms late
        std::uint64_t wakeUps = 0;
        double rate = 0; ///< samples a second, after it was lowered
    };
    Counts counts() const noexcept;
    /// The counts in words: "500 a second, 12,345 stacks, 3 unread, 1.2 % late"; empty: no thread launched.
    std::string text() const;
    std::uint64_t dropped() const noexcept { return ring_.dropped(); }

private:
    class Loop;
    const double rate_;
    const bool opensFiles_;
    double most_ =
        rate_; ///< of the thread that samples: the rate that it rises to where wake-ups are in time
    trace::Ring<trace::HostRecord> ring_;
    std::atomic<bool> ends_{false};
    std::atomic<std::uint64_t> taken_{0};
    std::atomic<std::uint64_t> unread_{0};
    std::atomic<std::uint64_t> late_{0};
    std::atomic<std::uint64_t> wakeUps_{0};
    std::atomic<double> lowered_;
    std::thread thread_;
};

} // namespace tilescope::record
