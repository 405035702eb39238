#include "ui/waiting/waiting_page.h"

#include "core/base/this_host.h"
#include "core/query/calls/idle_tree.h"
#include "ui/flame/flame_shares.h"
#include "ui/flame/flame_view.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/message_stack.h"
#include "ui/kit/missing_trace.h"
#include "ui/kit/number_text.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_view.h"
#include "ui/kit/view_command.h"
#include "ui/theme/theme.h"
#include "ui/waiting/help_list.h"
#include "ui/waiting/mean_step_bar.h"

#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <set>
#include <utility>

namespace tilescope::ui {

namespace {

using Node = query::CallTree::Node;
using query::CallTree;
using query::WaitingGroup;
using query::WaitingRow;

// In design pixels.
constexpr double kUpper = 440;
constexpr double kLower = 300;
constexpr int kAround = 40; ///< lines of source before and after the selected one

enum Code { OfProgram, OfAny };

/// A widget that scrolls within a panel, on its ground.
QScrollArea* scrolling(QWidget* content)
{
    auto* area = new QScrollArea;
    area->setFrameShape(QFrame::NoFrame);
    area->setWidgetResizable(true);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setFocusPolicy(Qt::NoFocus);
    area->setWidget(content);
    area->viewport()->setAutoFillBackground(false);
    content->setAutoFillBackground(false);
    return area;
}

QSplitter* gapped(Qt::Orientation orientation)
{
    auto* splitter = new QSplitter(orientation);
    splitter->setHandleWidth(sizes().gap);
    splitter->setProperty("kind", "gap");
    splitter->setChildrenCollapsible(false);
    return splitter;
}

std::shared_ptr<const WaitingReading> readingOf(const query::WaitingRecords& records,
                                                const store::RunReader& reader)
{
    return std::make_shared<const WaitingReading>(
        WaitingReading{.causes = query::waitingTable(records, WaitingGroup::Cause),
                       .lines = query::waitingTable(records, WaitingGroup::Line),
                       .innermost = query::waitingTable(records, WaitingGroup::Innermost),
                       .folders = query::sourceFolders(reader, records.run.run)});
}

/// The command that records the program of a run of one process again; empty: it is not known.
QString recordAgain(const store::RunReader& reader, RunId run)
{
    const RunTopology topology = reader.topology(run);
    if (topology.processes.size() != 1 || topology.processes.front().commandLine.empty())
        return {};
    return QStringLiteral("tilescope record -o after.tscope -- ") +
           QString::fromStdString(topology.processes.front().commandLine);
}

} // namespace

WaitingPage::WaitingPage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), stack_(new MessageStack), view_(new FlameView)
{
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    auto* upper = gapped(Qt::Horizontal);
    upper->addWidget(makeStep());
    upper->addWidget(makeStacks());
    upper->addWidget(makeLines());
    upper->setSizes({sizes().of(230), sizes().of(510), sizes().of(480)});
    upper->setStretchFactor(0, 0);
    upper->setStretchFactor(1, 1);
    upper->setStretchFactor(2, 1);
    auto* lower = gapped(Qt::Horizontal);
    lower->addWidget(makeSource());
    lower->addWidget(makeHelp());
    lower->setSizes({sizes().of(780), sizes().of(440)});
    auto* both = gapped(Qt::Vertical);
    both->addWidget(upper);
    both->addWidget(lower);
    both->setSizes({sizes().of(kUpper), sizes().of(kLower)});
    both->setMinimumHeight(sizes().of(kUpper + kLower) * 4 / 5);
    auto* page = new QWidget;
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(sizes().margin, sizes().of(12), sizes().margin, sizes().of(12));
    column->setSpacing(sizes().gap);
    column->addWidget(makeSentence());
    column->addWidget(both, 1);
    QScrollArea* area = scrolling(page);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    stack_->addWidget(area);
    layout->addWidget(stack_, 1);
    setFocusTarget(lines_);
    leadOut(*find_, *lines_);
    connect(view_, &FlameView::selectionChanged, this, &WaitingPage::describeBox);
    connect(view_, &FlameView::zoomChanged, this,
            [this] { whole_->setEnabled(view_->zoomed() != CallTree::kRoot); });
    connect(view_, &FlameView::hovered, this, [this](std::optional<Node> node) {
        emit cursorText(node ? boxTitle(*graph_, *node) + QStringLiteral("  ") + shareText(*graph_, *node)
                             : QString());
    });
}

