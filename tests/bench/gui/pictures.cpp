#include "pictures.h"

#include "core/base/error.h"
#include "ui/theme/theme.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPixmap>

#include <cmath>

namespace tilescope::bench {

namespace {

using query::Lane;

QString kindOf(Lane::Kind kind)
{
    switch (kind) {
    case Lane::Kind::Ranges:
        return QStringLiteral("range");
    case Lane::Kind::Frames:
        return QStringLiteral("frames");
    case Lane::Kind::Thread:
        return QStringLiteral("thread");
    case Lane::Kind::Stream:
        return QStringLiteral("stream");
    case Lane::Kind::Busy:
        return QStringLiteral("busy");
    case Lane::Kind::Memory:
        return QStringLiteral("memory");
    case Lane::Kind::Counter:
        return QStringLiteral("counter");
    }
    return {};
}

// The pixels that show the contents of a lane: the middle of each row, the bottom of a curve.
std::vector<int> heightsOf(const ui::Band& band, const Lane& lane)
{
    if (lane.kind == Lane::Kind::Memory || lane.kind == Lane::Kind::Counter)
        return {band.top + band.height - 1};
    std::vector<int> heights;
    for (std::size_t row = 0; row < lane.rows.size(); ++row)
        heights.push_back(band.rowTop(row) + band.rowHeight / 2);
    return heights;
}

// One letter per column: whether any row of the lane has a colour other than the background there.
QString inked(const QImage& picture, const ui::TimelineScene& scene, const ui::Band& band, const Lane& lane,
              const QRect& plot)
{
    const ui::Palette& palette = ui::colours();
    const QRgb ground = (lane.kind == Lane::Kind::Ranges ? palette.surface : palette.laneGround).rgb();
    const QRgb grid = palette.grid.rgb();
    const QRgb step = palette.strongLine.rgb();
    QString columns(plot.width(), QLatin1Char('.'));
    for (const int inLane : heightsOf(band, lane)) {
        const int y = plot.top() - scene.scroll + inLane;
        for (int x = 0; x < plot.width(); ++x) {
            const QRgb pixel = picture.pixel(plot.left() + x, y);
            if (pixel != ground && pixel != grid && pixel != step)
                columns[x] = QLatin1Char('#');
        }
    }
    return columns;
}

double coveredNs(const Lane& lane, double from, double perColumn, int columns)
{
    // Only the busy time of the device's lane, whose gaps are boxes too.
    if (lane.kind == Lane::Kind::Busy)
        return double(lane.rows.front().coveredByHue(
            std::int64_t(from), std::int64_t(from + perColumn * columns))[std::size_t(query::Hue::Busy)]);
    std::vector<query::Column> out(static_cast<std::size_t>(columns));
    double covered = 0;
    for (const query::Track& row : lane.rows) {
        row.columns(from, perColumn, out);
        for (const query::Column& column : out)
            covered += double(column.coverage) * perColumn;
    }
    return covered;
}

QJsonArray lanesOf(const ui::TimelineView& view, const QImage& picture)
{
    const ui::TimelineScene& scene = view.scene();
    const QRect plot = scene.plot(picture.width(), picture.height());
    const ui::TimelineSection& section = scene.sections.front();
    const double from = section.toTimeline(scene.window.from);
    const double perColumn = scene.window.length() / section.stretch / plot.width();
    QJsonArray lanes;
    for (const ui::Band& band : scene.layout.bands) {
        const int top = band.top - scene.scroll;
        if (band.kind != ui::Band::Kind::Lane || top < 0 || top + band.height > plot.height())
            continue;
        const Lane& lane = section.timeline->lanes[section.lanes[band.view].lane];
        std::pair<std::int64_t, std::int64_t> extremes{0, 0};
        if (lane.kind == Lane::Kind::Memory)
            extremes =
                lane.allocated.extremes(std::int64_t(from), std::int64_t(from + perColumn * plot.width()));
        lanes.append(
            QJsonObject{{QStringLiteral("lowest"), qint64(extremes.first)},
                        {QStringLiteral("highest"), qint64(extremes.second)},
                        {QStringLiteral("kind"), kindOf(lane.kind)},
                        {QStringLiteral("thread"), qint64(lane.thread.value)},
                        {QStringLiteral("stream"), qint64(lane.stream.value)},
                        {QStringLiteral("covered_ns"), coveredNs(lane, from, perColumn, plot.width())},
                        {QStringLiteral("inked"), inked(picture, scene, band, lane, plot)}});
    }
    return lanes;
}

} // namespace

void writePictures(ui::TimelineView& view, const std::filesystem::path& folder)
{
    std::filesystem::create_directories(folder);
    const ui::TimeWindow whole = wholeWindow(view.scene().sections);
    QJsonArray pictures;
    for (const int depth : {0, 3, 7, 11, 16}) {
        const double length = whole.length() / std::exp2(depth);
        const double from = whole.from + 0.37 * (whole.length() - length);
        view.setWindow({from, from + length});
        const QString file =
            QString::fromStdString((folder / ("frame_" + std::to_string(depth) + ".png")).string());
        if (!view.viewport()->grab().save(file))
            throw Error{.what = "cannot write the picture", .where = file.toStdString()};
        const QImage picture(file);
        const ui::TimelineScene& scene = view.scene();
        const ui::TimelineSection& section = scene.sections.front();
        const QRect plot = scene.plot(picture.width(), picture.height());
        pictures.append(QJsonObject{
            {QStringLiteral("file"), file},
            {QStringLiteral("origin_ns"), qint64(section.timeline->origin.time_since_epoch().count())},
            {QStringLiteral("from_ns"), section.toTimeline(scene.window.from)},
            {QStringLiteral("ns_per_column"), scene.window.length() / section.stretch / plot.width()},
            {QStringLiteral("columns"), plot.width()},
            {QStringLiteral("lanes"), lanesOf(view, picture)}});
    }
    QFile json(QString::fromStdString((folder / "pictures.json").string()));
    if (!json.open(QIODevice::WriteOnly) || json.write(QJsonDocument(pictures).toJson()) < 0)
        throw Error{.what = "cannot be written", .where = json.fileName().toStdString()};
}

} // namespace tilescope::bench
