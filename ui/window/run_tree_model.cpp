#include "ui/window/run_tree_model.h"

#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/run_columns.h"
#include "ui/kit/tool_tip.h"
#include "ui/window/run_details.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace tilescope::ui {

namespace {

// An index carries the number of its parent's branch; that of a file carries kTop.
constexpr quintptr kTop = ~quintptr(0);

quintptr idOf(int parent)
{
    return parent < 0 ? kTop : quintptr(parent);
}

using Of = exchange::ColumnOf<NamedRun>;

// The column of a key, which only the window shows by itself.
Of columnOfKey(const char* key, const exchange::Shown& shown = {})
{
    return Of(
        key, key, [key](const NamedRun& run) { return run.summary->param(key); }, shown);
}

const Of& columnOf(int column)
{
    static const exchange::RunColumns<NamedRun> of;
    static const std::array<Of, RunTreeModel::ColumnCount> columns = {
        Of("run", "run", [](const NamedRun& run) { return run.title.toStdString(); }),
        of.status,
        of.workload,
        columnOfKey("backend"),
        columnOfKey("size"),
        columnOfKey("precision", {.shortTitle = "type"}),
        of.step,
        of.peakAllocated,
        of.flags};
    return columns[std::size_t(column)];
}

exchange::Cell cellOfRun(const query::RunSummary& run, int column)
{
    return columnOf(column).value({{}, {}, &run});
}

// A unit that does not depend on the runs that are shown: ms, MiB.
Unit unitOf(int column)
{
    const quantity::Unit unit = columnOf(column).about.unit;
    return quantity::scaleFor(unit, unit == quantity::Unit::Bytes ? 1 << 20 : 1);
}

// What runs are sorted by. Flags are sorted by their number.
std::pair<double, std::string> sortKeyOf(const query::RunSummary& run, int column)
{
    if (column == RunTreeModel::Flags)
        return {double(run.result.flags.size()), {}};
    if (column == RunTreeModel::Step && !run.step && run.tracedStep)
        return {*run.tracedStep, {}};
    exchange::Cell value = cellOfRun(run, column);
    if (auto* text = std::get_if<std::string>(&value))
        return {0, std::move(*text)};
    return {exchange::sizeOf(value).value_or(-1), {}};
}

Qt::Alignment alignmentOf(int column)
{
    return (columnOf(column).isNumber ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter;
}

// The status that a folded group must not hide.
RunStatus worstOf(const RunCounts& counts)
{
    return counts.failed > 0        ? RunStatus::Error
           : counts.outOfMemory > 0 ? RunStatus::Oom
           : counts.running > 0     ? RunStatus::Running
           : counts.cancelled > 0   ? RunStatus::Cancelled
           : counts.skipped > 0     ? RunStatus::Skipped
                                    : RunStatus::Ok;
}

} // namespace

// Rows
// ----

void RunTreeModel::setFiles(std::vector<RunTreeFile> files)
{
    files_.swap(files); // the old ones live until views know
    rebuild();
}

void RunTreeModel::setFilter(const QString& words)
{
    filter_ = RunFilter(words);
    rebuild();
}

void RunTreeModel::setLetters(std::map<RunKey, QString> letters)
{
    if (letters_ == letters)
        return;
    letters_ = std::move(letters);
    touchAll();
}

void RunTreeModel::setNamesPrecision(bool names)
{
    if (namesPrecision_ == names)
        return;
    namesPrecision_ = names;
    touchAll();
}

void RunTreeModel::sort(int column, Qt::SortOrder order)
{
    sortColumn_ = column;
    sortOrder_ = order;
    rebuild();
}

void RunTreeModel::sortRuns(const query::FileSnapshot& snapshot, std::vector<std::uint32_t>& runs) const
{
    if (sortColumn_ == Run) { // they are in the order of their numbers
        if (sortOrder_ == Qt::DescendingOrder)
            std::ranges::reverse(runs);
        return;
    }
    std::vector<std::pair<std::pair<double, std::string>, std::uint32_t>> keyed;
    keyed.reserve(runs.size());
    for (const std::uint32_t run : runs)
        keyed.emplace_back(sortKeyOf(snapshot.runs[run], sortColumn_), run);
    std::ranges::stable_sort(keyed, [this](const auto& a, const auto& b) {
        return sortOrder_ == Qt::AscendingOrder ? a.first < b.first : b.first < a.first;
    });
    std::ranges::transform(keyed, runs.begin(), [](const auto& each) { return each.second; });
}

// The branches of a file that the filter keeps.
void RunTreeModel::addBranches(std::size_t file, std::vector<Branch>& branches, std::vector<int>& top) const
{
    const RunTreeFile& from = files_[file];
    const auto makeBranch = [&](int group, int parent) {
        Branch branch;
        branch.id = from.id;
        branch.file = file;
        branch.group = group;
        branch.parent = parent;
        return branch;
    };
    if (!from.groups) {
        top.push_back(int(branches.size()));
        branches.push_back(makeBranch(0, -1));
        return;
    }
    const std::vector<RunGroup>& groups = from.groups->groups();
    const std::vector<query::RunSummary>& runs = from.groups->snapshot().runs;
    std::vector<std::vector<std::uint32_t>> kept(groups.size());
    std::vector<std::size_t> shown(groups.size());
    for (std::size_t g = groups.size(); g-- > 0;) { // subgroups come after their parents
        for (const std::uint32_t run : groups[g].runs)
            if (filter_.isEmpty() || filter_.matches(runs[run]))
                kept[g].push_back(run);
        shown[g] += kept[g].size();
        if (groups[g].parent >= 0)
            shown[std::size_t(groups[g].parent)] += shown[g];
    }
    std::vector<int> branchOf(groups.size(), -1);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (!filter_.isEmpty() && shown[g] == 0)
            continue;
        const int parent = groups[g].parent < 0 ? -1 : branchOf[std::size_t(groups[g].parent)];
        branchOf[g] = int(branches.size());
        branches.push_back(makeBranch(int(g), parent));
        branches.back().runs = std::move(kept[g]);
        branches.back().shown = shown[g];
        sortRuns(from.groups->snapshot(), branches.back().runs);
        std::vector<int>& siblings = parent < 0 ? top : branches[std::size_t(parent)].children;
        branches.back().row = int(siblings.size());
        siblings.push_back(branchOf[g]);
    }
}

