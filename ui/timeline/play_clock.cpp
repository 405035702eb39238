#include "ui/timeline/play_clock.h"

#include "ui/kit/number_text.h"

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

constexpr double kUsualDuration = 6e9;

// The recorded nanoseconds of a section's part.
double partLength(const TimelineSection& section, bool isWhole)
{
    return isWhole ? double(section.timeline->length) : double(section.alignedLength);
}

} // namespace

std::optional<PlayPart> partToPlay(const std::vector<TimelineSection>& sections, const TimeWindow& window)
{
    const bool isWhole = std::ranges::all_of(
        sections, [](const TimelineSection& section) { return section.alignedLength <= 0; });
    PlayPart whole, shown;
    bool isFirst = true;
    for (const TimelineSection& section : sections) {
        const double end = partLength(section, isWhole);
        whole.ends.push_back(end);
        whole.to = std::max(whole.to, end);
        shown.ends.push_back(std::max(0.0, std::min(end, window.to / section.stretch)));
        shown.to = std::max(shown.to, shown.ends.back());
        const double from = std::max(0.0, window.from / section.stretch);
        shown.from = isFirst ? from : std::min(shown.from, from);
        isFirst = false;
    }
    if (whole.length() <= 0)
        return {};
    return shown.length() > 0 ? shown : whole;
}

PlayClock::PlayClock(PlayPart part, double slowdown)
    : part_(std::move(part)), slowdown_(slowdown), now_(part_.from)
{
}

std::chrono::nanoseconds PlayClock::duration() const
{
    return std::chrono::nanoseconds(std::llround(part_.length() * slowdown_));
}

void PlayClock::goTo(double now)
{
    now_ = std::clamp(now, part_.from, part_.to);
}

void PlayClock::advance(std::chrono::nanoseconds real)
{
    goTo(now_ + double(real.count()) / slowdown_);
}

double usualSlowdown(double length)
{
    const double exact = kUsualDuration / std::max(1.0, length);
    const double below = std::pow(10, std::floor(std::log10(exact)));
    double best = below;
    for (const double each : {2 * below, 5 * below, 10 * below})
        if (std::abs(std::log(each / exact)) < std::abs(std::log(best / exact)))
            best = each;
    return best;
}

std::vector<double> slowdownsFor(double length)
{
    const double usual = usualSlowdown(length);
    std::vector<double> slowdowns;
    for (const double power : {-2, -1, 0, 1, 2})
        for (const double digit : {1, 2, 5}) {
            const double below = std::pow(10, std::floor(std::log10(usual) + 1e-9) + power);
            const double each = digit * below;
            if (each >= usual / 20.001 && each <= usual * 20.001)
                slowdowns.push_back(each);
        }
    return slowdowns;
}

QString slowdownText(double slowdown)
{
    constexpr double kSame = 1e-9;
    if (std::abs(slowdown - 1) < kSame)
        return QStringLiteral("at its own speed");
    const QString factor = wholeNumber(std::llround(slowdown > 1 ? slowdown : 1 / slowdown)) + QChar(0x00D7);
    return factor + (slowdown > 1 ? QStringLiteral(" slower") : QStringLiteral(" faster"));
}

} // namespace tilescope::ui
