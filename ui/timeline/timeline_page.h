#pragma once

#include "ui/kit/page.h"
#include "ui/timeline/timeline_loading.h"
#include "ui/timeline/timeline_rows.h"
#include "ui/timeline/timeline_view.h"

#include <QTimer>

class QAction;
class QComboBox;
class QLabel;
class QPushButton;
class QSplitter;

namespace tilescope::ui {

class DifferenceCauses;
class SegmentedControl;
class MessageStack;
class TimelineActions;
class TimelineFind;
class TimelineNotebook;
class TimelinePanel;
class TimelinePath;
class TimelinePlay;
class TimelineTies;
class ToolBar;

/// An event by its stream and start.
struct StreamEvent {
    DeviceIndex device = {};
    StreamId stream = {};
    Timestamp start{};
};

/// The timelines of the selected runs, one above the other, with details of the selection below.
class TimelinePage : public Page {
    Q_OBJECT
public:
    explicit TimelinePage(Workspace& workspace, QWidget* parent = nullptr);
    ~TimelinePage() override;

    TimelineView& view() { return *view_; }
    TimelineActions& actions() { return *actions_; }
    TimelineNotebook& notebook() { return *notebook_; }
    TimelineTies& ties() { return *ties_; }
    TimelinePlay& play() { return *play_; }
    TimelinePath& path() { return *path_; }
    bool startFind() override;
    void goTo(const PageTarget& target) override;
    QString command() const override;
    QString timeFilterWords() const override { return tr("The timeline shows all and marks this."); }
    QString processSentence() const override
    {
        return tr("The counts of a span are of this; the timeline shows all.");
    }
    /// Makes the marked span the time filter, if there is one.
    void filterBySpan();
    /// Selects an event of the first selected run, as soon as its timeline is there, and moves the view to it.
    void goToEvent(const StreamEvent& event);

protected:
    void showRuns(const std::vector<SelectedRun>& runs) override;
    bool showGrown(const std::vector<SelectedRun>& runs) override;

private:
    QString processTitle() const;
    QWidget* makeTools();
    void makeZoom(ToolBar& tools);
    void makeMenus(ToolBar& tools);
    void connectParts();
    std::function<LoadedTimelines(const query::Cancelled&)> loadingOf(const std::vector<SelectedRun>& runs,
                                                                      bool frames = false) const;
    void loaded(const std::vector<SelectedRun>& runs, LoadedTimelines made);
    void readFrames(const std::vector<SelectedRun>& runs);
    void grown(const std::vector<SelectedRun>& runs, LoadedTimelines made);
    Alignment chosenAlignment() const;
    void align();
    void reachTarget();
    void reachEvent(const StreamEvent& event);
    void show(AlignedSections aligned, TimelineView::Pairs pairs, bool keepWindow);
    /// The marked one.
    /// \pre there is one
    query::TimeSpan spanIn(std::size_t section) const;
    void listMissing(const std::vector<SelectedRun>& untraced, std::size_t left);
    void fillAlignments(const LoadedTimelines& made);
    void showLinks();
    void listNotes();
    void rememberLanes();

    JobTracker loading_{this};
    JobTracker aligning_{this};
    JobTracker reaching_{this};
    JobTracker growing_{this};
    JobTracker framing_{this};
    bool isGrowing_ = false;    // a read of the new events is running
    std::vector<RunKey> shown_; // selected when the view was filled; empty if it shows none
    QTimer rememberSoon_;
    std::vector<SelectedRun> runs_;    ///< of the view's sections
    PageTarget target_;                // target of a link while runs are being read
    std::optional<StreamEvent> event_; // event to select once the timeline is loaded
    bool reading_ = false;
    QComboBox* alignment_;
    SegmentedControl* scale_;
    QAction* back_ = nullptr;
    QAction* forward_ = nullptr;
    MessageStack* stack_;
    QSplitter* splitter_; ///< beside untraced_ in the second widget of stack_
    TimelineView* view_;
    TimelinePanel* panel_;
    QLabel* untraced_; ///< names the selected runs that have no section
    TimelineFind* find_;
    TimelineTies* ties_;
    TimelineNotebook* notebook_;
    DifferenceCauses* causes_;
    TimelineActions* actions_;
    TimelinePlay* play_;
    TimelinePath* path_;
};

} // namespace tilescope::ui
