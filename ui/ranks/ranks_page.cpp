#include "ui/ranks/ranks_page.h"

#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/message_stack.h"
#include "ui/kit/number_text.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_view.h"
#include "ui/kit/view_command.h"
#include "ui/overview/step_bar_plot.h"
#include "ui/ranks/lateness_plot.h"
#include "ui/ranks/rank_lanes_plot.h"
#include "ui/ranks/rank_rows.h"
#include "ui/theme/theme.h"

#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr int kMostBarsHeight =
    260; ///< of the bars if there are more than RankLanes::kMost ranks; they then scroll
constexpr int kMostLatenessHeight = 330; ///< likewise of the heat map
constexpr int kMostLatenessOfMany = 620; ///< likewise of more than kManyRanks
constexpr std::size_t kManyRanks = 48;
constexpr std::size_t kFewRanks = 8;    ///< of which each is seen without a search
constexpr int kLeastTablesHeight = 470; ///< of the tables and the heat map; a lower page scrolls

/// The share of the wall time that is exposed communication, and the share of communication that is overlapped.
QString exposedText(const query::RanksTable& table)
{
    double wall = 0;
    double exposed = 0;
    double overlapped = 0;
    for (const query::RankRow* row : table.meanRows()) {
        wall += double(row->parts.wall.length().count());
        exposed += double(row->parts.exposedCommunication.count());
        overlapped += double(row->parts.overlapped.count());
    }
    if (wall == 0)
        return {};
    QString text = (table.rows.front().step == kNoStep
                        ? RanksPage::tr("Exposed communication takes %1 of the time of all ranks.")
                        : RanksPage::tr("Exposed communication takes %1 of the steps of all ranks."))
                       .arg(percentText(exposed / wall));
    if (exposed + overlapped > 0)
        text += RanksPage::tr(" Of communication, %1 is overlapped by computation.")
                    .arg(percentText(overlapped / (exposed + overlapped)));
    return text;
}

QString warningsOf(const query::RanksTable& table)
{
    QString text;
    if (table.incomplete > 0)
        text += RanksPage::tr(" %1 recorded on only some ranks of the group.")
                    .arg(counted(table.incomplete, "collective was", "collectives were"));
    if (table.disjoint > 0)
        text += RanksPage::tr(" %1 not overlap in time on all ranks: clocks or recordings differ.")
                    .arg(counted(table.disjoint, "collective does", "collectives do"));
    if (table.clockUncertainty)
        text += RanksPage::tr(" The clocks of the hosts are aligned within %1.")
                    .arg(timeText(double(table.clockUncertainty->count())));
    return text;
}

/// The typical collective with the longest total wait; if no typical one has any, the first. None without rows.
std::optional<std::int64_t> mostWaited(const query::RanksTable& table, const TableData& collectives)
{
    std::optional<std::int64_t> most;
    Nanoseconds longest{0};
    for (const TableRow& row : collectives.rows) {
        const query::CollectiveRow& each = table.collectives.at(std::size_t(row.id));
        const Nanoseconds wait = each.leftOut.empty() ? each.wait() : Nanoseconds{0};
        if (!most || wait > longest) {
            most = row.id;
            longest = wait;
        }
    }
    return most;
}

} // namespace

RanksPage::RanksPage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), stack_(new MessageStack)
{
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    auto* below = new QSplitter(Qt::Horizontal);
    below->setHandleWidth(sizes().gap);
    below->setProperty("kind", "gap");
    below->setChildrenCollapsible(false);
    below->addWidget(makeCollectives());
    auto* right = new QWidget;
    QVBoxLayout* rightColumn = makePlainColumn(right);
    rightColumn->setSpacing(sizes().gap);
    rightColumn->addWidget(makeLateness());
    rightColumn->addWidget(makeParts(), 1);
    below->addWidget(right);
    below->setSizes({sizes().of(700), sizes().of(420)});
    below->setMinimumHeight(sizes().of(kLeastTablesHeight));
    auto* page = new QWidget;
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(sizes().margin, sizes().of(12), sizes().margin, sizes().of(12));
    column->setSpacing(sizes().gap);
    column->addWidget(makeVerdict());
    column->addWidget(makeBars());
    column->addWidget(makeLanes());
    column->addWidget(below, 1);
    auto* scroll = new QScrollArea;
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setWidget(page);
    scroll->viewport()->setAutoFillBackground(false);
    page->setAutoFillBackground(false);
    stack_->addWidget(scroll);
    layout->addWidget(stack_, 1);
    setFocusTarget(collectives_);
}

