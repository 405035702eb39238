#include "ui/window/run_dock.h"

#include "core/config/value_text.h"
#include "core/model/text.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/number_text.h"
#include "ui/kit/peak_text.h"
#include "ui/kit/step_text.h"
#include "ui/kit/table_cells.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/window/run_delegate.h"
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
constexpr std::size_t kMostBeside = 2;  // of more runs only the varying keys are listed

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

// The keys of a run, the important ones first.
constexpr const char* kKeys[] = {"workload", "op",     "bytes",  "size",    "backend", "precision", "batch",
                                 "context",  "heads",  "d_head", "seq_len", "mode",    "parallel",  "gpus",
                                 "bucket",   "causal", "warmup", "steps",   "trace",   "compile",   "seed"};

// A key of a run as people read it; empty if the run lacks it.
QString valueOf(const query::RunSummary& run, std::string_view key)
{
    if (key == "workload")
        return QString::fromStdString(run.workload);
    return QString::fromStdString(config::valueText(key, run.param(key)));
}

QString measuredStep(const query::RunSummary& run)
{
    if (!run.step)
        return run.result.status == RunStatus::Oom ? QStringLiteral("OOM") : notMeasured();
    return timeText(run.step->median * 1e6);
}

QString stepWithInterval(const query::RunSummary& run)
{
    return run.step ? medianWords(*run.step) : measuredStep(run);
}

QString peakOf(const query::RunSummary& run)
{
    return run.result.peakAllocated ? byteText(double(run.result.peakAllocated->count)) : notMeasured();
}

// The lines of a run's tooltip.
QStringList aboutOf(const query::RunSummary& run)
{
    QStringList about{QObject::tr("step %1, %2 %3").arg(stepWithInterval(run), peakName(run), peakOf(run))};
    QStringList keys;
    for (const char* key : kKeys) {
        const QString value = valueOf(run, key);
        if (!value.isEmpty() && value != QLatin1String("none"))
            keys << QStringLiteral("%1 %2").arg(QLatin1String(key), value);
    }
    constexpr qsizetype kInALine = 4;
    for (qsizetype i = 0; i < keys.size(); i += kInALine)
        about << keys.mid(i, kInALine).join(QStringLiteral(", "));
    return about;
}

// \param withPrecision  in the name, since no column shows it
RunTreeRow rowOf(const query::RunSummary& run, const RunTitles& titles, bool withPrecision)
{
    RunTreeRow row;
    row.run = run.run.value;
    row.title = titles.of(run, withPrecision);
    row.shortTitle = titles.shortOf(run, withPrecision);
    row.briefTitle = titles.briefOf(run, withPrecision);
    row.status = run.result.status;
    row.reason = QString::fromStdString(run.result.reason);
    row.workload = QString::fromStdString(run.workload);
    row.backend = QString::fromUtf8(run.param("backend"));
    row.precision = QString::fromUtf8(run.param("precision"));
    row.size = QString::fromUtf8(run.param("size"));
    row.mode = QString::fromUtf8(run.param("mode"));
    row.device = QString::fromStdString(run.result.device);
    row.about = aboutOf(run);
    row.tag = QString::fromStdString(run.tag);
    row.note = QString::fromStdString(run.note);
    if (run.step)
        row.stepMs = run.step->median;
    if (run.result.peakAllocated)
        row.peakMiB = double(run.result.peakAllocated->count) / (1024.0 * 1024);
    for (const std::string& flag : run.result.flags)
        row.flags << QString::fromStdString(flag);
    return row;
}

