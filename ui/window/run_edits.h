#pragma once

#include "ui/jobs/job_tracker.h"
#include "ui/kit/workspace.h"

#include <QObject>
#include <QString>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::ui {

/// Changes runs in their files: notes, tags and deletions, which the history of the window can undo. Files are
/// written in the background, one change after the other; a change while another one is written waits for it. GUI
/// thread.
class RunEdits : public QObject {
    Q_OBJECT
public:
    explicit RunEdits(Workspace& workspace, QObject* parent = nullptr);
    ~RunEdits() override;

    void setNote(const std::vector<RunKey>& runs, const QString& note);
    void setTag(const std::vector<RunKey>& runs, const QString& tag);
    /// Deletes runs of one file. They are copied to a temporary folder first; undoing adds them again, with their
    /// numbers. If no selected run is left, the run after them is selected; undoing selects what was selected.
    void remove(int file, const std::vector<RunId>& runs);

signals:
    /// A change has ended: a sentence for the status bar.
    void done(const QString& sentence);
    /// Runs were deleted: a sentence, and the name of the change in the history.
    void deleted(const QString& sentence, const QString& change);
    /// A change failed: the reason.
    void failed(const QString& sentence);

private:
    struct Removed;
    using Text = std::pair<RunId, std::string>;
    using Write = void (*)(const std::filesystem::path& file, RunId run, std::string_view text);

    void change(int file, std::function<void(const std::filesystem::path&)> work, const QString& sentence,
                std::function<void()> then = {});
    void annotate(const std::vector<RunKey>& runs, const QString& text, const QString& name, Write write,
                  std::string query::RunSummary::*member, const QString& sentence);
    void writeAll(const std::map<int, std::vector<Text>>& texts, Write write, const QString& sentence);
    static void noteSelection(const Workspace& workspace, Removed& removed);
    void selectRestored(const Removed& removed);
    void restore(const Removed& removed);
    void removeAgain(const Removed& removed);

    Workspace& workspace_;
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