QWidget* RanksPage::makeTools()
{
    auto* tools = new ToolBar(this);
    tools->addWord(tr("Step"));
    step_ = new ComboBox(tr("Step of the ranks"));
    step_->setToolTip(tr("The step that bars and collectives show"));
    connect(step_, &QComboBox::activated, this, &RanksPage::showStep);
    tools->add(step_);
    find_ = makeFindField(tr("Rank or host"), tr("Search for ranks"));
    find_->setToolTip(
        tr("Shows only the ranks with this number, or with these letters in their name or host"));
    connect(find_, &QLineEdit::textChanged, this, &RanksPage::showFound);
    leadOut(*find_, *this);
    tools->add(find_);
    find_->hide(); // until a run has many ranks
    tools->addStretch();
    summary_ = new QLabel;
    summary_->setTextFormat(Qt::PlainText);
    summary_->setProperty("kind", "dim");
    tools->add(summary_);
    tools->mayGo(summary_);
    connect(tools->addButton(tr("Export…"), tr("Export what the page shows (Ctrl+E)")), &QPushButton::clicked,
            this, &Page::exportWanted);
    tools->actOn(*stack_);
    return tools;
}

QWidget* RanksPage::makeVerdict()
{
    auto* panel = new Panel(tr("Who is late"));
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(sizes().padding, sizes().of(6), sizes().padding, sizes().of(8));
    column->setSpacing(sizes().of(2));
    verdict_ = new SentenceLabel;
    exposed_ = new SentenceLabel;
    exposed_->setProperty("kind", "dim");
    for (SentenceLabel* label : {verdict_, exposed_}) {
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        column->addWidget(label);
    }
    panel->setContent(content);
    panel->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    return panel;
}

QWidget* RanksPage::makeBars()
{
    barsPanel_ = new Panel(tr("Where the step goes"));
    bars_ = new StepBarPlot;
    bars_->setAccessibleName(tr("Parts of the step by rank"));
    barsArea_ = new QScrollArea;
    barsArea_->setFrameShape(QFrame::NoFrame);
    barsArea_->setWidgetResizable(true);
    barsArea_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    barsArea_->setFocusPolicy(Qt::NoFocus);
    barsArea_->setWidget(bars_);
    barsArea_->viewport()->setAutoFillBackground(false); // the panel is the ground
    bars_->setAutoFillBackground(false);
    barsPanel_->setContent(barsArea_);
    barsPanel_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    return barsPanel_;
}

QWidget* RanksPage::makeLanes()
{
    lanesPanel_ = new Panel(tr("Who waits for whom"));
    lanes_ = new RankLanesPlot;
    QPushButton* fit = lanesPanel_->addLink(tr("Show everything"));
    fit->hide();
    connect(fit, &QPushButton::clicked, lanes_, &RankLanesPlot::fit);
    connect(lanes_, &RankLanesPlot::windowChanged, fit, [this, fit] { fit->setVisible(lanes_->isZoomed()); });
    connect(lanes_, &RankLanesPlot::cursorText, this, &Page::cursorText);
    connect(lanes_, &RankLanesPlot::marked, this, &RanksPage::choose);
    connect(lanes_, &RankLanesPlot::eventWanted, this, &RanksPage::eventWanted);
    lanesPanel_->setContent(lanes_);
    lanesPanel_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    return lanesPanel_;
}

QWidget* RanksPage::makeCollectives()
{
    collectivesPanel_ = new Panel(tr("Collectives"));
    collectives_ = new TableView;
    collectives_->setAccessibleName(tr("Collectives"));
    noCollectives_ = makeMessage();
    noCollectives_->setText(tr("No collective was recorded."));
    noCollectives_->hide();
    QVBoxLayout* content = makePlainColumn(nullptr);
    content->addWidget(collectives_, 1);
    content->addWidget(noCollectives_, 1);
    collectivesPanel_->setContent(content);
    connect(collectives_, &TableView::chosen, this, &RanksPage::showCollective);
    connect(collectives_, &TableView::activatedRow, this, &RanksPage::openTimeline);
    return collectivesPanel_;
}