std::vector<KeyValueRow> rowsOfOne(const query::RunSummary& run)
{
    std::vector<KeyValueRow> rows;
    for (const char* key : kKeys) {
        const QString value = valueOf(run, key);
        if (!value.isEmpty())
            rows.push_back({QString::fromLatin1(key), {value}});
    }
    if (!run.result.device.empty())
        rows.push_back({QStringLiteral("device"), {QString::fromStdString(run.result.device)}});
    rows.push_back({QStringLiteral("step"), {stepWithInterval(run)}, false, true});
    rows.push_back({peakName(run), {peakOf(run)}, false, true});
    const std::string_view word = wordOf(run.result.status);
    rows.push_back({QStringLiteral("status"), {QString::fromUtf8(word)}});
    if (!run.tag.empty())
        rows.push_back({QStringLiteral("tag"), {QString::fromStdString(run.tag)}});
    if (!run.note.empty())
        rows.push_back({QStringLiteral("note"), {QString::fromStdString(run.note)}});
    if (!run.result.reason.empty())
        rows.push_back({QStringLiteral("reason"), {QString::fromStdString(run.result.reason)}});
    return rows;
}

// Of several runs: the differences side by side, then what they share.
std::vector<KeyValueRow> rowsOfSeveral(const std::vector<SelectedRun>& runs)
{
    KeyValueRow heading{QStringLiteral("Differs"), {}, true};
    for (const SelectedRun& run : runs)
        heading.values << QStringLiteral("%1 %2").arg(run.run->run.value).arg(run.title);
    std::vector<KeyValueRow> rows{heading};
    std::vector<KeyValueRow> same;
    for (const char* key : kKeys) {
        QStringList values;
        bool differs = false;
        for (const SelectedRun& run : runs) {
            const QString value = valueOf(*run.run, key);
            differs = differs || (!values.isEmpty() && values.front() != value);
            values << value;
        }
        if (differs)
            rows.push_back({QString::fromLatin1(key), values, false, true});
        else if (!values.front().isEmpty())
            same.push_back({QString::fromLatin1(key), {values.front()}});
    }
    QStringList steps;
    QStringList peaks;
    for (const SelectedRun& run : runs) {
        steps << measuredStep(*run.run);
        peaks << peakOf(*run.run);
    }
    rows.push_back({QStringLiteral("step"), steps, false, true});
    rows.push_back({peakName(*runs.front().run), peaks, false, true});
    rows.push_back({QStringLiteral("Same"), {}, true});
    rows.insert(rows.end(), same.begin(), same.end());
    return rows;
}

// Of many runs: the varying keys, the statuses and the ranges of their figures.
std::vector<KeyValueRow> rowsOfMany(const std::vector<SelectedRun>& runs)
{
    QStringList varying;
    std::vector<KeyValueRow> same;
    for (const char* key : kKeys) {
        std::set<QString> values;
        for (const SelectedRun& run : runs)
            values.insert(valueOf(*run.run, key));
        if (values.size() > 1)
            varying << QString::fromLatin1(key);
        else if (!values.begin()->isEmpty())
            same.push_back({QString::fromLatin1(key), {*values.begin()}});
    }
    std::map<std::string_view, int> ends;
    std::int64_t samples = 0;
    std::vector<double> steps;
    std::vector<double> peaks;
    for (const SelectedRun& run : runs) {
        ++ends[wordOf(run.run->result.status)];
        if (run.run->step) {
            samples += run.run->step->n;
            steps.push_back(run.run->step->median * 1e6);
        }
        if (run.run->result.peakAllocated)
            peaks.push_back(double(run.run->result.peakAllocated->count));
    }
    QStringList counts;
    for (const auto& [word, count] : ends)
        counts << QStringLiteral("%1 %2").arg(count).arg(QString::fromUtf8(word));
    const auto between = [](const std::vector<double>& values, QString (*words)(double)) {
        if (values.empty())
            return notMeasured();
        const auto [least, most] = std::minmax_element(values.begin(), values.end());
        return QStringLiteral("%1 to %2").arg(words(*least), words(*most));
    };
    std::vector<KeyValueRow> rows{
        {QStringLiteral("varies"), {varying.join(QStringLiteral(", "))}, false, true},
        {QStringLiteral("status"), {counts.join(QStringLiteral(", "))}},
        {QStringLiteral("step"), {between(steps, timeText)}, false, true},
        {peakName(*runs.front().run), {between(peaks, byteText)}, false, true},
        {QStringLiteral("samples"), {wholeNumber(samples)}},
        {QStringLiteral("Same"), {}, true}};
    rows.insert(rows.end(), same.begin(), same.end());
    return rows;
}

} // namespace

