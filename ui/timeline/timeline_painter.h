#pragma once

#include "ui/timeline/lane_painter.h"
#include "ui/timeline/range_pairs.h"
#include "ui/timeline/timeline_layout.h"
#include "ui/timeline/timeline_rings.h"

#include <QImage>
#include <QStaticText>

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

class QPainter;

namespace tilescope::ui {

/// A tie between two boxes that is drawn as an arrow.
struct SceneLink {
    enum class Kind { Launch, Autograd };

    Kind kind = Kind::Launch;
    SectionItem from; ///< the launch; the forward op
    SectionItem to;   ///< what ran; the backward op

    bool operator==(const SceneLink&) const = default;
};

/// A remark at a moment of a section's timeline, or about a stretch of it.
struct SceneNote {
    QString id;
    std::size_t section = 0;
    std::int64_t at = 0;
    std::int64_t length = 0;
    QString text; ///< empty: a bookmark
};

/// A lane of the view.
struct LanePlace {
    std::size_t section = 0;
    std::size_t view = 0; ///< index into the section's lanes

    bool operator==(const LanePlace&) const = default;
};

/// Everything that a timeline's picture shows: plain data, made by the view and drawn by TimelinePainter.
struct TimelineScene {
    std::vector<TimelineSection> sections;
    TimeWindow window;
    LaneSizes sizes{};
    TimelineLayout layout;
    int scroll = 0; ///< pixels by which the lanes are scrolled up
    std::optional<SectionItem> selected;
    std::optional<TimeWindow> span;                       ///< selected stretch of the shared axis
    std::vector<std::optional<TimeWindow>> selectedRange; ///< the selected range in each section, on the axis
    std::shared_ptr<const BoxSet> found;                  ///< what a search found: ringed
    std::shared_ptr<const BoxSet> instances;              ///< of the selected kernel: ringed
    std::vector<SceneLink> links;                         ///< of the selected box
    std::vector<SceneLink> launches;                      ///< of all that ran in the window; pale
    std::vector<SceneNote> notes;
    std::vector<std::shared_ptr<const std::vector<RangePair>>>
        pairs;                            ///< [s]: of section s with the one above
    std::optional<LanePlace> currentLane; ///< that the keyboard's lane commands are about
    std::optional<int> laneDropAt;        ///< where a dragged lane would go, in the layout

    /// Parts of a view of `width` x `height` pixels.
    QRect plot(int width, int height) const; ///< the lanes' boxes
    QRect ruler(int width) const;
    QRect overview(int width) const;
    double perPixel(int width) const; ///< nanoseconds of the axis

    /// Of the memory lanes of all sections.
    MemoryRange memoryRange() const;

    double axisAt(double x, int width) const;
    double xOf(double axis, int width) const;
    /// The box at a point of the view, or a narrow one beside it.
    std::optional<SectionItem> itemAt(QPoint point, int width, int height) const;
    /// The lane, header or difference at a point of the view; null between them and above the lanes.
    const Band* bandAt(QPoint point, int width, int height) const;
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
    const QStaticText* stepLabel(const query::Timeline& timeline, std::int64_t start, double width);
    /// Where the overview's rows lie.
    struct OverviewPlace {
        TimeWindow whole;
        QRect area;
        int rowHeight = 0;
    };
    void fillOverview(BoxTarget& target, const TimelineScene& scene, const OverviewPlace& place,
                      double ratio);
    void paintOverviewImage(QPainter& painter, const TimelineScene& scene, const OverviewPlace& place);
    void paintOverview(QPainter& painter, const TimelineScene& scene, const QRect& area, bool vector);
    void paintRuler(QPainter& painter, const TimelineScene& scene, const QRect& area);
    void paintHeader(QPainter& painter, const TimelineScene& scene, const Band& band, const QRect& area);
    void paintLabelColumn(QPainter& painter, const TimelineScene& scene, const Band& band, const QRect& area);
    void paintMemoryMarks(QPainter& painter, const TimelineScene& scene, const Band& band, const QRect& area);
    void paintSpans(QPainter& painter, const TimelineScene& scene, int width, int height);
    void paintSelection(QPainter& painter, const TimelineScene& scene, int width, int height);
    void paintRings(QPainter& painter, const TimelineScene& scene, const BoxSet& boxes, const QColor& colour,
                    int width, int height);
    void paintLinks(QPainter& painter, const TimelineScene& scene, int width, int height);
    void paintNotes(QPainter& painter, const TimelineScene& scene, int width, int height);
    void fillSteps(BoxTarget& target, const TimelineScene& scene, const QRect& plot, double ratio);
    void paintLaneDrop(QPainter& painter, const TimelineScene& scene, int width, int height);
    void paintDifference(QPainter& painter, const TimelineScene& scene, const Band& band, const QRect& area);

    std::optional<BoxColours> colours_;
    std::unordered_map<const query::Timeline*, std::vector<Label>> labels_;
    std::unordered_map<std::int32_t, std::pair<QStaticText, double>> stepLabels_; ///< by step
    std::vector<query::Column> columns_;
    RowBoxes boxes_;
    std::vector<TextRun> texts_;
    MemoryRange memory_; // of the scene that is drawn
    QImage image_;
    QImage overview_;
    std::vector<const query::Timeline*> overviewOf_;
};

} // namespace tilescope::ui
