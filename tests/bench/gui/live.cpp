#include "reference.h"
#include "session.h"

#include "core/base/error.h"
#include "ui/jobs/job_tracker.h"
#include "ui/timeline/timeline_page.h"
#include "ui/window/main_window.h"
#include "ui/window/screenshots.h"

#include <QFile>
#include <QProcess>

#include <cstdio>

namespace tilescope::bench {

namespace {

std::int64_t eventsOf(const ui::TimelineView& view)
{
    std::int64_t events = 0;
    if (!view.scene().sections.empty())
        for (const query::Lane& lane : view.scene().sections.front().timeline->lanes)
            if (lane.kind != query::Lane::Kind::Busy)
                events += std::int64_t(lane.events());
    return events;
}

bool isRunning(ui::MainWindow& window)
{
    const auto& snapshot = window.workspace().files().front().snapshot;
    return !snapshot || snapshot->runs.empty() || snapshot->runs.front().result.status == RunStatus::Running;
}

} // namespace

QJsonObject measureLive(WatchedApplication& application, const QString& file, int rate, int seconds)
{
    for (const char* suffix : {"", "-wal", "-shm", "-lock"})
        QFile::remove(file + QLatin1String(suffix)); // of an earlier measure
    QProcess writer;
    writer.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    writer.start(QCoreApplication::applicationFilePath(),
                 {QStringLiteral("write"), file, QString::number(rate), QString::number(seconds)});
    ui::MainWindow window;
    window.move(0, 0);
    window.resize(1920, 1080);
    window.showPage(QStringLiteral("timeline"));
    window.show();
    window.open({file});
    ui::TimelineView& view = dynamic_cast<ui::TimelinePage&>(*window.page(QStringLiteral("timeline"))).view();
    runUntil("the first events are there", [&] { return eventsOf(view) > 0 && view.isVisible(); });
    rest(std::chrono::milliseconds(16));
    application.takeBlocks();
    RandomMoves moves(view, 1);
    FrameTimes times;
    std::int64_t seen = eventsOf(view);
    int growths = 0;
    while (isRunning(window)) {
        times.add(moves.next());
        rest(std::chrono::milliseconds(16));
        growths += eventsOf(view) != seen;
        seen = eventsOf(view);
    }
    const WatchedApplication::Blocks blocks = application.takeBlocks();
    if ((writer.state() != QProcess::NotRunning && !writer.waitForFinished(60'000)) || writer.exitCode() != 0)
        throw Error{.what = "the writer did not end well", .where = file.toStdString()};
    const std::int64_t written = writer.readAllStandardOutput().trimmed().toLongLong();
    const Stopwatch sealing;
    runUntil("all events are there", [&] { return eventsOf(view) >= written; });
    std::printf("%lld events written, seen growing %d times\n", static_cast<long long>(written), growths);
    QJsonObject figures;
    times.write(figures, QStringLiteral("live_frame"));
    figures[QStringLiteral("live_frames")] = qint64(times.size());
    figures[QStringLiteral("live_events")] = qint64(written);
    figures[QStringLiteral("live_events_shown")] = qint64(eventsOf(view));
    figures[QStringLiteral("live_growths")] = growths;
    figures[QStringLiteral("live_gui_blocks_over_50ms")] = blocks.wall;
    figures[QStringLiteral("live_gui_blocks_over_50ms_cpu")] = blocks.cpu;
    figures[QStringLiteral("live_gui_longest_event_ms")] = blocks.longestMs;
    figures[QStringLiteral("live_complete_after_end_ms")] = sealing.read().wall;
    figures[QStringLiteral("live_peak_rss_mb")] = peakResidentMb();
    QJsonObject references;
    measureFills(view.viewport()->size(), QStringLiteral("live_frame"), references);
    figures[QStringLiteral("references")] = references;
    ui::finishBackgroundWork();
    return figures;
}

} // namespace tilescope::bench
