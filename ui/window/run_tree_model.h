#pragma once

#include "ui/kit/workspace.h"
#include "ui/window/run_filter.h"

#include <QAbstractItemModel>

#include <map>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// A file of the run list.
struct RunTreeFile {
    int id = 0;
    QString name;
    QString path;
    QString problem;
    std::shared_ptr<const RunGroups> groups; ///< null: its runs have not been read
};

/// The open files and, below each, its studies, sweeps and runs: those that a filter keeps, sorted by a column.
///
/// Texts are made when they are shown, so that a list of many runs costs little. Files and groups keep their order.
class RunTreeModel : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Column { Run, Status, Workload, Backend, Size, Precision, Step, Peak, Flags, ColumnCount };
    enum Role {
        FileIdRole = Qt::UserRole,
        RunNumberRole,  ///< none for files and groups
        StatusRole,     ///< of a run; of a file or group, the worst
        LetterRole,     ///< A, B where several are selected
        ShortTitleRole, ///< where the title does not fit
        BriefTitleRole, ///< where the short title does not fit
        WholeTitleRole, ///< the title among all runs of the file
        DepthRole       ///< 0 for files
    };

    explicit RunTreeModel(QObject* parent = nullptr) : QAbstractItemModel(parent) {}

    /// Shows these files. Rows stay as they are if only values have changed.
    void setFiles(std::vector<RunTreeFile> files);
    void setFilter(const QString& words);
    bool isFiltered() const { return !filter_.isEmpty(); }
    void setLetters(std::map<RunKey, QString> letters);
    /// Whether names contain the precision, since no column shows it.
    void setNamesPrecision(bool names);
    void sort(int column, Qt::SortOrder order) override;

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& index) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

    /// The name of a column in a menu: Step, ms.
    static QString titleOf(int column);
    static bool isNumber(int column);
    bool isRun(const QModelIndex& index) const { return runAt(index) != nullptr; }
    /// The row of a run; none if the filter hides the run.
    QModelIndex indexOf(const RunKey& run) const;
    /// The run of a row; null if it is that of a file or a group.
    const query::RunSummary* runAt(const QModelIndex& index) const;
    /// The runs that are shown below a row, in their order; of a run, itself.
    std::vector<RunKey> runsBelow(const QModelIndex& index) const;
    /// The rows of files and groups, parents first.
    std::vector<QModelIndex> branches() const;
    /// Identifies a file or group as long as the window is open.
    QString branchKey(const QModelIndex& branch) const;
    /// The number of runs that the filter keeps.
    std::size_t shownRuns() const;

private:
    struct Branch {
        int id = 0;                      ///< of its file
        std::size_t file = 0;            ///< index into files_
        int group = 0;                   ///< index into the groups of the file
        int parent = -1;                 ///< a branch before this one
        int row = 0;                     ///< in the parent
        std::vector<int> children;       ///< branches
        std::vector<std::uint32_t> runs; ///< below the children; indices into the snapshot
        std::size_t shown = 0;           ///< runs, with those of the children

        bool operator==(const Branch&) const = default;
    };
    void addBranches(std::size_t file, std::vector<Branch>& branches, std::vector<int>& top) const;
    void sortRuns(const query::FileSnapshot& snapshot, std::vector<std::uint32_t>& runs) const;
    void rebuild();
    void touchAll();
    int branchAt(const QModelIndex& index) const; ///< -1: it is a run's
    const RunGroup& groupOf(const Branch& branch) const;
    const std::vector<query::RunSummary>& runsOf(const Branch& branch) const;
    QVariant branchData(const Branch& branch, int column, int role) const;
    QVariant runData(const Branch& branch, const query::RunSummary& run, int column, int role) const;
    QString nameOf(const Branch& branch, const query::RunSummary& run, int role) const;

    std::vector<RunTreeFile> files_;
    std::vector<Branch> branches_;
    std::vector<int> top_; ///< branches of files
    RunFilter filter_;
    std::map<RunKey, QString> letters_;
    bool namesPrecision_ = false;
    int sortColumn_ = Run;
    Qt::SortOrder sortOrder_ = Qt::AscendingOrder;
};

} // namespace tilescope::ui
