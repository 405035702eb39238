#pragma once

#include "core/analysis/compare/run_comparison.h"
#include "core/query/steps/step_tables.h"
#include "core/query/timeline/timeline.h"
#include "ui/kit/time_axis.h"

#include <QString>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// The display settings of a lane.
struct LaneView {
    std::size_t lane = 0; ///< index into the timeline's lanes
    bool folded = false;
    bool hidden = false;
    double tall = 1;     ///< times its usual height
    bool pinned = false; ///< stays at the top while the others scroll

    static constexpr double kLowest = 0.6;
    static constexpr double kTallest = 4;
    bool operator==(const LaneView&) const = default;
};

/// An iteration of a program that generates text, which lanes show as a pale band.
struct TimelinePhase {
    double start = 0; ///< ns from the origin of the timeline
    double end = 0;
    StepType type = StepType::Other;
    ProcessIndex process = {}; ///< none: the only one
};

/// One run in the timeline view.
struct TimelineSection {
    std::shared_ptr<const query::Timeline> timeline;
    QString title;                           ///< naive
    QString letter;                          ///< A, B; empty if one run is alone
    QString source;                          ///< lm-small2 #1
    double alignAt = 0;                      ///< instant of the timeline at 0 of the shared axis
    QString alignedAt;                       ///< what begins there: step 2, attention; empty: the run
    std::int64_t alignedLength = 0;          ///< of it, in the timeline's nanoseconds
    double stretch = 1;                      ///< nanoseconds of the axis for one of the timeline
    std::optional<query::TimelineStep> step; ///< the step that the header speaks of
    std::vector<query::StepRow> partitions;  ///< of the traced steps; empty while the run is being written
    std::vector<TimelinePhase> phases = {};  ///< by process, then start
    /// On the step time against that of the first section's run.
    analysis::Verdict verdict = analysis::Verdict::Inconclusive;
    std::vector<LaneView> lanes; ///< in the order of display
    bool isCompared = false;     ///< with runs above or below it

    /// The step with the same number in the process of a lane; none if there is none.
    std::optional<query::TimelineStep> stepOf(const query::Lane& lane) const;
    /// The parts of the wall time of `step`; null if they are unknown or the run has no GPU.
    const analysis::StepPartition* partition() const;

    double toTimeline(double axis) const { return alignAt + axis / stretch; }
    double toAxis(double time) const { return (time - alignAt) * stretch; }
};

/// An instant of Play: of every shown run, the part at which runs are aligned, on one clock.
/// Times are nanoseconds of recorded time after the start of that part.
struct PlayMoment {
    double from = 0;
    double to = 0;            ///< where the last run ends
    std::vector<double> ends; ///< [s]: where the part of section s ends
    double now = 0;

    double length() const { return to - from; }
    /// The time that section s has run at that moment.
    double reached(std::size_t s) const { return std::min(now, ends[s]); }
    bool hasEnded(std::size_t s) const { return now >= ends[s]; }
    bool hasEnded() const { return now >= to; }
    bool operator==(const PlayMoment&) const = default;
};

/// A box in one of the sections.
struct SectionItem {
    std::size_t section = 0;
    query::TimelineItem item;

    bool operator==(const SectionItem&) const = default;
};

/// A lane of the view.
struct LanePlace {
    std::size_t section = 0;
    std::size_t view = 0; ///< index into the section's lanes

    bool operator==(const LanePlace&) const = default;
};

/// Heights of the parts of the view, in logical pixels.
struct LaneSizes {
    int label, overview, ruler, header, difference;
    int range, op, stream, busy, memory; ///< a row of each kind
    int folded, gap;
    int labelled;     ///< minimum height of a lane with a second line in its label
    double share = 1; ///< of these heights, if all lanes are to be seen at once
    int spare = 0;    ///< pixels that each run has left: its memory lane, or its last one, is higher by them
    /// Nanoseconds of the axis: the rows of a thread below the last one with so long a box share one low row. 0: every row
    /// has its height.
    double leastBox = 0;

