#include "ui/flame/flame_page.h"

#include "core/query/memory/memory_difference.h"
#include "ui/flame/flame_view.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/missing_trace.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"

#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace tilescope::ui {

namespace {

using Node = query::CallTree::Node;
using query::CallKind;
using query::CallTree;

constexpr std::int64_t kMostShares = 1000; ///< rows of the table

QString kindWord(CallKind kind)
{
    switch (kind) {
    case CallKind::Process:
        return FlamePage::tr("process");
    case CallKind::Frame:
        return FlamePage::tr("Python frame");
    case CallKind::Module:
        return FlamePage::tr("module");
    case CallKind::Op:
        return FlamePage::tr("op");
    case CallKind::Kernel:
        return FlamePage::tr("kernel");
    case CallKind::Copy:
        return FlamePage::tr("copy");
    case CallKind::Memset:
        return FlamePage::tr("memset");
    }
    return {};
}

} // namespace

FlamePage::FlamePage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), stack_(new QStackedWidget), message_(makeMessage()), view_(new FlameView)
{
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    auto* area = new QScrollArea;
    area->setFrameShape(QFrame::NoFrame);
    area->setWidgetResizable(true);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setFocusPolicy(Qt::NoFocus);
    area->setWidget(view_);
    auto* graph = new QFrame;
    graph->setProperty("kind", "panel");
    auto* inner = new QVBoxLayout(graph);
    inner->setContentsMargins(sizes().padding, sizes().of(4), sizes().padding, sizes().of(8));
    inner->setSpacing(sizes().of(4));
    inner->addWidget(makeTrail());
    inner->addWidget(area, 1);
    auto* below = new QSplitter(Qt::Horizontal);
    below->addWidget(makeShares());
    below->addWidget(makeDetails());
    below->setSizes({sizes().of(640), sizes().of(360)});
    auto* content = new QSplitter(Qt::Vertical);
    content->addWidget(graph);
    content->addWidget(below);
    content->setSizes({sizes().of(460), sizes().of(340)});
    for (QSplitter* splitter : {below, content}) {
        splitter->setHandleWidth(sizes().gap);
        splitter->setProperty("kind", "gap");
        splitter->setChildrenCollapsible(false);
    }
    auto* margins = new QVBoxLayout;
    margins->setContentsMargins(sizes().margin, sizes().of(12), sizes().margin, sizes().of(12));
    margins->addWidget(content);
    auto* page = new QWidget;
    page->setLayout(margins);
    stack_->addWidget(message_);
    stack_->addWidget(page);
    layout->addWidget(stack_, 1);
    setFocusProxy(view_);
    leadOut(*find_, *view_);
    connect(view_, &FlameView::selectionChanged, this, &FlamePage::showSelection);
    connect(view_, &FlameView::zoomChanged, this, [this] {
        showTrail();
        showSelection();
    });
    connect(view_, &FlameView::hovered, this, [this](std::optional<Node> node) {
        emit cursorText(node ? titleOf(*node) + QStringLiteral("  ") + shareText(*graph_, *node) : QString());
    });
}

QWidget* FlamePage::makeTools()
{
    auto* tools = new ToolBar;
    party_ = new ComboBox(tr("Process or GPU"));
    party_->hide();
    connect(party_, &QComboBox::activated, this, &FlamePage::load);
    tools->add(party_);
    invert_ = new QCheckBox(tr("Invert"));
    invert_->setToolTip(tr("Begin with what took the time, with its callers below"));
    connect(invert_, &QCheckBox::toggled, this, &FlamePage::layOut);
    tools->add(invert_);
    whole_ = tools->addButton(tr("Whole"), tr("Show everything again (Home)"));
    connect(whole_, &QPushButton::clicked, this, [this] { view_->zoomTo(CallTree::kRoot); });
    tools->addStretch();
    find_ = makeFindField(tr("Find…"), tr("Find boxes"));
    connect(find_, &QLineEdit::textChanged, this, &FlamePage::find);
    tools->add(find_);
    return tools;
}

