#include "ui/window/run_tree_model.h"

#include "core/model/text.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/tool_tip.h"

#include <algorithm>

namespace tilescope::ui {

namespace {

// A run's index carries the position of its file; a file's own carries kFile.
constexpr quintptr kFile = ~quintptr(0);

QString searchText(const RunTreeRow& run)
{
    return QStringLiteral(
               "status:%1 backend:%2 precision:%3 size:%4 mode:%5 workload:%6 device:%7 flags:%8 #%9 ")
               .arg(QString::fromUtf8(wordOf(run.status)), run.backend, run.precision, run.size, run.mode,
                    run.workload, run.device, run.flags.join(QLatin1Char(',')))
               .arg(run.run) +
           QStringLiteral("tag:%1 %2 %3").arg(run.tag, run.title, run.note);
}

// Name and status, reason, keys, flags.
QString tipOf(const RunTreeRow& run)
{
    QStringList lines{QStringLiteral("%1 %2").arg(run.run).arg(run.title)};
    if (run.status != RunStatus::Ok)
        lines << (run.reason.isEmpty()
                      ? QString::fromUtf8(wordOf(run.status))
                      : QString::fromUtf8(wordOf(run.status)) + QStringLiteral(": ") + run.reason);
    lines += run.about;
    if (!run.tag.isEmpty())
        lines << RunTreeModel::tr("tag: %1").arg(run.tag);
    if (!run.note.isEmpty())
        lines << RunTreeModel::tr("note: %1").arg(run.note);
    for (const QString& flag : run.flags)
        lines << RunTreeModel::tr("flag: %1").arg(flag);
    return tipOfLines(lines);
}

} // namespace

void RunTreeModel::setData(std::vector<RunTreeFile> files)
{
    const auto sameShape = [](const RunTreeFile& a, const RunTreeFile& b) {
        return a.id == b.id && a.runs.size() == b.runs.size();
    };
    if (files.size() == files_.size() && std::equal(files.begin(), files.end(), files_.begin(), sameShape)) {
        // Only values changed: views keep what is expanded, selected and scrolled to.
        files_ = std::move(files);
        for (int f = 0; f < int(files_.size()); ++f) {
            emit dataChanged(index(f, 0), index(f, ColumnCount - 1));
            if (const int runs = int(files_[std::size_t(f)].runs.size()); runs > 0)
                emit dataChanged(index(0, 0, index(f, 0)), index(runs - 1, ColumnCount - 1, index(f, 0)));
        }
        return;
    }
    beginResetModel();
    files_ = std::move(files);
    endResetModel();
}

QModelIndex RunTreeModel::index(int row, int column, const QModelIndex& parent) const
{
    if (!hasIndex(row, column, parent))
        return {};
    return createIndex(row, column, parent.isValid() ? quintptr(parent.row()) : kFile);
}

QModelIndex RunTreeModel::parent(const QModelIndex& index) const
{
    if (!index.isValid() || index.internalId() == kFile)
        return {};
    return createIndex(int(index.internalId()), 0, kFile);
}

int RunTreeModel::rowCount(const QModelIndex& parent) const
{
    if (!parent.isValid())
        return int(files_.size());
    return isFile(parent) && parent.column() == 0 ? int(files_[std::size_t(parent.row())].runs.size()) : 0;
}

int RunTreeModel::columnCount(const QModelIndex&) const
{
    return ColumnCount;
}

Qt::ItemFlags RunTreeModel::flags(const QModelIndex& index) const
{
    if (!index.isValid())
        return {};
    return isFile(index) ? Qt::ItemIsEnabled
                         : Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemNeverHasChildren;
}

QModelIndex RunTreeModel::indexOf(int file, std::int64_t run) const
{
    for (std::size_t f = 0; f < files_.size(); ++f) {
        if (files_[f].id != file)
            continue;
        const std::vector<RunTreeRow>& runs = files_[f].runs; // in the order of their numbers
        const auto found = std::ranges::lower_bound(runs, run, {}, &RunTreeRow::run);
        if (found != runs.end() && found->run == run)
            return index(int(found - runs.begin()), 0, index(int(f), 0));
    }
    return {};
}

QVariant RunTreeModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid())
        return {};
    if (isFile(index))
        return fileData(files_[std::size_t(index.row())], index.column(), role);
    const RunTreeFile& file = files_[std::size_t(index.internalId())];
    return runData(file, file.runs[std::size_t(index.row())], index.column(), role);
}