    /// Dense lanes show two whole runs, least lanes have no spare height, close lanes have rows tall enough for
    /// labels, and tall lanes have op rows for labels of two lines. Without a device, op rows and then memory fill
    /// what tall lanes leave of the height.
    enum class Density { Least = -1, Dense, Usual, Close, Tall };
    static LaneSizes of(Density density);
    /// Close from half a microsecond per pixel on, or earlier if the lanes fit in `height`; dense if several runs do not
    /// fit otherwise. Two runs become smaller than dense until both fit, as long as the names of lanes are readable. Runs
    /// without a device grow up to tall if they fit; otherwise the rows of ops that are wide enough to be seen are as high
    /// as their names need.
    static LaneSizes forWindow(double nanosecondsPerPixel, const std::vector<TimelineSection>& sections,
                               int height);
    /// Heights at which all shown lanes fit in `height`, at least four pixels. Rows of one kind are equally
    /// high in all runs.
    static LaneSizes fitting(const std::vector<TimelineSection>& sections, int height);
};

/// A horizontal band of the view: a run's header, a lane, the title of a run's counters, or the band between two
/// runs.
struct Band {
    enum class Kind { Header, Lane, Counters, Difference };
    Kind kind = Kind::Lane;
    std::size_t section = 0;
    std::size_t view = 0; ///< index into the section's lanes
    int top = 0;
    int height = 0;
    int rowHeight = 0; ///< of one row of boxes
    bool isPinned = false;
    int end = 0;  ///< of a header: where the lanes of its run end
    int rows = 0; ///< with that height; the rows below share one
    int low = 0;  ///< the height of that

    /// The row at that height; of rows that share one the first.
    int rowAt(int y) const { return rowHeight > 0 ? std::min((y - top) / rowHeight, rows) : 0; }
    int heightOf(std::size_t row) const { return int(row) < rows ? rowHeight : low; }
    /// The top of a row; rows that do not fit into a low lane share its last one.
    int rowTop(std::size_t row) const
    {
        return top + std::min(std::min(int(row), rows) * rowHeight, std::max(0, height - heightOf(row)));
    }
    bool operator==(const Band&) const = default;
};

/// All positions, from the top of the lanes down, as they are before lanes are scrolled. Pinned lanes come first.
struct TimelineLayout {
    std::vector<Band> bands;
    int pinnedHeight = 0; ///< of the pinned lanes
    int height = 0;       ///< of all

    /// The pixels from the top of the plot to a band while the lanes are scrolled up by `scroll`. Pinned lanes do not
    /// scroll, and the header of a run stays at the top until its lanes have gone.
    int topOf(const Band& band, int scroll) const;
    /// The band that is seen `y` pixels below the top of the plot; null between bands.
    const Band* at(int y, int scroll) const;
    /// The height at the top of the plot that pinned lanes and the header of a run cover.
    int coveredHeight() const;
};

/// \param mostPinned  pixels; lanes that would need more scroll like the others
TimelineLayout layOut(const std::vector<TimelineSection>& sections, const LaneSizes& sizes,
                      int mostPinned = std::numeric_limits<int>::max());

/// The section of a freshly opened run: aligned at its first traced step, all lanes in their order, idle host
/// threads and lanes without events folded.
/// \param compared  several runs share the view: many counters are hidden, so that the next run is seen
TimelineSection makeSection(std::shared_ptr<const query::Timeline> timeline, bool compared = false);

/// The counters of a section, if there are many: they have a title that shows and hides them.
std::vector<std::size_t> counterGroup(const TimelineSection& section);

/// Whether any of the grouped counters of a section is shown.
bool showsCounterGroup(const TimelineSection& section);

/// The window that shows the traced steps of all sections.
TimeWindow fittingWindow(const std::vector<TimelineSection>& sections);

/// The window that shows everything.
TimeWindow wholeWindow(const std::vector<TimelineSection>& sections);

} // namespace tilescope::ui
