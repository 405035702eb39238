#include "ui/window/run_dock.h"

#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/layouts.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/view_history.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/window/run_delegate.h"
#include "ui/window/run_details.h"
#include "ui/window/run_edits.h"
#include "ui/window/run_menu.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFrame>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QLabel>
#include <QLineEdit>
#include <QMainWindow>
#include <QMenu>
#include <QScrollArea>
#include <QScrollBar>
#include <QSettings>
#include <QVBoxLayout>

#include <algorithm>
#include <map>
#include <set>

namespace tilescope::ui {

namespace {

// Columns with their widths in design pixels, in the order of the list.
constexpr std::pair<int, double> kWidths[] = {
    {RunTreeModel::Run, 0},      {RunTreeModel::Status, 66}, {RunTreeModel::Workload, 66},
    {RunTreeModel::Backend, 78}, {RunTreeModel::Size, 52},   {RunTreeModel::Precision, 36},
    {RunTreeModel::Step, 58},    {RunTreeModel::Peak, 66},   {RunTreeModel::Flags, 18}};
// The icon before a run's name shows its status, and the name contains its backend.
constexpr int kHiddenAtFirst[] = {RunTreeModel::Status, RunTreeModel::Workload, RunTreeModel::Backend,
                                  RunTreeModel::Size};
// The order in which columns are hidden if the list is too narrow: first those that the name or the tooltip
// repeats.
constexpr int kGoing[] = {RunTreeModel::Precision, RunTreeModel::Workload, RunTreeModel::Size,
                          RunTreeModel::Backend,   RunTreeModel::Status,   RunTreeModel::Flags,
                          RunTreeModel::Peak,      RunTreeModel::Step};
constexpr const char* kHiddenKey = "runs/hidden";
constexpr std::size_t kMostLetters = 6; // more runs have no letters
constexpr std::size_t kFewRuns = 40;    // a file with more opens only the groups with selected runs

QSet<int> hiddenColumns()
{
    const QVariant kept = QSettings().value(QLatin1String(kHiddenKey));
    if (!kept.isValid())
        return {std::begin(kHiddenAtFirst), std::end(kHiddenAtFirst)};
    QSet<int> hidden;
    for (const QVariant& column : kept.toList())
        hidden.insert(column.toInt());
    return hidden;
}

} // namespace

RunDock::RunDock(Workspace& workspace, QWidget* parent)
    : QDockWidget(tr("Runs"), parent), workspace_(workspace), edits_(new RunEdits(workspace, this)),
      model_(new RunTreeModel(this)), filterField_(makeFindField(tr("status:ok …"), tr("Filter runs"))),
      tree_(new RunTreeView), hidden_(hiddenColumns()), title_(new TitleLabel), details_(new KeyValueTable)
{
    setObjectName(QStringLiteral("runs"));
    setFeatures(QDockWidget::DockWidgetClosable | QDockWidget::DockWidgetMovable);
    setTitleBarWidget(new QWidget); // our own header stands in for it
    makeTree();
    leadOut(*filterField_, *tree_);
    makeContent();
    describeSelection();
}

void RunDock::makeTree()
{
    tree_->setModel(model_);
    tree_->setItemDelegate(new RunDelegate(tree_));
    tree_->setRootIsDecorated(false);
    tree_->setIndentation(0);
    tree_->setUniformRowHeights(true);
    tree_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    tree_->setSelectionBehavior(QAbstractItemView::SelectRows);
    tree_->setContextMenuPolicy(Qt::CustomContextMenu);
    tree_->setAccessibleName(tr("Runs"));
    tree_->setSortingEnabled(true);
    tree_->sortByColumn(RunTreeModel::Run, Qt::AscendingOrder);
    QHeaderView* header = tree_->header();
    noteSorting(*tree_, *header);
    header->setStretchLastSection(false);
    header->setMinimumSectionSize(sizes().of(20));
    header->setContextMenuPolicy(Qt::CustomContextMenu);
    header->setFixedHeight(sizes().header);
    layColumns();
    tree_->viewport()->installEventFilter(this);
    connect(tree_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &RunDock::takeSelection);
    connect(tree_, &RunTreeView::runsWanted, this, &RunDock::chooseBelow);
    connect(tree_, &QTreeView::expanded, this, [this](const QModelIndex& row) { keepOpen(row, true); });
    connect(tree_, &QTreeView::collapsed, this, [this](const QModelIndex& row) { keepOpen(row, false); });
    // When a filter or a column rearranges the rows, the same runs stay selected.
    connect(model_, &QAbstractItemModel::modelReset, this, &RunDock::restoreView);
    connect(tree_, &QWidget::customContextMenuRequested, this, &RunDock::openMenu);
    connect(header, &QWidget::customContextMenuRequested, this, [this, header](const QPoint& at) {
        QMenu menu(this);
        fillColumnMenu(menu);
        menu.exec(header->mapToGlobal(at));
    });
}

void RunDock::makeContent()
{
    // Builds from the outside in: Qt styles a widget and its children again whenever it gets a new parent.
    auto* content = new QFrame;
    setWidget(content);
    content->setAutoFillBackground(true);
    content->setBackgroundRole(QPalette::Base);
    content->setMinimumWidth(sizes().of(240));
    auto* layout = newLayout<QVBoxLayout>(content, 0, 0);
    auto* top = new QFrame;
    layout->addWidget(top);
    fillTop(*top);
    layout->addWidget(tree_, 1);
    title_->setProperty("kind", "title");
    title_->setFixedHeight(sizes().panelHeader);
    title_->setContentsMargins(sizes().of(10), 0, 0, 0);
    auto* rule = new QFrame;
    rule->setProperty("kind", "rule");
    rule->setFixedHeight(1);
    layout->addWidget(rule);
    layout->addWidget(title_);
    auto* scroll = new QScrollArea;
    layout->addWidget(scroll);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus); // the rows take it
    details_->setAccessibleName(tr("Details of the selected runs"));
    scroll->setWidget(details_);
    connect(details_, &KeyValueTable::heightChanged, this, [this] {
        if (detailsArea_ != nullptr)
            shareHeight();
    });
    detailsArea_ = scroll;
    layout->addSpacing(sizes().of(8));

