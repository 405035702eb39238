#include "ui/timeline/timeline_play.h"

#include "ui/kit/controls.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/number_text.h"
#include "ui/theme/motion.h"
#include "ui/theme/theme.h"
#include "ui/timeline/timeline_frame.h"
#include "ui/timeline/timeline_view.h"

#include <QAction>
#include <QFontMetricsF>
#include <QHBoxLayout>
#include <QPainter>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

using query::Lane;
using query::Track;

namespace {

constexpr double kUsualDuration = 6e9;
constexpr int kFrameMs = 16;
constexpr int kSliderLength = 10'000;

// The shown window, or that of the part if it is only a fraction of what is shown or out of sight.
TimeWindow playedWindow(const std::vector<TimelineSection>& sections, const PlayMoment& part,
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

// Where the next or previous box of the first kind of lanes that has boxes begins: streams, threads, ranges.
std::optional<std::int64_t> nextStart(const query::Timeline& timeline, std::int64_t time, int by)
{
    for (const Lane::Kind kind : {Lane::Kind::Stream, Lane::Kind::Thread, Lane::Kind::Ranges}) {
        std::optional<std::int64_t> nearest;
        bool hasEvents = false;
        for (const Lane& lane : timeline.lanes)
            for (const Track& row : lane.rows) {
                if (lane.kind != kind || row.size() == 0)
                    continue;
                hasEvents = true;
                const std::size_t after = row.firstFrom(by > 0 ? time + 1 : time);
                if (by > 0 ? after >= row.size() : after == 0)
                    continue;
                const std::int64_t start = row.start(by > 0 ? after : after - 1);
                if (!nearest || (by > 0 ? start < *nearest : start > *nearest))
                    nearest = start;
            }
        if (hasEvents)
            return nearest;
    }
    return {};
}

// The digits of a time in the unit of the end, with as many decimals as the end has with three digits.
QString digits(double time, double end)
{
    const Unit unit = timeUnit(end);
    const double shown = std::max(1.0, end / unit.divisor);
    return QString::number(time / unit.divisor, 'f', std::max(0, 2 - int(std::floor(std::log10(shown)))));
}

// "3.21 of 20.1 ms".
QString playedText(double now, double end)
{
    return digits(now, end) + QStringLiteral(" of ") + withUnit(digits(end, end), timeUnit(end).suffix);
}

} // namespace

std::optional<PlayMoment> partToPlay(const std::vector<TimelineSection>& sections, const TimeWindow& window)
{
    const bool isWhole = std::ranges::all_of(
        sections, [](const TimelineSection& section) { return section.alignedLength <= 0; });
    PlayMoment whole, shown;
    bool isFirst = true;
    for (const TimelineSection& section : sections) {
        const auto end = double(isWhole ? section.timeline->length : section.alignedLength);
        whole.ends.push_back(end);
        whole.to = std::max(whole.to, end);
        shown.ends.push_back(std::max(0.0, std::min(end, window.to / section.stretch)));
        shown.to = std::max(shown.to, shown.ends.back());
        const double from = std::max(0.0, window.from / section.stretch);
        shown.from = isFirst ? from : std::min(shown.from, from);
        isFirst = false;
    }
    shown.now = shown.from;
    if (whole.length() <= 0)
        return {};
    return shown.length() > 0 ? shown : whole;
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
            const double each = digit * std::pow(10, std::floor(std::log10(usual) + 1e-9) + power);
            if (each >= usual / 20.001 && each <= usual * 20.001)
                slowdowns.push_back(each);
        }
    return slowdowns;
}

QString slowdownText(double slowdown)
{
    if (std::abs(slowdown - 1) < 1e-9)
        return QStringLiteral("at its own speed");
    const QString factor = wholeNumber(std::llround(slowdown > 1 ? slowdown : 1 / slowdown)) + QChar(0x00D7);
    return factor + (slowdown > 1 ? QStringLiteral(" slower") : QStringLiteral(" faster"));
}

