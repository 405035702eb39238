#include "ui/overview/overview_page.h"

#include "core/query/compare/compare_tables.h"
#include "core/query/memory/memory_difference.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/layouts.h"
#include "ui/kit/message_stack.h"
#include "ui/kit/missing_trace.h"
#include "ui/kit/number_text.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_view.h"
#include "ui/kit/view_command.h"
#include "ui/overview/advice_panel.h"
#include "ui/overview/flag_list.h"
#include "ui/overview/generation_figures.h"
#include "ui/overview/generation_panel.h"
#include "ui/overview/key_figure_card.h"
#include "ui/overview/oom_panel.h"
#include "ui/overview/overview_machine.h"
#include "ui/overview/overview_missing.h"
#include "ui/overview/overview_tables.h"
#include "ui/overview/step_bar_plot.h"
#include "ui/overview/step_times_panel.h"
#include "ui/overview/study_panel.h"
#include "ui/theme/theme.h"

#include <QDateTime>
#include <QGridLayout>
#include <QLabel>
#include <QLocale>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr std::size_t kFigures = 6;
constexpr int kListRows = 11; // families and their sum
constexpr double kListRow = 22;
constexpr int kMostRunRows = 8; // before the list of runs scrolls

// Of the whole recording or its part in the time filter, as the Timeline counts it; none without a GPU.
std::optional<query::BusyShare> busyOfAll(const query::FileSession& session, const SelectedRun& run,
                                          const std::string& process, const query::Cancelled& cancelled)
{
    if (session.reader().counts(run.key.run).deviceEvents == 0)
        return {};
    const std::shared_ptr<const query::Timeline> timeline = session.timeline(run.key.run, cancelled);
    if (!timeline)
        return {};
    query::Stretch stretch{0, timeline->length};
    if (run.span)
        stretch = {run.span->from.count(), std::min(run.span->to.count(), timeline->length)};
    ProcessIndex of;
    for (const auto& [index, title] : timeline->processes)
        if (title == process)
            of = index;
    return query::busyShare(*timeline, stretch, of);
}

// Reads both runs and how their step times compare, as the Compare page does.
OverviewData read(const std::vector<SelectedRun>& runs, bool whole, const query::Cancelled& cancelled)
{
    OverviewData data;
    for (const SelectedRun& run : runs) {
        auto session = run.file->borrow();
        query::RunOverview overview =
            whole ? query::runOverview(session->reader(), run.key.run, cancelled, run.span, run.process)
                  : query::runBasics(session->reader(), run.key.run, run.process);
        overview.span = run.span;
        OverviewRun shown{.letter = run.letter,
                          .title = run.title,
                          .snapshot = run.snapshot,
                          .summary = run.run,
                          .data = std::make_shared<const query::RunOverview>(std::move(overview))};
        if (whole && !shown.data->step && run.run->traits().coversRecording)
            shown.wholeBusy = busyOfAll(*session.operator->(), run, shown.data->processWords, cancelled);
        data.runs.push_back(std::move(shown));
    }
    if (runs.size() == 2 && !isLimited(runs) && !cancelled()) {
        auto a = runs[0].file->borrow();
        auto b = runs[1].file->borrow();
        data.stepDifference = query::compareSteps(a->reader(), runs[0].key.run, b->reader(), runs[1].key.run);
    }
    return data;
}

// After this time, what has been read so far is shown.
constexpr int kTimeoutMs = 150;

std::vector<SelectedRun> firstTwo(const std::vector<SelectedRun>& runs)
{
    return {runs.begin(), runs.begin() + std::min<std::ptrdiff_t>(2, std::ssize(runs))};
}

// Keeps the traces of the same runs until they are read again.
void keepTrace(OverviewData& overview, const OverviewData& before)
{
    for (std::size_t i = 0; i < std::min(overview.runs.size(), before.runs.size()); ++i) {
        if (overview.runs[i].summary->uid != before.runs[i].summary->uid ||
            overview.runs[i].data->span != before.runs[i].data->span ||
            overview.runs[i].data->process != before.runs[i].data->process)
            continue;
        query::RunOverview merged = *before.runs[i].data;
        const query::RunOverview& now = *overview.runs[i].data;
        merged.run = now.run;
        merged.losses = now.losses;
        merged.environment = now.environment;
        merged.drift = now.drift;
        overview.runs[i].data = std::make_shared<const query::RunOverview>(std::move(merged));
        overview.runs[i].wholeBusy = before.runs[i].wholeBusy;
    }
}

