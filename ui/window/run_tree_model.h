#pragma once

#include "core/model/run.h"

#include <QAbstractItemModel>
#include <QSortFilterProxyModel>

#include <map>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// A run as the list shows it: plain values, made by whoever has the snapshot.
struct RunTreeRow {
    std::int64_t run = 0;
    QString title;
    QString shortTitle; ///< where the title does not fit
    QString briefTitle; ///< where the short title does not fit
    RunStatus status = RunStatus::Ok;
    QString reason;
    QString workload, backend, precision, size, mode, device;
    std::optional<double> stepMs;
    std::optional<double> peakMiB;
    QStringList flags;
    QString tag;
    QString note;
    QStringList about; ///< lines that a hover shows below the name
    QString letter;    ///< A, B where several are selected
};

struct RunTreeFile {
    int id = 0;
    QString name;
    QString path;
    QString problem;
    bool loading = false;
    std::vector<RunTreeRow> runs; ///< in the order of their numbers
};

/// The open files and, below each, its runs.
class RunTreeModel : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Column { Run, Status, Workload, Backend, Size, Precision, Step, Peak, Flags, ColumnCount };
    enum Role {
        FileIdRole = Qt::UserRole,
        RunNumberRole, ///< none for a file's row
        StatusRole,
        LetterRole,
        ShortTitleRole, ///< where the title does not fit
        BriefTitleRole, ///< where the short title does not fit
        SortRole,
        SearchRole ///< everything that a filter can find, as "key:value" words
    };

    explicit RunTreeModel(QObject* parent = nullptr) : QAbstractItemModel(parent) {}

    using QAbstractItemModel::setData;
    /// Shows these files. Keeps persistent indexes of runs that stay.
    void setData(std::vector<RunTreeFile> files);

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& index) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

    /// What a column is called in a menu: Step, ms.
    static QString titleOf(int column);
    bool isFile(const QModelIndex& index) const { return index.isValid() && !index.parent().isValid(); }
    QModelIndex indexOf(int file, std::int64_t run) const;

private:
    QVariant fileData(const RunTreeFile& file, int column, int role) const;
    QVariant runData(const RunTreeFile& file, const RunTreeRow& run, int column, int role) const;

    std::vector<RunTreeFile> files_;
};

/// Keeps runs that have every word of the filter: `status:oom`, `backend:flash`, or any text.
class RunTreeFilter : public QSortFilterProxyModel {
    Q_OBJECT
public:
    explicit RunTreeFilter(QObject* parent = nullptr);
    void setWords(const QString& filter);

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
    bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

private:
    QStringList words_;
};

} // namespace tilescope::ui