void paintPlayWords(QPainter& painter, const TimelineScene& scene, std::size_t section, double x,
                    const QRect& area)
{
    const Palette& p = colours();
    const Theme& theme = Theme::instance();
    const TimelineSection& played = scene.sections[section];
    const double end = scene.play->ends[section];
    const auto put = [&painter, &area, &x](const QFont& font, const QColor& colour, const QString& text,
                                           double width) {
        if (x + width > area.right())
            return;
        painter.setFont(font);
        painter.setPen(colour);
        painter.drawText(QRectF(x, area.top(), width, area.height()), Qt::AlignVCenter | Qt::AlignRight,
                         text);
        x += width + sizes().of(10);
    };
    const auto widthOf = [](const QFont& font, const QString& text) {
        return std::ceil(QFontMetricsF(font).horizontalAdvance(text));
    };
    const QString what = end <= 0                     ? QStringLiteral("nothing to play here")
                         : played.alignedAt.isEmpty() ? QStringLiteral("run")
                                                      : played.alignedAt;
    put(theme.body(), p.dimText, what, widthOf(theme.body(), what));
    if (end <= 0)
        return;
    // Figures stay in place while they grow.
    put(theme.bold(), p.text, playedText(scene.play->reached(section), end),
        widthOf(theme.bold(), playedText(end, end)));
    if (!scene.play->hasEnded(section))
        return;
    const QString ended = QStringLiteral("ended");
    put(theme.body(), p.dimText, ended, widthOf(theme.body(), ended));
    if (section > 0 && scene.play->hasEnded())
        if (const auto difference = differenceWords(scene.sections.front(), played))
            put(theme.bold(), difference->toned.colour, difference->text,
                widthOf(theme.bold(), difference->text));
}

TimelinePlay::TimelinePlay(TimelineView& view, QWidget* parent)
    : QFrame(parent), view_(view), toggle_(new QPushButton(tr("Pause"))),
      slider_(new QSlider(Qt::Horizontal)), time_(new QLabel), speed_(new ComboBox(tr("Speed of Play")))
{
    timer_.setTimerType(Qt::PreciseTimer);
    timer_.setInterval(kFrameMs);
    connect(&timer_, &QTimer::timeout, this, &TimelinePlay::tick);
    makeBar();
    makeActions();
    hide();
}

void TimelinePlay::makeBar()
{
    setObjectName(QStringLiteral("playBar"));
    setFixedHeight(sizes().tools);
    toggle_->setAccessibleName(tr("Play or pause"));
    toggle_->setToolTip(tr("Play or pause (Space)"));
    const QFontMetrics metrics(Theme::instance().body());
    toggle_->setMinimumWidth(metrics.horizontalAdvance(tr("Play again")) + sizes().of(20));
    slider_->setRange(0, kSliderLength);
    slider_->setSingleStep(kSliderLength / 100);
    slider_->setPageStep(kSliderLength / 10);
    slider_->setAccessibleName(tr("Instant of Play"));
    slider_->setToolTip(tr("Drag to an instant; , and . go to the start of a box"));
    time_->setObjectName(QStringLiteral("playTime"));
    time_->setAlignment(Qt::AlignVCenter | Qt::AlignRight);
    time_->setMinimumWidth(metrics.horizontalAdvance(QStringLiteral("000.0 of 000.0 ms")));
    speed_->setToolTip(tr("How much slower than recorded (< slower, > faster)"));
    auto* close = new QPushButton(tr("End"));
    close->setToolTip(tr("Show the whole runs again (Esc)"));
    close->setAccessibleName(tr("End Play"));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(sizes().margin, 0, sizes().margin, 0);
    layout->setSpacing(sizes().gap);
    layout->addWidget(toggle_);
    layout->addWidget(slider_, 1);
    layout->addWidget(time_);
    layout->addWidget(speed_);
    layout->addWidget(close);
    connect(toggle_, &QPushButton::clicked, this, &TimelinePlay::toggle);
    connect(close, &QPushButton::clicked, this, &TimelinePlay::end);
    connect(slider_, &QSlider::valueChanged, this,
            [this](int place) { goTo(moment_.from + moment_.length() * place / kSliderLength); });
    connect(speed_, &QComboBox::activated, this,
            [this](int at) { setSlowdown(slowdowns_.at(std::size_t(at))); });
}

void TimelinePlay::makeActions()
{
    const auto add = [this](const QString& text, const QList<QKeySequence>& keys, auto does) {
        return addKey(view_, text, keys, does, Qt::WidgetShortcut, tr("Timeline: Play"));
    };
    toggleAction_ =
        add(tr("Play the aligned step slowed down, or pause"), {Qt::Key_Space}, [this] { toggle(); });
    add(tr("Play: go to the next start of a box"), {Qt::Key_Period}, [this] { step(1); });
    add(tr("Play: go to the previous start of a box"), {Qt::Key_Comma}, [this] { step(-1); });
    add(tr("Play: slower"), {Qt::Key_Less}, [this] { changeSpeed(1); });
    add(tr("Play: faster"), {Qt::Key_Greater}, [this] { changeSpeed(-1); });
}

