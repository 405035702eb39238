#include "ui/charts/charts_offscreen.h"

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "ui/charts/chart_plot.h"
#include "ui/charts/chart_rows.h"
#include "ui/charts/timeline_figure.h"
#include "ui/kit/exporter.h"
#include "ui/kit/text_file.h"

#include <QDir>
#include <QFileInfo>
#include <QHashSeed>

namespace tilescope::ui {

namespace {

constexpr qint64 kLargestRecipe = 1 << 16;
constexpr double kPngScale = 4; // 384 pixels an inch

ExportFormat formatOf(const QString& path)
{
    const QString suffix = QFileInfo(path).suffix().toLower();
    for (const ExportFormat format : {ExportFormat::Pdf, ExportFormat::Svg, ExportFormat::Png})
        if (suffix == suffixOf(format))
            return format;
    throw Error{.what = "a figure cannot be ." + suffix.toStdString(),
                .where = path.toStdString(),
                .remedy = "give it a name that ends in .pdf, .svg or .png"};
}

// A recipe may be given as JSON text in place of a file.
bool isText(const QString& recipe)
{
    return recipe.startsWith(QLatin1Char('{'));
}

QByteArray recipeText(const QString& path)
{
    if (isText(path))
        return path.toUtf8();
    return readTextFile(path, kLargestRecipe, QObject::tr("chart recipe"));
}

} // namespace

void writeTextFile(const QString& path, const QString& text)
{
    writeOutput(path.toStdString(), text.toStdString());
}

QString captionWithMachine(const QString& caption, const QString& machine)
{
    return machine.isEmpty() ? caption : caption + QLatin1Char('\n') + machine + QLatin1Char('.');
}

ChartRecipe readRecipe(const QString& path)
{
    return ChartRecipe::fromJson(recipeText(path), path);
}

void writeFigure(ChartPlot& plot, const Chart& chart, const ChartRecipe& recipe, const QString& path)
{
    const QSize size = ChartPlot::paperSize(recipe);
    const Exportable figure{
        QStringLiteral("figure"),
        size,
        [&plot](QPainter& painter, const QSize& drawn, bool) { plot.drawVectors(painter, drawn); },
        {}};
    writeExport(figure, {formatOf(path), size, kPngScale, recipe.title}, path);
    const QFileInfo info(path);
    writeTextFile(info.dir().filePath(info.completeBaseName() + QStringLiteral(".caption.txt")),
                  chart.caption + QLatin1Char('\n'));
}

void writeCharts(const QStringList& recipes, const QStringList& recordings, const QString& folder)
{
    // A PDF holds its fonts in the order of a hash.
    QHashSeed::setDeterministicGlobalSeed();
    if (!QDir().mkpath(folder))
        throw Error{
            .what = "cannot make the folder", .where = folder.toStdString(), .kind = ErrorKind::Failure};
    std::vector<query::FileSnapshot> snapshots;
    std::vector<query::EnvironmentTable> machines;
    for (const QString& recording : recordings) {
        const query::FileSession session(recording.toStdString());
        snapshots.push_back(session.snapshot());
        machines.push_back(query::environment(session.reader()));
    }
    std::vector<const query::RunSummary*> runs;
    for (const query::FileSnapshot& snapshot : snapshots)
        for (const query::RunSummary& run : snapshot.runs)
            runs.push_back(&run);
    const QString machine = machineWords(machines);
    for (const QString& recipe : recipes) {
        const QString path = isText(recipe) ? QStringLiteral("--charts") : recipe;
        const QByteArray json = recipeText(recipe);
        const QString name = isText(recipe) ? QStringLiteral("chart") : QFileInfo(path).completeBaseName();
        const QString base = QDir(folder).filePath(name);
        if (TimelineRecipe::isOne(json)) {
            writeTimelineFigure(TimelineRecipe::fromJson(json, path), recordings, machine, base);
            continue;
        }
        const ChartRecipe chosen = ChartRecipe::fromJson(json, path);
        Chart chart = chartOf(chosen, runs);
        if (!chart.empty.isEmpty())
            throw Error{.what = chart.empty.toStdString(), .where = path.toStdString()};
        chart.caption = captionWithMachine(chart.caption, machine);
        ChartPlot plot;
        plot.show(chart, chosen);
        for (const ExportFormat format : {ExportFormat::Pdf, ExportFormat::Svg, ExportFormat::Png})
            writeFigure(plot, chart, chosen, base + QLatin1Char('.') + suffixOf(format));
        writeTextFile(base + QStringLiteral(".csv"), csvOf(chartRows(chart)));
    }
}

} // namespace tilescope::ui
