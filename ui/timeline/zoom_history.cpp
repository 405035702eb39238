#include "ui/timeline/zoom_history.h"

namespace tilescope::ui {

namespace {

constexpr std::size_t kMostSteps = 100;

// Moves the last window of `from` to the caller, and `current` to the end of `to`.
std::optional<TimeWindow> step(std::vector<TimeWindow>& from, std::vector<TimeWindow>& to,
                               const TimeWindow& current)
{
    if (from.empty())
        return {};
    to.push_back(current);
    const TimeWindow window = from.back();
    from.pop_back();
    return window;
}

} // namespace

void ZoomHistory::add(const TimeWindow& left)
{
    const bool isBurst = sinceMove_.isValid() && sinceMove_.elapsed() < burst_.count() && !past_.empty();
    sinceMove_.start();
    future_.clear();
    if (isBurst)
        return;
    past_.push_back(left);
    if (past_.size() > kMostSteps)
        past_.erase(past_.begin());
}

void ZoomHistory::clear()
{
    past_.clear();
    future_.clear();
}

std::optional<TimeWindow> ZoomHistory::back(const TimeWindow& current)
{
    endBurst();
    return step(past_, future_, current);
}

std::optional<TimeWindow> ZoomHistory::forward(const TimeWindow& current)
{
    endBurst();
    return step(future_, past_, current);
}

} // namespace tilescope::ui
