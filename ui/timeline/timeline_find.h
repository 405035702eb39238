#pragma once

#include "ui/jobs/job_tracker.h"
#include "ui/timeline/timeline_rows.h"
#include "ui/timeline/timeline_scene.h"

#include <QObject>
#include <QTimer>

#include <memory>
#include <vector>

class QLabel;
class QLineEdit;

namespace tilescope::ui {

class TimelinePanel;
class TimelineView;
class ToolBar;

/// The search of the Timeline page: its field, the rings around results, their table, and moving from result to result.
/// Owned by the page; GUI thread.
class TimelineFind : public QObject {
    Q_OBJECT
public:
    TimelineFind(TimelineView& view, TimelinePanel& panel, QObject* page);

    void addTo(ToolBar& tools);
    /// Finds these words immediately.
    void find(const QString& words);
    /// Finds the words of the field again, because other boxes are shown; nothing if it is empty.
    void findAgain();
    /// Forgets what was found; the field keeps its words.
    void clear();
    /// \return  false if the field cannot be used
    bool start();

private:
    struct Found {
        std::vector<FoundInRun> runs;
        std::vector<FoundBox> boxes;
        std::shared_ptr<const BoxSet> rings;
        std::int64_t total() const;
    };

    void search();
    void show(Found found);
    void goTo(std::size_t box);
    void step(int by);

    TimelineView& view_;
    TimelinePanel& panel_;
    QLineEdit* field_;
    QLabel* count_;
    JobTracker finding_{this};
    QTimer soon_;
    Found found_;
    std::size_t current_ = 0;
    bool isSearching_ = false; ///< what is found is not that of the field's words yet
    bool goesToFirst_ = false; ///< as soon as it is: Enter was pressed before
};

} // namespace tilescope::ui
