#pragma once

#include "core/exchange/import/import_cache.h"
#include "core/model/spec.h"
#include "core/query/runs/time_span.h"
#include "core/query/shared_file.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/run_groups.h"

#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::ui {

/// A run among the open files.
struct RunKey {
    int file = 0; ///< OpenFile::id
    RunId run;

    auto operator<=>(const RunKey&) const = default;
};

/// A file of the run list. `snapshot` is null until its runs are read; `problem` says why they cannot be
/// read.
struct OpenFile {
    int id = 0;
    std::shared_ptr<query::SharedFile> file;
    std::shared_ptr<const query::FileSnapshot> snapshot;
    std::shared_ptr<const RunGroups> groups; ///< of the snapshot
    QString problem;
    std::shared_ptr<const exchange::CachedImport>
        import; ///< the recording is in the import cache; null: it is not

    QString name() const;
};

/// A selected run, with everything needed to read and name it. It keeps its pointers valid.
struct SelectedRun {
    RunKey key;
    std::shared_ptr<query::SharedFile> file;
    std::shared_ptr<const query::FileSnapshot> snapshot;
    const query::RunSummary* run = nullptr;   ///< points into snapshot
    QString letter;                           ///< A, B, …; empty if one run is selected
    QString title;                            ///< naive, flash 4k, naive batch 8 bf16
    std::optional<query::TimeSpan> span = {}; ///< of the time filter; pages limit what they show to it
    query::ProcessQuery process =
        {}; ///< of several, the one that pages show; empty: all, means where there are means

    QString source() const; ///< lm-small2 #1
    /// What means are of: "mean of 2 ranks", "rank 1"; empty in a run of one process.
    QString processWords() const;
    /// The same of sums: "all 2 ranks", "rank 1".
    QString sumWords() const;
};

/// The words of the first two runs, for a panel about both: "mean of 2 ranks", or "A mean of 2 ranks, B rank 0".
QString processWords(const std::vector<SelectedRun>& runs);

/// "the mean traced step, mean of 2 ranks": words behind a comma, where there are both.
QString joinedWords(const QString& first, const QString& second);

/// The part of each run that pages with a time filter show.
using TimeFilter = std::vector<std::pair<RunKey, query::TimeSpan>>;

/// 12.3 ms to 15.6 ms
QString spanText(const query::TimeSpan& span);

/// The target of a link to another page.
struct PageTarget {
    enum class Kind {
        None,
        Kernel, ///< text is its full name
        Op,     ///< its name
        Range,  ///< its path
        Family  ///< its word
    } kind = Kind::None;
    QString text;
    bool isRoofline = false; ///< the roofline of the page is to be visible
    bool isInside = false;   ///< what is inside the kernel is to be visible
};

/// Points that a page wants to run into a file.
struct WantedRuns {
    QString name; ///< of the sweep
    std::vector<ExperimentSpec> specs;
    QString file;
    bool onlyMissing = false; ///< skips what the file already has
};

class ViewHistory;

/// The open files and the selected runs, which every page shows. Open files are checked for changes in the
/// background. Owned by the main window; GUI thread.
class Workspace : public QObject {
    Q_OBJECT
public:
    explicit Workspace(QObject* parent = nullptr);
    ~Workspace() override;

    /// Opens a file, or checks an open one again. `problem` says why it cannot be read.
    void open(const QString& path);
    /// The same on the user's request: selects a run of the first readable file and emits openFailed() for
    /// each unreadable one.
    void openAndShow(const QStringList& paths);
    /// Opens a recording that has gained a run, and selects that run.
    void openAndShowLast(const QString& path);
    /// Opens a recording in the import cache, under the name of its source.
    void openAndShow(const std::shared_ptr<const exchange::CachedImport>& import);
    void close(int file);
    /// Reads the file's runs again.
    void refresh(int file);

    const std::vector<OpenFile>& files() const { return files_; }
    const OpenFile* find(int file) const;

