#pragma once

#include "ui/kit/text_cache.h"
#include "ui/timeline/overview_strip.h"
#include "ui/timeline/timeline_scene.h"

#include <QImage>
#include <QStaticText>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

class QPainter;

namespace tilescope::ui {

/// Draws a TimelineScene. Keeps the texts of labels between frames; one per view, GUI thread.
class TimelinePainter {
public:
    /// Discards the texts of timelines that are no longer shown, and takes the current theme.
    void reset();
    /// Call when timelines are replaced by timelines with mostly the same texts.
    void forgetTimelines();

    /// Draws into the logical rectangle (0, 0, width, height).
    /// \param vector  true where boxes must stay shapes (PDF, SVG), false on screens
    void paint(QPainter& painter, const TimelineScene& scene, int width, int height, bool vector = false);

    /// A name on a box, in the small font.
    struct BoxName {
        QPointF at; ///< its upper left corner
        QString text;
        QColor colour;
    };
    /// Fills the boxes and curves of the lanes alone, for a format that the painter cannot write.
    /// \param target  its columns and rows are pixels of the plot
    /// \return  the names on the boxes, in the coordinates of the view
    std::vector<BoxName> fillPlot(BoxTarget& target, const TimelineScene& scene, int width, int height);

private:
    struct Label {
        std::vector<std::pair<QStaticText, double>>
            prefixes; ///< the whole text first, then shorter ones; with their widths
    };
    struct TextRun {
        QPointF at;
        const QStaticText* text;
        QColor colour;
        double until; ///< text beyond this position is not drawn
    };

    std::vector<QRectF> namesBehindLines(const TimelineScene& scene) const;
    void paintLanes(QPainter& painter, const TimelineScene& scene, const QRect& plot, bool vector);
    void paintTexts(QPainter& painter, const QRect& plot);
    void paintBands(QPainter& painter, const TimelineScene& scene, int width, const QRect& plot);
    void paintBand(QPainter& painter, const TimelineScene& scene, const Band& band, int width,
                   const QRect& plot);
    void fillLanes(BoxTarget& target, const TimelineScene& scene, const QRect& plot, double ratio);
    void fillLanes(BoxTarget& target, const TimelineScene& scene, const QRect& area, const QRect& plot,
                   double ratio, bool pinned);
    void fillLane(BoxTarget& whole, const TimelineScene& scene, const Band& band, const QRect& plot,
                  double ratio);
    void markSteps(BoxTarget& target, const TimelineScene& scene, const Band& band, int rowTop,
                   const QRect& rowRect, double ratio);
    MemoryRange rangeFor(const TimelineScene& scene, const query::Lane& lane) const;
    void collectLabels(const TimelineScene& scene, const Band& band, std::size_t row, const QRect& rowRect,
                       double ratio);
    const QStaticText* fitting(const query::Timeline& timeline, std::uint32_t name, double width);
    const QStaticText* stepLabel(const query::Timeline& timeline, std::int64_t start, double width);
    const QStaticText* durationLabel(std::int64_t nanoseconds, double width);

    std::optional<BoxColours> colours_;
    OverviewStrip overview_;
    TextCache laneTexts_;
    std::unordered_map<std::string, Label> words_;                                ///< by the name of boxes
    std::unordered_map<const query::Timeline*, std::vector<Label*>> labels_;      ///< by name; of words_
    std::unordered_map<std::int32_t, std::pair<QStaticText, double>> stepLabels_; ///< by step
    std::unordered_map<std::int64_t, std::pair<QStaticText, double>> durationLabels_; ///< by nanoseconds
    std::vector<query::Column> columns_;
    RowBoxes boxes_;
    std::vector<BoxShare> shares_;
    std::vector<TextRun> texts_;
    MemoryRange memory_; ///< of the scene that is drawn
    QImage image_;
};

} // namespace tilescope::ui
