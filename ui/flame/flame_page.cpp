#include "ui/flame/flame_page.h"

#include "core/exchange/calls/call_columns.h"
#include "core/query/calls/call_tree_filter.h"
#include "core/query/memory/memory_difference.h"
#include "ui/flame/flame_callees.h"
#include "ui/flame/flame_filter_line.h"
#include "ui/flame/flame_shares.h"
#include "ui/flame/flame_view.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/device_box.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/message_stack.h"
#include "ui/kit/missing_trace.h"
#include "ui/kit/number_text.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/table_view.h"
#include "ui/kit/view_command.h"
#include "ui/kit/view_history.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QScrollArea>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tilescope::ui {

namespace {

using Node = query::CallTree::Node;
using query::CallKind;
using query::CallTree;
using query::CallWeight;

constexpr std::int64_t kMostShares = 1000; ///< rows of the table

// Large trees take long to destroy.
template <class Value> void releaseInBackground(std::shared_ptr<const Value> value)
{
    if (value)
        startOnPool(backgroundPool(), [value = std::move(value)]() mutable { value.reset(); });
}

// A name within a menu: short, and no key.
QString menuText(const QString& name)
{
    constexpr int kMost = 48;
    QString text = name.size() <= kMost ? name : name.left(kMost - 1) + QChar(0x2026);
    return text.replace(QLatin1Char('&'), QStringLiteral("&&"));
}

double shareOf(std::int64_t part, std::int64_t whole)
{
    return whole > 0 ? double(part) / double(whole) : 0;
}

// The threads of the process that the page shows.
std::vector<query::ThreadChoice> threadsOf(const store::RunReader& reader, const SelectedRun& run)
{
    std::vector<query::ThreadChoice> threads = query::threadChoices(reader, run.key.run);
    const query::ProcessFilter chosen(reader, run.key.run, run.process);
    std::erase_if(threads, [&](const query::ThreadChoice& thread) { return !chosen.has(thread.thread); });
    return threads;
}

query::CallTreeRow rowOf(const query::FlameGraph& graph, Node node)
{
    const CallTree::Entry& entry = graph.table.tree.entries()[node];
    query::CallTreeRow row;
    row.kind = entry.kind;
    row.self = entry.amount;
    row.total = graph.sums.amount[node];
    row.percent = 100 * graph.shareOfAll(row.total);
    return row;
}

} // namespace

FlamePage::FlamePage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), stack_(new MessageStack), view_(new FlameView)
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
    filterLine_ = new FlameFilterLine;
    filterLine_->hide();
    connect(filterLine_, &FlameFilterLine::filtersWanted, this, &FlamePage::setFilters);
    inner->addWidget(filterLine_);
    inner->addWidget(area, 1);
    callees_ = new FlameCallees;
    callees_->hide();
    connect(callees_, &FlameCallees::hovered, this, &Page::cursorText);
    inner->addWidget(callees_, 1);
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
    stack_->addWidget(page);
    layout->addWidget(stack_, 1);
    setFocusTarget(view_);
    leadOut(*find_, *view_);
    connect(view_, &FlameView::menuWanted, this, &FlamePage::openMenu);
    connect(view_, &FlameView::selectionChanged, this, &FlamePage::showSelection);
    connect(view_, &FlameView::zoomChanged, this, [this] {
        showTrail();
        showSelection();
    });
    connect(view_, &FlameView::hovered, this, [this](std::optional<Node> node) {
        emit cursorText(node ? boxTitle(*graph_, *node) + QStringLiteral("  ") + shareText(*graph_, *node)
                             : QString());
    });
}