QWidget* RanksPage::makeLateness()
{
    latenessPanel_ = new Panel(tr("Lateness"));
    lateness_ = new LatenessPlot;
    latenessArea_ = new QScrollArea;
    latenessArea_->setFrameShape(QFrame::NoFrame);
    latenessArea_->setWidgetResizable(true);
    latenessArea_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    latenessArea_->setFocusPolicy(Qt::NoFocus);
    latenessArea_->setWidget(lateness_);
    latenessArea_->viewport()->setAutoFillBackground(false);
    lateness_->setAutoFillBackground(false);
    latenessPanel_->setContent(latenessArea_);
    latenessPanel_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    connect(lateness_, &LatenessPlot::cellText, this, &Page::cursorText);
    connect(lateness_, &LatenessPlot::marked, this, &RanksPage::choose);
    connect(lateness_, &LatenessPlot::chosen, this, [this](std::size_t collective, ProcessIndex process) {
        choose(std::int64_t(collective));
        openRank(std::int64_t(collective), process);
    });
    return latenessPanel_;
}

QWidget* RanksPage::makeParts()
{
    partsPanel_ = new Panel(tr("Ranks of the collective"));
    auto* content = new QWidget;
    auto* column = makePlainColumn(content);
    parts_ = new TableView;
    parts_->setAccessibleName(tr("Ranks of the selected collective"));
    onTimeline_ = new QPushButton(tr("Show on timeline"));
    onTimeline_->setProperty("kind", "link");
    onTimeline_->setCursor(Qt::PointingHandCursor);
    connect(onTimeline_, &QPushButton::clicked, this, [this] {
        if (const auto id = collectives_->currentId())
            openTimeline(*id);
    });
    column->addWidget(parts_, 1);
    auto* foot = new QHBoxLayout;
    foot->setContentsMargins(sizes().padding, sizes().of(4), sizes().padding, sizes().of(8));
    foot->addWidget(onTimeline_, 0, Qt::AlignLeft);
    column->addLayout(foot);
    partsPanel_->setContent(content);
    partsPanel_->setMinimumWidth(sizes().of(220));
    return partsPanel_;
}

QString RanksPage::command() const
{
    const std::vector<SelectedRun> runs = workspace().selectedRuns();
    if (runs.empty())
        return {};
    ViewCommand command(runs.front(), "ranks");
    if (const auto only = step())
        command.add("--step", std::to_string(*only));
    return command.text();
}

void RanksPage::showMessage(const QString& text)
{
    table_.reset();
    step_->clear();
    step_->setEnabled(false);
    find_->hide();
    summary_->clear();
    stack_->showMessage(text);
}

void RanksPage::showRuns(const std::vector<SelectedRun>& runs)
{
    ofSeveral_ = runs.size() > 1;
    isFiltered_ = !runs.empty() && runs.front().span;
    timeline_.reset();
    workProblem_.clear();
    loadingWork_.cancel();
    if (runs.empty()) {
        loading_.cancel();
        return showMessage(
            emptyText(tr("A run of several ranks shows on this page where their steps go and who is late.")));
    }
    loading_.start(
        [run = runs.front(), step = step()](const query::Cancelled& cancelled) -> Loaded {
            auto session = run.file->borrow();
            const auto table = std::make_shared<const query::RanksTable>(
                query::ranks(session->reader(), {.run = run.key.run, .span = run.span}, cancelled));
            return {table, step, collectiveRows(*table, step), run};
        },
        [this](Loaded result) { loaded(std::move(result)); },
        [this](const QString& sentence) { showMessage(sentence); });
}

