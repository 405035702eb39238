#pragma once

#include "ui/kit/workspace.h"
#include "ui/timeline/timeline_view.h"

#include <QObject>
#include <QTimer>

namespace tilescope::ui {

/// The boxes related to the selected one: its launch, its op in the other direction, the same collective on other
/// ranks, and the other instances of its kernel. Found in the background, shown in the view and followed by the page's commands. Owned by
/// the page; GUI thread.
class TimelineTies : public QObject {
    Q_OBJECT
public:
    TimelineTies(Workspace& workspace, TimelineView& view, QObject* parent);

    void setRuns(std::vector<SelectedRun> runs);
    /// Call before the view shows longer timelines, whose lanes may have other numbers; then call grow().
    void forget();
    /// Call when the same runs have grown.
    void grow(std::vector<SelectedRun> runs);

    /// Goes from an activity to its launch, or from a launch or op to its activities.
    std::optional<SectionItem> acrossLaunch() const;
    /// The call of the stack that launched it.
    std::optional<SectionItem> launchingFrame() const;
    /// Goes from forward to backward or back.
    std::optional<SectionItem> acrossAutograd() const;
    /// The same collective on the next rank; after the last one, on the first.
    std::optional<SectionItem> nextRank() const;
    /// Goes to the next (1) or previous (-1) instance, from the selected box or else from the start of the window.
    std::optional<SectionItem> instance(int by) const;

    const query::ItemLinks& links() const { return links_; }
    std::size_t instances() const { return instances_ ? instances_->size() : 0; }
    /// The number of the selected instance, from 1; 0 if none is selected.
    std::size_t currentInstance() const;

signals:
    void changed();

private:
    void follow();
    void followKernel();
    void ringKernel(const std::string& name);
    void findInstances();
    void findLaunches();
    std::vector<SceneLink> sceneLinks() const;

    Workspace& workspace_;
    TimelineView& view_;
    JobTracker linking_{this};
    JobTracker ringing_{this};
    JobTracker launching_{this};
    QTimer launchesSoon_;
    std::vector<SelectedRun> runs_;
    std::optional<SectionItem> of_; ///< that links_ belong to
    query::ItemLinks links_;
    std::string kernel_; ///< its instances are ringed
    std::shared_ptr<const BoxSet> instances_;
};

} // namespace tilescope::ui
