#include "screen.h"

#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"
#include "ui/window/record_dialog.h"

#include <QGuiApplication>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

namespace tilescope::bench {

namespace {

struct Action {
    QString name;
    std::function<void()> act;
};

/// Sorts the largest table of a page by its second column.
void sortTable(ui::MainWindow& window, const QString& page)
{
    ui::TableView* largest = nullptr;
    for (ui::TableView* table : window.page(page)->findChildren<ui::TableView*>())
        if (table->isVisible() &&
            (largest == nullptr || table->model()->rowCount() > largest->model()->rowCount()))
            largest = table;
    if (largest != nullptr)
        largest->sortByColumn(1, Qt::AscendingOrder);
}

/// Selects the first box of a stream.
void selectKernel(ui::TimelineView& view)
{
    const ui::TimelineSection& section = view.scene().sections.front();
    for (const ui::LaneView& lane : section.lanes)
        if (section.timeline->lanes[lane.lane].kind == query::Lane::Kind::Stream)
            return view.select(ui::SectionItem{0, {lane.lane, 0, 0}});
}

void spanMiddle(ui::TimelineView& view)
{
    const ui::TimeWindow whole = wholeWindow(view.scene().sections);
    view.setSpan(ui::TimeWindow{whole.from + 0.4 * whole.length(), whole.from + 0.6 * whole.length()});
}

std::vector<Action> actionsOn(Screen& screen)
{
    ui::MainWindow& window = screen.window;
    const auto toPage = [&window](const char* page) {
        return [&window, page] { window.showPage(QLatin1String(page)); };
    };
    return {
        {QStringLiteral("show timeline again"), toPage("timeline")},
        {QStringLiteral("select a kernel"), [&screen] { selectKernel(screen.timeline()); }},
        {QStringLiteral("select a span"), [&screen] { spanMiddle(screen.timeline()); }},
        {QStringLiteral("fit lanes"), [&screen] { screen.timeline().setFitsLanes(true); }},
        {QStringLiteral("usual lanes"), [&screen] { screen.timeline().setFitsLanes(false); }},
        {QStringLiteral("clear the span"), [&screen] { screen.timeline().setSpan({}); }},
        {QStringLiteral("show kernels again"), toPage("kernels")},
        {QStringLiteral("sort kernels"), [&window] { sortTable(window, QStringLiteral("kernels")); }},
        {QStringLiteral("show memory again"), toPage("memory")},
        {QStringLiteral("show flame again"), toPage("flame")},
        {QStringLiteral("show overview again"), toPage("overview")},
        {QStringLiteral("resize"), [&window] { window.resize(1366, 768); }},
        {QStringLiteral("resize back"), [&window] { window.resize(1920, 1080); }},
        {QStringLiteral("dark theme"), [] { ui::Theme::instance().change(ui::ThemeChoice::Dark); }},
        {QStringLiteral("light theme"), [] { ui::Theme::instance().change(ui::ThemeChoice::Light); }},
        {QStringLiteral("open record dialog"), [&window] { window.recordProgram().show(); }},
        {QStringLiteral("close record dialog"), [&window] { window.recordProgram().close(); }},
    };
}

} // namespace

void measureActions(WatchedApplication& application, Screen& screen, QJsonObject& figures)
{
    QJsonObject longest;
    QJsonObject longestCpu;
    for (const Action& action : actionsOn(screen)) {
        ui::waitUntilSettled();
        application.takeBlocks();
        bool done = false;
        post(screen.window, [&] {
            action.act();
            done = true;
        });
        runUntil("the action is done", [&done] { return done; });
        ui::waitUntilSettled();
        QGuiApplication::sync();
        const WatchedApplication::Blocks blocks = application.takeBlocks();
        longest[action.name] = blocks.longestMs;
        longestCpu[action.name] = blocks.longestCpuMs;
        std::printf("action %s: longest event %.1f ms (processor %.1f) in %s\n", qPrintable(action.name),
                    blocks.longestMs, blocks.longestCpuMs, blocks.longestIn.constData());
    }
    figures[QStringLiteral("actions_longest_event_ms")] = longest;
    figures[QStringLiteral("actions_longest_event_ms_cpu")] = longestCpu;
}

} // namespace tilescope::bench
