#pragma once

#include "ui/jobs/job_tracker.h"
#include "ui/kit/workspace.h"

#include <QObject>
#include <QString>

#include <memory>
#include <vector>

class QTemporaryDir;

namespace tilescope::ui {

/// Changes runs in their files: notes, tags and deletions, of which the last can be undone. Files are written in
/// the background, one change after the other; a change while another one is written waits for it. GUI thread.
class RunEdits : public QObject {
    Q_OBJECT
public:
    explicit RunEdits(Workspace& workspace, QObject* parent = nullptr);
    ~RunEdits() override;

    void setNote(RunKey run, const QString& note);
    void setTag(RunKey run, const QString& tag);
    /// Deletes runs of one file. They are copied to a temporary folder first, for undo().
    void remove(int file, std::vector<RunId> runs);
    /// Adds the runs that remove() deleted last to their file again, with new numbers.
    void undo();
    /// `Undo deleting 2 runs of lm.tscope`; empty if there is nothing to undo.
    QString undoText() const;

signals:
    /// A change has ended: a sentence for the status bar.
    void done(const QString& sentence);
    /// A change failed: the reason.
    void failed(const QString& sentence);
    /// undoText() has changed.
    void undoChanged();

private:
    struct Removed {
        std::shared_ptr<QTemporaryDir> folder; ///< holds the copy
        std::filesystem::path copy;
        std::filesystem::path file;
        int open = 0; ///< OpenFile::id
        QString what; ///< 2 runs of lm.tscope
    };
    void change(int file, std::function<void(const std::filesystem::path&)> work, const QString& sentence,
                std::function<void()> then = {});

    Workspace& workspace_;
    std::unique_ptr<Removed> removed_;
    std::shared_ptr<Mutex> writing_; ///< held by the job that writes
    /// A change; it is removed when the next one begins, not within its own call.
    struct Job {
        explicit Job(QObject* owner) : tracker(owner) {}
        JobTracker tracker;
        bool hasEnded = false;
    };
    std::vector<std::unique_ptr<Job>> jobs_;
};

} // namespace tilescope::ui