bool isWithoutTrace(const OverviewData& overview)
{
    return std::ranges::all_of(overview.runs, [](const OverviewRun& run) {
        const bool isToCome = run.summary->result.status == RunStatus::Running && wantsTrace(*run.summary);
        return run.data->isWhole && !run.data->step && !run.data->live && !isToCome &&
               !run.summary->traits().coversRecording;
    });
}

} // namespace

OverviewPage::OverviewPage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), stack_(new MessageStack)
{
    makePlainColumn(this)->addWidget(stack_);
    soon_.setSingleShot(true);
    connect(&workspace, &Workspace::filesChanged, this, [this] {
        if (!described_.empty())
            describeRuns();
    });
}

// Builds from the outside in: Qt styles a widget and its children again whenever it gets a new parent.
void OverviewPage::makeShown()
{
    if (shown_ != nullptr)
        return;
    shown_ = new QWidget(stack_);
    stack_->addWidget(shown_);
    auto* layout = newLayout<QVBoxLayout>(shown_, 0, 0);
    layout->addWidget(makeHeader());
    auto* scroll = new QScrollArea;
    layout->addWidget(scroll, 1);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setAccessibleName(tr("Overview of the selected runs"));
    auto* content = new QWidget;
    scroll->setWidget(content);
    makeContent(*content);
}

void OverviewPage::setStart(std::function<QWidget*(QWidget* parent)> make)
{
    makeStart_ = std::move(make);
}

bool OverviewPage::showStart()
{
    if (!makeStart_ || !workspace().files().empty())
        return false;
    if (start_ == nullptr) {
        start_ = makeStart_(stack_);
        stack_->addWidget(start_);
    }
    stack_->setCurrentWidget(start_);
    return true;
}

QString OverviewPage::command() const
{
    const std::vector<SelectedRun> runs = firstTwo(workspace().selectedRuns());
    return isLimited(runs) ? commandOfEach(runs, "steps") : compareCommand(runs);
}

QString OverviewPage::timeFilterWords() const
{
    return tr("Steps, families, ranges and the peak are of this; medians of timed steps, throughput and "
              "advice are of "
              "whole runs and hidden.");
}

QWidget* OverviewPage::makeHeader()
{
    auto* bar = new QFrame;
    bar->setProperty("kind", "bar");
    bar->setFixedHeight(sizes().of(48));
    auto* layout = new QHBoxLayout(bar);
    layout->setContentsMargins(sizes().margin, 0, sizes().margin, 0);
    layout->setSpacing(sizes().of(10));
    title_ = new TitleLabel; // the name of a file may be long
    title_->setFont(Theme::instance().large());
    title_->setMaximumWidth(sizes().of(420));
    subtitle_ = new ElidedLabel; // names of runs may be long
    machineLine_ = new ElidedLabel;
    machineLine_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    layout->addWidget(title_);
    layout->addWidget(subtitle_, 1);
    layout->addWidget(machineLine_, 1);
    return bar;
}