QWidget* WaitingPage::makeTools()
{
    auto* tools = new ToolBar(this);
    tools->addWord(tr("Step"));
    step_ = new ComboBox(tr("Step"));
    step_->setToolTip(tr("Idle time of this traced step"));
    connect(step_, &QComboBox::activated, this, &WaitingPage::load);
    tools->add(step_);
    tools->addGap();
    tools->addWord(tr("Lines of"));
    code_ = new SegmentedControl({tr("program"), tr("any code")});
    code_->setAccessibleName(tr("Which lines are listed"));
    code_->setToolTip(tr("The innermost lines of the program itself, or also those of libraries"));
    connect(code_, &SegmentedControl::changed, this, &WaitingPage::showLines);
    tools->add(code_);
    tools->addGap();
    invert_ = new QCheckBox(tr("Invert"));
    invert_->setToolTip(tr("Begin with what the host did, with its callers below"));
    connect(invert_, &QCheckBox::toggled, this, &WaitingPage::layOut);
    tools->add(invert_);
    whole_ = tools->addButton(tr("Whole"), tr("Show all stacks again (Home)"));
    connect(whole_, &QPushButton::clicked, this, [this] { view_->zoomTo(CallTree::kRoot); });
    tools->addStretch();
    find_ = makeFindField(tr("Find…"), tr("Find stacks and lines"));
    connect(find_, &QLineEdit::textChanged, this, &WaitingPage::find);
    tools->add(find_);
    connect(tools->addButton(tr("Export…"), tr("Export what the page shows (Ctrl+E)")), &QPushButton::clicked,
            this, &Page::exportWanted);
    return tools;
}

QWidget* WaitingPage::makeSentence()
{
    auto* panel = new QFrame;
    panel->setProperty("kind", "panel");
    auto* row = new QHBoxLayout(panel);
    row->setContentsMargins(sizes().padding, sizes().of(8), sizes().padding, sizes().of(8));
    row->setSpacing(sizes().of(16));
    sentence_ = new SentenceLabel;
    sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    sentence_->setFont(Theme::instance().bold());
    figures_ = new QLabel;
    figures_->setProperty("kind", "dim");
    row->addWidget(sentence_, 1);
    row->addWidget(figures_);
    panel->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    return panel;
}

QWidget* WaitingPage::makeStep()
{
    stepPanel_ = new Panel(tr("Mean step"));
    bar_ = new MeanStepBar;
    stepPanel_->setContent(bar_);
    return stepPanel_;
}

QWidget* WaitingPage::makeStacks()
{
    stacksPanel_ = new Panel(tr("Host stacks while the GPU is idle"));
    view_->setAccessibleName(tr("Host stacks while the GPU is idle"));
    auto* content = new QVBoxLayout;
    content->setContentsMargins(sizes().of(8), sizes().of(6), sizes().of(8), sizes().of(6));
    content->addWidget(scrolling(view_), 1);
    stacksPanel_->setContent(content);
    stacksPanel_->setMinimumWidth(sizes().of(240));
    return stacksPanel_;
}

QWidget* WaitingPage::makeLines()
{
    linesPanel_ = new Panel(tr("Costliest lines"));
    lines_ = new TableView;
    lines_->setAccessibleName(tr("Costliest lines"));
    linesPanel_->setContent(lines_);
    linesPanel_->setMinimumWidth(sizes().of(260));
    connect(lines_, &TableView::chosen, this, [this](std::int64_t id) { showLine(id); });
    return linesPanel_;
}

QWidget* WaitingPage::makeSource()
{
    sourcePanel_ = new Panel(tr("Source"));
    sourceStack_ = new MessageStack;
    source_ = new TableView;
    source_->setAccessibleName(tr("Source of the selected line"));
    sourceStack_->addWidget(source_);
    sourcePanel_->setContent(sourceStack_);
    sourcePanel_->setMinimumWidth(sizes().of(300));
    return sourcePanel_;
}

QWidget* WaitingPage::makeHelp()
{
    auto* panel = new Panel(tr("What would help"));
    panel->setSubtitle(tr("upper bounds"));
    help_ = new HelpList;
    panel->setContent(scrolling(help_));
    panel->setMinimumWidth(sizes().of(240));
    return panel;
}

bool WaitingPage::startFind()
{
    find_->setFocus();
    find_->selectAll();
    return find_->isVisible() && find_->isEnabled();
}

std::optional<std::int32_t> WaitingPage::step() const
{
    return step_->currentIndex() > 0 && !(run_ && run_->span) ? std::optional(step_->currentData().toInt())
                                                              : std::nullopt;
}

QString WaitingPage::command() const
{
    if (!run_)
        return {};
    ViewCommand command(*run_, "waiting");
    if (code_->current() == OfAny)
        command.add("--group", std::string(wordOf(WaitingGroup::Innermost)));
    if (const auto only = step())
        command.add("--step", std::to_string(*only));
    command.add(run_->process);
    return command.text();
}