void TimelinePlay::setShown(bool isShown)
{
    isShown_ = isShown;
    if (!isShown)
        end();
}

bool TimelinePlay::begin()
{
    const TimelineScene& scene = view_.scene();
    const auto part = isShown_ ? partToPlay(scene.sections, scene.window) : std::nullopt;
    if (!part) {
        emit said(tr("Nothing to play: select a traced run, and align it at a step or range that it has."));
        return false;
    }
    isOn_ = true;
    before_ = scene.window;
    view_.setWindow(playedWindow(scene.sections, *part, before_), false);
    during_ = scene.window;
    moment_ = *part;
    slowdowns_ = slowdownsFor(part->length());
    const QSignalBlocker quiet(speed_);
    speed_->clear();
    for (const double each : slowdowns_)
        speed_->addItem(slowdownText(each));
    setSlowdown(usualSlowdown(part->length()));
    show(moment_.from);
    return true;
}

void TimelinePlay::toggle()
{
    if (isRunning())
        return pause();
    if (!isOn_) {
        if (begin() && !prefersReducedMotion())
            run();
        return;
    }
    if (moment_.hasEnded())
        moment_.now = moment_.from;
    run();
}

void TimelinePlay::run()
{
    elapsed_.start();
    timer_.start();
    show(moment_.now);
}

void TimelinePlay::pause()
{
    timer_.stop();
    followClock();
}

void TimelinePlay::end()
{
    if (!isOn_)
        return;
    timer_.stop();
    isOn_ = false;
    view_.setPlay({});
    if (view_.window() == during_) // the user has not moved
        view_.setWindow(before_, false);
    if (isAncestorOf(window()->focusWidget()))
        view_.setFocus();
    followClock();
}

// The time that a late frame took counts, so that the clock stays true.
void TimelinePlay::tick()
{
    advance(std::chrono::nanoseconds(elapsed_.nsecsElapsed()));
    elapsed_.start();
}

void TimelinePlay::advance(std::chrono::nanoseconds real)
{
    const double now = moment_.now + double(real.count()) / slowdown_;
    if (now >= moment_.to)
        timer_.stop();
    show(now);
}

void TimelinePlay::show(double now)
{
    moment_.now = std::clamp(now, moment_.from, moment_.to);
    view_.setPlay(moment_);
    followClock();
}

void TimelinePlay::goTo(double now)
{
    if (!isOn_ && !begin())
        return;
    timer_.stop();
    show(now);
}

void TimelinePlay::step(int by)
{
    if (!isOn_ && !begin())
        return;
    std::optional<double> nearest;
    for (std::size_t s = 0; s < view_.scene().sections.size(); ++s) {
        const TimelineSection& section = view_.scene().sections[s];
        const double time = section.alignAt + moment_.now;
        const auto from = std::int64_t(by > 0 ? std::floor(time) : std::ceil(time));
        const auto start = nextStart(*section.timeline, from, by);
        const double at = start ? double(*start) - section.alignAt : 0;
        if (start && at < moment_.ends[s] && (!nearest || (by > 0 ? at < *nearest : at > *nearest)))
            nearest = at;
    }
    goTo(nearest.value_or(by > 0 ? moment_.to : moment_.from));
}

void TimelinePlay::setSlowdown(double slowdown)
{
    slowdown_ = slowdown;
    const auto at = std::ranges::find_if(
        slowdowns_, [slowdown](double each) { return std::abs(each - slowdown) < 1e-9 * each; });
    speed_->setCurrentIndex(int(at - slowdowns_.begin()));
}

void TimelinePlay::changeSpeed(int by)
{
    if (!isOn_ && !begin())
        return;
    setSlowdown(
        slowdowns_[std::size_t(std::clamp(speed_->currentIndex() + by, 0, int(slowdowns_.size()) - 1))]);
}

void TimelinePlay::followClock()
{
    setVisible(isOn_);
    if (!isOn_)
        return;
    toggle_->setText(isRunning() ? tr("Pause") : moment_.hasEnded() ? tr("Play again") : tr("Play"));
    const QSignalBlocker quiet(slider_);
    slider_->setValue(int(std::lround((moment_.now - moment_.from) / moment_.length() * kSliderLength)));
    time_->setText(playedText(moment_.now, moment_.to));
}

} // namespace tilescope::ui
