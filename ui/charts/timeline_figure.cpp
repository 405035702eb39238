#include "ui/charts/timeline_figure.h"

#include "core/base/error.h"
#include "ui/charts/charts_offscreen.h"
#include "ui/charts/recipe_reader.h"
#include "ui/kit/count_text.h"
#include "ui/kit/exporter.h"
#include "ui/timeline/timeline_loading.h"
#include "ui/timeline/timeline_view.h"

#include <QChar>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr const char* kKind = "tilescope_timeline";
constexpr int kTimelineVersion = 1;
constexpr int kLeastWidth = 300;
constexpr int kMostWidth = 8000;
constexpr double kScreenPngScale = 2; // the figure uses the sizes of a screen

/// Everything of the recordings, from which the recipe's runs are taken. The runs' pointers stay valid while
/// it lives.
class Recordings {
public:
    explicit Recordings(const QStringList& paths)
    {
        for (const QString& path : paths) {
            auto file = std::make_shared<query::SharedFile>(path.toStdString());
            snapshots_.push_back(file->look());
            files_.push_back(std::move(file));
        }
    }

    SelectedRun run(const QString& uid) const
    {
        for (std::size_t i = 0; i < files_.size(); ++i)
            for (const query::RunSummary& run : snapshots_[i]->runs)
                if (run.uid == uid.toStdString())
                    return {{int(i), run.run}, files_[i], snapshots_[i], &run, {}, {}};
        throw Error{.what = "none of the given recordings contains the run " + uid.toStdString(),
                    .where = "timeline"};
    }

private:
    std::vector<std::shared_ptr<query::SharedFile>> files_;
    std::vector<std::shared_ptr<const query::FileSnapshot>> snapshots_;
};

std::vector<SelectedRun> chosen(const TimelineRecipe& recipe, const Recordings& recordings)
{
    std::vector<SelectedRun> runs;
    RunTitles titles;
    for (const QString& uid : recipe.runs)
        titles.add(*runs.emplace_back(recordings.run(uid)).run);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i].title = titles.of(*runs[i].run, true);
        if (runs.size() > 1)
            runs[i].letter = QChar(u'A' + char16_t(i));
    }
    return runs;
}

/// Describes the drawing in words.
QString timelineCaption(const TimelineRecipe& recipe, const std::vector<SelectedRun>& runs,
                        const TimelineScene& scene)
{
    QStringList titles;
    for (const SelectedRun& run : runs)
        titles << (run.letter.isEmpty() ? run.title : run.letter + QLatin1Char(' ') + run.title);
    const QString& at = scene.sections.front().alignedAt;
    QString caption =
        QStringLiteral("Traced %1 of %2")
            .arg(at.isEmpty() ? QStringLiteral("steps") : at, titles.join(QStringLiteral(", above ")));
    if (runs.size() > 1)
        caption += recipe.equalLengths ? QStringLiteral(", drawn to equal lengths")
                                       : QStringLiteral(", on one scale of time");
    return caption + QLatin1Char('.');
}

} // namespace

bool TimelineRecipe::isOne(const QByteArray& json)
{
    return RecipeReader::isKind(json, kKind);
}

TimelineRecipe TimelineRecipe::fromJson(const QByteArray& json, const QString& origin)
{
    RecipeReader reader(json, origin, kKind, kTimelineVersion);
    TimelineRecipe recipe;
    recipe.title = reader.text("title", recipe.title);
    recipe.runs = reader.texts("runs");
    recipe.alignAt = reader.text("align_at", recipe.alignAt);
    recipe.equalLengths = reader.flag("equal_lengths", recipe.equalLengths);
    recipe.memoryHeight = reader.between("memory_height", 1, LaneView::kTallest, recipe.memoryHeight);
    recipe.width = int(reader.between("width", kLeastWidth, kMostWidth, recipe.width));
    reader.end("tilescope_timeline, title, runs, align_at, equal_lengths, memory_height, width");
    if (recipe.runs.isEmpty())
        throw Error{.what = "the recipe names no run",
                    .where = origin.toStdString(),
                    .remedy = "list uids under 'runs'"};
    return recipe;
}

void writeTimelineFigure(const TimelineRecipe& recipe, const QStringList& recordings, const QString& machine,
                         const QString& base)
{
    const Recordings given(recordings);
    const std::vector<SelectedRun> runs = chosen(recipe, given);
    LoadedTimelines loaded =
        loadTimelines(runs, {}, std::nullopt, recipe.equalLengths, false, [] { return false; });
    if (!loaded.anything)
        throw Error{.what = "none of the runs was traced", .where = "timeline"};
    if (loaded.left > 0)
        throw Error{.what = "the recipe names more than " +
                            counted(std::int64_t(kMostTimelines), "traced run").toStdString(),
                    .where = "timeline",
                    .remedy = "remove runs from 'runs'"};
    if (!recipe.alignAt.isEmpty()) {
        loaded.alignment.path = recipe.alignAt.toStdString();
        loaded.aligned = alignedAt(std::move(loaded.aligned.sections), loaded.alignment);
    }
    for (TimelineSection& section : loaded.aligned.sections)
        for (LaneView& lane : section.lanes)
            if (section.timeline->lanes[lane.lane].kind == query::Lane::Kind::Memory)
                lane.tall = recipe.memoryHeight;
    TimelineView view;
    view.resize(recipe.width, recipe.width / 2);
    view.setSections(std::move(loaded.aligned.sections), false, std::move(loaded.pairs));
    if (loaded.aligned.window)
        view.setWindow(*loaded.aligned.window);
    const TimelineScene scene = view.wholeScene();
    // The height is that of the lanes, independent of any window.
    const QSize size(recipe.width, scene.sizes.overview + scene.sizes.ruler + scene.layout.height);
    const Exportable figure{recipe.title,
                            size,
                            [&scene](QPainter& painter, const QSize& drawn, bool vector) {
                                TimelinePainter().paint(painter, scene, drawn.width(), drawn.height(),
                                                        vector);
                            },
                            {}};
    for (const ExportFormat format : {ExportFormat::Pdf, ExportFormat::Svg, ExportFormat::Png})
        writeExport(figure, {format, size, format == ExportFormat::Png ? kScreenPngScale : 1, recipe.title},
                    base + QLatin1Char('.') + suffixOf(format));
    writeTextFile(base + QStringLiteral(".caption.txt"),
                  captionWithMachine(timelineCaption(recipe, loaded.runs, scene), machine) +
                      QLatin1Char('\n'));
}

} // namespace tilescope::ui