    /// In the order in which they become A, B, … If all runs of a sweep are selected, two or more, the points that
    /// the sweep adds later are selected too. Repeats of selected runs are not.
    void select(std::vector<RunKey> runs);
    /// Sets the selection without a step in the history.
    void show(std::vector<RunKey> runs);
    const std::vector<RunKey>& selection() const { return selection_; }
    std::vector<SelectedRun> selectedRuns() const;

    /// Limits pages to a time span of each of these runs, until it is empty again. Other runs are shown whole.
    void setTimeFilter(TimeFilter filter);
    const TimeFilter& timeFilter() const { return timeFilter_; }

    /// Limits pages to a process of runs that have several; empty: all of them. Runs without it are shown whole.
    void setProcess(const query::ProcessQuery& process);
    const query::ProcessQuery& process() const { return process_; }

    /// Whether means of recordings are of all steps, instead of the typical ones (query::StepChoice).
    void setAllSteps(bool all);
    bool allSteps() const { return allSteps_; }

    /// The actions that the user can undo: selections of runs and of the time filter, and those that pages add.
    ViewHistory& history() { return *history_; }

    /// The kernel selected on any page, by its full name; empty for none.
    void setKernel(const QString& name);
    const QString& kernel() const { return kernel_; }

    /// Sets who knows whether a run of a spec into a file is queued or under way. Emit queueChanged() when that changes.
    void setQueue(std::function<bool(const QString& file, const ExperimentSpec& spec)> isQueued);
    bool isQueued(const QString& file, const ExperimentSpec& spec) const;

    /// Call when a file was written for the user, to show its location.
    /// \param detail  what it holds, as a phrase; empty: its name says that
    void confirmWritten(const QString& file, const QString& detail = {}) { emit written(file, detail); }

signals:
    void filesChanged();
    /// A file that the user opened cannot be read; its `problem` says why.
    void openFailed(int file);
    void selectionChanged();
    void timeFilterChanged();
    void processChanged();
    void kernelChanged();
    /// A selected run that is being written may have grown.
    void runsGrew();
    void written(const QString& file, const QString& detail);
    /// A link leads to the page of that name.
    void pageWanted(const QString& name);
    /// The same, to something on it.
    void targetWanted(const QString& name, const PageTarget& target);
    /// Points are to be queued.
    void runsWanted(const WantedRuns& wanted);
    void queueChanged();

private:
    using Clock = std::chrono::steady_clock;
    using Snapshot = std::shared_ptr<const query::FileSnapshot>;
    /// The result of a check of a file; null if nothing has changed.
    struct Seen {
        Snapshot snapshot;
        std::shared_ptr<const RunGroups> groups;
        Clock::duration took{};
    };
    /// When to check a file again.
    struct Watch {
        std::unique_ptr<JobTracker> job;
        bool isLooking = false;
        bool isWantedAgain = false; ///< requested during the check
        Clock::time_point due{};
        Clock::duration pace{};
    };

    void watch();
    void look(const OpenFile& file);
    void looked(int file, Seen seen);
    void failed(int file, const QString& sentence);
    void setProblem(int file, const QString& sentence);
    void lookAgain(int file);
    void loaded(int file, Seen seen);
    bool chooseFirst(int file, const query::FileSnapshot* before);
    bool followSweeps(int file, const query::FileSnapshot* before);
    void showWanted();
    int add(const std::filesystem::path& path,
            const std::shared_ptr<const exchange::CachedImport>& import = {});
    OpenFile* entry(int file);

    ViewHistory* history_;
    std::vector<OpenFile> files_;
    std::map<int, Watch> watches_; // by file
    QTimer timer_;
    std::vector<RunKey> selection_;
    std::vector<int> wanted_; // files that the user opened, until a run of the first readable one is shown
    bool wantsLast_ = false;  // the last run of it, not the first
    std::set<int> untold_;    // failures that are still to be reported
    QString kernel_;
    TimeFilter timeFilter_;
    query::ProcessQuery process_;
    bool allSteps_ = false;
    std::function<bool(const QString&, const ExperimentSpec&)> isQueued_;
    int nextFile_ = 1;
};

} // namespace tilescope::ui