QWidget* FlamePage::makeTools()
{
    auto* tools = new ToolBar(this);
    device_ = new DeviceBox(tr("GPU of the graph"));
    connect(device_, &QComboBox::activated, this, &FlamePage::load);
    tools->add(device_);
    weight_ = new ComboBox(tr("Width of the boxes"));
    for (const auto& [weight, words] :
         {std::pair(CallWeight::Time, tr("time")), std::pair(CallWeight::Host, tr("host time")),
          std::pair(CallWeight::Allocated, tr("allocated bytes")), std::pair(CallWeight::Flops, tr("FLOPs")),
          std::pair(CallWeight::Moved, tr("bytes moved")), std::pair(CallWeight::Idle, tr("idle time")),
          std::pair(CallWeight::Samples, tr("samples"))})
        weight_->addItem(words, int(weight));
    connect(weight_, &QComboBox::activated, this, &FlamePage::load);
    tools->add(weight_);
    threadBox_ = new ComboBox(tr("Thread of the graph"));
    threadBox_->setToolTip(tr("Only what this thread launched, or ran on the host"));
    threadBox_->hide();
    connect(threadBox_, &QComboBox::activated, this, &FlamePage::load);
    tools->add(threadBox_);
    invert_ = new QCheckBox(tr("Invert"));
    invert_->setToolTip(tr("Begin with what took the time, with its callers below"));
    // The trees of two runs are inverted before they are joined.
    connect(invert_, &QCheckBox::toggled, this, [this] { isOfTwo() ? load() : layOut(); });
    tools->add(invert_);
    compare_ = new QCheckBox(tr("A and B"));
    compare_->setToolTip(tr("Colour the boxes of both selected runs by what changed from A to B"));
    compare_->hide();
    connect(compare_, &QCheckBox::toggled, this, &FlamePage::load);
    tools->add(compare_);
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
    connect(openKernels_, &QPushButton::clicked, this, [this] { openKernels(false); });
    openRoofline_ = detailsPanel_->addLink(tr("Roofline"));
    connect(openRoofline_, &QPushButton::clicked, this, [this] { openKernels(true); });
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

QString FlamePage::command() const
{
    if (!run_)
        return {};
    ViewCommand command(isOfTwo() ? *second_ : *run_, "tree");
    if (const auto weight = CallWeight(weight_->currentData().toInt()); weight != CallWeight::Time)
        command.add("--weight", std::string(wordOf(weight)));
    if (invert_->isChecked())
        command.add("--invert");
    if (const auto only = thread())
        command.add("--thread", std::to_string(*only));
    for (const query::CallFilter& filter : filters_)
        command.add("--filter", std::string(wordOf(filter.kind)) + "=" + filter.name);
    if (isOfTwo())
        command.add("--against", run_->file->path().string() + ":" + std::to_string(run_->key.run.value));
    command.add(chosen());
    return command.text();
}

query::ProcessQuery FlamePage::chosen() const
{
    if (const query::ProcessChoice* device = device_->chosen())
        return device->query;
    return run_ ? run_->process : query::ProcessQuery{};
}

// A run of two has threads of its own; idle time and memory are of all threads.
std::optional<std::int64_t> FlamePage::thread() const
{
    const auto weight = CallWeight(weight_->currentData().toInt());
    const bool isOfThreads = weight != CallWeight::Idle && weight != CallWeight::Allocated;
    return !isOfTwo() && isOfThreads && threadBox_->currentIndex() > 0
               ? std::optional(threadBox_->currentData().toLongLong())
               : std::nullopt;
}

// Those of the chosen process. Keeps the choice while it is one of them.
void FlamePage::fillThreads(const std::vector<query::ThreadChoice>& threads)
{
    const QVariant before = threadBox_->currentData();
    threadBox_->clear();
    threadBox_->addItem(tr("all threads"));
    for (const query::ThreadChoice& choice : threads)
        threadBox_->addItem(QString::fromStdString(choice.title), qlonglong(choice.number));
    threadBox_->setCurrentIndex(before.isValid() ? std::max(0, threadBox_->findData(before)) : 0);
    const auto weight = CallWeight(weight_->currentData().toInt());
    threadBox_->setVisible(threads.size() > 1 && !isOfTwo());
    threadBox_->setEnabled(weight != CallWeight::Idle && weight != CallWeight::Allocated);
}

QString FlamePage::chosenWords() const
{
    if (thread())
        return threadBox_->currentText();
    if (const query::ProcessChoice* device = device_->chosen())
        return QString::fromStdString(device->title);
    if (!run_)
        return {};
    const QString first = run_->sumWords();
    const QString second = isOfTwo() ? second_->sumWords() : first;
    return first == second ? first : joinedWords(first, second);
}

void FlamePage::showMessage(const QString& text)
{
    stack_->showMessage(text);
    for (QWidget* tool : std::initializer_list<QWidget*>{invert_, whole_, find_})
        tool->setEnabled(false);
    emit selectionText({});
}

bool FlamePage::isOfTwo() const
{
    return second_ && compare_->isChecked();
}

void FlamePage::showRuns(const std::vector<SelectedRun>& runs)
{
    if (runs.empty() || !run_ || run_->key != runs.front().key || run_->process != runs.front().process)
        threadBox_->clear(); // it has other threads
    run_.reset();
    second_.reset();
    device_->forget();
    compare_->setVisible(runs.size() > 1);
    if (runs.empty() || !filtered_ || *filtered_ != runs.front().key) {
        filters_.clear();
        filtered_ = runs.empty() ? nullptr : std::make_shared<const RunKey>(runs.front().key);
    }
    if (runs.empty()) {
        loading_.cancel();
        laying_.cancel();
        return showMessage(
            emptyText(tr("The time of a traced run appears on this page by module, op and kernel.")));
    }
    run_ = runs.front();
    if (runs.size() > 1)
        second_ = runs[1];
    if (second_ && second_->process != run_->process) // only one of them has it
        run_->process = second_->process = {};
    load();
}

void FlamePage::load()
{
    if (!run_)
        return;
    laying_.cancel();
    const std::optional<SelectedRun> second = isOfTwo() ? second_ : std::nullopt;
    // The tree of one run is filtered when it is laid out.
    const query::CallTreeOptions options{.weight = query::CallWeight(weight_->currentData().toInt()),
                                         .span = run_->span,
                                         .filters = second ? filters_ : std::vector<query::CallFilter>(),
                                         .thread = thread()};
    loading_.start(
        [run = *run_, second, chosen = chosen(), options,
         isInverted = invert_->isChecked()](const query::Cancelled& cancelled) {
            auto session = run.file->borrow();
            Loaded loaded{.table = {},
                          .difference = {},
                          .devices = query::deviceChoices(session->reader().topology(run.key.run)),
                          .threads = threadsOf(session->reader(), run)};
            const query::EventQuery ofRun{.run = run.key.run, .topology = chosen};
            if (second) {
                auto other = second->file->borrow();
                loaded.difference = std::make_shared<const query::CallTreeDifference>(
                    query::callTreeDifference(session->reader(), ofRun, other->reader(),
                                              {.run = second->key.run, .topology = chosen}, options,
                                              isInverted, second->span, cancelled));
            } else {
                loaded.table = std::make_shared<const query::CallTreeTable>(
                    query::callTree(session->reader(), ofRun, options, cancelled));
            }
            return loaded;
        },
        [this](Loaded result) { loaded(std::move(result)); },
        [this](const QString& sentence) { showMessage(sentence); });
}

void FlamePage::loaded(Loaded loaded)
{
    releaseInBackground(std::exchange(table_, std::move(loaded.table)));
    releaseInBackground(std::exchange(difference_, std::move(loaded.difference)));
    device_->setDevices(std::move(loaded.devices));
    fillThreads(loaded.threads);
    layOut();
}

void FlamePage::layOut()
{
    if (!table_ && !difference_)
        return;
    laying_.start(
        [table = table_, difference = difference_, inverted = invert_->isChecked(),
         filters = filters_](const query::Cancelled&) {
            using Kind = query::CallFilter::Kind;
            LaidOut made{.graph = std::make_shared<const query::FlameGraph>(
                             difference ? query::flameGraph(difference, inverted, filters)
                                        : query::flameGraph(*table, inverted, filters)),
                         .callees = {}};
            if (!difference && !filters.empty() && filters.back().kind == Kind::Callers) {
                std::vector<query::CallFilter> others = filters;
                others.back().kind = Kind::Callees;
                made.callees =
                    std::make_shared<const query::FlameGraph>(query::flameGraph(*table, false, others));
            }
            return made;
        },
        [this](LaidOut made) {
            callees_->show(made.callees, filters_.empty() ? std::string() : filters_.back().name);
            std::shared_ptr<const query::FlameGraph> before = std::exchange(graph_, std::move(made.graph));
            view_->show(graph_);
            releaseInBackground(std::move(before));
            showFilters();
            if (const QString why = run_ ? whyTraceIsMissing(*run_->run) : QString();
                graph_->rows.empty() && !why.isEmpty())
                return showMessage(why);
            const bool isFiltered = graph_->rows.empty() && !filters_.empty();
            if (graph_->rows.empty() && graph_->table.span && !isFiltered)
                return showMessage(tr("Nothing was recorded within the time filter."));
            if (graph_->rows.empty() && !isFiltered)
                return showMessage(whyNothing());
            stack_->showContent();
            invert_->setEnabled(true);
            find_->setEnabled(true);
            find();
        },
        [this](const QString& sentence) { showMessage(sentence); });
}

QString FlamePage::whyNothing() const
{
    const auto remedy = [this](MissingPart part) { return run_ ? remedyFor(part, *run_->run) : QString(); };
    switch (graph_->table.weight) {
    case CallWeight::Allocated:
        return tr("No allocation was recorded here.\n") + remedy(MissingPart::Memory);
    case CallWeight::Flops:
    case CallWeight::Moved:
        return tr("No shapes of ops were recorded here.\n") + remedy(MissingPart::Shapes);
    case CallWeight::Idle:
    case CallWeight::Samples:
        return QString::fromStdString(graph_->table.whyEmpty);
    default:
        break;
    }
    return run_ && run_->run->traits().isMemoryOnly
               ? tr("A memory snapshot has no kernels.\nSelect allocated bytes above; the Memory page shows "
                    "its contents.")
               : tr("No kernel and no op was traced here.\n") + remedy(MissingPart::Work);
}

// "GPU time, traced steps", behind the amount
QString FlamePage::whatIsShown() const
{
    const query::CallTreeTable& table = graph_->table;
    // The amount is in samples.
    const QString what = !graph_->difference && table.weight == CallWeight::Samples
                             ? tr("of instructions")
                             : QString::fromStdString(exchange::amountsOf(table).name);
    return joinedWords(what + QStringLiteral(", ") +
                           ((graph_->difference && graph_->difference->isPerStep()) || table.steps > 0
                                ? tr("mean traced step")
                            : table.span  ? spanText(*table.span)
                            : table.whole ? tr("whole recording")
                                          : tr("traced steps")),
                       chosenWords());
}

void FlamePage::find()
{
    if (!graph_)
        return;
    const QString text = find_->text().trimmed();
    if (text.isEmpty()) {
        finding_.cancel();
        found_->clear();
        return view_->setMatches({});
    }
    const auto show = [this, wanted = text, graph = graph_](query::FlameMatches matches) {
        if (graph != graph_)
            return;
        const auto wordsOf = [this](std::int64_t value) { return amountText(graph_->table, double(value)); };
        const QString amount = graph_->difference
                                   ? tr("A %1, B %2").arg(wordsOf(matches.a), wordsOf(matches.b))
                                   : wordsOf(matches.amount);
        const QString ofAll =
            graph_->difference ? tr("%1 of A, %2 of B")
                                     .arg(percentText(shareOf(matches.a, graph_->difference->totalA.front())),
                                          percentText(shareOf(matches.b, graph_->difference->totalB.front())))
                               : percentText(graph_->shareOfAll(matches.amount));
        found_->setText(matches.boxes == 0
                            ? tr("no box has “%1” in its name").arg(wanted)
                            : tr("%1: %2, %3").arg(counted(matches.boxes, "box", "boxes"), amount, ofAll));
        found_->setToolTip(tr("The time of a box inside another one that was found counts once."));
        view_->setMatches(std::move(matches));
    };
    finding_.start([graph = graph_, text = text.toStdString()](
                       const query::Cancelled&) { return query::findBoxes(*graph, text); },
                   show, [this](const QString& sentence) { showMessage(sentence); });
}

Node FlamePage::shown() const
{
    return view_->selected() != CallTree::kRoot ? view_->selected() : view_->zoomed();
}

// The run, and the ancestors of the box that fills the width.
void FlamePage::showTrail()
{
    if (!graph_ || !run_)
        return;
    QStringList words;
    for (Node node = view_->zoomed(); node != CallTree::kRoot;
         node = graph_->table.tree.entries()[node].parent)
        words.prepend(boxTitle(*graph_, node));
    QString name = run_->source();
    if (second_)
        name = run_->letter + QLatin1Char(' ') + name;
    if (graph_->difference && second_)
        name += QStringLiteral(" → ") + second_->letter + QLatin1Char(' ') + second_->source();
    words.prepend(name);
    const Node node = view_->zoomed();
    trail_->setText(words.join(QStringLiteral(" › ")) + QStringLiteral("   ") +
                    (graph_->difference ? shareText(*graph_, node)
                                        : amountText(graph_->table, double(graph_->sums.amount[node]))) +
                    QLatin1Char(' ') + whatIsShown());
    trail_->setToolTip(trail_->text());
    whole_->setEnabled(view_->zoomed() != CallTree::kRoot);
}

void FlamePage::showSelection()
{
    if (!graph_)
        return;
    const Node node = shown();
    sharing_.start([graph = graph_, node](const query::Cancelled&) { return query::sharesOf(*graph, node); },
                   [this, node, graph = graph_](std::vector<query::FlameShare> rows) {
                       if (graph == graph_)
                           showShares(node, std::move(rows));
                   },
                   [this](const QString& sentence) { showMessage(sentence); });
    different_.reset();
    showDetails(node);
}

void FlamePage::showShares(Node node, std::vector<query::FlameShare> rows)
{
    rows_ = std::move(rows);
    different_ = std::ssize(rows_);
    if (std::ssize(rows_) > kMostShares)
        rows_.resize(kMostShares);
    const QString several = endWords(*graph_).second;
    shares_->show(sharesTable(*graph_, node, rows_));
    sharesPanel_->setTitle(node == CallTree::kRoot ? several
                                                   : tr("%1 of %2").arg(several, boxTitle(*graph_, node)));
    sharesPanel_->setSubtitle(joinedWords(tr("the largest first"), chosenWords()));
    showDetails(node);
}

void FlamePage::showDetails(Node node)
{
    const CallTree& tree = graph_->table.tree;
    const query::CallTreeRow row = rowOf(*graph_, node);
    const exchange::CallColumns of(graph_->table);
    std::vector<KeyValueRow> rows;
    const auto add = [&rows](const QString& key, const QString& value) { rows.push_back({key, {value}}); };
    const auto addOf = [&add](const exchange::CallColumns::Of& column, const QString& value) {
        add(QString::fromStdString(column.about.title), value);
    };
    const bool isBox = node != CallTree::kRoot;
    if (isBox) {
        addOf(of.kind, QString::fromUtf8(query::wordOf(row.kind)));
        const QString name = QString::fromStdString(tree.nameOf(node));
        if (name != boxTitle(*graph_, node))
            add(tr("name"), name);
        if (const QString path = QString::fromStdString(graph_->modulePath(node)); !path.isEmpty())
            add(tr("module"), path);
    }
    if (graph_->difference) {
        const auto& difference = *graph_->difference;
        const auto side = [&](const QString& name, const std::vector<std::int64_t>& totals) {
            QString words = amountText(graph_->table, double(totals[node]));
            if (isBox)
                words = joinedWords(
                    words, tr("%1 of %2").arg(percentText(shareOf(totals[node], totals.front())), name));
            add(name, words);
        };
        side(QStringLiteral("A"), difference.totalA);
        side(QStringLiteral("B"), difference.totalB);
        const std::int64_t more = difference.totalB[node] - difference.totalA[node];
        add(tr("B − A"), (more > 0   ? QStringLiteral("+")
                          : more < 0 ? QString(QChar(0x2212))
                                     : QString()) +
                             amountText(graph_->table, double(std::abs(more))));
    } else {
        addOf(of.total, amountText(graph_->table, double(row.total)));
    }
    if (isBox && !graph_->difference) {
        addOf(of.percent, percentText(row.percent / 100));
        if (const Node parent = tree.entries()[node].parent; parent != CallTree::kRoot)
            add(tr("of the box around it"),
                percentText(double(row.total) / double(graph_->sums.amount[parent])));
        addOf(of.self, amountText(graph_->table, double(row.self)));
    }
    addOf(of.count, countText(*graph_, node));
    if (!isBox) {
        add(tr("different %1").arg(endWords(*graph_).second.toLower()),
            different_ ? wholeNumber(*different_) : tr("being counted…"));
        add(tr("boxes"), wholeNumber(std::ssize(tree.entries()) - 1));
        add(tr("levels"), wholeNumber(std::ssize(graph_->rows)));
    }
    details_->setRows(std::move(rows), true);
    detailsPanel_->setTitle(boxTitle(*graph_, node));
    detailsPanel_->setToolTip(isBox ? QString::fromStdString(tree.nameOf(node)) : QString());
    openKernels_->setVisible(targetOf(node, false).has_value());
    openRoofline_->setVisible(targetOf(node, true).has_value());
    emit selectionText(isBox ? tr("%1: %2").arg(boxTitle(*graph_, node), shareText(*graph_, node))
                             : QString());
}

void FlamePage::setFilters(std::vector<query::CallFilter> filters)
{
    if (filters == filters_ || !run_)
        return;
    const std::vector<query::CallFilter> before = std::exchange(filters_, std::move(filters));
    ViewHistory::note(*this, {.name = tr("filter"),
                              .undo = [this, before] { setFilters(before); },
                              .redo = [this, after = filters_] { setFilters(after); },
                              .of = filtered_});
    isOfTwo() ? load() : layOut();
}

void FlamePage::addFilter(query::CallFilter::Kind kind, Node node)
{
    std::vector<query::CallFilter> filters = filters_;
    query::CallFilter filter{kind, graph_->table.tree.nameOf(node)};
    if (std::ranges::find(filters, filter) == filters.end())
        filters.push_back(std::move(filter));
    setFilters(std::move(filters));
}

// The part that filters hide. Together with the boxes, it is the whole.
void FlamePage::showFilters()
{
    const auto part = [this](double hidden, double shown) {
        const double whole = hidden + shown;
        return tr("%1 of %2, %3")
            .arg(amountText(graph_->table, hidden), amountText(graph_->table, whole),
                 percentText(whole > 0 ? hidden / whole : 0));
    };
    QString hidden;
    if (graph_->difference) {
        const query::CallTreeDifference& both = *graph_->difference;
        hidden = tr("hides A %1; B %2")
                     .arg(part(double(both.hiddenA.amount), double(both.totalA.front())),
                          part(double(both.hiddenB.amount), double(both.totalB.front())));
    } else {
        hidden = tr("hides %1").arg(part(double(graph_->table.hidden.amount), double(graph_->width())));
    }
    filterLine_->show(filters_, hidden);
}

void FlamePage::openMenu(Node node, QPoint at)
{
    using Kind = query::CallFilter::Kind;
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    if (node != CallTree::kRoot) {
        const QString name = menuText(boxTitle(*graph_, node));
        for (const auto& [kind, words] :
             {std::pair(Kind::KeepOnly, tr("Keep only %1")), std::pair(Kind::Hide, tr("Hide %1")),
              std::pair(Kind::Callers, tr("Callers and callees of %1"))})
            menu->addAction(words.arg(name), this, [this, kind = kind, node] { addFilter(kind, node); });
        menu->addSeparator();
        menu->addAction(tr("Zoom to it"), this, [this, node] { view_->zoomTo(node); });
        menu->addAction(tr("Find all of this name"), this,
                        [this, node] { find_->setText(boxTitle(*graph_, node)); });
        if (targetOf(node, false))
            menu->addAction(tr("Show on the Kernels page"), this, [this] { openKernels(false); });
        if (targetOf(node, true))
            menu->addAction(tr("Show on the roofline"), this, [this] { openKernels(true); });
        menu->addAction(tr("Copy its name"), this, [this, node] {
            QApplication::clipboard()->setText(QString::fromStdString(graph_->table.tree.nameOf(node)));
        });
        menu->addSeparator();
    }
    if (!filters_.empty())
        menu->addAction(tr("Clear the filters"), this, [this] { setFilters({}); });
    menu->addAction(tr("Show everything"), this, [this] { view_->zoomTo(CallTree::kRoot); });
    menu->popup(at);
}

// A row of the table: the widest box of that name in the selected one.
void FlamePage::openShare(std::int64_t row)
{
    if (row < 0 || row >= std::ssize(rows_))
        return;
    view_->select(rows_[std::size_t(row)].node);
    view_->setFocus();
}

// Where the Kernels page has the call of a box. An op is on its roofline only, by shapes.
std::optional<PageTarget> FlamePage::targetOf(Node node, bool roofline) const
{
    if (!graph_ || node == CallTree::kRoot)
        return {};
    const QString name = QString::fromStdString(graph_->table.tree.nameOf(node));
    switch (graph_->table.tree.entries()[node].kind) {
    case CallKind::Kernel:
        return PageTarget{PageTarget::Kind::Kernel, name, roofline};
    case CallKind::Module:
        return PageTarget{PageTarget::Kind::Range, QString::fromStdString(graph_->modulePath(node)),
                          roofline};
    case CallKind::Op:
        if (roofline)
            return PageTarget{PageTarget::Kind::Op, name, roofline};
        break;
    default:
        break;
    }
    return {};
}

void FlamePage::openKernels(bool roofline)
{
    if (const std::optional<PageTarget> target = targetOf(shown(), roofline))
        emit workspace().targetWanted(QStringLiteral("kernels"), *target);
}

} // namespace tilescope::ui
