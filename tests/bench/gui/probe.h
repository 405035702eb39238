#pragma once

#include "gui_watch.h"
#include "ui/timeline/timeline_view.h"

#include <QEvent>
#include <QJsonObject>
#include <QPointF>
#include <QWidget>

#include <functional>
#include <random>
#include <vector>

namespace tilescope::bench {

/// Runs the event loop, which sleeps while there are no events.
void rest(std::chrono::milliseconds time);

/// Runs the event loop until `done`, or throws Error after `limit`.
void runUntil(const char* what, const std::function<bool()>& done,
              std::chrono::seconds limit = std::chrono::seconds(60));

/// Does `work` in an event of its own, as input does, and returns at once.
void post(QObject& receiver, std::function<void()> work);

/// Posts `event` to `widget` and runs the event loop until the widget is painted and the window system has
/// the picture. Takes the event.
Times frame(QWidget& widget, QEvent* event);

/// A turn of the wheel by `degrees` eighths: zooms with Control, pans with Shift, scrolls with neither.
QEvent* wheel(QWidget& widget, QPointF at, double eighths, Qt::KeyboardModifiers keys);

/// Zooms to random places and depths, pans and scrolls on a timeline as a hurried user would: from the whole
/// run to 2^-22 of it.
class RandomMoves {
public:
    RandomMoves(ui::TimelineView& view, std::uint64_t seed) : view_(view), random_(seed) {}
    /// A change of the visible part, already painted.
    Times next();

private:
    double uniform(double from, double to)
    {
        return std::uniform_real_distribution<double>(from, to)(random_);
    }
    QEvent* zoom();
    QEvent* pan();
    QEvent* scroll();

    ui::TimelineView& view_;
    std::mt19937_64 random_;
};

/// Figures of many frames.
class FrameTimes {
public:
    void add(const Times& time) { times_.push_back(time); }
    std::size_t size() const { return times_.size(); }
    double wall(double percent) const { return percentile(&Times::wall, percent); }
    double cpu(double percent) const { return percentile(&Times::cpu, percent); }
    int over(double ms, double Times::*kind) const;
    /// PREFIX_ms_p50, _p99, _max, and the same keys with the suffix _cpu.
    void write(QJsonObject& figures, const QString& prefix) const;

private:
    double percentile(double Times::*kind, double percent) const;
    std::vector<Times> times_;
};

/// Memory of this process, MB.
double residentMb();
double peakResidentMb();

/// The last line of output.
void print(const QJsonObject& figures);

} // namespace tilescope::bench