void WaitingPage::showMessage(const QString& text)
{
    first_.reset();
    other_.reset();
    stack_->showMessage(text);
    for (QWidget* tool : std::initializer_list<QWidget*>{code_, invert_, whole_, find_})
        tool->setEnabled(false);
    emit selectionText({});
}

void WaitingPage::showRuns(const std::vector<SelectedRun>& runs)
{
    const bool isSame = run_ && !runs.empty() && run_->key == runs.front().key;
    run_.reset();
    second_.reset();
    if (!isSame)
        step_->clear();
    if (runs.empty()) {
        for (JobTracker* job : {&loading_, &laying_, &reading_, &advising_})
            job->cancel();
        step_->setEnabled(false);
        return showMessage(
            emptyText(tr("A recorded Python program shows on this page which of its lines the GPU waits "
                         "for.")));
    }
    run_ = runs.front();
    if (runs.size() > 1)
        second_ = runs[1];
    load();
}

void WaitingPage::load()
{
    if (!run_)
        return;
    laying_.cancel();
    reading_.cancel();
    loading_.start(
        [run = *run_, second = second_, step = step()](const query::Cancelled&) {
            Loaded loaded;
            auto session = run.file->borrow();
            const store::RunReader& reader = session->reader();
            const query::WaitingRecords records = query::waitingRecords(
                reader, {.run = run.key.run, .topology = run.process, .step = step, .span = run.span});
            loaded.first = readingOf(records, reader);
            loaded.tree = std::make_shared<const query::CallTreeTable>(query::idleTree(records));
            loaded.again = recordAgain(reader, run.key.run);
            std::set<std::int32_t> steps;
            reader.eachRange({.run = run.key.run}, [&steps](const Range& range) {
                if (range.step != kNoStep)
                    steps.insert(range.step);
                return true;
            });
            loaded.steps.assign(steps.begin(), steps.end());
            if (second) {
                auto other = second->file->borrow();
                loaded.second = readingOf(query::waitingRecords(other->reader(), {.run = second->key.run,
                                                                                  .topology = second->process,
                                                                                  .span = second->span}),
                                          other->reader());
            }
            return loaded;
        },
        [this](Loaded result) { loaded(std::move(result)); },
        [this](const QString& sentence) { showMessage(sentence); });
}

void WaitingPage::loaded(Loaded loaded)
{
    if (step_->count() == 0) {
        step_->addItem(tr("mean of all"));
        for (const std::int32_t each : loaded.steps)
            step_->addItem(tr("step %1").arg(each), each);
    }
    step_->setEnabled(!loaded.steps.empty() && !run_->span);
    const query::WaitingTable& causes = loaded.first->causes;
    if (causes.rows.empty()) {
        if (const QString why = run_ ? whyTraceIsMissing(*run_->run) : QString(); !why.isEmpty())
            return showMessage(why);
        return showMessage(QString::fromStdString(causes.whyEmpty));
    }
    first_ = std::move(loaded.first);
    other_ = std::move(loaded.second);
    tree_ = std::move(loaded.tree);
    again_ = loaded.again;
    for (QWidget* tool : std::initializer_list<QWidget*>{code_, invert_, find_})
        tool->setEnabled(true);
    const auto letter = [](const SelectedRun& run) {
        return run.letter.isEmpty() ? QString() : run.letter + QStringLiteral(": ");
    };
    QString text = letter(*run_) + waitingSentence(causes, first_->lines);
    if (other_ && second_)
        text += QLatin1Char('\n') + letter(*second_) +
                (other_->causes.rows.empty() ? QString::fromStdString(other_->causes.whyEmpty)
                                             : waitingSentence(other_->causes, other_->lines));
    sentence_->setText(text);
    figures_->setText(waitingFigures(causes));
    stepPanel_->setTitle(causes.steps == 1  ? tr("Step")
                         : causes.steps > 0 ? tr("Mean step")
                                            : tr("Recording"));
    stepPanel_->setSubtitle(joinedWords(tr("busy, then idle by cause"), run_->letter));
    bar_->show(stepParts(causes), timeText(causes.perGpuStep(causes.idle + causes.busy)));
    stack_->showContent();
    showLines();
    layOut();
    showHelp();
}

const query::WaitingTable& WaitingPage::shownLines() const
{
    return code_->current() == OfAny ? first_->innermost : first_->lines;
}