void RunTreeModel::rebuild()
{
    std::vector<Branch> branches;
    std::vector<int> top;
    for (std::size_t file = 0; file < files_.size(); ++file)
        addBranches(file, branches, top);
    for (std::size_t row = 0; row < top.size(); ++row)
        branches[std::size_t(top[row])].row = int(row);
    if (branches == branches_)
        return touchAll(); // views keep what is open, selected and scrolled to
    beginResetModel();
    branches_ = std::move(branches);
    top_ = std::move(top);
    endResetModel();
}

void RunTreeModel::touchAll()
{
    if (!top_.empty())
        emit dataChanged(index(0, 0), index(int(top_.size()) - 1, ColumnCount - 1));
    for (std::size_t i = 0; i < branches_.size(); ++i) {
        const QModelIndex parent = createIndex(branches_[i].row, 0, idOf(branches_[i].parent));
        if (const int rows = rowCount(parent); rows > 0)
            emit dataChanged(index(0, 0, parent), index(rows - 1, ColumnCount - 1, parent));
    }
}

int RunTreeModel::branchAt(const QModelIndex& index) const
{
    if (!index.isValid())
        return -1;
    const std::vector<int>& siblings =
        index.internalId() == kTop ? top_ : branches_[std::size_t(index.internalId())].children;
    return index.row() < int(siblings.size()) ? siblings[std::size_t(index.row())] : -1;
}

QModelIndex RunTreeModel::index(int row, int column, const QModelIndex& parent) const
{
    if (!hasIndex(row, column, parent))
        return {};
    return createIndex(row, column, parent.isValid() ? quintptr(branchAt(parent)) : kTop);
}

QModelIndex RunTreeModel::parent(const QModelIndex& index) const
{
    if (!index.isValid() || index.internalId() == kTop)
        return {};
    const Branch& parent = branches_[std::size_t(index.internalId())];
    return createIndex(parent.row, 0, idOf(parent.parent));
}

int RunTreeModel::rowCount(const QModelIndex& parent) const
{
    if (!parent.isValid())
        return int(top_.size());
    const int branch = parent.column() == 0 ? branchAt(parent) : -1;
    if (branch < 0)
        return 0;
    const Branch& of = branches_[std::size_t(branch)];
    return int(of.children.size() + of.runs.size());
}

int RunTreeModel::columnCount(const QModelIndex&) const
{
    return ColumnCount;
}

