#include "ui/window/screenshots.h"

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "ui/experiment/point_grid_view.h"
#include "ui/flame/flame_page.h"
#include "ui/flame/flame_view.h"
#include "ui/jobs/job_tracker.h"
#include "ui/jobs/thread_order.h"
#include "ui/kernels/kernels_page.h"
#include "ui/theme/theme.h"
#include "ui/timeline/timeline_page.h"
#include "ui/timeline/timeline_path.h"
#include "ui/timeline/timeline_play.h"
#include "ui/window/command_dialog.h"
#include "ui/window/main_window.h"
#include "ui/window/record_dialog.h"
#include "ui/window/report_dialog.h"
#include "ui/window/what_if_dialog.h"

#include <QAction>
#include <QApplication>
#include <QBuffer>
#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QElapsedTimer>
#include <QLineEdit>
#include <QPixmap>
#include <QPushButton>
#include <QTimer>

#include <algorithm>
#include <array>
#include <exception>

namespace tilescope::ui {

void waitUntilSettled()
{
    // A job's result may start another job, which may have ended before the pool is asked again: settled means
    // that twice in a row no job was started and no result was posted, and that no theme is being applied.
    for (int quiet = 0; quiet < 2;) {
        const unsigned before = ThreadOrder::given();
        backgroundPool().waitForDone();
        QApplication::sendPostedEvents();
        QApplication::processEvents();
        quiet = ThreadOrder::given() == before && !Theme::instance().isChanging() ? quiet + 1 : 0;
    }
}

namespace {

// The longest device box in the step that the last run is aligned at.
std::optional<SectionItem> longestOf(const TimelineScene& scene)
{
    if (scene.sections.empty())
        return {};
    const std::size_t section = scene.sections.size() - 1;
    const TimelineSection& run = scene.sections[section];
    std::optional<SectionItem> longest;
    std::int64_t length = 0;
    for (std::size_t lane = 0; lane < run.timeline->lanes.size(); ++lane) {
        if (run.timeline->lanes[lane].kind != query::Lane::Kind::Stream || !run.step)
            continue;
        const std::vector<query::Track>& rows = run.timeline->lanes[lane].rows;
        for (std::size_t row = 0; row < rows.size(); ++row) {
            const auto [first, last] = rows[row].overlapping(run.step->start, run.step->end);
            for (std::size_t i = first; i < last; ++i)
                if (rows[row].length(i) > length) {
                    length = rows[row].length(i);
                    longest = SectionItem{section, {lane, row, i}};
                }
        }
    }
    return longest;
}

// The compression level: files are a tenth larger than by default, but take half the time.
constexpr int kPngQuality = 80;

void writeNow(QWidget& shown, const QString& file)
{
    QBuffer png;
    png.open(QIODevice::WriteOnly);
    shown.grab().save(&png, "PNG", kPngQuality);
    writeOutput(file.toStdString(), png.data().toStdString());
}

void writePicture(QWidget& shown, const QString& file)
{
    waitUntilSettled();
    writeNow(shown, file);
}

// The dialogs: Record always; Report and Export if a file is open.
void writeDialogs(MainWindow& window, const QString& folder, const QString& suffix)
{
    const auto file = [&](const char* name) {
        return QStringLiteral("%1/dialog_%2_%3.png").arg(folder, QLatin1String(name), suffix);
    };
    RecordDialog& record = window.recordProgram();
    writePicture(record, file("record"));
    record.hide();
    if (window.workspace().files().empty())
        return;
    window.writeReport();
    if (auto* report = window.findChild<ReportDialog*>()) {
        writePicture(*report, file("report"));
        report->close();
    }
    window.showPage(QStringLiteral("overview"));
    waitUntilSettled();
    std::exception_ptr failure; // which must not cross the dialog's event loop
    QTimer::singleShot(0, &window, [&] {
        QWidget* dialog = QApplication::activeModalWidget();
        try {
            writePicture(*dialog, file("export"));
        } catch (...) {
            failure = std::current_exception();
        }
        dialog->close();
    });
    window.exportPage();
    if (failure)
        std::rethrow_exception(failure);
}

// Runs the event loop until something is so.
template <class Condition> bool waitFor(const Condition& condition)
{
    constexpr qint64 kTimeoutMs = 60'000;
    QElapsedTimer clock;
    clock.start();
    while (!condition() && clock.elapsed() < kTimeoutMs)
        QApplication::processEvents(QEventLoop::WaitForMoreEvents, 100);
    return condition();
}

// The critical path, a prediction and a command of the first selected run.
void writeTools(MainWindow& window, const QString& folder, const QString& suffix)
{
    const std::vector<SelectedRun> runs = window.workspace().selectedRuns();
    if (runs.empty())
        return;
    const auto file = [&](const char* name) {
        return QStringLiteral("%1/%2_%3.png").arg(folder, QLatin1String(name), suffix);
    };
    window.showPage(QStringLiteral("timeline"));
    waitUntilSettled();
    auto& timeline = dynamic_cast<TimelinePage&>(*window.currentPage());
    timeline.view().clearSelection();
    timeline.path().action()->setChecked(true);
    writePicture(window, file("timeline_path"));
    timeline.path().action()->setChecked(false);
    WhatIfDialog whatIf(runs.front(), &window);
    bool isPredicted = false;
    QObject::connect(&whatIf, &WhatIfDialog::predicted, &whatIf, [&isPredicted] { isPredicted = true; });
    whatIf.show();
    waitFor([&isPredicted] { return isPredicted; });
    writePicture(whatIf, file("dialog_what_if"));
    CommandDialog command(Command::Export, runs, {});
    command.show();
    writePicture(command, file("dialog_command"));
}

// The pages that follow the time filter, limited to the first half of the step that the runs are aligned at.
void writeFiltered(MainWindow& window, const QString& folder, const QString& suffix)
{
    window.showPage(QStringLiteral("timeline"));
    waitUntilSettled();
    auto& timeline = dynamic_cast<TimelinePage&>(*window.currentPage());
    const TimelineScene& scene = timeline.view().scene();
    if (scene.sections.empty() || !scene.sections.front().step)
        return;
    const TimelineSection& first = scene.sections.front();
    const std::int64_t half = (first.step->end - first.step->start) / 2;
    timeline.view().setSpan(
        TimeWindow{first.toAxis(double(first.step->start)), first.toAxis(double(first.step->start + half))});
    timeline.filterBySpan();
    for (const char* name :
         {"timeline", "overview", "flame", "kernels", "memory", "ranks", "compare", "charts"}) {
        window.showPage(QString::fromLatin1(name));
        writePicture(window,
                     QStringLiteral("%1/%2_filtered_%3.png").arg(folder, QLatin1String(name), suffix));
    }
    window.workspace().setTimeFilter({});
    timeline.view().clearSelection();
}

// The step that the runs are aligned at, played to where the first run is halfway.
void writePlayed(MainWindow& window, TimelinePage& timeline, const QString& file)
{
    TimelinePlay& play = timeline.play();
    play.step(1);
    if (!play.isOn())
        return;
    play.goTo((play.moment().from + play.moment().ends.front()) / 2);
    writePicture(window, file);
    play.end();
}

// Without the largest box of the second row, and the callers of the largest one at the end of a stack.
void writeFlameFilters(MainWindow& window, FlamePage& flame, const QString& file)
{
    using Kind = query::CallFilter::Kind;
    const query::FlameGraph* graph = flame.view().graph();
    if (graph == nullptr || graph->rows.size() < 3)
        return;
    const auto nameOf = [&graph](std::size_t row) {
        return graph->table.tree.nameOf(graph->rows[row].front().node);
    };
    const std::vector<query::CallFilter> filters{{Kind::Hide, nameOf(1)}};
    flame.setFilters(filters);
    waitUntilSettled();
    graph = flame.view().graph();
    if (!graph->rows.empty())
        flame.setFilters({filters.front(), {Kind::Callers, nameOf(graph->rows.size() - 1)}});
    writePicture(window, file);
    flame.setFilters({});
}

// The lines of kernels by their samples, if the run has some.
void writeFlameOfSamples(MainWindow& window, FlamePage& flame, const QString& file)
{
    const auto choose = [&flame](query::CallWeight weight) {
        for (auto* box : flame.findChildren<QComboBox*>())
            if (const int index = box->findText(FlamePage::tr("samples")); index >= 0) {
                box->setCurrentIndex(box->findData(int(weight)));
                emit box->activated(box->currentIndex());
            }
        waitUntilSettled();
    };
    choose(query::CallWeight::Samples);
    if (const query::FlameGraph* graph = flame.view().graph(); graph != nullptr && !graph->rows.empty())
        writePicture(window, file);
    choose(query::CallWeight::Time);
}

// The boxes of two runs by their difference, if two are selected.
void writeFlameOfTwo(MainWindow& window, FlamePage& flame, const QString& file)
{
    for (QCheckBox* box : flame.findChildren<QCheckBox*>()) {
        if (box->text() != FlamePage::tr("A and B") || !box->isVisible())
            continue;
        box->click();
        writePicture(window, file);
        box->click();
    }
}

// The pages that show one rank of several, with the last one.
void writeRank(MainWindow& window, const QString& folder, const QString& suffix)
{
    const std::vector<SelectedRun> runs = window.workspace().selectedRuns();
    if (runs.empty() || runs.front().run->processes.empty())
        return;
    window.workspace().setProcess(runs.front().run->processes.back().query);
    for (const char* name : {"overview", "timeline", "flame", "kernels", "compare"}) {
        window.showPage(QString::fromLatin1(name));
        writePicture(window, QStringLiteral("%1/%2_rank_%3.png").arg(folder, QLatin1String(name), suffix));
    }
    window.workspace().setProcess({});
}

} // namespace

void writeScreenshots(MainWindow& window, const QString& folder)
{
    if (!QDir().mkpath(folder))
        throw Error{.what = "cannot make the folder", .where = folder.toStdString()};
    const ThemeChoice before = Theme::instance().choice();
    std::array themes{std::pair(ThemeChoice::Dark, "dark"), std::pair(ThemeChoice::Light, "light")};
    // The window's own comes last: a change of theme styles all pages that were made.
    if (Theme::instance().palette().dark)
        std::ranges::reverse(themes);
    for (const auto& [choice, suffix] : themes) {
        Theme::instance().apply(choice);
        for (const QString& name : window.pageNames()) {
            window.showPage(name);
            waitUntilSettled();
            auto* timeline = dynamic_cast<TimelinePage*>(window.currentPage());
            if (timeline != nullptr) {
                timeline->view().select(longestOf(timeline->view().scene()));
                waitUntilSettled();
            }
            writePicture(window, QStringLiteral("%1/%2_%3.png").arg(folder, name, QLatin1String(suffix)));
            if (auto* kernels = dynamic_cast<KernelsPage*>(window.currentPage())) {
                kernels->showInside(true);
                writePicture(window,
                             QStringLiteral("%1/kernels_inside_%2.png").arg(folder, QLatin1String(suffix)));
                kernels->showInside(false);
            }
            if (auto* flame = dynamic_cast<FlamePage*>(window.currentPage())) {
                const auto file = [&folder, theme = QLatin1String(suffix)](const char* shows) {
                    return QStringLiteral("%1/flame_%2_%3.png").arg(folder, QLatin1String(shows), theme);
                };
                writeFlameFilters(window, *flame, file("callers"));
                writeFlameOfSamples(window, *flame, file("samples"));
                writeFlameOfTwo(window, *flame, file("two"));
            }
            if (timeline != nullptr)
                writePlayed(window, *timeline,
                            QStringLiteral("%1/%2_play_%3.png").arg(folder, name, QLatin1String(suffix)));
        }
        writeFiltered(window, folder, QLatin1String(suffix));
        writeRank(window, folder, QLatin1String(suffix));
        writeDialogs(window, folder, QLatin1String(suffix));
        writeTools(window, folder, QLatin1String(suffix));
    }
    Theme::instance().apply(before);
}

void writeScreenshotOfPage(MainWindow& window, const QString& folder)
{
    if (!QDir().mkpath(folder))
        throw Error{.what = "cannot make the folder", .where = folder.toStdString()};
    waitUntilSettled();
    constexpr int kSmallest = 0; // the compression level
    QBuffer png;
    png.open(QIODevice::WriteOnly);
    window.grab().save(&png, "PNG", kSmallest);
    writeOutput(QStringLiteral("%1/%2.png").arg(folder, window.currentPageName()).toStdString(),
                png.data().toStdString());
}

void writeScreenshotsOfRun(MainWindow& window, const QString& folder)
{
    if (!QDir().mkpath(folder))
        throw Error{.what = "cannot make the folder", .where = folder.toStdString()};
    window.showPage(QStringLiteral("experiment"));
    waitUntilSettled();
    Page& page = *window.currentPage();
    page.findChild<QLineEdit*>(QStringLiteral("output"))->setText(folder + QStringLiteral("/running.tscope"));
    waitUntilSettled();
    auto* run = page.findChild<QPushButton*>(QStringLiteral("run"));
    waitFor([run] { return run->isEnabled(); }); // the spec is checked
    run->click();
    const auto* grid = page.findChild<PointGridView*>();
    const auto has = [grid](GridCell::Kind kind) {
        return std::ranges::find(grid->cells(), kind, &GridCell::kind) != grid->cells().end();
    };
    if (!waitFor([&] { return has(GridCell::Kind::Time) && has(GridCell::Kind::Running); }))
        throw Error{.what = "no point of the experiment runs after another one",
                    .where = folder.toStdString(),
                    .remedy = "give --spec a spec of several points; the page Experiment shows its errors"};
    const ThemeChoice before = Theme::instance().choice();
    for (const auto& [choice, suffix] :
         {std::pair(ThemeChoice::Dark, "dark"), std::pair(ThemeChoice::Light, "light")}) {
        Theme::instance().apply(choice);
        waitFor([] { return !Theme::instance().isChanging(); });
        constexpr int kTurns =
            10; // plots are drawn again in one of the next; the run goes on, so that nothing settles
        for (int turn = 0; turn < kTurns; ++turn)
            QApplication::processEvents();
        writeNow(window, QStringLiteral("%1/experiment_running_%2.png").arg(folder, QLatin1String(suffix)));
    }
    Theme::instance().apply(before);
    auto* cancel = page.findChild<QPushButton*>(QStringLiteral("cancel"));
    cancel->click();
    if (!waitFor([&] { return !has(GridCell::Kind::Running); }))
        cancel->click();
}

} // namespace tilescope::ui