void RanksPage::loaded(Loaded loaded)
{
    const Table& table = loaded.table;
    if (table->rankCount < 2)
        return showMessage(tr("This run has one process, so there are no ranks to compare.\nTo compare "
                              "ranks, import their traces into one file:\n"
                              "tilescope import rank0.json rank1.json -o ranks.tscope"));
    if (table->rows.empty() && isFiltered_)
        return showMessage(tr("No step of a rank overlaps the time filter."));
    if (table->rows.empty())
        return showMessage(tr("The ranks of this run recorded no steps."));
    const std::optional<std::int32_t> before = step();
    table_ = table;
    step_->clear();
    step_->addItem(hasSteps() ? tr("mean of all") : tr("whole recording"));
    const std::vector<std::int32_t> steps = stepsOf(*table_);
    if (hasSteps())
        for (const std::int32_t each : steps)
            step_->addItem(tr("step %1").arg(each), each);
    step_->setCurrentIndex(before ? std::max(0, step_->findData(*before)) : 0);
    step_->setEnabled(hasSteps());
    summary_->setText(tr("%1, %2").arg(counted(std::int64_t(table_->rankCount), "rank"),
                                       hasSteps() ? counted(std::int64_t(steps.size()), "step")
                                                  : tr("no steps, whole recording")) +
                      (ofSeveral_ ? tr(" of the first selected run") : QString()));
    std::string verdict = table_->sentence();
    for (const std::string& more : {table_->hostSentence(), table_->groupSentence()})
        verdict += (more.empty() ? "" : " ") + more;
    verdict_->setText(QString::fromStdString(verdict));
    exposed_->setText(exposedText(*table_) + warningsOf(*table_));
    stack_->showContent();
    // Collectives are shown at once; reading the work between them takes longer.
    loadingWork_.start(
        [run = loaded.run](const query::Cancelled& cancelled) {
            return run.file->timeline(run.key.run, cancelled);
        },
        [this](std::shared_ptr<const query::Timeline> timeline) {
            timeline_ = std::move(timeline);
            if (timeline_)
                lanes_->setWork(timeline_);
        },
        [this](const QString& sentence) {
            workProblem_ = sentence;
            showLanes();
        });
    showTables(step() == loaded.step ? std::move(loaded.collectives) : collectiveRows(*table_, step()));
}

bool RanksPage::hasSteps() const
{
    return table_ && !table_->rows.empty() && table_->rows.front().step != kNoStep;
}

std::optional<std::int32_t> RanksPage::step() const
{
    return step_->currentIndex() > 0 ? std::optional(step_->currentData().toInt()) : std::nullopt;
}

void RanksPage::showStep()
{
    if (table_)
        showTables(collectiveRows(*table_, step()));
}

void RanksPage::showTables(TableData rows)
{
    find_->setVisible(table_->rankCount > kFewRanks);
    showBars();
    barsPanel_->setTitle(hasSteps() ? tr("Where the step goes") : tr("Where the time goes"));
    barsPanel_->setSubtitle((step()        ? tr("by rank")
                             : !hasSteps() ? tr("by rank, whole recording")
                             : table_->meanRows().size() < table_->rows.size()
                                 ? tr("by rank, mean of the typical steps")
                                 : tr("by rank, mean of all steps")) +
                            (isFiltered_ ? tr(", within the time filter") : QString()));
    const bool any = !rows.rows.empty();
    collectivesPanel_->setSubtitle(any ? tr("Enter or double click: on the timeline") : QString());
    collectives_->setVisible(any);
    noCollectives_->setVisible(!any);
    partsPanel_->parentWidget()->setVisible(any); // and the heat map beside the collectives
    showLateness();
    const std::optional<std::int64_t> first = mostWaited(*table_, rows);
    collectives_->show(std::move(rows));
    if (first)
        collectives_->setCurrentId(*first);
    showLanes();
    showCollective(first);
}

void RanksPage::showBars()
{
    const auto found = foundRanks(*table_, find_->text());
    bars_->show(rankBars(*table_, step(), found), {},
                found && found->empty() ? tr("No rank and no host has this name.")
                                        : tr("No rank recorded this step."));
    const int height = bars_->sizeHint().height();
    barsArea_->setFixedHeight(
        table_->rankCount > RankLanes::kMost ? std::min(height, sizes().of(kMostBarsHeight)) : height);
}

