#pragma once

#include <QTimer>

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace tilescope::ui {

/// The most processor time that the GUI thread took between two looks at its event loop, which a timer takes
/// whenever the loop comes round: how long the window was deaf for its own work's sake. Time during which
/// others had the core does not count. GUI thread; measures from its construction on.
class LongestTurn {
public:
    LongestTurn()
    {
        QObject::connect(&beat_, &QTimer::timeout, [this] {
            const double now = usedMs();
            longestMs_ = std::max(longestMs_, now - lastMs_);
            lastMs_ = now;
        });
        beat_.start(5);
    }
    double processorMs() const { return longestMs_; }

private:
    static double usedMs()
    {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return 1e3 * double(time.tv_sec) + 1e-6 * double(time.tv_nsec);
    }

    QTimer beat_;
    double lastMs_ = usedMs();
    double longestMs_ = 0;
};

} // namespace tilescope::ui
