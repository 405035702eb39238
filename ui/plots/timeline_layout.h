#pragma once

#include "core/query/timeline.h"
#include "ui/plots/time_axis.h"

#include <QString>

#include <memory>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// How a lane is shown.
struct LaneView {
    std::size_t lane = 0; ///< index into the timeline's lanes
    bool folded = false;
    bool hidden = false;
};

/// One run in the timeline view.
struct TimelineSection {
    std::shared_ptr<const query::Timeline> timeline;
    QString title;                           ///< naive
    QString letter;                          ///< A, B; empty where one run is alone
    QString source;                          ///< lm-small2 #1
    double alignAt = 0;                      ///< instant of the timeline that lies at 0 of the shared axis
    double stretch = 1;                      ///< nanoseconds of the axis for one of the timeline
    std::optional<query::TimelineStep> step; ///< the step that the header speaks of
    std::vector<LaneView> lanes;             ///< in the order of display

    double toTimeline(double axis) const { return alignAt + axis / stretch; }
    double toAxis(double time) const { return (time - alignAt) * stretch; }
};

/// Heights of the parts of the view, in logical pixels.
struct LaneSizes {
    int label, overview, ruler, header, difference;
    int range, op, stream, busy, memory; ///< a row of each kind
    int folded, gap;

    /// For far away and for close by, where rows are tall enough for labels.
    static LaneSizes forWindow(double nanosecondsPerPixel);
};

/// A horizontal band of the view: a run's header, a lane, or the band between two runs.
struct Band {
    enum class Kind { Header, Lane, Difference };
    Kind kind = Kind::Lane;
    std::size_t section = 0;
    std::size_t view = 0; ///< index into the section's lanes
    int top = 0;
    int height = 0;
    int rowHeight = 0; ///< of one row of boxes

    int rowAt(int y) const { return rowHeight > 0 ? (y - top) / rowHeight : 0; }
    bool operator==(const Band&) const = default;
};

/// Where everything lies, from the top of the lanes down.
struct TimelineLayout {
    std::vector<Band> bands;
    int height = 0;

    /// The band at `y`; null between bands.
    const Band* at(int y) const;
};

TimelineLayout layOut(const std::vector<TimelineSection>& sections, const LaneSizes& sizes);

/// The section of a freshly opened run: aligned at its first traced step, all lanes in their order, idle host
/// threads and lanes without events folded.
TimelineSection makeSection(std::shared_ptr<const query::Timeline> timeline);

/// The window that shows what is interesting in all sections.
TimeWindow fittingWindow(const std::vector<TimelineSection>& sections);

/// Everything that any section has.
TimeWindow wholeWindow(const std::vector<TimelineSection>& sections);

} // namespace tilescope::ui