    // A run that the filter hides stays selected.
    connect(filterField_, &QLineEdit::textChanged, this, [this](const QString& words) {
        model_->setFilter(words);
        shareHeight();
    });
    connect(&workspace_, &Workspace::filesChanged, this, &RunDock::followFiles);
    connect(&workspace_, &Workspace::selectionChanged, this, &RunDock::showSelection);
    connect(&workspace_, &Workspace::openFailed, this, &RunDock::reveal);
    content->installEventFilter(this);
    setTabOrder(filterField_, tree_);
}

void RunDock::fillTop(QFrame& top)
{
    top.setProperty("kind", "bar");
    top.setFixedHeight(sizes().tools);
    auto* layout = new QHBoxLayout(&top);
    layout->setContentsMargins(sizes().of(10), 0, sizes().of(8), 0);
    auto* heading = new QLabel(tr("Runs"));
    heading->setProperty("kind", "title");
    layout->addWidget(heading);
    layout->addSpacing(sizes().of(12));
    filterField_->setToolTip(tr(
        "Keep runs that match every word (Ctrl+L): any text, #number, seq_len=1024,2048 for values of a key, "
        "backend:flash for their beginning. Keys are those of the spec and status, study, sweep, device, "
        "flags, tag, note"));
    layout->addWidget(filterField_, 1);
    auto* by = new MenuButton(tr("Filter"));
    by->setAccessibleName(tr("Filter runs by a value"));
    by->setToolTip(tr("Keep the runs with a value; several values of a key keep the runs with any of them"));
    connect(by->menu(), &QMenu::aboutToShow, this, [this, by] { fillFilterMenu(*by->menu()); });
    layout->addSpacing(sizes().of(4));
    layout->addWidget(by);
    layout->addSpacing(sizes().of(4));
    auto* columns = new MenuButton({});
    columns->setAccessibleName(tr("Columns of the run list"));
    columns->setToolTip(tr("Which columns the list has"));
    connect(columns->menu(), &QMenu::aboutToShow, this,
            [this, columns] { fillColumnMenu(*columns->menu()); });
    columns->setFixedWidth(sizes().of(26));
    layout->addWidget(columns);
}

