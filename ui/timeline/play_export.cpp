#include "ui/timeline/play_export.h"

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"
#include "ui/timeline/play_svg.h"

#include <QFileInfo>
#include <QPainter>

#include <cmath>

namespace tilescope::ui {

namespace {

constexpr int kHundredths = 100 / PlayExportOptions::kFramesPerSecond; // a frame

} // namespace

TimelineScene playScene(TimelineScene whole)
{
    whole.sizes.overview = 0;
    whole.selected.reset();
    whole.span.reset();
    whole.selectedRange.clear();
    whole.play.reset();
    return whole;
}

QSize playSize(const TimelineScene& scene, int width)
{
    return {width, scene.sizes.overview + scene.sizes.ruler + scene.layout.height};
}

PlayExport::PlayExport(TimelineScene scene, const PlayPart& part, PlayExportOptions options,
                       const QString& file)
    : scene_(std::move(scene)), part_(part), options_(std::move(options)), file_(file)
{
    const double seconds = part_.length() * options_.slowdown / 1e9;
    if (seconds > PlayExportOptions::kMostSeconds)
        throw Error{.what = "the play would last " + std::to_string(std::llround(seconds)) + " s",
                    .where = "play",
                    .remedy = "choose a smaller slow-down: an export lasts at most " +
                              std::to_string(PlayExportOptions::kMostSeconds) + " s"};
    output_ = std::make_unique<OutputFile>(file.toStdString());
    if (options_.format == PlayExportOptions::Format::Gif)
        frames_ = 1 + int(std::ceil(seconds * PlayExportOptions::kFramesPerSecond));
}

PlayExport::~PlayExport() = default;

QImage PlayExport::frame(double now)
{
    scene_.play = PlayMoment{.part = part_, .now = now};
    QImage image(options_.size, QImage::Format_RGB32);
    QPainter painter(&image);
    painter.setRenderHint(QPainter::TextAntialiasing);
    painter_.paint(painter, scene_, image.width(), image.height());
    return image;
}

void PlayExport::writeSvg()
{
    const PlaySvg svg = playSvg(scene_, options_.size, part_, options_.slowdown, options_.title);
    output_->stream().write(svg.text.constData(), svg.text.size());
    elements_ = svg.elements;
}

void PlayExport::writeFrame()
{
    if (!gif_)
        gif_ = std::make_unique<GifWriter>(
            output_->stream(), options_.size,
            std::vector{frame(part_.from), frame((part_.from + part_.to) / 2), frame(part_.to)});
    const bool isLast = done_ + 1 == frames_;
    const double perFrame = 1e9 / PlayExportOptions::kFramesPerSecond / options_.slowdown;
    const double now = isLast ? part_.to : part_.from + done_ * perFrame;
    gif_->add(frame(now), isLast ? int(kPlayRest * 100) : kHundredths);
    if (isLast)
        gif_->finish();
}

bool PlayExport::step()
{
    if (done_ >= frames_)
        return false;
    if (options_.format == PlayExportOptions::Format::Svg)
        writeSvg();
    else
        writeFrame();
    if (++done_ < frames_)
        return true;
    output_->commit();
    bytes_ = QFileInfo(file_).size();
    return false;
}

QString PlayExport::figures() const
{
    const QString first = options_.format == PlayExportOptions::Format::Svg ? counted(elements_, "element")
                                                                            : counted(frames_, "frame");
    const double played = options_.format == PlayExportOptions::Format::Svg
                              ? part_.length() * options_.slowdown
                              : double(frames_ - 1) / PlayExportOptions::kFramesPerSecond * 1e9;
    return QStringLiteral("%1, %2 × %3 pixels, %4, %5")
        .arg(first)
        .arg(options_.size.width())
        .arg(options_.size.height())
        .arg(timeText(played + kPlayRest * 1e9), byteText(double(bytes_)));
}

} // namespace tilescope::ui