RunDock::RunDock(Workspace& workspace, QWidget* parent)
    : QDockWidget(tr("Runs"), parent), workspace_(workspace), edits_(new RunEdits(workspace, this)),
      model_(new RunTreeModel(this)), filter_(new RunTreeFilter(this)),
      filterField_(makeFindField(tr("status:ok backend:…"), tr("Filter runs"))), tree_(new RunTreeView),
      hidden_(hiddenColumns()), title_(new TitleLabel), details_(new KeyValueTable)
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
    filter_->setSourceModel(model_);
    tree_->setModel(filter_);
    tree_->setItemDelegate(new RunDelegate(tree_));
    tree_->setRootIsDecorated(false);
    tree_->setIndentation(0);
    tree_->setUniformRowHeights(true);
    tree_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    tree_->setSelectionBehavior(QAbstractItemView::SelectRows);
    tree_->setExpandsOnDoubleClick(false);
    tree_->setContextMenuPolicy(Qt::CustomContextMenu);
    tree_->setAccessibleName(tr("Runs"));
    tree_->setSortingEnabled(true);
    tree_->sortByColumn(RunTreeModel::Run, Qt::AscendingOrder);
    QHeaderView* header = tree_->header();
    header->setStretchLastSection(false);
    header->setMinimumSectionSize(sizes().of(20));
    header->setContextMenuPolicy(Qt::CustomContextMenu);
    header->setFixedHeight(sizes().header);
    layColumns();
    tree_->viewport()->installEventFilter(this);
    connect(tree_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &RunDock::takeSelection);
    connect(tree_, &QTreeView::clicked, this, [this](const QModelIndex& index) {
        if (!index.parent().isValid())
            tree_->setExpanded(index.siblingAtColumn(0), !tree_->isExpanded(index.siblingAtColumn(0)));
    });
    connect(tree_, &QWidget::customContextMenuRequested, this, &RunDock::openMenu);
    connect(header, &QWidget::customContextMenuRequested, this, [this, header](const QPoint& at) {
        QMenu menu(this);
        fillColumnMenu(menu);
        menu.exec(header->mapToGlobal(at));
    });
}

void RunDock::makeContent()
{
    auto* content = new QFrame;
    content->setAutoFillBackground(true);
    content->setBackgroundRole(QPalette::Base);
    content->setMinimumWidth(sizes().of(240));
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeTop());
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
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setAccessibleName(tr("Details of the selected runs"));
    scroll->setWidget(details_);
    connect(details_, &KeyValueTable::heightChanged, this, [this] {
        if (detailsArea_ != nullptr)
            shareHeight();
    });
    detailsArea_ = scroll;
    layout->addWidget(scroll);
    layout->addSpacing(sizes().of(8));
    setWidget(content);

    connect(filterField_, &QLineEdit::textChanged, this, [this](const QString& words) {
        // A run that the filter hides stays selected.
        applying_ = true;
        filter_->setWords(words);
        followWorkspace();
    });
    connect(&workspace_, &Workspace::filesChanged, this, &RunDock::followWorkspace);
    connect(&workspace_, &Workspace::selectionChanged, this, &RunDock::followSelection);
    connect(&workspace_, &Workspace::openFailed, this, &RunDock::reveal);
    content->installEventFilter(this);
    setTabOrder(filterField_, tree_);
}

