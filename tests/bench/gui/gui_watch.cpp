#include "gui_watch.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace tilescope::bench {

namespace {

constexpr std::int64_t kBlockNs = 50'000'000;
constexpr auto kLookEvery = std::chrono::milliseconds(5);

std::int64_t nowNs()
{
    return Clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

std::int64_t clockNs(clockid_t clock)
{
    timespec time{};
    clock_gettime(clock, &time);
    return 1'000'000'000LL * time.tv_sec + time.tv_nsec;
}

} // namespace

Stopwatch::Stopwatch() : start_(Clock::now()), cpuStart_(1e-6 * double(clockNs(CLOCK_THREAD_CPUTIME_ID))) {}

Times Stopwatch::read() const
{
    return {std::chrono::duration<double, std::milli>(Clock::now() - start_).count(),
            1e-6 * double(clockNs(CLOCK_THREAD_CPUTIME_ID)) - cpuStart_};
}

WatchedApplication::WatchedApplication(int& argc, char** argv) : ui::Application(argc, argv)
{
    pthread_getcpuclockid(pthread_self(), &guiClock_);
    watchdog_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

WatchedApplication::~WatchedApplication() = default;

bool WatchedApplication::notify(QObject* receiver, QEvent* event)
{
    const bool outermost = depth_++ == 0;
    if (outermost) {
        busyCpu_ = clockNs(guiClock_);
        busySince_ = nowNs();
    }
    // Before it is handled: a receiver may delete itself.
    const char* const receiverClass = receiver->metaObject()->className();
    const int type = event->type();
    const bool result = QApplication::notify(receiver, event);
    if (outermost) {
        longestCpu_ = std::max(longestCpu_, clockNs(guiClock_) - busyCpu_);
        if (const std::int64_t length = nowNs() - busySince_; length > longestWhole_) {
            longestWhole_ = length;
            longestIn_ = QByteArray(receiverClass) + " event " + QByteArray::number(type);
        }
        busySince_ = 0;
    }
    --depth_;
    return result;
}

WatchedApplication::Blocks WatchedApplication::takeBlocks()
{
    const std::int64_t seen = longest_.exchange(0); // of an event that has not ended yet
    const std::int64_t longest = std::max(seen, std::exchange(longestWhole_, 0));
    return {wallBlocks_.exchange(0), cpuBlocks_.exchange(0), 1e-6 * double(longest),
            1e-6 * double(std::exchange(longestCpu_, 0)), std::exchange(longestIn_, {})};
}

void WatchedApplication::watch(const std::stop_token& stop)
{
    std::int64_t counted = 0; // the start of the event that was counted last
    std::int64_t countedCpu = 0;
    while (!stop.stop_requested()) {
        std::this_thread::sleep_for(kLookEvery);
        const std::int64_t since = busySince_;
        const std::int64_t cpuThen = busyCpu_;
        if (since == 0)
            continue;
        const std::int64_t length = nowNs() - since;
        longest_ = std::max<std::int64_t>(longest_, length);
        if (length > kBlockNs && since != counted) {
            counted = since;
            ++wallBlocks_;
        }
        if (since == busySince_ && clockNs(guiClock_) - cpuThen > kBlockNs && since != countedCpu) {
            countedCpu = since;
            ++cpuBlocks_;
        }
    }
}

} // namespace tilescope::bench