void RunDock::layColumns()
{
    for (const auto& [column, width] : kWidths) {
        const bool name = column == RunTreeModel::Run;
        tree_->header()->setSectionResizeMode(column, name ? QHeaderView::Stretch : QHeaderView::Fixed);
        if (!name)
            tree_->header()->resizeSection(column, sizes().of(width));
        tree_->setColumnHidden(column, hidden_.contains(column));
    }
}

// The name takes the remaining width but at least its minimum: other columns are hidden instead. The
// settings keep which columns are wanted, not which fit.
void RunDock::fitColumns()
{
    int room = tree_->viewport()->width() - RunDelegate::leastNameWidth();
    for (const auto& [column, width] : kWidths)
        if (column != RunTreeModel::Run && !hidden_.contains(column))
            room -= sizes().of(width);
    for (const int column : kGoing) {
        const bool wanted = !hidden_.contains(column);
        const bool goes = wanted && room < 0;
        const auto* const known =
            std::find_if(std::begin(kWidths), std::end(kWidths),
                         [column](const std::pair<int, double>& one) { return one.first == column; });
        if (goes)
            room += sizes().of(known->second);
        tree_->setColumnHidden(column, goes || !wanted);
    }
    model_->setNamesPrecision(tree_->isColumnHidden(RunTreeModel::Precision));
}

// Makes the dock wide enough for a column that the user has shown.
void RunDock::growFor(int column)
{
    auto* window = qobject_cast<QMainWindow*>(parentWidget());
    if (window == nullptr || hidden_.contains(column))
        return;
    int needed = RunDelegate::leastNameWidth() + width() - tree_->viewport()->width();
    for (const auto& [one, width] : kWidths)
        if (one != RunTreeModel::Run && !hidden_.contains(one))
            needed += sizes().of(width);
    if (needed > width())
        window->resizeDocks({this}, {std::min(needed, window->width() / 2)}, Qt::Horizontal);
}

bool RunDock::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == tree_->viewport() && event->type() == QEvent::Resize)
        fitColumns();
    if (watched == widget() && event->type() == QEvent::Resize)
        shareHeight();
    return QDockWidget::eventFilter(watched, event);
}

void RunDock::reveal(int file)
{
    for (int row = 0; row < model_->rowCount(); ++row)
        if (const QModelIndex index = model_->index(row, 0);
            index.data(RunTreeModel::FileIdRole).toInt() == file)
            tree_->scrollTo(index);
}

void RunDock::fillColumnMenu(QMenu& menu)
{
    menu.clear();
    for (const auto& [column, width] : kWidths) {
        if (column == RunTreeModel::Run)
            continue;
        QAction* action = menu.addAction(RunTreeModel::titleOf(column), this, [this, column = column] {
            if (!hidden_.remove(column))
                hidden_.insert(column);
            growFor(column);
            fitColumns();
            QVariantList kept(hidden_.begin(), hidden_.end());
            QSettings().setValue(QLatin1String(kHiddenKey), kept);
        });
        action->setCheckable(true);
        action->setChecked(!hidden_.contains(column));
    }
}

TableData RunDock::table() const
{
    using Kind = TableColumn::Kind;
    TableData list;
    list.columns = {makeColumn(tr("File"), Kind::Text, 120),
                    makeColumn(QStringLiteral("#"), Kind::Number, 40)};
    for (int column = 0; column < RunTreeModel::ColumnCount; ++column) {
        const bool number = RunTreeModel::isNumber(column);
        const bool first = column == RunTreeModel::Run;
        list.columns.push_back(
            makeColumn(RunTreeModel::titleOf(column), number ? Kind::Number : Kind::Text, first ? 0 : 76));
    }
    const auto add = [&](const QString& file, const QModelIndex& run) {
        TableRow& row = list.rows.emplace_back();
        row.id = std::int64_t(list.rows.size()) - 1;
        row.cells = {makeWords(file), makeWords(run.data(RunTreeModel::RunNumberRole).toString())};
        for (int column = 0; column < RunTreeModel::ColumnCount; ++column)
            row.cells.push_back(
                makeWords(run.siblingAtColumn(column)
                              .data(column == RunTreeModel::Run ? int(RunTreeModel::WholeTitleRole)
                                                                : int(Qt::DisplayRole))
                              .toString()));
    };
    for (const QModelIndex& branch : model_->branches()) {
        QModelIndex file = branch;
        while (file.parent().isValid())
            file = file.parent();
        for (int at = 0; at < model_->rowCount(branch); ++at)
            if (const QModelIndex run = model_->index(at, 0, branch); model_->isRun(run))
                add(file.data().toString(), run);
    }
    return list;
}