void OverviewPage::makeContent(QWidget& content)
{
    auto* layout = new QVBoxLayout(&content);
    const int gap = sizes().of(12);
    layout->setContentsMargins(sizes().margin, gap, sizes().margin, gap);
    layout->setSpacing(gap);
    studies_ = new StudyPanel(workspace());
    layout->addWidget(studies_);
    cardGrid_ = new QGridLayout;
    cardGrid_->setSpacing(sizes().gap);
    layout->addLayout(cardGrid_);
    for (std::size_t i = 0; i < kFigures; ++i) {
        cards_.push_back(new KeyFigureCard);
        connect(cards_.back(), &KeyFigureCard::pageWanted, &workspace(), &Workspace::pageWanted);
    }
    layCards();

    stepPanel_ = new Panel(tr("Where the step goes"));
    bars_ = new StepBarPlot;
    stepPanel_->setContent(bars_);
    connect(bars_, &StepBarPlot::partChosen, this, [this](const StepPart& part) {
        const bool family = part.hue.isFamily();
        if (family)
            lead(QStringLiteral("kernels"), {PageTarget::Kind::Family, part.label});
        else
            lead(QStringLiteral("timeline"), {});
    });
    layout->addWidget(makeRuns());
    oomPanel_ = new OomPanel(workspace());
    connect(oomPanel_, &OomPanel::figuresReady, this, &OverviewPage::showCards);
    layout->addWidget(oomPanel_);
    stepTimes_ = new StepTimesPanel;
    layout->addWidget(stepTimes_);
    iterations_ = new GenerationPanel;
    connect(iterations_->addLink(tr("Timeline")), &QPushButton::clicked, this,
            [this] { lead(QStringLiteral("timeline"), {}); });
    layout->addWidget(iterations_);
    layout->addWidget(stepPanel_);
    advicePanel_ = new AdvicePanel;
    connect(advicePanel_, &AdvicePanel::targetWanted, &workspace(), &Workspace::targetWanted);
    layout->addWidget(advicePanel_);
    lists_ = new QWidget;
    layout->addWidget(lists_, 1);
    fillLists();

    auto* bottom = new QHBoxLayout;
    bottom->setSpacing(sizes().gap);
    layout->addLayout(bottom);
    flagPanel_ = new Panel(tr("Flags and losses"));
    flags_ = new FlagList;
    connect(flags_, &FlagList::pageWanted, &workspace(), &Workspace::pageWanted);
    auto* flagLayout = new QVBoxLayout;
    flagLayout->setContentsMargins(0, 0, 0, 0);
    flagLayout->addWidget(flags_);
    flagLayout->addStretch(1);
    flagPanel_->setContent(flagLayout);
    auto* machinePanel = new Panel(tr("Machine"));
    connect(machinePanel->addLink(tr("Machine")), &QPushButton::clicked, this,
            [this] { emit workspace().pageWanted(QStringLiteral("machine")); });
    machine_ = new KeyValueTable;
    machine_->setAccessibleName(tr("Machine of the selected runs"));
    machinePanel->setContent(machine_);
    bottom->addWidget(flagPanel_, 11);
    bottom->addWidget(machinePanel, 5);
}

void OverviewPage::lead(const QString& page, const PageTarget& target)
{
    emit workspace().targetWanted(page, target);
}

// All of the selected runs, if they are more than the rest of the page shows.
QWidget* OverviewPage::makeRuns()
{
    runPanel_ = new Panel(tr("Runs"));
    runPanel_->setSubtitle(tr("all selected runs; the rest of this page shows A and B"));
    connect(runPanel_->addLink(tr("Charts")), &QPushButton::clicked, this,
            [this] { lead(QStringLiteral("charts"), {}); });
    runPanel_->hide();
    return runPanel_;
}

void OverviewPage::makeRunTable()
{
    runs_ = new TableView;
    runPanel_->setContent(runs_);
    runs_->setAccessibleName(tr("Selected runs"));
    connect(runs_, &TableView::activatedRow, this, [this](std::int64_t row) {
        const std::vector<RunKey>& selected = workspace().selection();
        if (std::size_t(row) < selected.size())
            workspace().select({selected[std::size_t(row)]});
    });
}

Panel* OverviewPage::addList(const QString& title, int stretch, TableView*& table, const QString& page,
                             PageTarget (*targetOf)(const TableRow& row))
{
    auto* panel = new Panel(title);
    static_cast<QHBoxLayout*>(lists_->layout())->addWidget(panel, stretch);
    QString word = page;
    word[0] = word[0].toUpper();
    connect(panel->addLink(word), &QPushButton::clicked, this, [this, page] { lead(page, {}); });
    table = new TableView;
    table->setAccessibleName(title);
    table->setRowHeight(kListRow);
    table->setMinimumHeight(sizes().header + kListRows * sizes().of(kListRow) + 2);
    table->setToolTip(tr("Enter or double click opens the %1 page").arg(word));
    connect(table, &TableView::chosen, this,
            [this, word] { emit selectionText(tr("Enter opens it on the %1 page").arg(word)); });
    connect(table, &TableView::activatedRow, this, [this, page, targetOf, view = table](std::int64_t id) {
        for (const TableRow& row : view->table().rows)
            if (row.id == id && row.selectable)
                lead(page, targetOf(row));
    });
    SentenceLabel* nothing = makeMessage();
    nothing->setContentsMargins(sizes().padding, 0, sizes().padding, 0);
    nothing->setMinimumHeight(table->minimumHeight());
    nothing->hide();
    nothing_[table] = nothing;
    QVBoxLayout* content = makePlainColumn(nullptr);
    panel->setContent(content);
    content->addWidget(table, 1);
    content->addWidget(nothing, 1);
    return panel;
}

