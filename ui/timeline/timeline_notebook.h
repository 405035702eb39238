#pragma once

#include "ui/kit/workspace.h"
#include "ui/timeline/timeline_notes.h"
#include "ui/timeline/timeline_view.h"

#include <QFrame>
#include <QObject>

#include <map>
#include <memory>

class QLineEdit;

namespace tilescope::ui {

/// The editor of a note over the timeline: Enter saves, Esc cancels.
class NoteEditor : public QFrame {
    Q_OBJECT
public:
    explicit NoteEditor(QWidget* parent);
    /// Shown at `at` of its parent.
    void open(QPoint at, const QString& text, const QString& title);

signals:
    void written(const QString& text);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QLineEdit* line_;
};

/// The bookmarks and notes of the shown runs: read from the sidecars of their files, shown in the view,
/// edited and written back in the background. Edits that cannot be written stay in the page, which shows the
/// problem. Owned by the page; GUI thread.
class TimelineNotebook : public QObject {
    Q_OBJECT
public:
    TimelineNotebook(TimelineView& view, QObject* parent);
    ~TimelineNotebook() override;

    void setRuns(std::vector<SelectedRun> runs);

    /// Asks for a note on the selected span or box, or otherwise on the instant at the cursor.
    void startNote();
    /// Asks for the text of one again.
    void startEdit(const QString& id);
    void remove(const QString& id);
    /// The notes of the shown runs as the view shows them, by section and time.
    const std::vector<SceneNote>& notes() const { return shown_; }
    /// The item to which a note refers; empty for an instant.
    QString about(const QString& id) const;
    /// Brings it on screen.
    void goTo(const QString& id);

signals:
    void changed();
    /// Why notes could not be read or written.
    void problem(const QString& sentence);

private:
    struct FileNotes {
        std::vector<TimelineNote> kept; ///< as the sidecar has them
        std::vector<NoteEdit> unsaved;  ///< not known to be in the sidecar yet
        std::unique_ptr<JobTracker> jobs;
    };

    void read(const QString& file);
    void save(const QString& file);
    void show();
    QString fileOf(const SelectedRun& run) const;
    void edit(const QString& file, NoteEdit edit);
    /// The note of that id with the sidecar it is in; null if there is none.
    std::pair<QString, std::optional<TimelineNote>> find(const QString& id) const;

    TimelineView& view_;
    NoteEditor* editor_;
    std::vector<SelectedRun> runs_;
    std::map<QString, FileNotes> files_; ///< by sidecar
    std::vector<SceneNote> shown_;
    QString editedFile_;
    TimelineNote edited_; ///< the note in the editor
};

} // namespace tilescope::ui