void RunDock::focusFilter()
{
    show();
    filterField_->setFocus();
    filterField_->selectAll();
}

// Restores the expanded, selected, current and topmost rows after the rows are rearranged.
void RunDock::restoreView()
{
    const bool was = std::exchange(applying_, true);
    for (const QModelIndex& branch : model_->branches())
        tree_->setExpanded(branch, isOpen(branch));
    selectRows();
    applying_ = was;
}

// As the user has left it; otherwise files, what a filter keeps, groups of small files and of selected runs.
bool RunDock::isOpen(const QModelIndex& branch) const
{
    const auto kept = open_.constFind(model_->branchKey(branch));
    if (kept != open_.constEnd())
        return *kept;
    if (!branch.parent().isValid() || model_->isFiltered())
        return true;
    const int file = branch.data(RunTreeModel::FileIdRole).toInt();
    const OpenFile* open = workspace_.find(file);
    return open != nullptr && open->snapshot && open->snapshot->runs.size() <= kFewRuns;
}

void RunDock::keepOpen(const QModelIndex& branch, bool isOpen)
{
    if (applying_)
        return;
    const QString key = model_->branchKey(branch);
    open_[key] = isOpen;
    noteFolding({{key, !isOpen}}, {{key, isOpen}});
    shareHeight();
}

void RunDock::openGroups(bool isOpen)
{
    QHash<QString, bool> before;
    QHash<QString, bool> after;
    const bool was = std::exchange(applying_, true);
    for (const QModelIndex& branch : model_->branches()) {
        if (!branch.parent().isValid() || tree_->isExpanded(branch) == isOpen)
            continue;
        const QString key = model_->branchKey(branch);
        before[key] = !isOpen;
        open_[key] = after[key] = isOpen;
        tree_->setExpanded(branch, isOpen);
    }
    applying_ = was;
    if (!after.isEmpty())
        noteFolding(before, after);
    shareHeight();
}

// Adds to what the user can undo that files and groups were folded or unfolded.
void RunDock::noteFolding(const QHash<QString, bool>& before, const QHash<QString, bool>& after)
{
    const auto apply = [this](const QHash<QString, bool>& states) {
        const bool was = std::exchange(applying_, true);
        for (const QModelIndex& branch : model_->branches())
            if (const auto state = states.constFind(model_->branchKey(branch)); state != states.constEnd()) {
                open_[state.key()] = *state;
                tree_->setExpanded(branch, *state);
            }
        applying_ = was;
        shareHeight();
    };
    ViewHistory::note(*tree_, {.name = tr("folding"),
                               .undo = [apply, before] { apply(before); },
                               .redo = [apply, after] { apply(after); }});
}

// The rows of the selected runs, those that follow each other as one range: a range each would take very long for
// many runs.
void RunDock::selectRows()
{
    const std::set<RunKey> selected(workspace_.selection().begin(), workspace_.selection().end());
    QItemSelection selection;
    for (const QModelIndex& branch : model_->branches()) {
        const int file = branch.data(RunTreeModel::FileIdRole).toInt();
        const int rows = model_->rowCount(branch);
        const auto isSelected = [&](int row) {
            const query::RunSummary* run = model_->runAt(model_->index(row, 0, branch));
            return run != nullptr && selected.contains({file, run->run});
        };
        for (int from = 0, to = 0; from < rows && !selected.empty(); from = to + 1) {
            for (to = from; to < rows && isSelected(to);)
                ++to;
            if (to > from)
                selection.select(model_->index(from, 0, branch),
                                 model_->index(to - 1, RunTreeModel::ColumnCount - 1, branch));
        }
    }
    tree_->selectionModel()->select(selection, QItemSelectionModel::ClearAndSelect);
    if (!selection.isEmpty() && !tree_->currentIndex().isValid())
        tree_->selectionModel()->setCurrentIndex(selection.front().topLeft(), QItemSelectionModel::NoUpdate);
}