void OverviewPage::showList(TableView& table, TableData rows, const QString& otherwise)
{
    const bool any = !rows.rows.empty();
    nothing_[&table]->setText(otherwise);
    nothing_[&table]->setVisible(!any);
    table.setVisible(any);
    table.show(std::move(rows));
}

void OverviewPage::fillLists()
{
    newLayout<QHBoxLayout>(lists_, 0, sizes().gap);
    familyPanel_ =
        addList(tr("Kernel families"), 10, families_, QStringLiteral("kernels"), [](const TableRow& row) {
            return PageTarget{PageTarget::Kind::Family, row.cells[0].text};
        });
    rangePanel_ = addList(tr("Ranges"), 11, ranges_, QStringLiteral("timeline"), [](const TableRow& row) {
        return PageTarget{PageTarget::Kind::Range, QStringLiteral("step/") + row.cells[0].text};
    });
    allocationPanel_ = addList(
        tr("Largest allocations"), 10, allocations_, QStringLiteral("memory"), [](const TableRow& row) {
            return PageTarget{PageTarget::Kind::Range,
                              row.cells[0].text + QLatin1Char('\n') + row.swatch.category};
        });
}

// One row of cards if they fit, otherwise two of equal length.
void OverviewPage::layCards()
{
    constexpr int kCardWidth = 168; // design pixels
    const auto shown = int(std::ranges::count_if(cards_, [](const auto* card) { return !card->isHidden(); }));
    const int columns = std::max(1, shown * sizes().of(kCardWidth) <= width() ? shown : (shown + 1) / 2);
    for (int i = 0; i < int(kFigures); ++i)
        cardGrid_->addWidget(cards_[std::size_t(i)], i / columns, i % columns);
}

void OverviewPage::showCards(const std::vector<KeyFigure>& figures)
{
    for (std::size_t i = 0; i < kFigures; ++i) {
        cards_[i]->setVisible(i < figures.size());
        if (i < figures.size())
            cards_[i]->show(figures[i]);
    }
    layCards();
}

void OverviewPage::resizeEvent(QResizeEvent* event)
{
    Page::resizeEvent(event);
    if (shown_ != nullptr)
        layCards();
}

void OverviewPage::showRuns(const std::vector<SelectedRun>& runs)
{
    described_.clear();
    if (runs.empty()) {
        loading_.cancel();
        basics_.cancel();
        soon_.stop();
        isLoading_ = false;
        if (!showStart())
            stack_->showMessage(emptyText(tr("The key numbers of a run, or of two, appear on this page.")));
        return;
    }
    isLoading_ = true;
    makeShown();
    advicePanel_->expect();
    showBasics(runs, kTimeoutMs);
    loading_.start(
        [shown = firstTwo(runs)](const query::Cancelled& cancelled) { return read(shown, true, cancelled); },
        [this, runs](const OverviewData& overview) {
            isLoading_ = false;
            basics_.cancel();
            soon_.stop();
            whole_ = overview;
            loaded(runs, overview);
            // Last: it reads all events, and what the page shows must not wait for that.
            if (!isLimited(runs))
                advicePanel_->showRuns(runs);
        },
        [this](const QString& sentence) {
            isLoading_ = false;
            basics_.cancel();
            soon_.stop();
            stack_->showMessage(sentence);
        });
}

// Figures that need no events are shown if the rest takes longer.
void OverviewPage::showBasics(const std::vector<SelectedRun>& runs, int delayMs)
{
    soon_.stop();
    basics_.start(
        [shown = firstTwo(runs)](const query::Cancelled& cancelled) { return read(shown, false, cancelled); },
        [this, runs, delayMs](OverviewData overview) {
            keepTrace(overview, whole_);
            soon_.disconnect();
            connect(&soon_, &QTimer::timeout, this, [this, runs, overview] { loaded(runs, overview); });
            soon_.start(delayMs);
        },
        [this](const QString& sentence) { stack_->showMessage(sentence); });
}

// Samples are read while the run is written, the trace when it has ended.
bool OverviewPage::showGrown(const std::vector<SelectedRun>& runs)
{
    if (!isLoading_)
        showBasics(runs, 0);
    return true;
}