// Shows the lanes of the chosen step or, for the mean of all, of the step of the selected collective.
void RanksPage::showLanes()
{
    std::optional<std::int32_t> shown = step();
    if (const auto id = collectives_->currentId(); id && !shown && hasSteps())
        if (const std::int32_t own = table_->collectives.at(std::size_t(*id)).step; own != kNoStep)
            shown = own;
    RankLanes lanes = rankLanes(*table_, shown, foundRanks(*table_, find_->text()));
    if (timeline_)
        lanes.setWork(timeline_);
    QStringList words;
    if (lanes.step)
        words << tr("step %1").arg(*lanes.step);
    else
        words << tr("whole recording");
    words << tr("on one clock");
    if (!workProblem_.isEmpty())
        words << workProblem_;
    if (lanes.omitted > 0)
        words << tr("the %1 latest of %2")
                     .arg(lanes.ranks.size())
                     .arg(counted(std::int64_t(lanes.ranks.size() + lanes.omitted), "rank"));
    lanesPanel_->setSubtitle(words.join(QStringLiteral(", ")));
    lanesPanel_->setVisible(!lanes.isEmpty());
    lanes_->show(std::move(lanes));
}

void RanksPage::showLateness()
{
    lateness_->show(latenessGrid(*table_, step(), foundRanks(*table_, find_->text())));
    const int most = table_->rankCount > kManyRanks ? kMostLatenessOfMany : kMostLatenessHeight;
    latenessArea_->setFixedHeight(std::min(lateness_->sizeHint().height(), sizes().of(most)));
    latenessPanel_->setSubtitle(
        lateness_->grid().most > 0 ? tr("%1 after the first rank")
                                         .arg(QString::fromStdString(timeUnit(lateness_->grid().most).suffix))
                                   : QString());
}

void RanksPage::showFound()
{
    if (!table_)
        return;
    showBars();
    showLanes();
    showLateness();
    if (const auto id = collectives_->currentId())
        lateness_->mark(std::size_t(*id));
}

void RanksPage::showCollective(std::optional<std::int64_t> id)
{
    onTimeline_->setEnabled(id.has_value());
    const auto marked = id ? std::optional(std::size_t(*id)) : std::nullopt;
    lateness_->mark(marked);
    if (marked && hasSteps() && lanes_->lanes().step != table_->collectives.at(*marked).step)
        showLanes();
    lanes_->mark(marked);
    if (!id) {
        parts_->show({});
        partsPanel_->setSubtitle({});
        emit selectionText({});
        return;
    }
    const query::CollectiveRow& row = table_->collectives.at(std::size_t(*id));
    parts_->show(collectiveRankRows(row));
    const QString name = collectiveName(*table_, row);
    QStringList missing;
    for (const std::int32_t rank : row.missing)
        missing << QString::number(rank);
    partsPanel_->setSubtitle(
        missing.isEmpty() ? name : tr("%1; not recorded: %2").arg(name, missing.join(QStringLiteral(", "))));
    const auto last = std::ranges::find(row.ranks, row.last, &query::CollectiveRank::title);
    const bool isLate = !row.last.empty() && last != row.ranks.end() && last->start > row.firstStart();
    emit selectionText(isLate ? tr("%1: %2 starts last, %3 after the first")
                                    .arg(name, QString::fromStdString(row.last),
                                         timeText(double((last->start - row.firstStart()).count())))
                              : name);
}

// Selects a collective of the step that is shown.
void RanksPage::choose(std::int64_t id)
{
    collectives_->setCurrentId(id);
    showCollective(id);
}

void RanksPage::openRank(std::int64_t id, ProcessIndex process)
{
    const query::CollectiveRow& row = table_->collectives.at(std::size_t(id));
    const auto rank = std::ranges::find(row.ranks, process, &query::CollectiveRank::process);
    if (rank == row.ranks.end())
        return openTimeline(id);
    emit eventWanted(rank->device, rank->stream, rank->start);
}

// Shows the activity of the rank that started last.
void RanksPage::openTimeline(std::int64_t id)
{
    const query::CollectiveRow& row = table_->collectives.at(std::size_t(id));
    const auto last = std::ranges::find(row.ranks, row.last, &query::CollectiveRank::title);
    const query::CollectiveRank& rank = last == row.ranks.end() ? row.ranks.front() : *last;
    emit eventWanted(rank.device, rank.stream, rank.start);
}

} // namespace tilescope::ui
