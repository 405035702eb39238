#pragma once

#include "ui/kit/gif_writer.h"
#include "ui/timeline/timeline_painter.h"

#include <QSize>
#include <QString>

#include <memory>
#include <optional>

namespace tilescope {
class OutputFile;
}

namespace tilescope::ui {

/// The settings of an export.
struct PlayExportOptions {
    enum class Format { Svg, Gif };

    Format format = Format::Gif;
    double slowdown = 1;
    QSize size;    ///< of the picture, in pixels
    QString title; ///< of an SVG

    static constexpr int kFramesPerSecond = 20;
    static constexpr int kMostSeconds = 60;
};

/// Writes what Play shows to a file, a frame at a time, so that the caller can show progress or stop. The file appears
/// when everything is written. GUI thread.
class PlayExport {
public:
    /// \param scene    all lanes from the top
    /// \throws Error   the file cannot be written, or the play would last more than a minute
    PlayExport(TimelineScene scene, const PlayPart& part, PlayExportOptions options, const QString& file);
    ~PlayExport();

    int frames() const { return frames_; }
    int done() const { return done_; }
    /// Writes the next frame. A frame takes about as long as painting it.
    /// \return  false once the file is complete
    bool step();
    /// The contents of the complete file: "160 frames, 10.0 s, 412 KiB".
    QString figures() const;

private:
    QImage frame(double now);
    void writeSvg();
    void writeFrame();

    TimelineScene scene_;
    PlayPart part_;
    PlayExportOptions options_;
    QString file_;
    std::unique_ptr<OutputFile> output_;
    std::unique_ptr<GifWriter> gif_;
    TimelinePainter painter_;
    int frames_ = 1;
    int done_ = 0;
    int elements_ = 0;
    std::int64_t bytes_ = 0;
};

/// The scene as an export draws it: all lanes, no overview, nothing selected; and its size at that width.
TimelineScene playScene(TimelineScene whole);
QSize playSize(const TimelineScene& scene, int width);

} // namespace tilescope::ui
