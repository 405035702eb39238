#include "screen.h"

#include "ui/memory/memory_areas.h"
#include "ui/memory/memory_blocks.h"
#include "ui/memory/memory_page.h"

#include <QGuiApplication>

#include <algorithm>
#include <cstdio>

namespace tilescope::bench {

namespace {

/// The memory page shows more as it reads more: measures when the curves appear and when the blocks do. The page
/// is complete when ops have names too.
void measureMemoryPage(Screen& screen, const Stopwatch& watch, QJsonObject& figures)
{
    auto& page = dynamic_cast<ui::MemoryPage&>(*screen.window.page(QStringLiteral("memory")));
    const auto note = [&](const char* what, const char* name, const std::function<bool()>& isThere) {
        runUntil(what, isThere);
        QCoreApplication::processEvents();
        QGuiApplication::sync();
        figures[QLatin1String(name)] = watch.read().wall;
        std::printf("page memory: %s after %.0f ms\n", what, watch.read().wall);
    };
    note("curves", "memory_page_curves_ms", [&] { return !page.areas().runs().empty(); });
    note("blocks", "memory_page_blocks_ms", [&] { return page.blocks().layout() != nullptr; });
}

} // namespace

Screen::~Screen()
{
    ui::finishBackgroundWork();
}

void measurePages(WatchedApplication& application, Screen& screen, QJsonObject& figures)
{
    QJsonObject pages;
    QJsonObject longest;
    QJsonObject longestCpu;
    double slowest = 0;
    WatchedApplication::Blocks all;
    for (const QString& name : screen.window.pageNames()) {
        screen.window.showPage(QStringLiteral("help"));
        ui::waitUntilSettled();
        application.takeBlocks();
        const Stopwatch watch;
        // Runs as an event, so that making a page counts as one turn.
        post(screen.window, [&screen, name] { screen.window.showPage(name); });
        runUntil("the page is shown", [&] { return screen.window.currentPageName() == name; });
        if (name == QStringLiteral("memory"))
            measureMemoryPage(screen, watch, figures);
        ui::waitUntilSettled();
        QGuiApplication::sync();
        const double shown = watch.read().wall;
        const WatchedApplication::Blocks blocks = application.takeBlocks();
        pages[name] = shown;
        longest[name] = blocks.longestMs;
        longestCpu[name] = blocks.longestCpuMs;
        std::printf("page %s: %.0f ms, longest event %.1f ms (processor %.1f) in %s, then %.0f MB\n",
                    qPrintable(name), shown, blocks.longestMs, blocks.longestCpuMs,
                    blocks.longestIn.constData(), residentMb());
        slowest = std::max(slowest, shown);
        all.wall += blocks.wall;
        all.cpu += blocks.cpu;
        all.longestMs = std::max(all.longestMs, blocks.longestMs);
    }
    figures[QStringLiteral("pages_first_paint_ms")] = pages;
    figures[QStringLiteral("pages_longest_event_ms")] = longest;
    figures[QStringLiteral("pages_longest_event_ms_cpu")] = longestCpu;
    figures[QStringLiteral("slowest_page_ms")] = slowest;
    figures[QStringLiteral("pages_gui_blocks_over_50ms")] = all.wall;
    figures[QStringLiteral("pages_gui_blocks_over_50ms_cpu")] = all.cpu;
    figures[QStringLiteral("pages_gui_longest_event_ms")] = all.longestMs;
}

} // namespace tilescope::bench