void RunDock::followFiles()
{
    std::vector<RunTreeFile> files;
    for (const OpenFile& open : workspace_.files())
        files.push_back({open.id, open.name(), QString::fromStdString(open.file->shown().string()),
                         open.problem, open.groups});
    const int scrolled = tree_->verticalScrollBar()->value();
    const bool was = std::exchange(applying_, true);
    model_->setFiles(std::move(files));
    tree_->verticalScrollBar()->setValue(scrolled); // a file that grows does not move the list
    applying_ = was;
    followSelection();
}

void RunDock::followSelection()
{
    std::map<RunKey, QString> letters;
    if (workspace_.selection().size() <= kMostLetters)
        for (const SelectedRun& run : workspace_.selectedRuns())
            letters[run.key] = run.letter;
    model_->setLetters(std::move(letters));
    if (!choosing_) {
        const bool was = std::exchange(applying_, true);
        selectRows();
        // Keys act on what is selected now, not on a run of before.
        QItemSelectionModel& rows = *tree_->selectionModel();
        if (rows.hasSelection() && !rows.isSelected(tree_->currentIndex()))
            rows.setCurrentIndex(rows.selection().front().topLeft(), QItemSelectionModel::NoUpdate);
        applying_ = was;
    }
    describeSelection();
}

// Scrolls to a run that another page or a link has selected.
void RunDock::showSelection()
{
    followSelection();
    if (choosing_ || workspace_.selection().empty())
        return;
    const QModelIndex first = model_->indexOf(workspace_.selection().front());
    for (QModelIndex branch = first.parent(); branch.isValid(); branch = branch.parent())
        tree_->expand(branch);
    tree_->scrollTo(first);
}

void RunDock::takeSelection()
{
    if (applying_)
        return;
    std::vector<RunKey> keys;
    for (const QModelIndex& index : tree_->selectionModel()->selectedRows())
        if (const query::RunSummary* run = model_->runAt(index))
            keys.push_back({index.data(RunTreeModel::FileIdRole).toInt(), run->run});
    std::sort(keys.begin(), keys.end());
    choosing_ = true;
    workspace_.select(std::move(keys));
    choosing_ = false;
}

void RunDock::chooseBelow(const QModelIndex& branch, bool extends)
{
    std::vector<RunKey> keys = model_->runsBelow(branch);
    if (keys.empty())
        return;
    if (extends) {
        keys.insert(keys.end(), workspace_.selection().begin(), workspace_.selection().end());
        std::sort(keys.begin(), keys.end());
        keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    }
    choosing_ = true; // the list is not scrolled to the first of them
    workspace_.select(std::move(keys));
    choosing_ = false;
    followSelection();
}

void RunDock::describeSelection()
{
    showDetails();
    shareHeight();
}

// Details get the height that the list leaves, at least two fifths; the rest scrolls.
void RunDock::shareHeight()
{
    int rows = model_->rowCount();
    for (const QModelIndex& branch : model_->branches())
        if (tree_->isExpanded(branch))
            rows += model_->rowCount(branch);
    const int room = widget()->height() - sizes().tools - sizes().panelHeader - sizes().of(10);
    const int left = room - sizes().header - rows * sizes().row;
    const int height =
        std::clamp(details_->sizeHint().height(), 0, std::max({left, 2 * room / 5, sizes().row}));
    detailsArea_->setMaximumHeight(height);
    // Uses a stretch, because a fixed height would set the minimum height of the window.
    auto* layout = static_cast<QVBoxLayout*>(widget()->layout());
    layout->setStretchFactor(tree_, std::max(1, room - height));
    layout->setStretchFactor(detailsArea_, std::max(1, height));
}

void RunDock::showDetails()
{
    const std::vector<SelectedRun> runs = workspace_.selectedRuns();
    if (runs.empty()) {
        title_->setText(workspace_.files().empty() ? tr("No file open") : tr("No run selected"));
        details_->setRows({});
        return;
    }
    title_->setText(runs.size() == 1 ? QStringLiteral("%1 %2").arg(runs[0].run->run.value).arg(runs[0].title)
                                     : tr("%1 selected").arg(counted(std::ssize(runs), "run")));
    details_->setRows(detailsOf(runs));
}