Qt::ItemFlags RunTreeModel::flags(const QModelIndex& index) const
{
    if (!index.isValid())
        return {};
    return branchAt(index) >= 0 ? Qt::ItemIsEnabled
                                : Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemNeverHasChildren;
}

// Places
// ------

const std::vector<query::RunSummary>& RunTreeModel::runsOf(const Branch& branch) const
{
    return files_[branch.file].groups->snapshot().runs;
}

const RunGroup& RunTreeModel::groupOf(const Branch& branch) const
{
    return files_[branch.file].groups->groups()[std::size_t(branch.group)];
}

const query::RunSummary* RunTreeModel::runAt(const QModelIndex& index) const
{
    if (!index.isValid() || index.internalId() == kTop || branchAt(index) >= 0)
        return nullptr;
    const Branch& branch = branches_[std::size_t(index.internalId())];
    return &runsOf(branch)[branch.runs[std::size_t(index.row()) - branch.children.size()]];
}

QModelIndex RunTreeModel::indexOf(const RunKey& key) const
{
    for (std::size_t i = 0; i < branches_.size(); ++i) {
        const Branch& branch = branches_[i];
        if (files_[branch.file].id != key.file || branch.runs.empty())
            continue;
        const std::vector<query::RunSummary>& runs = runsOf(branch);
        const auto known = std::ranges::lower_bound(runs, key.run, {}, &query::RunSummary::run);
        if (known == runs.end() || known->run != key.run)
            continue;
        const auto at = std::ranges::find(branch.runs, std::uint32_t(known - runs.begin()));
        if (at != branch.runs.end())
            return createIndex(int(branch.children.size()) + int(at - branch.runs.begin()), 0, quintptr(i));
    }
    return {};
}

std::vector<RunKey> RunTreeModel::runsBelow(const QModelIndex& index) const
{
    std::vector<RunKey> keys;
    if (const query::RunSummary* run = runAt(index)) {
        keys.push_back({index.siblingAtColumn(0).data(FileIdRole).toInt(), run->run});
        return keys;
    }
    const int from = branchAt(index);
    if (from < 0)
        return keys;
    std::vector<int> left{from};
    while (!left.empty()) {
        const Branch& branch = branches_[std::size_t(left.back())];
        left.pop_back();
        left.insert(left.end(), branch.children.rbegin(), branch.children.rend());
        for (const std::uint32_t run : branch.runs)
            keys.push_back({files_[branch.file].id, runsOf(branch)[run].run});
    }
    return keys;
}

std::vector<QModelIndex> RunTreeModel::branches() const
{
    std::vector<QModelIndex> indexes;
    for (const Branch& branch : branches_)
        indexes.push_back(createIndex(branch.row, 0, idOf(branch.parent)));
    return indexes;
}

QString RunTreeModel::branchKey(const QModelIndex& index) const
{
    QString key;
    for (int at = branchAt(index); at >= 0; at = branches_[std::size_t(at)].parent) {
        const Branch& branch = branches_[std::size_t(at)];
        key.prepend(QLatin1Char('\n') +
                    (branch.parent < 0 ? QString::number(files_[branch.file].id) : groupOf(branch).name));
    }
    return key;
}

std::size_t RunTreeModel::shownRuns() const
{
    std::size_t runs = 0;
    for (const int branch : top_)
        runs += branches_[std::size_t(branch)].shown;
    return runs;
}

// Texts
// -----

QVariant RunTreeModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid())
        return {};
    if (const int branch = branchAt(index); branch >= 0)
        return branchData(branches_[std::size_t(branch)], index.column(), role);
    return runData(branches_[std::size_t(index.internalId())], *runAt(index), index.column(), role);
}

QVariant RunTreeModel::branchData(const Branch& branch, int column, int role) const
{
    const RunTreeFile& file = files_[branch.file];
    const bool isFile = branch.parent < 0;
    switch (role) {
    case FileIdRole:
        return file.id;
    case DepthRole:
        return isFile ? 0 : branches_[std::size_t(branch.parent)].parent < 0 ? 1 : 2;
    case StatusRole:
        return int(file.groups ? worstOf(groupOf(branch).counts) : RunStatus::Ok);
    case Qt::DisplayRole:
        if (column == Run)
            return isFile ? file.name : groupOf(branch).name;
        if (column != Flags)
            return {};
        if (!file.problem.isEmpty() && isFile)
            return tr("cannot be read");
        if (!file.groups)
            return tr("reading");
        if (const std::size_t runs = groupOf(branch).counts.runs; isFiltered())
            return tr("%1 of %2 shown").arg(branch.shown).arg(runs);
        else if (isFile)
            return counted(std::int64_t(runs), "run");
        return tr("%1 of %2").arg(groupOf(branch).counts.ok).arg(groupOf(branch).counts.runs);
    case Qt::AccessibleTextRole:
        return column == Run && !isFile ? groupOf(branch).name + QStringLiteral(", ") +
                                              QString::fromStdString(groupOf(branch).counts.text())
                                        : branchData(branch, column, Qt::DisplayRole);
    case Qt::ToolTipRole:
        if (isFile && !file.problem.isEmpty())
            return tipOfLines({file.name, file.problem});
        return file.groups ? tipOfLines({isFile ? file.path : groupOf(branch).name,
                                         QString::fromStdString(groupOf(branch).counts.text())})
                           : tipOfLines({file.path});
    default:
        return {};
    }
}