void OverviewPage::describeRuns()
{
    const std::vector<SelectedRun>& runs = described_;
    title_->setText(QString::fromUtf8(runs.front().file->shown().filename().string()));
    if (runs.size() == 1)
        subtitle_->setText(tr("%1: run %2, %3 in the file")
                               .arg(runs[0].title, QString::number(runs[0].key.run.value),
                                    counted(countInFile(runs[0]), "run")));
    else
        subtitle_->setText(runs.size() == 2
                               ? tr("A %1, B %2").arg(runs[0].title, runs[1].title)
                               : tr("%3, of which A %1 and B %2 are compared")
                                     .arg(runs[0].title, runs[1].title, counted(std::ssize(runs), "run")));
}

void OverviewPage::describe(const std::vector<SelectedRun>& runs, const OverviewData& overview)
{
    described_ = runs;
    describeRuns();
    const query::RunOverview& first = *overview.runs.front().data;
    QStringList words;
    const std::string_view gpu = first.run.result.device.starts_with("cuda") ? first.fact("gpu.0.name") : "";
    const QString traced = gpusOf(first.topology);
    words << (traced.isEmpty() ? QString::fromUtf8(gpu.empty() ? first.fact("cpu.model") : gpu) : traced);
    if (!first.fact("libtorch").empty())
        words << tr("PyTorch %1").arg(QString::fromUtf8(first.fact("libtorch")));
    if (first.run.startedUnixNs != 0) {
        const QDateTime started = QDateTime::fromMSecsSinceEpoch(first.run.startedUnixNs / 1'000'000);
        words << tr("recorded %1").arg(QLocale::c().toString(started, QStringLiteral("d MMM yyyy HH:mm")));
    }
    words.removeAll(QString());
    machineLine_->setText(words.join(QStringLiteral(", ")));
}

// The file may have gained or lost runs since the run was selected.
std::int64_t OverviewPage::countInFile(const SelectedRun& run) const
{
    const OpenFile* file = workspace().find(run.key.file);
    return std::ssize(file != nullptr && file->snapshot ? file->snapshot->runs : run.snapshot->runs);
}

QString OverviewPage::processSentence() const
{
    return tr("Cards, steps, families, ranges, advice and the peak are of this; medians of timed steps and "
              "throughput are of the run.");
}

void OverviewPage::showSelected(const std::vector<SelectedRun>& runs)
{
    runPanel_->setVisible(runs.size() > 2);
    if (runs.size() <= 2)
        return;
    if (runs_ == nullptr)
        makeRunTable();
    std::vector<NamedRun> named;
    for (const SelectedRun& run : runs)
        named.push_back({run.letter, run.title, run.run});
    runs_->show(runRows(named));
    runs_->setFixedHeight(sizes().header + std::min(kMostRunRows, int(runs.size())) * sizes().row + 2);
}

void OverviewPage::showLists(const OverviewData& overview, bool gpu)
{
    const QString noTime = whyNoSteps(overview, gpu ? tr("kernels") : tr("ops"));
    bars_->show(stepBars(overview),
                overview.stepDifference ? overview.stepDifference->verdict : analysis::Verdict::Inconclusive,
                noTime);
    showList(*families_, familyShareRows(overview), whyNoEvents(overview, gpu ? tr("kernels") : tr("ops")));
    showList(*ranges_, rangeShareRows(overview), whyNoEvents(overview, tr("ranges")));
    showList(*allocations_, allocationRows(overview), whyNoAllocations(overview));
    familyPanel_->setTitle(gpu ? tr("Kernel families") : tr("Op families"));
    const bool isWhole = std::all_of(overview.runs.begin(), overview.runs.end(),
                                     [](const OverviewRun& run) { return run.data->isWhole; });
    if (!isWhole) {
        const QString reading = tr("reading the trace…");
        for (Panel* panel : {stepPanel_, familyPanel_, rangePanel_, allocationPanel_})
            panel->setSubtitle(reading);
        return;
    }
    const bool isLimited = overview.isLimited();
    const bool hasSteps =
        std::ranges::any_of(overview.runs, [](const OverviewRun& run) { return run.data->step.has_value(); });
    const QString process = overview.processWords();
    stepPanel_->setSubtitle(joinedWords(
        showsGeneration(overview)
            ? tr("the mean one; GPU time by what it does, then the time in which the GPU waits for the host")
            : (gpu ? tr("GPU time by family, then idle time by reason; %1") : tr("time in ops by family; %1"))
                  .arg(isLimited ? tr("steps within the time filter") : tr("the mean traced step")),
        process));
    const QString time = gpu ? tr("GPU time") : tr("self time");
    if (process.isEmpty())
        familyPanel_->setSubtitle((isLimited                    ? tr("%1 within the time filter")
                                   : coversRecordings(overview) ? tr("%1, whole recording")
                                                                : tr("%1 a traced step"))
                                      .arg(time));
    else // in a narrow panel
        familyPanel_->setSubtitle(joinedWords(isLimited                    ? tr("within the time filter")
                                              : coversRecordings(overview) ? tr("whole recording")
                                                                           : tr("a traced step"),
                                              process));
    rangePanel_->setSubtitle(joinedWords(isLimited  ? tr("wall time within the time filter")
                                         : hasSteps ? tr("wall time a traced step")
                                                    : tr("wall time, whole recording"),
                                         process));
    QStringList devices; // whose peak is the highest
    for (const OverviewRun& run : overview.runs)
        if (run.data->live && !run.data->peakDevice.empty())
            devices << QString::fromStdString(run.data->peakDevice);
    devices.removeDuplicates();
    allocationPanel_->setSubtitle(
        joinedWords(isLimited ? tr("at the peak within the time filter") : tr("at the peak"),
                    devices.join(QStringLiteral(" and "))));
}

