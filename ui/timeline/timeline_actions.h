#pragma once

#include "ui/timeline/timeline_view.h"

#include <QKeySequence>
#include <QObject>
#include <QPointer>

#include <functional>
#include <vector>

class QAction;
class QMenu;

namespace tilescope::ui {

class TimelineNotebook;
class TimelineTies;
class Workspace;

/// The commands of the timeline: actions with keys, shared by menus and keyboard. Owned by the page; GUI
/// thread.
class TimelineActions : public QObject {
    Q_OBJECT
public:
    TimelineActions(Workspace& workspace, TimelineView& view, TimelineTies& ties, TimelineNotebook& notebook,
                    QObject* parent);

    /// Fills the menu of the Lanes button: what to show, in which order and height.
    void fillLanes(QMenu& menu);
    // Those that the page shows as links too.
    QAction* launch() const { return launch_; }
    QAction* autograd() const { return autograd_; }
    QAction* frame() const { return frame_; }
    QAction* nextRank() const { return nextRank_; }
    QAction* nextInstance() const { return nextInstance_; }
    QAction* previousInstance() const { return previousInstance_; }
    QAction* kernels() const { return kernels_; }
    QAction* fit() const { return fit_; }
    QAction* measure() const { return measure_; }
    QAction* listNotes() const { return listNotes_; }
    QAction* fitLanes() const { return fitLanes_; }

signals:
    /// Emitted when the user ends the play.
    void playEndWanted();
    /// The table is to show the notes.
    void notesWanted();
    /// The pages are to show only the span.
    void filterWanted();
    /// This name is to be searched for.
    void findWanted(const QString& text);

private:
    void makeMoves();
    void makeLinks();
    void makeLanes();
    void makeNotes();
    void openMenu(QPoint at, bool onLane);
    void fillBox(QMenu& menu);
    void fillLane(QMenu& menu);
    QAction* add(const QString& text, const QList<QKeySequence>& keys, const std::function<void()>& does);
    /// Does something with the current lane, if there is one.
    QAction* addLane(const QString& text, const QKeySequence& key,
                     const std::function<void(LanePlace)>& does);
    void select(const std::optional<SectionItem>& item);
    QString selectedName() const;

    Workspace& workspace_;
    QString group_; // that the actions being made belong to, in the list of keys
    TimelineView& view_;
    TimelineTies& ties_;
    TimelineNotebook& notebook_;
    QPointer<QMenu> open_;
    QAction *launch_, *autograd_, *frame_, *nextRank_, *nextInstance_, *previousInstance_, *measure_,
        *filter_, *zoom_, *kernels_, *find_;
    QAction *copyName_, *fit_, *copyImage_, *copyTable_;
    QAction *fold_, *pin_, *hide_, *up_, *down_, *taller_, *lower_, *fitLanes_, *showAll_, *reset_;
    QAction *note_, *listNotes_;
};

} // namespace tilescope::ui