// In a group, the varying keys; below a file, the title.
QString RunTreeModel::nameOf(const Branch& branch, const query::RunSummary& run, int role) const
{
    const RunTitles& titles = groupOf(branch).titles;
    const bool isGroup = branch.parent >= 0;
    if (role == BriefTitleRole || (role == ShortTitleRole && isGroup))
        return titles.briefOf(run, namesPrecision_);
    if (role == ShortTitleRole)
        return titles.shortOf(run, namesPrecision_);
    return isGroup ? titles.variedOf(run, namesPrecision_) : titles.of(run, namesPrecision_);
}

QVariant RunTreeModel::runData(const Branch& branch, const query::RunSummary& run, int column, int role) const
{
    const RunTreeFile& file = files_[branch.file];
    switch (role) {
    case FileIdRole:
        return file.id;
    case RunNumberRole:
        return QVariant::fromValue(run.run.value);
    case DepthRole:
        return branch.parent < 0 ? 1 : branches_[std::size_t(branch.parent)].parent < 0 ? 2 : 3;
    case StatusRole:
        return int(run.result.status);
    case LetterRole: {
        const auto letter = letters_.find({file.id, run.run});
        return letter == letters_.end() ? QString() : letter->second;
    }
    case ShortTitleRole:
    case BriefTitleRole:
        return nameOf(branch, run, role);
    case WholeTitleRole:
        return file.groups->titles().of(run, namesPrecision_);
    case Qt::TextAlignmentRole:
        return int(alignmentOf(column));
    case Qt::ToolTipRole:
        return tipOf(run, file.groups->titles().of(run, true));
    case Qt::AccessibleTextRole: {
        const QString text = runData(branch, run, column, Qt::DisplayRole).toString();
        return text.isEmpty() ? tr("none") : text;
    }
    case Qt::DisplayRole:
        break;
    default:
        return {};
    }
    if (column == Run)
        return nameOf(branch, run, role);
    const exchange::Cell value = cellOfRun(run, column);
    if (!columnOf(column).isNumber) {
        const auto* const text = std::get_if<std::string>(&value);
        return text ? QString::fromStdString(*text) : QString();
    }
    if (column == Step && !run.step && run.result.status == RunStatus::Oom)
        return QStringLiteral("OOM");
    if (column == Step && !run.step && run.tracedStep)
        return threeDigits(*run.tracedStep / unitOf(column).divisor) + tracedMark();
    if (run.result.status == RunStatus::Running)
        return QStringLiteral("…");
    return makeCell(value, columnOf(column).about, unitOf(column)).text;
}

QVariant RunTreeModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return int(alignmentOf(section));
    if (section == Flags) // is as wide as its sign
        return role == Qt::ToolTipRole || role == Qt::AccessibleTextRole ? QVariant(titleOf(section))
                                                                         : QVariant();
    if (section == Step && role == Qt::ToolTipRole)
        return tr("%1; %2 mean traced step, of recordings")
            .arg(titleIn(ui::titleOf(columnOf(section).about), unitOf(section)), tracedMark());
    if (!columnOf(section).about.shortTitle.empty() && role == Qt::ToolTipRole)
        return titleIn(ui::titleOf(columnOf(section).about), unitOf(section));
    return role == Qt::DisplayRole ? QVariant(titleOf(section)) : QVariant();
}

bool RunTreeModel::isNumber(int column)
{
    return columnOf(column).isNumber;
}

QString RunTreeModel::titleOf(int column)
{
    return titleIn(shortTitleOf(columnOf(column).about), unitOf(column));
}

} // namespace tilescope::ui