// The selected runs if the clicked one is among them, otherwise that one; of a group, all that are shown.
std::vector<RunKey> RunDock::runsAt(const QModelIndex& clicked) const
{
    const std::vector<RunKey> below = model_->runsBelow(clicked);
    const std::vector<RunKey>& selected = workspace_.selection();
    if (!model_->isRun(clicked) || std::ranges::find(selected, below.front()) == selected.end())
        return below;
    std::vector<RunKey> runs = selected;
    std::iter_swap(runs.begin(), std::ranges::find(runs, below.front()));
    return runs;
}

void RunDock::openMenu(const QPoint& at)
{
    const QModelIndex index = tree_->indexAt(at).siblingAtColumn(0);
    if (!index.isValid())
        return;
    QMenu menu(this);
    fillMenu(menu, index);
    menu.exec(tree_->viewport()->mapToGlobal(at));
}

void RunDock::fillMenu(QMenu& menu, const QModelIndex& row)
{
    menu.setToolTipsVisible(true);
    const int file = row.data(RunTreeModel::FileIdRole).toInt();
    if (!model_->isRun(row))
        addBranchActions(menu, row);
    if (const std::vector<RunKey> runs = runsAt(row); !runs.empty()) {
        fillRunMenu(menu, workspace_, *edits_, runs);
        menu.addSeparator();
    }
    if (const query::RunSummary* run = model_->runAt(row)) {
        QMenu* only = menu.addMenu(tr("Filter by"));
        for (const auto& [key, value] : facetValues(*run))
            addFilter(*only, QStringLiteral("%1 %2").arg(key, value), key, value);
    }
    menu.addAction(tr("Read again"), this, [this, file] { workspace_.refresh(file); });
    menu.addAction(tr("Close file"), this, [this, file] { workspace_.close(file); });
    menu.addSeparator();
    menu.addAction(tr("Copy list as table"), this,
                   [this] { QApplication::clipboard()->setText(tableText(table(), QLatin1Char('\t'))); });
    fillColumnMenu(*menu.addMenu(tr("Columns")));
}

void RunDock::addBranchActions(QMenu& menu, const QModelIndex& branch)
{
    const std::vector<RunKey> runs = model_->runsBelow(branch);
    if (!runs.empty()) {
        QAction* select = menu.addAction(tr("Select %1").arg(counted(std::ssize(runs), "run")), this,
                                         [this, runs] { workspace_.select(runs); });
        menu.setDefaultAction(select);
    }
    const bool hasGroups = std::ranges::any_of(
        model_->branches(), [](const QModelIndex& each) { return each.parent().isValid(); });
    if (hasGroups) {
        menu.addAction(tr("Unfold all groups"), this, [this] { openGroups(true); });
        menu.addAction(tr("Fold all groups"), this, [this] { openGroups(false); });
    }
    menu.addSeparator();
}

// Adds or removes a value in the filter.
void RunDock::addFilter(QMenu& menu, const QString& text, const QString& key, const QString& value)
{
    QAction* action = menu.addAction(text, this, [this, key, value] {
        filterField_->setText(RunFilter::toggled(filterField_->text(), key, value));
    });
    action->setCheckable(true);
    action->setChecked(RunFilter::has(filterField_->text(), key, value));
}

void RunDock::fillFilterMenu(QMenu& menu)
{
    menu.clear();
    std::vector<const query::FileSnapshot*> files;
    for (const OpenFile& file : workspace_.files())
        if (file.snapshot)
            files.push_back(file.snapshot.get());
    for (const RunFacet& facet : facetsOf(files)) {
        QMenu* values = menu.addMenu(facet.key);
        for (const auto& [value, count] : facet.values)
            addFilter(*values, QStringLiteral("%1   %2").arg(value, wholeNumber(std::int64_t(count))),
                      facet.key, value);
    }
    if (menu.isEmpty())
        menu.addAction(tr("All runs have the same values"))->setEnabled(false);
    menu.addSeparator();
    menu.addAction(tr("Clear the filter"), filterField_, &QLineEdit::clear)
        ->setEnabled(!filterField_->text().isEmpty());
}

} // namespace tilescope::ui