QWidget* FlamePage::makeTrail()
{
    auto* row = new QWidget;
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    trail_ = new ElidedLabel;
    trail_->setTextFormat(Qt::PlainText);
    found_ = new QLabel;
    found_->setTextFormat(Qt::PlainText);
    layout->addWidget(trail_, 1);
    layout->addWidget(found_);
    row->setFixedHeight(sizes().of(26));
    return row;
}

QWidget* FlamePage::makeShares()
{
    sharesPanel_ = new Panel({});
    shares_ = new TableView;
    shares_->setAccessibleName(tr("What took the time"));
    connect(shares_, &TableView::activatedRow, this, &FlamePage::openShare);
    sharesPanel_->setContent(shares_);
    return sharesPanel_;
}

QWidget* FlamePage::makeDetails()
{
    detailsPanel_ = new Panel(tr("Box"));
    openKernels_ = detailsPanel_->addLink(tr("Kernels"));
    connect(openKernels_, &QPushButton::clicked, this, &FlamePage::openKernels);
    auto* content = new QVBoxLayout;
    content->setContentsMargins(sizes().padding, sizes().of(6), sizes().padding, sizes().of(6));
    details_ = new KeyValueTable;
    details_->setAccessibleName(tr("Selected box"));
    content->addWidget(details_);
    content->addStretch(1);
    detailsPanel_->setContent(content);
    return detailsPanel_;
}

bool FlamePage::startFind()
{
    find_->setFocus();
    find_->selectAll();
    return find_->isVisible() && find_->isEnabled();
}

void FlamePage::showMessage(const QString& text)
{
    message_->setText(text);
    stack_->setCurrentWidget(message_);
    for (QWidget* tool : std::initializer_list<QWidget*>{invert_, whole_, find_})
        tool->setEnabled(false);
    emit selectionText({});
}

void FlamePage::showRuns(const std::vector<SelectedRun>& runs)
{
    run_.reset();
    parties_.clear();
    party_->clear();
    party_->hide();
    ofSeveral_ = runs.size() > 1;
    if (runs.empty()) {
        loading_.cancel();
        laying_.cancel();
        return showMessage(
            emptyText(tr("The time of a traced run appears on this page by module, op and kernel.")));
    }
    run_ = runs.front();
    load();
}

void FlamePage::load()
{
    if (!run_)
        return;
    laying_.cancel();
    const int chosen = party_->currentIndex() - 1;
    const query::PartyQuery party = chosen < 0 ? query::PartyQuery{} : parties_.at(std::size_t(chosen)).query;
    loading_.start(
        [run = *run_, party](const query::Cancelled&) {
            auto session = run.file->borrow();
            return Loaded{std::make_shared<const query::CallTreeTable>(
                              query::callTree(session->reader(), {.run = run.key.run, .parties = party})),
                          query::partyChoices({session->reader().parties(run.key.run), {}})};
        },
        [this](Loaded result) { loaded(std::move(result)); },
        [this](const QString& sentence) { showMessage(sentence); });
}

void FlamePage::loaded(Loaded loaded)
{
    table_ = std::move(loaded.table);
    if (party_->count() == 0 && !loaded.parties.empty()) {
        parties_ = std::move(loaded.parties);
        const query::PartyChoice& first = parties_.front();
        party_->addItem(first.device       ? tr("all GPUs")
                        : first.query.rank ? tr("all ranks")
                                           : tr("all processes"));
        for (const query::PartyChoice& choice : parties_)
            party_->addItem(QString::fromStdString(choice.title));
        party_->show();
    }
    layOut();
}

void FlamePage::layOut()
{
    if (!table_)
        return;
    laying_.start(
        [table = table_, inverted = invert_->isChecked()](const query::Cancelled&) {
            return std::make_shared<const query::FlameGraph>(query::flameGraph(*table, inverted));
        },
        [this](std::shared_ptr<const query::FlameGraph> graph) {
            graph_ = std::move(graph);
            if (const QString why = run_ ? whyTraceIsMissing(*run_->run) : QString();
                graph_->rows.empty() && !why.isEmpty())
                return showMessage(why);
            if (graph_->rows.empty())
                return showMessage(
                    run_ && run_->run->workload == query::kSnapshotWorkload
                        ? tr("A memory snapshot has no kernels.\nThe Memory page shows its contents.")
                        : tr("No kernel and no op was traced here.\nGive the run trace: kernels, and "
                             "trace_steps above 0."));
            view_->show(graph_);
            stack_->setCurrentIndex(1);
            invert_->setEnabled(true);
            find_->setEnabled(true);
            find();
        },
        [this](const QString& sentence) { showMessage(sentence); });
}

