#pragma once

#include "core/query/path/path_tables.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/workspace.h"
#include "ui/timeline/timeline_scene.h"

#include <QObject>

#include <memory>
#include <optional>
#include <vector>

class QAction;

namespace tilescope::ui {

class TimelinePanel;
class TimelineView;

/// The critical path of a step on the Timeline page: a chain over the boxes, and its segments in the table below, as
/// `show path --step N` prints them. Owned by the page; GUI thread.
class TimelinePath : public QObject {
    Q_OBJECT
public:
    TimelinePath(TimelineView& view, TimelinePanel& panel, QObject* page);

    void setRuns(std::vector<SelectedRun> runs);
    /// Shows and hides the path.
    QAction* action() const { return action_; }
    /// The command that prints the table; empty if no path is shown.
    QString command() const { return command_; }

private:
    struct Found {
        std::shared_ptr<const query::PathTable> table;
        std::shared_ptr<const ScenePath> path;
        std::vector<std::optional<SectionItem>> boxes; ///< of the segments
        QString command;
    };

    void toggle(bool shows);
    void read();
    void show(Found found);
    void goTo(std::size_t segment);

    TimelineView& view_;
    TimelinePanel& panel_;
    QAction* action_;
    JobTracker reading_{this};
    std::vector<SelectedRun> runs_;
    std::vector<std::optional<SectionItem>> boxes_;
    QString command_;
};

} // namespace tilescope::ui
