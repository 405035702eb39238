#pragma once

#include "ui/timeline/lane_painter.h"
#include "ui/timeline/range_pairs.h"
#include "ui/timeline/timeline_layout.h"
#include "ui/timeline/timeline_rings.h"

#include <memory>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// A link between two boxes, drawn as an arrow; those of a collective as a band.
struct SceneLink {
    enum class Kind { Launch, Autograd, Collective };

    Kind kind = Kind::Launch;
    SectionItem from; ///< the launch; the forward op; a collective on a rank
    SectionItem to;   ///< what ran; the backward op; the same collective on the next rank

    bool operator==(const SceneLink&) const = default;
};

/// The critical path of a step: the stretches that it spends in rows of lanes, in order of time.
struct ScenePath {
    struct Part {
        std::size_t section = 0;
        std::size_t lane = 0; ///< of the timeline
        std::size_t row = 0;
        std::int64_t start = 0; ///< of the timeline
        std::int64_t end = 0;
    };
    std::vector<Part> parts;
};

/// A note at an instant of a section's timeline, or over an interval of it.
struct SceneNote {
    QString id;
    std::size_t section = 0;
    std::int64_t at = 0;
    std::int64_t length = 0;
    QString text; ///< empty: a bookmark
};

/// The content of a timeline's picture: plain data, made by the view and drawn by TimelinePainter.
struct TimelineScene {
    std::vector<TimelineSection> sections;
    TimeWindow window;
    LaneSizes sizes{};
    TimelineLayout layout;
    int scroll = 0; ///< pixels by which the lanes are scrolled up
    std::optional<SectionItem> selected;
    std::optional<TimeWindow> span;                       ///< selected stretch of the shared axis
    std::vector<std::optional<TimeWindow>> selectedRange; ///< the selected range in each section, on the axis
    std::shared_ptr<const BoxSet> found;                  ///< results of a search: ringed
    std::shared_ptr<const BoxSet> instances;              ///< of the selected kernel: ringed
    std::vector<SceneLink> links;                         ///< of the selected box
    std::vector<SceneLink> launches;                      ///< of all that ran in the window; pale
    std::shared_ptr<const ScenePath> path;                ///< a critical path; null: none is shown
    std::vector<SceneNote> notes;
    std::vector<std::shared_ptr<const std::vector<RangePair>>>
        pairs;                            ///< [s]: of section s with the one above
    std::optional<LanePlace> currentLane; ///< that the keyboard's lane commands are about
    std::optional<int> laneDropAt;        ///< target of a dragged lane, pixels below the top of the plot
    std::optional<PlayMoment> play;       ///< while it is played: what comes later is not drawn

    /// Parts of a view of `width` x `height` pixels.
    QRect plot(int width, int height) const; ///< the lanes' boxes
    QRect ruler(int width) const;
    QRect overview(int width) const;
    double perPixel(int width) const; ///< nanoseconds of the axis

    /// The pixels from the top of the plot to a band.
    int topOf(const Band& band) const { return layout.topOf(band, scroll); }
    /// Whether a part of a band is seen in a plot of that height, unless a header covers it.
    bool isSeen(const Band& band, int plotHeight) const;

    /// The range of the memory lanes of all sections.
    MemoryRange memoryRange() const;
    /// The range for a lane's curve: that of all memory lanes, or of the lanes of the same counter in all sections.
    MemoryRange rangeOf(const query::Lane& lane) const;

    /// The instant of the axis up to which a section is drawn; infinite unless it is played.
    double drawnTo(std::size_t section) const;

    double axisAt(double x, int width) const;
    double xOf(double axis, int width) const;
    /// The instant at a point of the overview strip.
    double overviewAxisAt(double x, int width) const;
    /// The note whose flag on the ruler is at a point of the view.
    std::optional<QString> noteAt(QPoint point, int width) const;
    /// The box at a point of the view, or a narrow one near it.
    std::optional<SectionItem> itemAt(QPoint point, int width, int height) const;
    /// The lane of a curve at a point of the view; null elsewhere.
    const Band* curveAt(QPoint point, int width, int height) const;
    /// The lane, header or difference at a point of the view; null between them and above the lanes.
    const Band* bandAt(QPoint point, int width, int height) const;
    /// The lane of a box; null if it is hidden.
    const Band* bandOf(const SectionItem& item) const;
    const query::Lane& laneOf(const Band& band) const;
    /// The position of a box in the view; empty if it is not on screen.
    QRect rectOf(const SectionItem& item, int width, int height) const;
};

} // namespace tilescope::ui
