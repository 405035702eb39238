#pragma once

#include "ui/plots/lane_painter.h"
#include "ui/plots/range_pairs.h"
#include "ui/plots/timeline_layout.h"

#include <QImage>
#include <QStaticText>

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

class QPainter;

namespace tilescope::ui {

/// A box in one of the sections.
struct SectionItem {
    std::size_t section = 0;
    query::TimelineItem item;

    bool operator==(const SectionItem&) const = default;
};

/// Everything that a timeline's picture shows: plain data, made by the view and drawn by TimelinePainter.
struct TimelineScene {
    std::vector<TimelineSection> sections;
    TimeWindow window;
    LaneSizes sizes{};
    TimelineLayout layout;
    int scroll = 0; ///< pixels by which the lanes are scrolled up
    std::optional<SectionItem> selected;
    std::optional<TimeWindow> span; ///< selected stretch of the shared axis
    std::vector<SectionItem> found; ///< what a search found: ringed

    /// Parts of a view of `width` x `height` pixels.
    QRect plot(int width, int height) const; ///< the lanes' boxes
    QRect ruler(int width) const;
    QRect overview(int width) const;
    double perPixel(int width) const; ///< nanoseconds of the axis

    double axisAt(double x, int width) const;
    double xOf(double axis, int width) const;
    /// The box at a point of the view, or a narrow one beside it.
    std::optional<SectionItem> itemAt(QPoint point, int width, int height) const;
    /// Where a box lies in the view; empty when it is not on screen.
    QRect rectOf(const SectionItem& item, int width, int height) const;
};

/// Draws a TimelineScene. Keeps the texts of labels between frames; one per view, GUI thread.
class TimelinePainter {
public:
    /// Forget texts of timelines that are no longer shown, and take the current theme.
    void reset();

    /// Draws into the logical rectangle (0, 0, width, height).
    /// \param vector  true where boxes must stay shapes (PDF, SVG), false on screens
    void paint(QPainter& painter, const TimelineScene& scene, int width, int height, bool vector = false);

private:
    struct Label {
        std::vector<std::pair<QStaticText, double>>
            prefixes; ///< whole first, then shorter; with their widths
    };
    struct TextRun {
        QPointF at;
        const QStaticText* text;
        QColor colour;
    };

    void paintLanes(QPainter& painter, const TimelineScene& scene, const QRect& plot, bool vector);
    void fillLanes(BoxTarget& target, const TimelineScene& scene, const QRect& plot, double ratio);
    void fillLane(BoxTarget& target, const TimelineScene& scene, const Band& band, const QRect& plot,
                  double ratio);
    void collectLabels(const TimelineScene& scene, const Band& band, std::size_t row, const QRect& rowRect,
                       double ratio);
    const QStaticText* fitting(const query::Timeline& timeline, std::uint32_t name, double width);
    void paintOverview(QPainter& painter, const TimelineScene& scene, const QRect& area);
    void paintRuler(QPainter& painter, const TimelineScene& scene, const QRect& area);
    void paintHeader(QPainter& painter, const TimelineScene& scene, const Band& band, const QRect& area);
    void paintLabelColumn(QPainter& painter, const TimelineScene& scene, const Band& band, const QRect& area);
    void paintMemoryMarks(QPainter& painter, const TimelineScene& scene, const Band& band, const QRect& area);
    void paintSelection(QPainter& painter, const TimelineScene& scene, int width, int height);
    void paintDifference(QPainter& painter, const TimelineScene& scene, const Band& band, const QRect& area);
    const std::vector<RangePair>& pairsOf(const query::Timeline& a, const query::Timeline& b);

    std::optional<BoxColours> colours_;
    std::unordered_map<const query::Timeline*, std::vector<Label>> labels_;
    std::map<std::pair<const query::Timeline*, const query::Timeline*>, std::vector<RangePair>> pairs_;
    std::vector<query::Column> columns_;
    RowBoxes boxes_;
    std::vector<TextRun> texts_;
    QImage image_;
    QImage overview_;
    std::vector<const query::Timeline*> overviewOf_;
};

} // namespace tilescope::ui
