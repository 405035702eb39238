#pragma once

#include "ui/theme/application.h"

#include <QByteArray>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <thread>

namespace tilescope::bench {

using Clock = std::chrono::steady_clock;

/// Wall and processor time, ms. On an idle machine they are equal.
struct Times {
    double wall = 0;
    double cpu = 0;
};

/// Measures the constructing thread from construction on.
class Stopwatch {
public:
    Stopwatch();
    Times read() const;

private:
    Clock::time_point start_;
    double cpuStart_;
};

/// An application that knows since when its thread has been at work on one event, and a watchdog that looks
/// from another thread whether that is longer than 50 ms.
class WatchedApplication : public ui::Application {
public:
    WatchedApplication(int& argc, char** argv);
    ~WatchedApplication() override;

    bool notify(QObject* receiver, QEvent* event) override;

    /// Events that the GUI thread was at work on for more than 50 ms, since the last call, as the watchdog
    /// saw them; and those for which it had the processor that long.
    struct Blocks {
        int wall = 0;
        int cpu = 0;
        double longestMs = 0;
        double longestCpuMs = 0;   ///< most processor time of one event
        QByteArray longestIn = {}; ///< class of the receiver and type of the event that took longestMs
    };
    Blocks takeBlocks();

private:
    void watch(const std::stop_token& stop);

    int depth_ = 0; // of nested events; GUI thread
    clockid_t guiClock_{};
    std::atomic<std::int64_t> busySince_ = 0; ///< steady clock, ns; 0 where it waits for events
    std::atomic<std::int64_t> busyCpu_ = 0;   ///< GUI thread's processor time then, ns
    std::atomic<int> wallBlocks_ = 0;
    std::atomic<int> cpuBlocks_ = 0;
    std::atomic<std::int64_t> longest_ = 0;
    std::int64_t longestWhole_ = 0; // GUI thread
    std::int64_t longestCpu_ = 0;   // GUI thread
    QByteArray longestIn_;          // GUI thread
    std::jthread watchdog_;         // last: it ends before the rest goes
};

} // namespace tilescope::bench
