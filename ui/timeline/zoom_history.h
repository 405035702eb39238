#pragma once

#include "ui/kit/time_axis.h"

#include <QElapsedTimer>

#include <chrono>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// The windows that a timeline has shown, for going back and forward. GUI thread.
class ZoomHistory {
public:
    /// Moves that follow each other within `burst`, such as turns of the wheel, count as one step.
    void setBurst(std::chrono::milliseconds burst) { burst_ = burst; }
    /// The next move is a separate step.
    void endBurst() { sinceMove_.invalidate(); }

    /// Adds the window that is left by a move.
    void add(const TimeWindow& left);
    void clear();
    bool canGoBack() const { return !past_.empty(); }
    bool canGoForward() const { return !future_.empty(); }
    /// The window before or after `current`; null if there is none.
    std::optional<TimeWindow> back(const TimeWindow& current);
    std::optional<TimeWindow> forward(const TimeWindow& current);

private:
    std::vector<TimeWindow> past_;
    std::vector<TimeWindow> future_;
    std::chrono::milliseconds burst_{400};
    QElapsedTimer sinceMove_; ///< since the last move of the latest step
};

} // namespace tilescope::ui