QVariant RunTreeModel::fileData(const RunTreeFile& file, int column, int role) const
{
    switch (role) {
    case FileIdRole:
        return file.id;
    case Qt::DisplayRole:
        if (column == Run)
            return file.name;
        if (column == Flags) {
            if (!file.problem.isEmpty())
                return tr("cannot be read");
            return file.loading ? tr("reading") : counted(std::ssize(file.runs), "run");
        }
        return {};
    case Qt::ToolTipRole:
        return tipOfLines(file.problem.isEmpty() ? QStringList{file.path}
                                                 : QStringList{file.name, file.problem});
    case SearchRole:
        return file.name;
    default:
        return {};
    }
}

QVariant RunTreeModel::runData(const RunTreeFile& file, const RunTreeRow& run, int column, int role) const
{
    const auto measured = [](const std::optional<double>& value) {
        return value ? QVariant(threeDigits(*value)) : QVariant(notMeasured());
    };
    switch (role) {
    case FileIdRole:
        return file.id;
    case RunNumberRole:
        return QVariant::fromValue(run.run);
    case StatusRole:
        return int(run.status);
    case LetterRole:
        return run.letter;
    case ShortTitleRole:
        return run.shortTitle;
    case BriefTitleRole:
        return run.briefTitle;
    case SearchRole:
        return searchText(run);
    case Qt::TextAlignmentRole:
        return int((column == Step || column == Peak ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::ToolTipRole:
        return tipOf(run);
    case SortRole:
        if (column == Run)
            return qlonglong(run.run); // a long would be sorted as text: 10 before 2
        if (column == Step)
            return run.stepMs.value_or(-1);
        if (column == Peak)
            return run.peakMiB.value_or(-1);
        if (column == Flags)
            return int(run.flags.size());
        [[fallthrough]];
    case Qt::DisplayRole:
        break;
    default:
        return {};
    }
    switch (column) {
    case Run:
        return run.title;
    case Status:
        return QString::fromUtf8(wordOf(run.status));
    case Workload:
        return run.workload;
    case Backend:
        return run.backend;
    case Size:
        return run.size;
    case Precision:
        return run.precision;
    case Step:
        if (!run.stepMs && run.status == RunStatus::Oom)
            return QStringLiteral("OOM");
        return run.status == RunStatus::Running ? QVariant(QStringLiteral("…")) : measured(run.stepMs);
    case Peak:
        return run.status == RunStatus::Running ? QVariant(QStringLiteral("…")) : measured(run.peakMiB);
    case Flags:
        return run.flags.join(QStringLiteral(", "));
    default:
        return {};
    }
}

QVariant RunTreeModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return int((section == Step || section == Peak ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    if (section == Flags) // is as wide as its sign
        return role == Qt::ToolTipRole ? QVariant(titleOf(section)) : QVariant();
    if (section == Peak && role == Qt::ToolTipRole)
        return tr("Peak allocated, MiB");
    return role == Qt::DisplayRole ? QVariant(titleOf(section)) : QVariant();
}

QString RunTreeModel::titleOf(int column)
{
    switch (column) {
    case Run:
        return tr("Run");
    case Status:
        return tr("Status");
    case Workload:
        return tr("Workload");
    case Backend:
        return tr("Backend");
    case Size:
        return tr("Size");
    case Precision:
        return tr("Type");
    case Step:
        return tr("Step, ms");
    case Peak:
        return tr("Peak, MiB");
    case Flags:
        return tr("Flags");
    default:
        return {};
    }
}

RunTreeFilter::RunTreeFilter(QObject* parent) : QSortFilterProxyModel(parent)
{
    setRecursiveFilteringEnabled(true);
    setSortRole(RunTreeModel::SortRole);
}

void RunTreeFilter::setWords(const QString& filter)
{
    words_ = filter.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    invalidateFilter();
}

bool RunTreeFilter::filterAcceptsRow(int row, const QModelIndex& parent) const
{
    if (words_.isEmpty())
        return true;
    const QString text = sourceModel()->index(row, 0, parent).data(RunTreeModel::SearchRole).toString();
    return std::all_of(words_.begin(), words_.end(),
                       [&text](const QString& w) { return text.contains(w, Qt::CaseInsensitive); });
}

// Files keep the order in which they were opened, whatever their runs are sorted by.
bool RunTreeFilter::lessThan(const QModelIndex& left, const QModelIndex& right) const
{
    if (!left.parent().isValid())
        return sortOrder() == Qt::AscendingOrder ? left.row() < right.row() : left.row() > right.row();
    return QSortFilterProxyModel::lessThan(left, right);
}

} // namespace tilescope::ui
