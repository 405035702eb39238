#include "probe.h"

#include "core/base/error.h"

#include <QEventLoop>
#include <QJsonDocument>
#include <QScrollBar>
#include <QTimer>
#include <QWheelEvent>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

namespace tilescope::bench {

namespace {

class PaintCount : public QObject {
public:
    explicit PaintCount(QWidget& widget) { widget.installEventFilter(this); }
    int count = 0;

protected:
    bool eventFilter(QObject*, QEvent* event) override
    {
        count += event->type() == QEvent::Paint;
        return false;
    }
};

constexpr int kEighthsATurn = 120;

} // namespace

void rest(std::chrono::milliseconds time)
{
    QEventLoop loop;
    QTimer::singleShot(time, Qt::PreciseTimer, &loop, &QEventLoop::quit);
    loop.exec();
}

void runUntil(const char* what, const std::function<bool()>& done, std::chrono::seconds limit)
{
    const auto deadline = Clock::now() + limit;
    while (!done()) {
        if (Clock::now() > deadline)
            throw Error{.what = std::string("nothing happened: ") + what, .where = "bench_gui"};
        rest(std::chrono::milliseconds(1));
    }
}

void post(QObject& receiver, std::function<void()> work)
{
    QMetaObject::invokeMethod(&receiver, std::move(work), Qt::QueuedConnection);
}

Times frame(QWidget& widget, QEvent* event)
{
    PaintCount paints(widget);
    const Stopwatch watch;
    QCoreApplication::postEvent(&widget, event);
    const auto deadline = Clock::now() + std::chrono::seconds(10);
    while (paints.count == 0) {
        QCoreApplication::processEvents();
        if (Clock::now() > deadline)
            throw Error{.what = "an event did not lead to a painted frame", .where = "bench_gui"};
    }
    QGuiApplication::sync();
    return watch.read();
}

QEvent* wheel(QWidget& widget, QPointF at, double eighths, Qt::KeyboardModifiers keys)
{
    constexpr double most = std::numeric_limits<int>::max() / 2.0;
    return new QWheelEvent(at, widget.mapToGlobal(at), {}, QPoint(0, int(std::clamp(eighths, -most, most))),
                           Qt::NoButton, keys, Qt::NoScrollPhase, false);
}

QEvent* RandomMoves::zoom()
{
    const ui::TimeWindow whole = wholeWindow(view_.scene().sections);
    constexpr double kDeepest = 22;
    const double wanted = whole.length() / std::exp2(uniform(0, kDeepest));
    const double turns = std::log(wanted / view_.window().length()) / std::log(0.8);
    const QWidget& viewport = *view_.viewport();
    const QPointF at(uniform(view_.scene().sizes.label, viewport.width()), viewport.height() / 2.0);
    return wheel(*view_.viewport(), at, turns * kEighthsATurn, Qt::ControlModifier);
}

QEvent* RandomMoves::pan()
{
    const ui::TimeWindow whole = wholeWindow(view_.scene().sections);
    const ui::TimeWindow window = view_.window();
    const double room = std::max(whole.length() - window.length(), 0.0);
    // Small movements and jumps to any place are equally frequent.
    const double shift =
        uniform(0, 1) < 0.5 ? uniform(-1, 1) * window.length() : whole.from + uniform(0, room) - window.from;
    const double turns = -shift / (0.1 * window.length());
    return wheel(*view_.viewport(), QPointF(view_.viewport()->rect().center()), turns * kEighthsATurn,
                 Qt::ShiftModifier);
}

QEvent* RandomMoves::scroll()
{
    return wheel(*view_.viewport(), QPointF(view_.viewport()->rect().center()),
                 uniform(-12, 12) * kEighthsATurn, Qt::NoModifier);
}

Times RandomMoves::next()
{
    for (;;) {
        const double kind = uniform(0, 1);
        const ui::TimeWindow before = view_.window();
        const int scrolled = view_.scene().scroll;
        QEvent* event = kind < 0.5 ? zoom() : kind < 0.9 ? pan() : scroll();
        QWidget& viewport = *view_.viewport();
        // An event that changes nothing paints nothing and is not a frame.
        PaintCount paints(viewport);
        const Stopwatch watch;
        QCoreApplication::postEvent(&viewport, event);
        QCoreApplication::processEvents();
        if (view_.window() == before && view_.scene().scroll == scrolled)
            continue;
        while (paints.count == 0)
            QCoreApplication::processEvents();
        QGuiApplication::sync();
        return watch.read();
    }
}

double FrameTimes::percentile(double Times::*kind, double percent) const
{
    std::vector<double> sorted;
    for (const Times& time : times_)
        sorted.push_back(time.*kind);
    if (sorted.empty())
        throw Error{.what = "no frames were measured", .where = "bench_gui"};
    std::sort(sorted.begin(), sorted.end());
    return sorted[std::size_t(double(sorted.size() - 1) * percent / 100)];
}

int FrameTimes::over(double ms, double Times::*kind) const
{
    return int(std::count_if(times_.begin(), times_.end(), [&](const Times& t) { return t.*kind > ms; }));
}

void FrameTimes::write(QJsonObject& figures, const QString& prefix) const
{
    for (const auto& [name, percent] : {std::pair("p50", 50.0), {"p99", 99.0}, {"max", 100.0}}) {
        figures[prefix + QStringLiteral("_ms_") + QLatin1String(name)] = wall(percent);
        figures[prefix + QStringLiteral("_ms_") + QLatin1String(name) + QStringLiteral("_cpu")] =
            cpu(percent);
    }
}

double residentMb()
{
    std::ifstream statm("/proc/self/statm");
    double size = 0;
    double resident = 0;
    statm >> size >> resident;
    return resident * double(sysconf(_SC_PAGESIZE)) / 1e6;
}

// Not by getrusage, whose figure includes the parent process.
double peakResidentMb()
{
    std::ifstream status("/proc/self/status");
    for (std::string key; status >> key;)
        if (double kilobytes = 0; key == "VmHWM:" && status >> kilobytes)
            return kilobytes * 1024 / 1e6;
    throw Error{.what = "the system does not tell a process's peak memory", .where = "/proc/self/status"};
}

void print(const QJsonObject& figures)
{
    std::printf("%s\n", QJsonDocument(figures).toJson(QJsonDocument::Compact).constData());
}

} // namespace tilescope::bench
