#include "ui/window/screenshots.h"

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "ui/jobs/handover.h"
#include "ui/jobs/job_tracker.h"
#include "ui/theme/theme.h"
#include "ui/timeline/timeline_page.h"
#include "ui/timeline/timeline_play.h"
#include "ui/window/main_window.h"

#include <QApplication>
#include <QBuffer>
#include <QDir>
#include <QPixmap>

#include <algorithm>
#include <array>

namespace tilescope::ui {

void waitUntilSettled()
{
    // A job's result may start another job, which may have ended before the pool is asked again: settled means
    // that twice in a row no job was started and no result was posted, and that no theme is being applied.
    for (int quiet = 0; quiet < 2;) {
        const unsigned before = Handover::given();
        backgroundPool().waitForDone();
        QApplication::sendPostedEvents();
        QApplication::processEvents();
        quiet = Handover::given() == before && !Theme::instance().isChanging() ? quiet + 1 : 0;
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

// Of the compression alone: files a tenth larger than by default, in half the time.
constexpr int kPngQuality = 80;

void writePicture(MainWindow& window, const QString& file)
{
    waitUntilSettled();
    QBuffer png;
    png.open(QIODevice::WriteOnly);
    window.grab().save(&png, "PNG", kPngQuality);
    writeOutput(file.toStdString(), png.data().toStdString());
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
    TimelinePlayer& player = timeline.play().player();
    player.step(1);
    if (!player.isOn())
        return;
    const PlayPart part = player.clock().part();
    player.goTo((part.from + part.ends.front()) / 2);
    writePicture(window, file);
    player.end();
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
            if (timeline != nullptr)
                writePlayed(window, *timeline,
                            QStringLiteral("%1/%2_play_%3.png").arg(folder, name, QLatin1String(suffix)));
        }
        writeFiltered(window, folder, QLatin1String(suffix));
    }
    Theme::instance().apply(before);
}

} // namespace tilescope::ui
