#include "ui/timeline/timeline_player.h"

#include "ui/theme/motion.h"
#include "ui/timeline/play_work.h"
#include "ui/timeline/timeline_view.h"

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

constexpr int kFrameMs = 16;

// The shown window, or that of the part if it is only a fraction of what is shown or out of sight.
TimeWindow playedWindow(const std::vector<TimelineSection>& sections, const PlayPart& part,
                        const TimeWindow& shown)
{
    constexpr double kMostEmpty = 0.2; // of the part, beside it
    double longest = 0;
    for (std::size_t s = 0; s < sections.size(); ++s)
        longest = std::max(longest, part.ends[s] * sections[s].stretch);
    if (shown.from >= -kMostEmpty * longest && shown.to <= (1 + kMostEmpty) * longest)
        return shown;
    return {-0.01 * longest, 1.02 * longest}; // as alignedAt() shows it
}

} // namespace

TimelinePlayer::TimelinePlayer(TimelineView& view, QObject* parent) : QObject(parent), view_(view)
{
    timer_.setTimerType(Qt::PreciseTimer);
    timer_.setInterval(kFrameMs);
    connect(&timer_, &QTimer::timeout, this, &TimelinePlayer::tick);
}

void TimelinePlayer::setShown(bool isShown)
{
    isShown_ = isShown;
    if (!isShown)
        end();
}

bool TimelinePlayer::begin()
{
    const TimelineScene& scene = view_.scene();
    const auto part = isShown_ ? partToPlay(scene.sections, scene.window) : std::nullopt;
    if (!part) {
        emit problem(
            tr("Nothing to play: select a traced run, and align it at a step or range that it has."));
        return false;
    }
    clock_ = PlayClock(*part, usualSlowdown(part->length()));
    isOn_ = true;
    before_ = scene.window;
    view_.setWindow(playedWindow(scene.sections, *part, before_), false);
    during_ = scene.window;
    show();
    return true;
}

void TimelinePlayer::toggle()
{
    if (isRunning())
        return pause();
    if (!isOn_) {
        if (begin() && !prefersReducedMotion())
            run();
        return;
    }
    if (clock_.atEnd())
        clock_.goTo(clock_.part().from);
    run();
}

void TimelinePlayer::run()
{
    elapsed_.start();
    timer_.start();
    show();
}

void TimelinePlayer::pause()
{
    timer_.stop();
    emit changed();
}

void TimelinePlayer::end()
{
    if (!isOn_)
        return;
    timer_.stop();
    isOn_ = false;
    view_.setPlay({});
    if (view_.window() == during_) // the user has not moved
        view_.setWindow(before_, false);
    emit changed();
}

// The time that a late frame took counts, so that the clock stays true.
void TimelinePlayer::tick()
{
    clock_.advance(std::chrono::nanoseconds(elapsed_.nsecsElapsed()));
    elapsed_.start();
    if (clock_.atEnd())
        timer_.stop();
    show();
}

void TimelinePlayer::show()
{
    view_.setPlay(clock_.moment());
    emit changed();
}

void TimelinePlayer::goTo(double now)
{
    if (!isOn_ && !begin())
        return;
    timer_.stop();
    clock_.goTo(now);
    show();
}

void TimelinePlayer::step(int by)
{
    if (!isOn_ && !begin())
        return;
    std::optional<double> nearest;
    for (std::size_t s = 0; s < view_.scene().sections.size(); ++s) {
        const TimelineSection& section = view_.scene().sections[s];
        const double time = section.alignAt + clock_.now();
        const auto from = std::int64_t(by > 0 ? std::floor(time) : std::ceil(time));
        const auto start = nextStart(*section.timeline, from, by);
        const double at = start ? double(*start) - section.alignAt : 0;
        if (start && at < clock_.part().ends[s] && (!nearest || (by > 0 ? at < *nearest : at > *nearest)))
            nearest = at;
    }
    goTo(nearest.value_or(by > 0 ? clock_.part().to : clock_.part().from));
}

void TimelinePlayer::setSlowdown(double slowdown)
{
    clock_.setSlowdown(slowdown);
    emit changed();
}

void TimelinePlayer::changeSpeed(int by)
{
    if (!isOn_ && !begin())
        return;
    const std::vector<double> slowdowns = slowdownsFor(clock_.part().length());
    const auto nearest = std::ranges::min_element(
        slowdowns, {}, [this](double each) { return std::abs(std::log(each / clock_.slowdown())); });
    const auto at =
        std::clamp<std::ptrdiff_t>(nearest - slowdowns.begin() + by, 0, std::ssize(slowdowns) - 1);
    setSlowdown(slowdowns[std::size_t(at)]);
}

} // namespace tilescope::ui
