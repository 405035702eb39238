#include "screen.h"
#include "session.h"

#include "reference.h"
#include "ui/flame/flame_page.h"
#include "ui/flame/flame_view.h"
#include "ui/kit/table_view.h"
#include "ui/ranks/ranks_page.h"

#include <QGuiApplication>
#include <QKeyEvent>

#include <cstdio>

namespace tilescope::bench {

namespace {

/// Opens `file` on the page and waits until `isThere`; ms.
double openOn(Screen& screen, const QString& file, const char* what, const std::function<bool()>& isThere)
{
    const Stopwatch watch;
    screen.window.open({file});
    runUntil(what, isThere);
    QCoreApplication::processEvents();
    QGuiApplication::sync();
    return watch.read().wall;
}

void putLongest(WatchedApplication& application, QJsonObject& figures, const char* name)
{
    const WatchedApplication::Blocks blocks = application.takeBlocks();
    figures[QLatin1String(name)] = blocks.longestMs;
    std::printf("%s: %.1f ms in %s\n", name, blocks.longestMs, blocks.longestIn.constData());
}

} // namespace

QJsonObject measureFlame(WatchedApplication& application, const QString& file, int frames)
{
    QJsonObject figures;
    Screen screen("flame");
    auto& page = dynamic_cast<ui::FlamePage&>(*screen.window.page(QStringLiteral("flame")));
    application.takeBlocks();
    figures[QStringLiteral("flame_first_paint_ms")] =
        openOn(screen, file, "the flame graph is there", [&page] { return page.view().graph() != nullptr; });
    ui::waitUntilSettled();
    putLongest(application, figures, "flame_open_longest_event_ms");
    // Moves the selection down, along and up again, and zooms into boxes and out of them.
    constexpr int kKeys[] = {Qt::Key_Down,   Qt::Key_Right, Qt::Key_Down,
                             Qt::Key_Return, Qt::Key_Right, Qt::Key_Up};
    ui::FlameView& view = page.view();
    FrameTimes times;
    for (int i = 0; i < frames; ++i) {
        const int key = kKeys[std::size_t(i) % std::size(kKeys)];
        const Stopwatch watch;
        QCoreApplication::postEvent(&view, new QKeyEvent(QEvent::KeyPress, key, Qt::NoModifier));
        view.update(); // a key without effect is a frame too
        QCoreApplication::processEvents();
        QGuiApplication::sync();
        times.add(watch.read());
    }
    ui::waitUntilSettled();
    times.write(figures, QStringLiteral("flame_frame"));
    putLongest(application, figures, "flame_longest_event_ms");
    figures[QStringLiteral("flame_boxes")] = qint64(view.graph()->places.size());
    QJsonObject references;
    references[QStringLiteral("flame_open_ms")] = rawReadMs(file, {"kernel", "copy", "op", "range"});
    measureFills(view.size(), QStringLiteral("flame_frame"), references);
    figures[QStringLiteral("references")] = references;
    return figures;
}

QJsonObject measureRanks(WatchedApplication& application, const QString& file)
{
    QJsonObject figures;
    Screen screen("ranks");
    auto& page = dynamic_cast<ui::RanksPage&>(*screen.window.page(QStringLiteral("ranks")));
    application.takeBlocks();
    figures[QStringLiteral("ranks_first_paint_ms")] =
        openOn(screen, file, "the ranks are there", [&page] { return page.parts().model()->rowCount() > 0; });
    ui::waitUntilSettled();
    putLongest(application, figures, "ranks_open_longest_event_ms");
    ui::TableView& collectives = page.collectives();
    figures[QStringLiteral("ranks_collectives")] = collectives.model()->rowCount();
    FrameTimes times;
    for (int i = 0; i < 100; ++i)
        times.add(frame(*collectives.viewport(),
                        wheel(*collectives.viewport(), QPointF(collectives.viewport()->rect().center()),
                              i % 20 < 10 ? -120 : 120, Qt::NoModifier)));
    times.write(figures, QStringLiteral("ranks_frame"));
    putLongest(application, figures, "ranks_longest_event_ms");
    QJsonObject references;
    references[QStringLiteral("ranks_open_ms")] =
        rawReadMs(file, {"kernel", "copy", "op", "range", "collective"});
    measureFills(collectives.viewport()->size(), QStringLiteral("ranks_frame"), references);
    figures[QStringLiteral("references")] = references;
    return figures;
}

} // namespace tilescope::bench
