#include "ui/timeline/play_words.h"

#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"
#include "ui/timeline/play_work.h"
#include "ui/timeline/timeline_frame.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

// The digits of a time in the unit of the end, with as many decimals as the end has with three digits.
QString digits(double time, double end)
{
    const Unit unit = timeUnit(end);
    const double shown = std::max(1.0, end / unit.divisor);
    const int decimals = std::max(0, 2 - int(std::floor(std::log10(shown))));
    return QString::number(time / unit.divisor, 'f', decimals);
}

// Places texts one after the other; a text that does not fit completely is left out, with all following
// texts.
class Placer {
public:
    Placer(double x, const QRect& area) : x_(x), area_(area) {}

    void add(const QFont& font, const QColor& colour, const QString& text, double least = 0)
    {
        const QFontMetricsF metrics(font);
        const double width = metrics.horizontalAdvance(text);
        const double taken = std::max(width, least);
        if (isFull_ || x_ + taken > area_.right()) {
            isFull_ = true;
            return;
        }
        const double base = area_.top() + (area_.height() + metrics.ascent() - metrics.descent()) / 2;
        placed_.push_back({QPointF(x_ + taken - width, base), font, colour, text});
        x_ += taken;
    }
    void space(double width) { x_ += width; }
    std::vector<PlacedText> take() { return std::move(placed_); }

private:
    double x_;
    QRect area_;
    bool isFull_ = false;
    std::vector<PlacedText> placed_;
};

} // namespace

QString playedText(double now, double end)
{
    return digits(now, end) + QStringLiteral(" of ") + withUnit(digits(end, end), timeUnit(end).suffix);
}

std::vector<PlacedText> playWords(const TimelineScene& scene, std::size_t section, double x,
                                  const QRect& area)
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    const TimelineSection& played = scene.sections[section];
    const double end = scene.play->part.ends[section];
    const double reached = scene.play->reached(section);
    Placer placer(x, area);
    const QString what = played.alignedAt.isEmpty() ? QStringLiteral("run") : played.alignedAt;
    if (end <= 0) {
        placer.add(theme.body(), p.dimText, QStringLiteral("nothing to play here"));
        return placer.take();
    }
    placer.add(theme.body(), p.dimText, what);
    placer.space(sizes().of(10));
    const QString all = digits(end, end);
    // One width for all instants.
    placer.add(theme.bold(), p.text, digits(reached, end),
               QFontMetricsF(theme.bold()).horizontalAdvance(all));
    const std::string unit = timeUnit(end).suffix;
    if (!scene.play->hasEnded(section)) {
        placer.add(theme.body(), p.dimText, QStringLiteral(" of ") + withUnit(all, unit));
        placer.space(sizes().of(14));
        placer.add(theme.body(), p.text, runningAt(*played.timeline, std::int64_t(played.alignAt + reached)));
        return placer.take();
    }
    placer.add(theme.bold(), p.text, QChar(0x2009) + QString::fromStdString(unit));
    placer.space(sizes().of(14));
    placer.add(theme.body(), p.dimText, QStringLiteral("ended"));
    if (section > 0 && scene.play->hasEnded())
        if (const auto difference = differenceWords(scene.sections.front(), played)) {
            placer.space(sizes().of(14));
            placer.add(theme.bold(), difference->toned.colour, difference->text);
        }
    return placer.take();
}

void paintPlayWords(QPainter& painter, const TimelineScene& scene, std::size_t section, double x,
                    const QRect& area)
{
    if (!scene.play->hasMarks)
        return;
    for (const PlacedText& word : playWords(scene, section, x, area)) {
        painter.setFont(word.font);
        painter.setPen(word.colour);
        painter.drawText(word.at, word.text);
    }
}

} // namespace tilescope::ui
