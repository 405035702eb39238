#pragma once

#include "ui/timeline/timeline_layout.h"

#include <QString>

#include <chrono>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// The parts that Play runs through, on one clock: for every shown run, the part at which runs are aligned.
/// Times are nanoseconds of recorded time after the start of that part.
struct PlayPart {
    double from = 0;
    double to = 0;            ///< where the last run ends
    std::vector<double> ends; ///< [s]: where the part of section s ends

    double length() const { return to - from; }
    bool operator==(const PlayPart&) const = default;
};

/// The part at which runs are aligned: a step, a range of it, or the whole recording; only its visible
/// portion if the window does not show all of it.
/// \return  null if no run has it
std::optional<PlayPart> partToPlay(const std::vector<TimelineSection>& sections, const TimeWindow& window);

/// The instant that the clock shows.
struct PlayMoment {
    PlayPart part;
    double now = 0;
    bool hasMarks = true; ///< draws the words and lines that change

    /// The time that section s has run at that moment.
    double reached(std::size_t s) const { return std::min(now, part.ends[s]); }
    bool hasEnded(std::size_t s) const { return now >= part.ends[s]; }
    bool hasEnded() const { return now >= part.to; }
};

/// A clock that runs through a part, slowed down. It does not read real time: its owner passes the elapsed time.
class PlayClock {
public:
    PlayClock() = default;
    /// \param slowdown  real nanoseconds for one that was recorded
    PlayClock(PlayPart part, double slowdown);

    PlayMoment moment() const { return {.part = part_, .now = now_}; }
    double now() const { return now_; }
    const PlayPart& part() const { return part_; }
    double slowdown() const { return slowdown_; }
    bool atEnd() const { return now_ >= part_.to; }
    /// The real time from the start to the end of the part.
    std::chrono::nanoseconds duration() const;

    void setSlowdown(double slowdown) { slowdown_ = slowdown; }
    /// Moves to an instant of the part; to its start or end from outside.
    void goTo(double now);
    /// Lets real time pass, until the end of the part.
    void advance(std::chrono::nanoseconds real);

private:
    PlayPart part_;
    double slowdown_ = 1;
    double now_ = 0;
};

/// The slow-down, 1, 2 or 5 times a power of ten, by which a part of `length` nanoseconds lasts about six seconds.
/// Below 1 for recordings that are longer.
double usualSlowdown(double length);
/// The slow-downs to choose from, fastest first: twenty times as fast as usual to twenty times as slow.
std::vector<double> slowdownsFor(double length);
/// "1000× slower", "at its own speed", "20× faster".
QString slowdownText(double slowdown);

} // namespace tilescope::ui