void WaitingPage::showLines()
{
    if (!first_)
        return;
    const bool isOfAny = code_->current() == OfAny;
    const query::WaitingTable* second = nullptr;
    if (other_ && !other_->causes.rows.empty())
        second = isOfAny ? &other_->innermost : &other_->lines;
    linesPanel_->setSubtitle(isOfAny ? tr("own time and what it calls in C++")
                                     : tr("of the program, with what it calls in libraries"));
    lines_->show(lineRows(shownLines(), second));
    const auto first =
        std::ranges::find_if(shownLines().rows, [](const WaitingRow& row) { return row.line.has_value(); });
    const bool any = first != shownLines().rows.end();
    const auto id = any ? std::optional<std::int64_t>(first - shownLines().rows.begin()) : std::nullopt;
    lines_->setCurrentId(id);
    showLine(id);
    find();
}

// The source of a line, and the boxes of its function.
void WaitingPage::showLine(std::optional<std::int64_t> id)
{
    reading_.cancel();
    sourcePanel_->setTitle(tr("Source"));
    sourcePanel_->setSubtitle({});
    const std::vector<WaitingRow>& rows = shownLines().rows;
    if (!id || *id < 0 || *id >= std::ssize(rows)) {
        emit selectionText({});
        return saySource(id ? tr("Only the other run has this line.") : tr("No line of code is selected."));
    }
    const WaitingRow& row = rows[std::size_t(*id)];
    emit selectionText(tr("1 line selected, %1 of the idle time, %2")
                           .arg(percentText(row.share), counted(row.samples.value_or(0), "sample")));
    if (!row.line)
        return saySource(tr("This time is not that of a line of code."));
    reading_.start(
        [folders = first_->folders, line = *row.line](const query::Cancelled&) {
            return query::sourceOf(folders,
                                   line.file + "(" + std::to_string(line.firstLine) + "): " + line.function,
                                   hostName());
        },
        [this, row](const query::SourceText& source) { showSource(source, row); },
        [this](const QString& sentence) { saySource(sentence); });
}

void WaitingPage::saySource(const QString& sentence)
{
    sourceStack_->showMessage(sentence);
}

void WaitingPage::showSource(const query::SourceText& source, const WaitingRow& row)
{
    if (!first_)
        return;
    const QString name = QString::fromStdString(row.line->file);
    sourcePanel_->setTitle(name.mid(name.lastIndexOf(QLatin1Char('/')) + 1));
    if (source.lines.empty()) {
        sourcePanel_->setSubtitle({});
        return saySource(QString::fromStdString(source.why));
    }
    sourcePanel_->setSubtitle(
        tr("%1, unchanged since the run").arg(QString::fromStdString(source.file.string())));
    source_->show(sourceRows(source, shownLines(), row, kAround));
    sourceStack_->showContent();
    source_->setCurrentId(row.line->line);
    source_->scrollTo(source_->currentIndex(), QAbstractItemView::PositionAtCenter);
}

void WaitingPage::layOut()
{
    if (!tree_)
        return;
    laying_.start(
        [tree = tree_, inverted = invert_->isChecked()](const query::Cancelled&) {
            return std::make_shared<const query::FlameGraph>(query::flameGraph(*tree, inverted));
        },
        [this](std::shared_ptr<const query::FlameGraph> graph) {
            graph_ = std::move(graph);
            view_->show(graph_);
            whole_->setEnabled(false);
            QString size = counted(std::ssize(graph_->rows), "level");
            if (first_ && first_->causes.gpus.size() < 2) // of several, the boxes are of each
                size = tr("%1 %2, %3")
                           .arg(timeText(first_->causes.perGpuStep(first_->causes.idle)),
                                first_->causes.steps > 0 ? tr("a step") : tr("in all"), size);
            stacksPanel_->setSubtitle(joinedWords(size, run_ ? run_->letter : QString()));
            find();
        },
        [this](const QString& sentence) { showMessage(sentence); });
}

void WaitingPage::find()
{
    const QString text = find_->text().trimmed();
    lines_->filter().setWords(text);
    if (!graph_)
        return;
    view_->setMatches(query::findBoxes(*graph_, text.toStdString()));
}

void WaitingPage::describeBox()
{
    if (!graph_)
        return;
    const Node node = view_->selected();
    emit selectionText(node == CallTree::kRoot
                           ? QString()
                           : tr("%1: %2").arg(boxTitle(*graph_, node), shareText(*graph_, node)));
}

void WaitingPage::showHelp()
{
    help_->say(tr("Reading the trace…"));
    advising_.start(
        [run = *run_](const query::Cancelled& cancelled) {
            auto session = run.file->borrow();
            return std::make_shared<const query::AdviceTable>(
                query::advice(session->reader(), run.key.run, run.process, cancelled));
        },
        [this](const std::shared_ptr<const query::AdviceTable>& advice) { help_->show(*advice, again_); },
        [this](const QString& sentence) { help_->say(sentence); });
}

} // namespace tilescope::ui
