#include "ui/pages/run_dock.h"

#include "core/model/text.h"
#include "ui/pages/controls.h"
#include "ui/pages/key_value_table.h"
#include "ui/pages/run_delegate.h"
#include "ui/plots/number_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QAction>
#include <QFrame>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>

namespace tilescope::ui {

namespace {

QString text(std::string_view view)
{
    return QString::fromUtf8(view.data(), qsizetype(view.size()));
}

RunTreeRow rowOf(const query::RunSummary& run, const RunTitles& titles)
{
    RunTreeRow row;
    row.run = run.run.value;
    row.title = titles.of(run, false);
    row.status = run.result.status;
    row.reason = QString::fromStdString(run.result.reason);
    row.workload = QString::fromStdString(run.workload);
    row.backend = text(run.param("backend"));
    row.precision = text(run.param("precision"));
    row.size = text(run.param("size"));
    row.mode = text(run.param("mode"));
    row.device = QString::fromStdString(run.result.device);
    if (run.step)
        row.stepMs = run.step->mean;
    if (run.result.peakAllocated)
        row.peakMiB = double(run.result.peakAllocated->count) / (1024.0 * 1024);
    for (const std::string& flag : run.result.flags)
        row.flags << QString::fromStdString(flag);
    return row;
}

// The keys that say what a run did, before those that seldom matter.
constexpr const char* kKeys[] = {"workload", "size",   "backend", "precision", "batch",  "context",
                                 "heads",    "d_head", "seq_len", "mode",      "causal", "warmup",
                                 "steps",    "trace",  "compile", "seed"};

QString measuredStep(const query::RunSummary& run)
{
    if (!run.step)
        return run.result.status == RunStatus::Oom ? QStringLiteral("OOM") : notMeasured();
    return timeText(run.step->mean * 1e6);
}

QString stepWithSpread(const query::RunSummary& run)
{
    if (!run.step || !run.step->standardDeviation)
        return measuredStep(run);
    const Unit unit = timeUnit(run.step->mean * 1e6);
    return QStringLiteral("%1 ± %2").arg(
               threeDigits(run.step->mean * 1e6 / unit.size),
               withUnit(threeDigits(*run.step->standardDeviation * 1e6 / unit.size), unit.word)) +
           QStringLiteral(" (%1)").arg(run.step->n);
}

QString peakOf(const query::RunSummary& run)
{
    return run.result.peakAllocated ? byteText(double(run.result.peakAllocated->count)) : notMeasured();
}

std::vector<KeyValueRow> rowsOfOne(const query::RunSummary& run)
{
    std::vector<KeyValueRow> rows;
    for (const char* key : kKeys) {
        const QString value =
            key == std::string_view("workload") ? QString::fromStdString(run.workload) : text(run.param(key));
        if (!value.isEmpty())
            rows.push_back({QString::fromLatin1(key), {value}});
    }
    rows.push_back({QStringLiteral("device"), {QString::fromStdString(run.result.device)}});
    rows.push_back({QStringLiteral("step"), {stepWithSpread(run)}, false, true});
    rows.push_back({QStringLiteral("peak"), {peakOf(run)}, false, true});
    const std::string_view word = wordOf(run.result.status);
    rows.push_back({QStringLiteral("status"), {text(word)}});
    if (!run.result.reason.empty())
        rows.push_back({QStringLiteral("reason"), {QString::fromStdString(run.result.reason)}});
    return rows;
}

// Of several runs: what differs, run beside run, then what they share.
std::vector<KeyValueRow> rowsOfSeveral(const std::vector<SelectedRun>& runs)
{
    constexpr std::size_t kColumns = 2;
    KeyValueRow heading{QStringLiteral("Differs"), {}, true};
    for (std::size_t i = 0; i < std::min(kColumns, runs.size()); ++i)
        heading.values << QStringLiteral("%1 %2").arg(runs[i].run->run.value).arg(runs[i].title);
    std::vector<KeyValueRow> rows{heading};
    std::vector<KeyValueRow> same;
    for (const char* key : kKeys) {
        QStringList values;
        bool differs = false;
        for (const SelectedRun& run : runs) {
            const QString value = key == std::string_view("workload")
                                      ? QString::fromStdString(run.run->workload)
                                      : text(run.run->param(key));
            differs = differs || (!values.isEmpty() && values.front() != value);
            values << value;
        }
        if (differs)
            rows.push_back({QString::fromLatin1(key), values.mid(0, kColumns), false, true});
        else if (!values.front().isEmpty())
            same.push_back({QString::fromLatin1(key), {values.front()}});
    }
    QStringList steps;
    QStringList peaks;
    for (std::size_t i = 0; i < std::min(kColumns, runs.size()); ++i) {
        steps << measuredStep(*runs[i].run);
        peaks << peakOf(*runs[i].run);
    }
    rows.push_back({QStringLiteral("step"), steps, false, true});
    rows.push_back({QStringLiteral("peak"), peaks, false, true});
    rows.push_back({QStringLiteral("Same"), {}, true});
    rows.insert(rows.end(), same.begin(), same.end());
    return rows;
}

} // namespace

RunDock::RunDock(Workspace& workspace, QWidget* parent)
    : QDockWidget(tr("Runs"), parent), workspace_(workspace), model_(new RunTreeModel(this)),
      filter_(new RunTreeFilter(this)),
      filterField_(makeFindField(tr("status:ok backend:…"), tr("Filter runs"))), tree_(new RunTreeView),
      title_(new QLabel), details_(new KeyValueTable)
{
    setObjectName(QStringLiteral("runs"));
    setFeatures(QDockWidget::DockWidgetClosable | QDockWidget::DockWidgetMovable);
    setTitleBarWidget(new QWidget); // our own header stands in for it
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
    tree_->setColumnHidden(RunTreeModel::Flags, true);
    QHeaderView* header = tree_->header();
    header->setStretchLastSection(false);
    header->setSectionResizeMode(RunTreeModel::Run, QHeaderView::Stretch);
    for (const int column : {RunTreeModel::Precision, RunTreeModel::Step, RunTreeModel::Peak})
        header->setSectionResizeMode(column, QHeaderView::Fixed);
    header->resizeSection(RunTreeModel::Precision, sizes().of(44));
    header->resizeSection(RunTreeModel::Step, sizes().of(62));
    header->resizeSection(RunTreeModel::Peak, sizes().of(68));
    header->setFixedHeight(sizes().header);

    auto* content = new QFrame;
    content->setAutoFillBackground(true);
    content->setBackgroundRole(QPalette::Base);
    content->setMinimumWidth(sizes().of(240));
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    auto* top = new QFrame;
    top->setProperty("kind", "bar");
    top->setFixedHeight(sizes().tools);
    auto* topLayout = new QHBoxLayout(top);
    topLayout->setContentsMargins(sizes().of(10), 0, sizes().of(8), 0);
    auto* heading = new QLabel(tr("Runs"));
    heading->setProperty("kind", "title");
    topLayout->addWidget(heading);
    topLayout->addSpacing(sizes().of(12));
    topLayout->addWidget(filterField_, 1);
    layout->addWidget(top);
    layout->addWidget(tree_, 1);
    title_->setProperty("kind", "title");
    title_->setFixedHeight(sizes().panelHeader);
    title_->setContentsMargins(sizes().of(10), 0, 0, 0);
    auto* rule = new QFrame;
    rule->setProperty("kind", "rule");
    rule->setFixedHeight(1);
    layout->addWidget(rule);
    layout->addWidget(title_);
    layout->addWidget(details_);
    layout->addSpacing(sizes().of(8));
    setWidget(content);

    connect(filterField_, &QLineEdit::textChanged, this, [this](const QString& words) {
        // A run that the filter hides stays selected: pages go on showing it, and it is marked when it is
        // back.
        applying_ = true;
        filter_->setWords(words);
        followWorkspace();
    });
    connect(&workspace_, &Workspace::filesChanged, this, &RunDock::followWorkspace);
    connect(&workspace_, &Workspace::selectionChanged, this, &RunDock::followWorkspace);
    connect(tree_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &RunDock::takeSelection);
    connect(tree_, &QTreeView::clicked, this, [this](const QModelIndex& index) {
        if (!index.parent().isValid())
            tree_->setExpanded(index.siblingAtColumn(0), !tree_->isExpanded(index.siblingAtColumn(0)));
    });
    connect(tree_, &QWidget::customContextMenuRequested, this, &RunDock::openMenu);
    describeSelection();
}

void RunDock::focusFilter()
{
    filterField_->setFocus();
    filterField_->selectAll();
}

// Rows with the letters of the selected runs.
std::vector<RunTreeFile> RunDock::rows() const
{
    std::vector<RunTreeFile> files;
    const std::vector<SelectedRun> selected = workspace_.selectedRuns();
    for (const OpenFile& open : workspace_.files()) {
        RunTreeFile file;
        file.id = open.id;
        file.name = open.name();
        file.path = QString::fromStdString(open.file->path().string());
        file.problem = open.problem;
        file.loading = !open.snapshot;
        const query::FileSnapshot none;
        const query::FileSnapshot& snapshot = open.snapshot ? *open.snapshot : none;
        const RunTitles titles(snapshot);
        for (const query::RunSummary& run : snapshot.runs) {
            file.runs.push_back(rowOf(run, titles));
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
    workspace_.select(std::move(keys));
}

void RunDock::describeSelection()
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
        title_->setText(tr("%1 runs selected").arg(runs.size()));
        details_->setRows(rowsOfSeveral(runs));
    }
}

void RunDock::openMenu(const QPoint& at)
{
    const QModelIndex index = tree_->indexAt(at);
    if (!index.isValid())
        return;
    const int file = index.siblingAtColumn(0).data(RunTreeModel::FileIdRole).toInt();
    QMenu menu(this);
    menu.addAction(tr("Read again"), this, [this, file] { workspace_.refresh(file); });
    menu.addAction(tr("Close file"), this, [this, file] { workspace_.close(file); });
    menu.exec(tree_->viewport()->mapToGlobal(at));
}

} // namespace tilescope::ui