void FlamePage::find()
{
    if (!graph_)
        return;
    const QString text = find_->text().trimmed();
    query::FlameMatches matches = query::findBoxes(*graph_, text.toStdString());
    const double share = double(matches.ns) / double(std::max<std::int64_t>(1, graph_->width()));
    found_->setText(text.isEmpty()       ? QString()
                    : matches.boxes == 0 ? tr("no box has “%1” in its name").arg(text)
                                         : tr("%1: %2, %3")
                                               .arg(counted(matches.boxes, "box", "boxes"),
                                                    timeText(double(matches.ns)), percentText(share)));
    found_->setToolTip(tr("The time of a box inside another one that was found counts once."));
    view_->setMatches(std::move(matches));
}

Node FlamePage::shown() const
{
    return view_->selected() != CallTree::kRoot ? view_->selected() : view_->zoomed();
}

QString FlamePage::titleOf(Node node) const
{
    return node == CallTree::kRoot ? tr("Whole run") : QString::fromStdString(graph_->labelOf(node));
}

// The run, and the boxes around the one that has the whole width.
void FlamePage::showTrail()
{
    if (!graph_ || !run_)
        return;
    QStringList words;
    for (Node node = view_->zoomed(); node != CallTree::kRoot;
         node = graph_->table.tree.entries()[node].parent)
        words.prepend(titleOf(node));
    QString name = run_->source();
    if (ofSeveral_)
        name = run_->letter + QLatin1Char(' ') + name;
    words.prepend(name);
    const QString time = graph_->table.onGpu ? tr("GPU time") : tr("self time of ops");
    const QString part = graph_->table.whole ? tr("whole recording") : tr("traced steps");
    trail_->setText(
        words.join(QStringLiteral(" › ")) +
        QStringLiteral("   %1 %2, %3").arg(timeText(double(graph_->sums.ns[view_->zoomed()])), time, part));
    trail_->setToolTip(trail_->text());
    whole_->setEnabled(view_->zoomed() != CallTree::kRoot);
}

void FlamePage::showSelection()
{
    if (!graph_ || graph_->rows.empty())
        return;
    const Node node = shown();
    const std::int64_t whole = std::max<std::int64_t>(1, graph_->width());
    const std::int64_t of = std::max<std::int64_t>(1, graph_->sums.ns[node]);
    rows_ = query::sharesOf(*graph_, node);
    if (std::ssize(rows_) > kMostShares)
        rows_.resize(kMostShares);
    const std::int64_t most = rows_.empty() ? 1 : std::max<std::int64_t>(1, rows_.front().ns);
    const Unit unit = timeUnit(double(most));
    const bool onGpu = graph_->table.onGpu;
    const QString first = graph_->isInverted ? tr("Caller") : onGpu ? tr("Kernel") : tr("Op");
    const CallTree& tree = graph_->table.tree;
    using Kind = TableColumn::Kind;
    TableMaker<query::FlameShare> maker;
    maker
        .add(makeColumn(first, Kind::Text, 0),
             [&](const query::FlameShare& row) {
                 return makeWords(titleOf(row.node), QString::fromStdString(tree.nameOf(row.node)));
             })
        .swatch = true;
    maker.add(makeColumn(tr("Count"), Kind::Number, 60),
              [](const query::FlameShare& row) { return makeCount(double(row.count)); });
    maker.add(makeColumn(titleIn(tr("Time"), unit), Kind::Number, 76),
              [&](const query::FlameShare& row) { return makeNumber(double(row.ns), unit, exactTime); });
    maker.add(makeColumn({}, Kind::Bar, 110),
              [&](const query::FlameShare& row) { return makeBar(double(row.ns), double(most)); });
    static constexpr Unit kPercent{"%", 1};
    maker.add(makeColumn(tr("Of the box, %"), Kind::Number, 86), [&](const query::FlameShare& row) {
        return makeNumber(100.0 * double(row.ns) / double(of), kPercent);
    });
    maker.add(makeColumn(tr("Of all, %"), Kind::Number, 70), [&](const query::FlameShare& row) {
        return makeNumber(100.0 * double(row.ns) / double(whole), kPercent);
    });
    shares_->show(maker.table(
        rows_, [&](const query::FlameShare& row) { return Swatch::of(graph_->boxOf(row.node).hue); }));
    const QString what = graph_->isInverted ? tr("Callers") : onGpu ? tr("Kernels") : tr("Ops");
    sharesPanel_->setTitle(node == CallTree::kRoot ? what : tr("%1 of %2").arg(what, titleOf(node)));
    sharesPanel_->setSubtitle(tr("the most time first"));
    showDetails(node);
}