QWidget* RunDock::makeTop()
{
    auto* top = new QFrame;
    top->setProperty("kind", "bar");
    top->setFixedHeight(sizes().tools);
    auto* layout = new QHBoxLayout(top);
    layout->setContentsMargins(sizes().of(10), 0, sizes().of(8), 0);
    auto* heading = new QLabel(tr("Runs"));
    heading->setProperty("kind", "title");
    layout->addWidget(heading);
    layout->addSpacing(sizes().of(12));
    filterField_->setToolTip(
        tr("Keep runs that contain every word (Ctrl+L): status:, workload:, backend:, size:, "
           "precision:, mode:, device:, flags:, tag:, #number, or any text"));
    layout->addWidget(filterField_, 1);
    auto* columns = new MenuButton({});
    columns->setAccessibleName(tr("Columns of the run list"));
    columns->setToolTip(tr("Which columns the list has"));
    connect(columns->menu(), &QMenu::aboutToShow, this,
            [this, columns] { fillColumnMenu(*columns->menu()); });
    columns->setFixedWidth(sizes().of(26));
    layout->addWidget(columns);
    return top;
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
    const bool toldPrecision = !tree_->isColumnHidden(RunTreeModel::Precision);
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
    if (toldPrecision == tree_->isColumnHidden(RunTreeModel::Precision))
        followWorkspace(); // names contain the precision if no column shows it
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
    for (int row = 0; row < filter_->rowCount(); ++row)
        if (const QModelIndex index = filter_->index(row, 0);
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
        const bool number = column == RunTreeModel::Step || column == RunTreeModel::Peak;
        const bool first = column == RunTreeModel::Run;
        list.columns.push_back(
            makeColumn(RunTreeModel::titleOf(column), number ? Kind::Number : Kind::Text, first ? 0 : 76));
    }
    for (int file = 0; file < filter_->rowCount(); ++file) {
        const QModelIndex parent = filter_->index(file, 0);
        for (int at = 0; at < filter_->rowCount(parent); ++at) {
            const QModelIndex run = filter_->index(at, 0, parent);
            TableRow& row = list.rows.emplace_back();
            row.id = std::int64_t(list.rows.size()) - 1;
            row.cells = {makeWords(parent.data().toString()),
                         makeWords(run.data(RunTreeModel::RunNumberRole).toString())};
            for (int column = 0; column < RunTreeModel::ColumnCount; ++column)
                row.cells.push_back(makeWords(run.siblingAtColumn(column).data().toString()));
        }
    }
    return list;
}

void RunDock::focusFilter()
{
    show();
    filterField_->setFocus();
    filterField_->selectAll();
}

// Rows with the letters of the selected runs.
std::vector<RunTreeFile> RunDock::rows() const
{
    std::vector<RunTreeFile> files;
    std::vector<SelectedRun> selected = workspace_.selectedRuns();
    if (selected.size() > kMostLetters)
        selected.clear();
    const bool withPrecision = tree_->isColumnHidden(RunTreeModel::Precision);
    for (const OpenFile& open : workspace_.files()) {
        RunTreeFile file;
        file.id = open.id;
        file.name = open.name();
        file.path = QString::fromStdString(open.file->shown().string());
        file.problem = open.problem;
        file.loading = !open.snapshot;
        const query::FileSnapshot none;
        const query::FileSnapshot& snapshot = open.snapshot ? *open.snapshot : none;
        const RunTitles titles(snapshot);
        for (const query::RunSummary& run : snapshot.runs) {
            file.runs.push_back(rowOf(run, titles, withPrecision));
            for (const SelectedRun& chosen : selected)
                if (chosen.key == RunKey{open.id, run.run})
                    file.runs.back().letter = chosen.letter;
        }
        files.push_back(std::move(file));
    }
    return files;
}

void RunDock::followWorkspace()
{
    applying_ = true;
    model_->setData(rows());
    tree_->expandAll();
    QItemSelection selection;
    for (const RunKey& key : workspace_.selection()) {
        const QModelIndex index = filter_->mapFromSource(model_->indexOf(key.file, key.run.value));
        if (index.isValid())
            selection.select(index, index.siblingAtColumn(RunTreeModel::ColumnCount - 1));
    }
    tree_->selectionModel()->select(selection, QItemSelectionModel::ClearAndSelect);
    if (!selection.isEmpty() && !tree_->currentIndex().isValid())
        tree_->selectionModel()->setCurrentIndex(selection.indexes().front(), QItemSelectionModel::NoUpdate);
    applying_ = false;
    describeSelection();
}

