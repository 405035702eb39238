#pragma once

#include "core/query/shared_file.h"
#include "ui/jobs/job_tracker.h"

#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>

#include <chrono>
#include <filesystem>
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

/// A file of the run list. `snapshot` is null until its runs are read; `problem` says why they could not be,
/// now or any more.
struct OpenFile {
    int id = 0;
    std::shared_ptr<query::SharedFile> file;
    std::shared_ptr<const query::FileSnapshot> snapshot;
    QString problem;

    QString name() const;
};

/// A selected run with all it takes to read and to name it. The pointers stay valid as long as it is kept.
struct SelectedRun {
    RunKey key;
    std::shared_ptr<query::SharedFile> file;
    std::shared_ptr<const query::FileSnapshot> snapshot;
    const query::RunSummary* run = nullptr; ///< points into snapshot
    QString letter;                         ///< A, B, …; empty where one run is selected
    QString title;                          ///< naive, flash 4k, naive batch 8 bf16

    QString source() const; ///< lm-small2 #1
};

/// What runs are called beside each other: backend, length of the sequences where it is an experiment about
/// attention, and whatever else differs among them. The runs stay valid as long as it adds more; O(runs).
class RunTitles {
public:
    RunTitles() = default;
    explicit RunTitles(const query::FileSnapshot& runs);
    void add(const query::RunSummary& run);
    QString of(const query::RunSummary& run, bool withPrecision) const;

private:
    struct Group {
        const query::RunSummary* first = nullptr;
        std::set<std::string_view> varying; ///< keys
    };
    std::map<std::string, Group> groups_; ///< by workload
};

/// What a link on one page points at on another.
struct PageTarget {
    enum class Kind {
        None,
        Kernel, ///< text is its full name
        Range,  ///< its path
        Family  ///< its word
    } kind = Kind::None;
    QString text;
};

/// The open files and the selected runs: what every page shows. Files that change while they are open are
/// followed: looked at now and then in the background. Owned by the main window; GUI thread.
class Workspace : public QObject {
    Q_OBJECT
public:
    explicit Workspace(QObject* parent = nullptr);
    ~Workspace() override;

    /// Opens a file, or looks again at one that is open. What is wrong with it is in its `problem`.
    void open(const QString& path);
    /// The same at a person's wish: a run of the first file that can be read is selected, and openFailed()
    /// tells of each that cannot.
    void openAndShow(const QStringList& paths);
    void close(int file);
    /// Reads the file's runs again.
    void refresh(int file);

    const std::vector<OpenFile>& files() const { return files_; }
    const OpenFile* find(int file) const;

    /// In the order in which they become A, B, …
    void select(std::vector<RunKey> runs);
    const std::vector<RunKey>& selection() const { return selection_; }
    std::vector<SelectedRun> selectedRuns() const;

    /// The kernel that is looked at, by its full name, on whatever page; empty for none.
    void setKernel(const QString& name);
    const QString& kernel() const { return kernel_; }

signals:
    void filesChanged();
    /// A file that a person wanted to see cannot be read; its `problem` says why.
    void openFailed(int file);
    void selectionChanged();
    void kernelChanged();
    /// A selected run is being written, and there may be more of it.
    void runsGrew();
    /// A link leads to the page of that name.
    void pageWanted(const QString& name);
    /// The same, to something on it.
    void targetWanted(const QString& name, const PageTarget& target);

private:
    using Clock = std::chrono::steady_clock;
    using Snapshot = std::shared_ptr<const query::FileSnapshot>;
    /// When a file is looked at again.
    struct Watch {
        std::unique_ptr<JobTracker> job;
        bool isLooking = false;
        bool isWantedAgain = false; ///< somebody asked meanwhile
        Clock::time_point due{};
        Clock::duration pace{};
    };

    void watch();
    void look(const OpenFile& file);
    void looked(int file, Snapshot snapshot, Clock::duration took);
    void failed(int file, const QString& sentence);
    void setProblem(int file, const QString& sentence);
    void lookAgain(int file);
    void loaded(int file, Snapshot snapshot);
    bool chooseFirst(int file, const query::FileSnapshot* before);
    void showWanted();
    int add(const std::filesystem::path& path);
    OpenFile* entry(int file);

    std::vector<OpenFile> files_;
    std::map<int, Watch> watches_; // by file
    QTimer timer_;
    std::vector<RunKey> selection_;
    std::vector<int> wanted_; // files that a person has opened, until a run of the first good one is shown
    std::set<int> untold_;    // those of them whose failure a person is to be told
    QString kernel_;
    int nextFile_ = 1;
};

} // namespace tilescope::ui
