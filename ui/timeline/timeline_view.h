#pragma once

#include "ui/timeline/hover_card.h"
#include "ui/timeline/timeline_drag.h"
#include "ui/timeline/timeline_painter.h"
#include "ui/timeline/zoom_history.h"

#include <QAbstractScrollArea>
#include <QPoint>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace tilescope::ui {

/// The timeline of one or several runs: overview strip, ruler and lanes, with zoom, pan and selection.
///
/// Owns the TimelineScene, which mouse and keyboard change, and draws it with TimelinePainter. Data that
/// takes longer than a frame (pairs of ranges, links, instances) is computed elsewhere and set here. GUI
/// thread.
class TimelineView : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit TimelineView(QWidget* parent = nullptr);

    static constexpr double kShortestWindow = 50; ///< nanoseconds: the resolution of a clock
    using Pairs = std::vector<std::shared_ptr<const std::vector<RangePair>>>;

    /// Shows these runs, fitted. Keeps window and history where `keepWindow` is set.
    /// \param pairs  as in TimelineScene
    void setSections(std::vector<TimelineSection> sections, bool keepWindow = false, Pairs pairs = {});
    /// The same runs, some of which have grown: keeps the user's choices, and the window unless it showed
    /// everything.
    /// \param grown  as in growScene()
    void growSections(const std::vector<TimelineSection>& grown, Pairs pairs);
    const TimelineScene& scene() const { return scene_; }
    /// The scene for an export: all lanes from the top, without keyboard marks; and its size.
    TimelineScene wholeScene() const;
    QSize wholeSize() const;

    const TimeWindow& window() const { return scene_.window; }
    /// Moves to a window; recorded in the zoom history where `remember` is set.
    void setWindow(const TimeWindow& window, bool remember = true);
    /// Moves that follow each other sooner than this are one step of the history.
    void setBurst(std::chrono::milliseconds burst) { history_.setBurst(burst); }
    /// Adds a window that a drag left to the zoom history.
    void rememberWindow(const TimeWindow& window);
    /// Adds what was selected before a drag to the history of the window.
    void rememberSelection(std::optional<SectionItem> selected, std::optional<TimeWindow> span);
    void fit();
    void zoomToSelection();
    /// Scales the window by `factor`, around the cursor if it is over the lanes, otherwise around the
    /// middle.
    void zoomBy(double factor);
    /// Pans by a share of the window; positive: to later times.
    void pan(double share);
    /// Scrolls the lanes by a step; positive: down.
    void scrollLanes(int by);
    void back();
    void forward();
    bool canGoBack() const { return history_.canGoBack(); }
    bool canGoForward() const { return history_.canGoForward(); }

    void select(std::optional<SectionItem> item);
    /// Neither box, span nor lane is selected.
    void clearSelection();
    void setSpan(std::optional<TimeWindow> span);
    /// Makes the span that of the selected box.
    void measureSelection();
    /// Rings these boxes, the results of a search; null for none.
    void setFound(std::shared_ptr<const BoxSet> found);
    /// Rings these boxes: the instances of the selected kernel; null for none.
    void setInstances(std::shared_ptr<const BoxSet> instances);
    void setLinks(std::vector<SceneLink> links);
    void setLaunches(std::vector<SceneLink> launches);
    void setNotes(std::vector<SceneNote> notes);
    /// Draws a critical path over the boxes; null for none.
    void setPath(std::shared_ptr<const ScenePath> path);
    /// Why the steps of each section and of the next one differ, in lines: the tip of the band between them.
    void setCauses(std::vector<QStringList> causes) { causes_ = std::move(causes); }
    /// The tip of the band between two runs at a point of the view; empty elsewhere, and until it is known.
    QStringList causesAt(QPoint at) const;
    /// Draws the lanes up to an instant of Play; none: whole.
    void setPlay(std::optional<PlayMoment> moment);
    /// The position of the selected range in each section, on the axis.
    void setSelectedRange(std::vector<std::optional<TimeWindow>> ranges);

    // Changes of a lane apply to the same lane of every run.
    void setFolded(LanePlace place, bool folded);
    void setHidden(LanePlace place, bool hidden);
    void setTall(LanePlace place, double tall);
    /// Shows or hides the counters of a section that have a title of their own.
    void toggleCounters(std::size_t section);
    /// Whether the lane stays at the top while the others scroll.
    void setPinned(LanePlace place, bool pinned);
    /// Moves it to where another lane of its section is.
    void moveLane(LanePlace place, std::size_t to);
    /// Moves it past the next shown lane above (-1) or below (1).
    void moveLane(LanePlace place, int by);
    /// Whether all shown lanes are made low enough to fit on the screen.
    void setFitsLanes(bool fits);
    void showAllLanes();
    /// All lanes in their natural order and height, the idle ones folded.
    void resetLanes();
    /// The lane with the keyboard focus, otherwise that of the selected box.
    std::optional<LanePlace> currentLane() const;
    void setCurrentLane(std::optional<LanePlace> place);
    /// Marks where a dragged lane would go, in the layout; none: nowhere.
    void setLaneDropAt(std::optional<int> at);
    /// Goes to the next shown lane.
    void stepLane(int by);

    /// The instant that commands refer to: under the cursor, otherwise that of the selection, otherwise the
    /// middle.
    double commandAxis() const;
    /// The section that commands refer to.
    std::size_t commandSection() const;
    /// Describes the box under the cursor; empty if there is none.
    QString hoverText() const;
    /// The point of the view for a menu or an editor.
    QPoint commandPoint() const;
    /// Scrolls and zooms out as far as needed to show an item.
    void reveal(const SectionItem& item);

signals:
    void windowChanged();
    void selectionChanged();
    void spanChanged();
    /// Another lane is that of the keyboard's commands, or none.
    void currentLaneChanged();
    /// Emitted with the item under the cursor, for the status bar; empty if the cursor left.
    void cursorMoved(const QString& text);
    /// The user has rearranged lanes.
    void lanesChanged();
    void fitsLanesChanged(bool fits);
    /// A context menu is wanted; the box at `at` is selected, or its lane is current.
    void menuWanted(QPoint at, bool onLane);
    void noteClicked(const QString& id);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    bool viewportEvent(QEvent* event) override;

private:
    int width() const { return viewport()->width(); }
    int height() const { return viewport()->height(); }
    void relayout();
    void relayoutUnderCursor();
    const Band* anchor() const;
    std::optional<TimeWindow> selectedWindow() const; ///< of the selected box, on the axis
    void zoom(double factor, double x);
    void hover(QPoint at);
    void hoverAgain();
    void leave();
    const Band* bandAt(QPoint at) const { return scene_.bandAt(at, width(), height()); }
    void describe();
    void updateLanes();
    void showBand(const Band& band);
    void noteWindow(const TimeWindow& before);
    void noteLanes(const std::vector<std::vector<LaneView>>& before);
    std::vector<std::vector<LaneView>> lanes() const;

    TimelineScene scene_;
    TimelinePainter painter_;
    ZoomHistory history_;
    std::shared_ptr<const int> runs_ = std::make_shared<int>(); ///< stands for the runs shown, in ViewHistory
    std::shared_ptr<const int> boxes_ = std::make_shared<int>(); ///< stands for their boxes and lanes
    bool fitsLanes_ = false;
    TimelineDrag dragging_;
    QPoint cursor_{-1, -1}; // last position
    bool isOver_ = false;   // the cursor is over the view
    std::optional<SectionItem> hovered_;
    std::optional<ItemWords> curveWords_; // under the cursor
    std::vector<QStringList> causes_;     // by section
};

} // namespace tilescope::ui
