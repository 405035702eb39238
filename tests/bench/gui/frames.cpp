#include "pictures.h"
#include "reference.h"
#include "screen.h"
#include "session.h"

#include "core/base/error.h"
#include "ui/memory/memory_areas.h"
#include "ui/memory/memory_blocks.h"
#include "ui/memory/memory_page.h"

#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QSlider>

#include <cmath>
#include <cstdio>

namespace tilescope::bench {

namespace {

Times openOnTimeline(Screen& screen, const QString& file)
{
    const Stopwatch watch;
    screen.window.open({file});
    ui::TimelineView& view = screen.timeline();
    runUntil("the timeline is there", [&] { return !view.scene().sections.empty() && view.isVisible(); });
    // The event loop paints everything that was scheduled before it waits.
    QCoreApplication::processEvents();
    QGuiApplication::sync();
    return watch.read();
}

/// Lanes that are at least partly on screen.
int lanesOnScreen(const ui::TimelineView& view)
{
    const ui::TimelineScene& scene = view.scene();
    const int height = scene.plot(view.viewport()->width(), view.viewport()->height()).height();
    int lanes = 0;
    for (const ui::Band& band : scene.layout.bands)
        lanes += band.kind == ui::Band::Kind::Lane && band.top + band.height > scene.scroll &&
                 band.top < scene.scroll + height;
    return lanes;
}

/// Frames of lanes at their default heights, some of them on screen.
void measureUsualFrames(Screen& screen, int frames, QJsonObject& figures)
{
    RandomMoves moves(screen.timeline(), 2);
    FrameTimes times;
    for (int i = 0; i < frames; ++i)
        times.add(moves.next());
    times.write(figures, QStringLiteral("usual_lanes_frame"));
    screen.timeline().verticalScrollBar()->setValue(0);
}

/// Frames of all lanes at once.
void measureFrames(Screen& screen, int frames, QJsonObject& figures)
{
    ui::TimelineView& view = screen.timeline();
    RandomMoves moves(view, 1);
    FrameTimes times;
    double lanes = 0;
    for (int i = 0; i < frames; ++i) {
        times.add(moves.next());
        lanes += lanesOnScreen(view);
    }
    times.write(figures, QStringLiteral("frame"));
    figures[QStringLiteral("frames")] = frames;
    figures[QStringLiteral("frames_over_50ms")] = times.over(50, &Times::wall);
    figures[QStringLiteral("frames_over_50ms_cpu")] = times.over(50, &Times::cpu);
    figures[QStringLiteral("lanes")] = qint64(view.scene().sections.front().timeline->lanes.size());
    figures[QStringLiteral("lanes_on_screen_mean")] = lanes / frames;
    // The densest frames: the whole run, slightly moved each time.
    FrameTimes widest;
    const ui::TimeWindow whole = wholeWindow(view.scene().sections);
    for (int i = 0; i < 50; ++i) {
        const Stopwatch watch;
        view.setWindow({whole.from, whole.to * (0.99 + 0.0002 * i)}, false);
        view.viewport()->repaint();
        QGuiApplication::sync();
        widest.add(watch.read());
    }
    widest.write(figures, QStringLiteral("widest_frame"));
    view.verticalScrollBar()->setValue(0);
}

/// Types `text` letter by letter like a fast typist. Measures the frame of each letter, and the time from the
/// last letter to the result.
void measureFind(Screen& screen, const QString& text, const QString& name, QJsonObject& figures,
                 FrameTimes& letters)
{
    ui::Page& page = *screen.window.page(QStringLiteral("timeline"));
    page.startFind();
    QLineEdit* field = nullptr;
    for (QLineEdit* edit : page.findChildren<QLineEdit*>())
        if (edit->accessibleName() == QStringLiteral("Find on the timeline"))
            field = edit;
    auto* count = page.findChild<QLabel*>(QStringLiteral("found"));
    if (field == nullptr || count == nullptr)
        throw Error{.what = "the timeline page has no field to find in", .where = "bench_gui"};
    field->clear();
    ui::waitUntilSettled();
    for (const QChar letter : text.left(text.size() - 1)) {
        letters.add(frame(*field, new QKeyEvent(QEvent::KeyPress, letter.unicode(), Qt::NoModifier, letter)));
        rest(std::chrono::milliseconds(40));
    }
    ui::waitUntilSettled(); // results of earlier letters do not count
    count->clear();
    const Stopwatch watch;
    letters.add(
        frame(*field, new QKeyEvent(QEvent::KeyPress, text.back().unicode(), Qt::NoModifier, text.back())));
    runUntil("something is found", [count] { return !count->text().isEmpty(); });
    QCoreApplication::processEvents();
    QGuiApplication::sync();
    figures[name] = watch.read().wall;
    std::printf("found %s of '%s' in %.0f ms\n", qPrintable(count->text()), qPrintable(text),
                watch.read().wall);
    field->clear();
    ui::waitUntilSettled();
}

void putBlocks(WatchedApplication& application, QJsonObject& figures, const QString& prefix)
{
    const WatchedApplication::Blocks blocks = application.takeBlocks();
    figures[prefix + QStringLiteral("gui_blocks_over_50ms")] = blocks.wall;
    figures[prefix + QStringLiteral("gui_blocks_over_50ms_cpu")] = blocks.cpu;
    figures[prefix + QStringLiteral("gui_longest_event_ms")] = blocks.longestMs;
    std::printf("%sblocks of the GUI thread over 50 ms: %d, longest event %.1f ms in %s\n",
                qPrintable(prefix), blocks.wall, blocks.longestMs, blocks.longestIn.constData());
}

} // namespace

QJsonObject measureTimeline(WatchedApplication& application, const QString& file, int frames,
                            const std::filesystem::path& pictures)
{
    QJsonObject figures;
    Screen screen("timeline");
    screen.timeline().setFitsLanes(false); // replaces the setting of an earlier session
    application.takeBlocks();
    const Times opened = openOnTimeline(screen, file);
    figures[QStringLiteral("open_first_paint_ms")] = opened.wall;
    figures[QStringLiteral("open_first_paint_ms_gui_cpu")] = opened.cpu;
    ui::waitUntilSettled();
    measureUsualFrames(screen, frames / 4, figures);
    QJsonObject references;
    measureFills(screen.timeline().viewport()->size(), QStringLiteral("frame"), references);
    references[QStringLiteral("open_ms")] = rawReadMs(file, {"track", "track_data", "string"});
    figures[QStringLiteral("references")] = references;
    screen.timeline().setFitsLanes(true);
    measureFrames(screen, frames, figures);
    figures[QStringLiteral("rss_mb")] = residentMb();
    if (!pictures.empty())
        writePictures(screen.timeline(), pictures);
    FrameTimes letters;
    measureFind(screen, QStringLiteral("functor_17<"), QStringLiteral("find_first_ms"), figures, letters);
    measureFind(screen, QStringLiteral("op"), QStringLiteral("find_all_ms"), figures, letters);
    letters.write(figures, QStringLiteral("find_letter"));
    putBlocks(application, figures, {});
    measurePages(application, screen, figures);
    figures[QStringLiteral("rss_after_pages_mb")] = residentMb();
    measureActions(application, screen, figures);
    figures[QStringLiteral("peak_rss_mb")] = peakResidentMb();
    return figures;
}

QJsonObject measureStacks(WatchedApplication& application, const QString& file, int frames)
{
    QJsonObject figures;
    Screen screen("timeline");
    ui::TimelineView& view = screen.timeline();
    view.setFitsLanes(false);
    const Stopwatch watch;
    openOnTimeline(screen, file);
    const auto stacks = [&view]() -> std::optional<std::size_t> {
        const ui::TimelineSection& section = view.scene().sections.front();
        for (std::size_t lane = 0; lane < section.lanes.size(); ++lane)
            if (section.timeline->lanes[section.lanes[lane].lane].kind == query::Lane::Kind::Frames)
                return lane;
        return {};
    };
    runUntil("the stacks are there", [&] { return stacks().has_value(); });
    QCoreApplication::processEvents();
    QGuiApplication::sync();
    figures[QStringLiteral("stacks_paint_ms")] = watch.read().wall;
    ui::waitUntilSettled();
    QJsonObject references;
    measureFills(view.viewport()->size(), QStringLiteral("stacks_frame"), references);
    references[QStringLiteral("stacks_ms")] = rawReadMs(file, {"track", "track_data", "string", "frame"});
    figures[QStringLiteral("references")] = references;
    view.setFolded({0, *stacks()}, false);
    const query::Lane& lane =
        view.scene().sections.front().timeline->lanes[view.scene().sections.front().lanes[*stacks()].lane];
    figures[QStringLiteral("stacks_calls")] = qint64(lane.events());
    figures[QStringLiteral("stacks_rows")] = qint64(lane.rows.size());
    application.takeBlocks();
    FrameTimes usual;
    RandomMoves near(view, 2);
    for (int i = 0; i < frames; ++i)
        usual.add(near.next());
    usual.write(figures, QStringLiteral("stacks_usual_lanes_frame"));
    view.verticalScrollBar()->setValue(0);
    view.setFitsLanes(true);
    FrameTimes all;
    RandomMoves moves(view, 1);
    for (int i = 0; i < frames; ++i)
        all.add(moves.next());
    all.write(figures, QStringLiteral("stacks_frame"));
    putBlocks(application, figures, QStringLiteral("stacks_"));
    figures[QStringLiteral("stacks_rss_mb")] = residentMb();
    return figures;
}

QJsonObject measureMemory(WatchedApplication& application, const QString& file, int frames)
{
    QJsonObject figures;
    Screen screen("memory");
    auto& page = dynamic_cast<ui::MemoryPage&>(*screen.window.page(QStringLiteral("memory")));
    const Stopwatch watch;
    screen.window.open({file});
    const auto painted = [&watch] {
        QCoreApplication::processEvents();
        QGuiApplication::sync();
        return watch.read().wall;
    };
    runUntil("the curves are there",
             [&] { return !page.areas().runs().empty() && page.areas().isVisible(); });
    figures[QStringLiteral("memory_first_paint_ms")] = painted();
    runUntil("the blocks are there", [&] { return page.blocks().layout() != nullptr; });
    figures[QStringLiteral("memory_blocks_paint_ms")] = painted();
    ui::waitUntilSettled();
    putBlocks(application, figures, QStringLiteral("memory_open_"));
    QJsonObject references;
    measureFills(page.areas().size(), QStringLiteral("memory_frame"), references);
    references[QStringLiteral("memory_open_ms")] = rawReadMs(file, {"allocation"});
    figures[QStringLiteral("references")] = references;
    figures[QStringLiteral("memory_boxes")] = qint64(page.blocks().layout()->boxes.size());
    std::mt19937_64 random(1);
    const double whole = page.axis().bounds().length();
    // Alternates between the curves and the blocks; either moves both.
    const auto measure = [&](const QString& name) {
        FrameTimes times;
        for (int i = 0; i < frames; ++i) {
            QWidget& plot = i % 2 == 0 ? static_cast<QWidget&>(page.areas()) : page.blocks();
            // Never the whole range, which cannot be panned.
            const double wanted = whole / std::exp2(std::uniform_real_distribution<double>(0.2, 12)(random));
            const double turns = std::log(wanted / page.axis().window().length()) / std::log(0.8);
            const QPointF at(std::uniform_real_distribution<double>(0.2, 0.8)(random) * plot.width(),
                             plot.height() / 2.0);
            const bool atBegin = page.axis().window().from <= page.axis().bounds().from;
            const bool atEnd = page.axis().window().to >= page.axis().bounds().to;
            times.add(i % 4 < 2 ? frame(plot, wheel(plot, at, turns * 120, Qt::ControlModifier))
                                : frame(plot, wheel(plot, at, atBegin || (!atEnd && i % 8 < 4) ? -120 : 120,
                                                    Qt::ShiftModifier)));
        }
        times.write(figures, name);
    };
    measure(QStringLiteral("memory_frame"));
    putBlocks(application, figures, QStringLiteral("memory_"));
    // All blocks, not only the largest.
    auto* detail = page.findChild<QSlider*>();
    detail->setValue(detail->maximum());
    ui::waitUntilSettled();
    application.takeBlocks();
    figures[QStringLiteral("memory_all_boxes")] = qint64(page.blocks().layout()->boxes.size());
    measure(QStringLiteral("memory_all_frame"));
    putBlocks(application, figures, QStringLiteral("memory_all_"));
    figures[QStringLiteral("memory_rss_mb")] = residentMb();
    return figures;
}

} // namespace tilescope::bench