void FlamePage::showDetails(Node node)
{
    const CallTree& tree = graph_->table.tree;
    const query::CallTree::Sums& sums = graph_->sums;
    std::vector<KeyValueRow> rows;
    const auto add = [&rows](const QString& key, const QString& value) { rows.push_back({key, {value}}); };
    const auto shareOf = [&](Node of) {
        return percentText(double(sums.ns[node]) / double(std::max<std::int64_t>(1, sums.ns[of])));
    };
    const bool isBox = node != CallTree::kRoot;
    if (isBox) {
        add(tr("kind"), kindWord(tree.entries()[node].kind));
        const QString name = QString::fromStdString(tree.nameOf(node));
        if (name != titleOf(node))
            add(tr("name"), name);
        if (const QString path = QString::fromStdString(graph_->modulePath(node)); !path.isEmpty())
            add(tr("module"), path);
    }
    add(tr("time"), timeText(double(sums.ns[node])));
    if (isBox) {
        add(tr("of all"), shareOf(CallTree::kRoot));
        if (tree.entries()[node].parent != CallTree::kRoot)
            add(tr("of the box around it"), shareOf(tree.entries()[node].parent));
        add(tr("in it directly"), timeText(double(tree.entries()[node].ns)));
    }
    add(graph_->table.onGpu ? tr("GPU activities") : tr("ops"), wholeNumber(sums.count[node]));
    if (!isBox) {
        add(graph_->table.onGpu ? tr("different kernels") : tr("different ops"),
            wholeNumber(std::ssize(rows_)));
        add(tr("boxes"), wholeNumber(std::ssize(tree.entries()) - 1));
        add(tr("levels"), wholeNumber(std::ssize(graph_->rows)));
    }
    details_->setRows(std::move(rows), true);
    detailsPanel_->setTitle(titleOf(node));
    detailsPanel_->setToolTip(isBox ? QString::fromStdString(tree.nameOf(node)) : QString());
    const CallKind kind = isBox ? tree.entries()[node].kind : CallKind::Process;
    openKernels_->setVisible(isBox && (kind == CallKind::Module || kind == CallKind::Kernel));
    emit selectionText(isBox ? tr("%1: %2").arg(titleOf(node), shareText(*graph_, node)) : QString());
}

// A row of the table: the widest box of that name in the selected one.
void FlamePage::openShare(std::int64_t row)
{
    if (row < 0 || row >= std::ssize(rows_))
        return;
    view_->select(rows_[std::size_t(row)].node);
    view_->setFocus();
}

void FlamePage::openKernels()
{
    const Node node = shown();
    if (!graph_ || node == CallTree::kRoot)
        return;
    const bool isKernel = graph_->table.tree.entries()[node].kind == CallKind::Kernel;
    emit workspace().targetWanted(
        QStringLiteral("kernels"),
        {isKernel ? PageTarget::Kind::Kernel : PageTarget::Kind::Range,
         QString::fromStdString(isKernel ? graph_->table.tree.nameOf(node) : graph_->modulePath(node))});
}

} // namespace tilescope::ui