// What another page or a link has selected is scrolled to.
void RunDock::followSelection()
{
    followWorkspace();
    if (choosing_ || workspace_.selection().empty())
        return;
    const RunKey& first = workspace_.selection().front();
    tree_->scrollTo(filter_->mapFromSource(model_->indexOf(first.file, first.run.value)));
}

void RunDock::takeSelection()
{
    if (applying_)
        return;
    std::vector<RunKey> keys;
    for (const QModelIndex& index : tree_->selectionModel()->selectedRows())
        if (index.parent().isValid())
            keys.push_back({index.data(RunTreeModel::FileIdRole).toInt(),
                            RunId{index.data(RunTreeModel::RunNumberRole).toLongLong()}});
    std::sort(keys.begin(), keys.end());
    choosing_ = true;
    workspace_.select(std::move(keys));
    choosing_ = false;
}

void RunDock::describeSelection()
{
    showDetails();
    shareHeight();
}

// Details get the height that the list leaves, at least two fifths; the rest scrolls.
void RunDock::shareHeight()
{
    int rows = 0;
    for (int file = 0; file < filter_->rowCount(); ++file)
        rows += 1 + filter_->rowCount(filter_->index(file, 0));
    const int room = widget()->height() - sizes().tools - sizes().panelHeader - sizes().of(10);
    const int left = room - sizes().header - rows * sizes().row;
    const int height =
        std::clamp(details_->sizeHint().height(), 0, std::max({left, 2 * room / 5, sizes().row}));
    detailsArea_->setMaximumHeight(height);
    // By stretch: a fixed height would set the minimum height of the window.
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
    if (runs.size() == 1) {
        title_->setText(QStringLiteral("%1 %2").arg(runs[0].run->run.value).arg(runs[0].title));
        details_->setRows(rowsOfOne(*runs[0].run));
    } else {
        title_->setText(tr("%1 selected").arg(counted(std::ssize(runs), "run")));
        details_->setRows(runs.size() > kMostBeside ? rowsOfMany(runs) : rowsOfSeveral(runs));
    }
}

// The selected runs if the clicked one is among them, otherwise that one; none for a file's row.
std::vector<RunKey> RunDock::runsAt(const QModelIndex& clicked) const
{
    if (!clicked.parent().isValid())
        return {};
    const RunKey run{clicked.siblingAtColumn(0).data(RunTreeModel::FileIdRole).toInt(),
                     RunId{clicked.siblingAtColumn(0).data(RunTreeModel::RunNumberRole).toLongLong()}};
    const std::vector<RunKey>& selected = workspace_.selection();
    if (std::find(selected.begin(), selected.end(), run) == selected.end())
        return {run};
    return selected;
}

void RunDock::openMenu(const QPoint& at)
{
    const QModelIndex index = tree_->indexAt(at);
    if (!index.isValid())
        return;
    const int file = index.siblingAtColumn(0).data(RunTreeModel::FileIdRole).toInt();
    QMenu menu(this);
    menu.setToolTipsVisible(true);
    if (const std::vector<RunKey> runs = runsAt(index); !runs.empty()) {
        fillRunMenu(menu, workspace_, *edits_, runs);
        menu.addSeparator();
    }
    menu.addAction(tr("Read again"), this, [this, file] { workspace_.refresh(file); });
    menu.addAction(tr("Close file"), this, [this, file] { workspace_.close(file); });
    menu.addSeparator();
    menu.addAction(tr("Copy list as table"), this,
                   [this] { QApplication::clipboard()->setText(tableText(table(), QLatin1Char('\t'))); });
    fillColumnMenu(*menu.addMenu(tr("Columns")));
    menu.exec(tree_->viewport()->mapToGlobal(at));
}

} // namespace tilescope::ui