void OverviewPage::loaded(const std::vector<SelectedRun>& runs, const OverviewData& overview)
{
    describe(runs, overview);
    studies_->showRuns(runs);
    // A memory snapshot has no steps: what would be about them is left out.
    const bool isSnapshot =
        std::all_of(overview.runs.begin(), overview.runs.end(),
                    [](const OverviewRun& run) { return run.data->run.traits().isMemoryOnly; });
    // A single run that was out of memory has a view of its own, with cards of its own.
    const bool hasOom = oomPanel_->showRuns(firstTwo(runs));
    const bool isOom = hasOom && runs.size() == 1;
    std::vector<KeyFigure> figures = keyFigures(overview);
    if (isSnapshot)
        std::erase_if(figures,
                      [](const KeyFigure& figure) { return figure.page != QLatin1String("memory"); });
    if (!isOom)
        showCards(figures);
    // Runs that were not traced have the times of their steps and nothing about what is in them.
    const bool isTimedOnly = !isSnapshot && !isOom && !overview.isLimited() && isWithoutTrace(overview);
    stepTimes_->setVisible(isTimedOnly);
    if (isTimedOnly)
        stepTimes_->showRuns(firstTwo(runs), whyNoSteps(overview));
    const bool hasSteps = !isSnapshot && !isTimedOnly && !(isOom && stepBars(overview).empty());
    for (QWidget* panel : std::initializer_list<QWidget*>{stepPanel_, lists_, advicePanel_})
        panel->setVisible(hasSteps || (isSnapshot && panel == lists_));
    const bool generates = hasSteps && showsGeneration(overview);
    iterations_->setVisible(generates);
    if (generates)
        iterations_->show(overview);
    stepPanel_->setTitle(generates              ? tr("Where a %1 iteration goes").arg(iterationWord(overview))
                         : overview.isLimited() ? tr("Where the time goes")
                                                : tr("Where the step goes"));
    if (overview.isLimited())
        advicePanel_->hide();
    for (Panel* panel : {familyPanel_, rangePanel_})
        panel->setVisible(!isSnapshot);
    const bool gpu = std::any_of(overview.runs.begin(), overview.runs.end(), [](const OverviewRun& run) {
        return run.data->step ? run.data->step->onGpu : run.summary->result.device.starts_with("cuda");
    });
    showSelected(runs);
    showLists(overview, gpu);
    std::vector<Flag> flags = flagsOf(overview);
    const auto count = [&flags](Flag::Kind kind) {
        return std::count_if(flags.begin(), flags.end(),
                             [kind](const Flag& flag) { return flag.kind == kind; });
    };
    flagPanel_->setSubtitle(counted(count(Flag::Kind::Warning) + count(Flag::Kind::Error), "warning") +
                            QStringLiteral(", ") + counted(count(Flag::Kind::Note), "note") +
                            (overview.isLimited() ? tr("; of whole runs") : QString()));
    flags_->show(std::move(flags));
    machine_->setRows(machineRows(overview.runs.front()), true);
    stack_->setCurrentWidget(shown_);
}

} // namespace tilescope::ui
