#include "ui/memory/memory_axis.h"

#include <algorithm>
#include <utility>

namespace tilescope::ui {

void MemoryAxis::start(const TimeWindow& bounds, bool isLimited)
{
    content_ = std::make_shared<int>();
    isLimited_ = isLimited;
    const double slack = isLimited ? 0 : 0.01 * bounds.length();
    bounds_ = window_ = {bounds.from - slack, bounds.to + slack};
    past_.clear();
    future_.clear();
    cursor_.reset();
    span_.reset();
    instant_ = bounds.from;
    emit windowChanged();
}

void MemoryAxis::setWindow(const TimeWindow& window, bool remember)
{
    TimeWindow kept = window.within(bounds_, kShortest);
    if (isLimited_) {
        kept = kept.panned(std::max(0.0, bounds_.from - kept.from));
        kept = kept.panned(std::min(0.0, bounds_.to - kept.to));
        kept.from = std::max(kept.from, bounds_.from);
    }
    if (kept == window_)
        return;
    if (remember) {
        past_.push_back(window_);
        future_.clear();
    }
    const TimeWindow before = std::exchange(window_, kept);
    emit windowChanged();
    if (remember)
        emit moved(before);
}

void MemoryAxis::fit()
{
    setWindow(bounds_);
}

void MemoryAxis::back()
{
    if (past_.empty())
        return;
    future_.push_back(window_);
    window_ = past_.back();
    past_.pop_back();
    emit windowChanged();
}

void MemoryAxis::forward()
{
    if (future_.empty())
        return;
    past_.push_back(window_);
    window_ = future_.back();
    future_.pop_back();
    emit windowChanged();
}

void MemoryAxis::setCursor(std::optional<double> time)
{
    if (time == cursor_)
        return;
    cursor_ = time;
    emit cursorChanged();
}

void MemoryAxis::setInstant(double time)
{
    instant_ = time;
    emit instantChanged();
}

void MemoryAxis::setSpan(std::optional<TimeWindow> span)
{
    if (span == span_)
        return;
    span_ = span;
    emit spanChanged();
}

} // namespace tilescope::ui
