#include "ui/kernels/kernels_page.h"

#include "core/exchange/work/work_columns.h"
#include "core/query/memory/memory_difference.h"
#include "ui/kernels/families_panel.h"
#include "ui/kernels/inside_view.h"
#include "ui/kernels/kernel_groupings.h"
#include "ui/kernels/roofline_plot.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/device_box.h"
#include "ui/kit/message_stack.h"
#include "ui/kit/missing_trace.h"
#include "ui/kit/number_text.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_view.h"
#include "ui/kit/view_command.h"
#include "ui/theme/theme.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace tilescope::ui {

namespace {

constexpr int kAllSteps = -2;
constexpr int kMostRanges = 400;

// The place under the roofline: by the work of the ops, with what was sampled in the hardware beside it; by the latter if
// nothing else is known.
std::optional<RooflineBubble> bubbleOf(const KernelLine& line, std::int64_t id)
{
    RooflineBubble bubble{.id = id, .label = line.label, .swatch = line.swatch};
    bubble.total = double(line.total.count());
    const auto rate = exchange::WorkColumns<KernelLine>::flopsPerSecond(line);
    const auto intensity = line.work ? analysis::intensityOf(*line.work) : std::nullopt;
    const bool hasWork = rate.value_or(0) > 0 && intensity;
    if (hasWork) {
        bubble.rate = *rate;
        bubble.intensity = *intensity;
    }
    // What does not use the tensor pipe has the rate of its ops, at the bytes that the memory moved.
    const double sampled = line.tensorRate.value_or(0) > 0 ? *line.tensorRate : hasWork ? *rate : 0;
    if (sampled <= 0 || line.dramBytes.value_or(0) <= 0)
        return hasWork ? std::optional(bubble) : std::nullopt;
    const double flops = sampled * bubble.total / 1e9; // a second is 1e9 ns
    (hasWork ? bubble.sampledRate : bubble.rate) = sampled;
    (hasWork ? bubble.sampledIntensity : bubble.intensity) = flops / *line.dramBytes;
    bubble.isSampled = !hasWork;
    return bubble;
}

} // namespace

KernelsPage::KernelsPage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), grouping_(new SegmentedControl({tr("name"), tr("family"), tr("range"),
                                                               tr("module"), tr("phase"), tr("shape")})),
      filter_(makeFindField(tr("Filter…"), tr("Filter kernels"))),
      device_(new DeviceBox(tr("GPU of the kernels"))), step_(new ComboBox(tr("Step"))),
      range_(new ComboBox(tr("Range"))), summary_(new QLabel), stack_(new MessageStack),
      table_(new TableView), panels_(new QScrollArea), durations_(new DurationsPanel),
      rooflinePanel_(new Panel(tr("Roofline"))), roofline_(new RooflinePlot), families_(new FamiliesPanel)
{
    views_ = new QStackedWidget;
    makePlainColumn(this)->addWidget(views_);
    auto* list = new QWidget;
    auto* layout = makePlainColumn(list);
    layout->addWidget(makeTools());
    auto* splitter = new QSplitter(Qt::Vertical);
    // In a low window, the panels scroll before the table has fewer rows than this.
    constexpr int kLeastRows = 5;
    table_->setMinimumHeight(sizes().header + kLeastRows * sizes().row);
    panels_->setWidgetResizable(true);
    panels_->setFrameShape(QFrame::NoFrame);
    panels_->setFocusPolicy(Qt::NoFocus);
    panels_->setMinimumHeight(sizes().of(160));
    panels_->setWidget(makePanels());
    splitter->addWidget(table_);
    splitter->addWidget(panels_);
    splitter->setStretchFactor(0, 1);
    splitter->setSizes({sizes().of(540), sizes().of(390)});
    splitter->setHandleWidth(1);
    splitter->setChildrenCollapsible(false);
    stack_->addWidget(splitter);
    layout->addWidget(stack_, 1);
    views_->addWidget(list);
    makeInside();
    table_->setAccessibleName(tr("Kernels"));
    grouping_->setAccessibleName(tr("Group by"));
    table_->sortByColumn(int(KernelColumn::Total), Qt::DescendingOrder);
    leadOut(*filter_, *table_);
    setFocusTarget(table_);
    connect(table_, &TableView::chosen, this, &KernelsPage::chooseLine);
    connect(table_, &TableView::activatedRow, this, &KernelsPage::openLine);
    connect(&workspace, &Workspace::kernelChanged, this, &KernelsPage::followKernel);
}

void KernelsPage::makeInside()
{
    inside_ = new InsideView;
    views_->addWidget(inside_);
    inside_->raise(); // the list stays the first of the children, as of the views
    connect(view_, &SegmentedControl::changed, this, [this](int index) {
        view_->setCurrent(0); // of the list's tools, which are hidden then
        showInside(index == 1);
    });
    connect(inside_, &InsideView::listWanted, this, [this] { showInside(false); });
    connect(inside_, &InsideView::exportWanted, this, &Page::exportWanted);
    connect(inside_, &InsideView::selectionText, this, &Page::selectionText);
    connect(inside_, &InsideView::instancesWanted, this, [this](const QString& kernel) {
        showInside(false);
        goTo({.kind = PageTarget::Kind::Kernel, .text = kernel});
    });
    connect(inside_, &InsideView::timelineWanted, this, [this](const QString& kernel) {
        workspace().setKernel(kernel);
        showOnTimeline();
    });
}

bool KernelsPage::isInside() const
{
    return views_->currentIndex() == 1;
}

void KernelsPage::showInside(bool isInside)
{
    views_->setCurrentIndex(isInside ? 1 : 0);
    setFocusTarget(isInside ? &inside_->source() : table_);
    if (!isInside)
        return;
    loadInside();
    if (!workspace().kernel().isEmpty())
        inside_->showKernel(workspace().kernel().toStdString());
}

void KernelsPage::loadInside()
{
    if (!isInside() || !std::exchange(isInsideStale_, false))
        return;
    if (run_)
        inside_->showRuns(*run_, second_);
    else
        inside_->clear();
}

bool KernelsPage::startFind()
{
    filter_->setFocus();
    filter_->selectAll();
    return filter_->isVisible() && filter_->isEnabled();
}

void KernelsPage::goTo(const PageTarget& target)
{
    switch (target.kind) {
    case PageTarget::Kind::None:
        return;
    case PageTarget::Kind::Kernel:
        filter_->clear();
        grouping_->setCurrent(ByName);
        workspace().setKernel(target.text);
        break;
    case PageTarget::Kind::Op:
        filter_->clear();
        grouping_->setCurrent(ByShape);
        wantedOp_ = target.text;
        break;
    case PageTarget::Kind::Family:
        filter_->setText(QStringLiteral("family:") + target.text);
        grouping_->setCurrent(ByName);
        break;
    case PageTarget::Kind::Range:
        filter_->clear();
        grouping_->setCurrent(ByName);
        wantedRange_ = target.text;
        break;
    }
    isRooflineWanted_ = target.isRoofline;
    showInside(target.isInside);
    load();
}

QString KernelsPage::command() const
{
    if (!run_)
        return {};
    if (isInside())
        return inside_->command();
    const query::Grouping by = kKernelGroupings[grouping_->current()];
    const bool isOfOps = full_ && full_->ops;
    const bool isByShape = by == query::Grouping::Shape;
    ViewCommand command(*run_, isByShape ? "roofline" : isOfOps ? "ops" : "kernels");
    if (isByShape || !(isOfOps && by == query::Grouping::Family))
        command.add("--group", std::string(wordOf(by)));
    if (const std::string range = range_->currentData().toString().toStdString(); !range.empty())
        command.add("--range", range);
    if (const auto only = step(); only && !isOfOps && !isByShape)
        command.add("--step", std::to_string(*only));
    if (const auto only = chosen())
        command.add(only->query);
    return command.text();
}

void KernelsPage::showRuns(const std::vector<SelectedRun>& runs)
{
    run_.reset();
    second_.reset();
    timeline_.reset();
    times_.reset();
    full_.reset();
    attentionAnswer_.reset();
    device_->forget();
    step_->clear();
    range_->clear();
    isInsideStale_ = true;
    if (runs.empty()) {
        showInside(false);
        loading_.cancel();
        summing_.cancel();
        counting_.cancel();
        tools_->setEnabled(false);
        stack_->showMessage(emptyText(
            tr("A traced run lists its kernels, copies and memsets on this page, on a CPU its ops.")));
        return;
    }
    run_ = runs.front();
    second_ = runs.size() > 1 ? std::optional(runs[1]) : std::nullopt;
    tools_->setEnabled(true); // another step or range may have kernels where this one has none
    load();
    loadInside();
}

std::optional<std::int32_t> KernelsPage::step() const
{
    const bool isChoice = step_->count() > 0 && !(run_ && run_->span); // a time span is of any steps
    const int wanted = isChoice ? step_->currentData().toInt() : kAllSteps;
    return wanted == kAllSteps ? std::nullopt : std::optional<std::int32_t>(wanted);
}

void KernelsPage::load()
{
    if (!run_)
        return;
    times_.reset();
    full_.reset();
    loading_.start(
        [run = *run_](const query::Cancelled& cancelled) {
            Shown shown{run.file->timeline(run.key.run, cancelled), {}};
            shown.devices = query::deviceChoices(run.file->borrow()->reader().topology(run.key.run));
            return shown;
        },
        [this](Shown shown) { timelineLoaded(std::move(shown)); },
        [this](const QString& sentence) { stack_->showMessage(sentence); });
    const QString range = wantedRange_.isEmpty() ? range_->currentData().toString() : wantedRange_;
    const query::KernelQuery query{.run = run_->key.run,
                                   .grouping = kKernelGroupings[grouping_->current()],
                                   .step = step(),
                                   .range = range.toStdString(),
                                   .topology = chosen() ? chosen()->query : query::ProcessQuery{},
                                   .span = run_->span,
                                   .work = true};
    // Without stored totals, for one step and for one process, the times need all events too.
    summing_.cancel();
    if (!query.step && !query.span && query.topology.empty())
        summing_.start(
            [run = *run_, times = query](const query::Cancelled& cancelled) mutable {
                auto session = run.file->borrow();
                times.work = false;
                return session->reader().totals(*times.run)
                           ? query::kernels(session->reader(), times, cancelled)
                           : query::KernelsTable();
            },
            [this](query::KernelsTable times) { timesLoaded(std::move(times)); },
            [this](const QString& sentence) { stack_->showMessage(sentence); });
    counting_.start(
        [run = *run_, second = second_, query, answer = attentionAnswer_,
         process = chosen() ? chosen()->process : ProcessIndex{}](const query::Cancelled& cancelled) {
            return readKernels(run, second, query, answer, process, cancelled);
        },
        [this](KernelsReading full) { fullLoaded(std::move(full)); },
        [this](const QString& sentence) { stack_->showMessage(sentence); });
}

void KernelsPage::timelineLoaded(Shown shown)
{
    timeline_ = std::move(shown.timeline);
    device_->setDevices(std::move(shown.devices));
    if (!timeline_)
        return;
    if (step_->count() == 0)
        fillSteps();
    if (full_ || times_)
        followKernel();
}

void KernelsPage::timesLoaded(query::KernelsTable times)
{
    if (full_ || times.rows.empty())
        return;
    times_ = std::move(times);
    showLines(linesOf(*times_), titles());
    showFamilies();
}

void KernelsPage::fullLoaded(KernelsReading full)
{
    full_ = std::move(full);
    attentionAnswer_ = full_->attention;
    fillRanges();
    // Ops of a range and by range, module or phase are those of all steps.
    const bool isByStep = (!full_->ops || full_->opSpread || full_->byShape) && !run_->span;
    if (!isByStep)
        step_->setCurrentIndex(0);
    step_->setEnabled(isByStep);
    if (kKernelGroupings[grouping_->current()] == query::Grouping::Shape) {
        if (!full_->byShape && run_->span)
            return stack_->showMessage(
                tr("Shapes are listed of whole steps: clear the time filter, or group by name."));
        if (!full_->byShape)
            return stack_->showMessage(tr("This run has too many events to count the work of each op here.\n"
                                          "tilescope show FILE roofline --group shape lists it."));
        if (!full_->byShape->fromShapes)
            return stack_->showMessage(tr("The shapes of ops are unknown: %1.")
                                           .arg(QString::fromUtf8(query::whyNoShapes(full_->byShape->run))));
        showLines(linesOf(*full_->byShape), titles());
    } else if (full_->ops && !full_->ops->rows.empty()) {
        std::vector<KernelLine> lines = linesOf(*full_->ops, full_->opWork ? &*full_->opWork : nullptr,
                                                full_->opSpread ? &*full_->opSpread : nullptr);
        showLines(withOther(grouping_->current() == ByFamily ? byFamily(lines) : std::move(lines)), titles());
    } else if (full_->kernels.rows.empty()) {
        if (run_ && run_->run->traits().isMemoryOnly)
            return stack_->showMessage(
                tr("A memory snapshot has no kernels.\nThe Memory page shows its contents."));
        if (const QString why = run_ ? whyTraceIsMissing(*run_->run) : QString(); !why.isEmpty())
            return stack_->showMessage(why);
        if (const QString why = run_ ? whyGpuIsMissing(*run_->run) : QString(); !why.isEmpty())
            return stack_->showMessage(why);
        if (run_->span)
            return stack_->showMessage(tr("No kernel and no op runs within the time filter."));
        stack_->showMessage(tr("No kernel and no op was traced here.\n") +
                            (run_ ? remedyFor(MissingPart::Work, *run_->run) + QLatin1Char(' ') : QString()) +
                            tr("Or choose all steps and all ranges."));
        return;
    } else {
        showLines(withOther(linesOf(full_->kernels)), titles());
    }
    showFamilies();
    families_->showAttention(full_->attention, chosen()
                                                   ? tr("This figure is about all GPUs of a process.")
                                                   : tr("This run has too many events for this figure."));
}

std::vector<KernelLine> KernelsPage::withOther(std::vector<KernelLine> lines) const
{
    if (full_->other)
        addOther(lines, *full_->other);
    return lines;
}

KernelTitles KernelsPage::titles() const
{
    const bool ops = full_ && full_->ops;
    const QString first[] = {ops ? tr("Op") : tr("Kernel"),
                             tr("Family"),
                             tr("Range"),
                             tr("Module"),
                             tr("Phase"),
                             tr("Op and shapes")};
    KernelTitles titles{first[grouping_->current()], {}, {}};
    if (second_ && run_) {
        titles.letter = run_->letter;
        titles.other = kKernelGroupings[grouping_->current()] == query::Grouping::Shape || chosen() ||
                               (full_ && !full_->whyNoOther.isEmpty())
                           ? QString()
                           : second_->letter;
        const auto steps = [](const SelectedRun& run) {
            return counted(QString::fromUtf8(run.run->param("trace_steps")).toLongLong(), "traced step");
        };
        if (steps(*run_) != steps(*second_) && !step() && !run_->span)
            titles.whyNoDifference = tr("%1 has %2, %3 has %4: choose one step")
                                         .arg(run_->letter, steps(*run_), second_->letter, steps(*second_));
        titles.first += tr(" of %1 %2").arg(run_->letter, run_->title);
    }
    if (!full_) {
        titles.noWork = titles.noTensor = tr("still being counted");
        return titles;
    }
    titles.noWork = QString::fromStdString(full_->kernels.whyNoWork);
    if (full_->opWork && !full_->opWork->fromShapes)
        titles.noWork = QString::fromUtf8(query::whyNoShapes(full_->opWork->run));
    titles.onHost = ops;
    titles.noTensor = QString::fromStdString(full_->kernels.whyNoTensor);
    return titles;
}

void KernelsPage::showLines(std::vector<KernelLine> lines, const KernelTitles& titles)
{
    lines_ = std::move(lines);
    table_->show(kernelRows(lines_, titles));
    showRoofline();
    summarize();
    if (grouping_->current() == ByName && workspace().kernel().isEmpty() && !lines_.empty())
        workspace().setKernel(lines_.front().name);
    followKernel();
    selectWantedOp();
    // Last, because a table that gets the focus without a current row makes its first row current.
    stack_->showContent();
    if (full_ && std::exchange(isRooflineWanted_, false)) {
        roofline_->setFocus();
        // The panels have their places once the page is laid out.
        QTimer::singleShot(0, this, [this] { panels_->ensureWidgetVisible(rooflinePanel_, 0, 0); });
    }
}

// The sum and number of the rows that the filter keeps.
void KernelsPage::summarize()
{
    std::int64_t shown = 0;
    std::int64_t instances = 0;
    double total = 0;
    const TableFilter& filter = table_->filter();
    for (int row = 0; row < filter.rowCount(); ++row) {
        const auto line = std::size_t(filter.index(row, 0).data(TableModel::IdRole).toLongLong());
        if (line >= lines_.size())
            continue;
        if (lines_[line].instances == 0)
            continue; // only the second run has it
        ++shown;
        instances += lines_[line].instances;
        total += double(lines_[line].total.count());
    }
    const bool ops = full_ && full_->ops;
    const char* const one = grouping_->current() != ByName ? "group" : ops ? "op" : "kernel";
    const std::int64_t all =
        std::ranges::count_if(lines_, [](const KernelLine& line) { return line.instances > 0; });
    QString number = counted(all, one);
    if (shown < all)
        number = tr("%1 of %2").arg(wholeNumber(shown), number);
    QString sum = joinedWords(QStringLiteral("%1, %2").arg(number, timeText(total)), chosenWords());
    const bool isSampled = !roofline_->bubbles().empty() &&
                           std::ranges::all_of(roofline_->bubbles(), &RooflineBubble::isSampled);
    rooflinePanel_->setSubtitle(joinedWords(isSampled ? tr("area: total time; rate and bytes: sampled")
                                                      : tr("area: total time; work: from shapes"),
                                            chosenWords()));
    if (full_ && !full_->whyNoOther.isEmpty())
        sum += QStringLiteral("; ") + full_->whyNoOther;
    summary_->setText(sum);
    summary_->setToolTip(tr("%1, %2, %3 %4")
                             .arg(number, counted(instances, "instance"), timeText(total),
                                  ops ? tr("self time") : tr("GPU time")));
}

void KernelsPage::showFamilies()
{
    std::vector<query::KernelRow> families;
    if (full_ && full_->ops) {
        if (grouping_->current() <= ByFamily)
            for (const KernelLine& line : grouping_->current() == ByFamily ? lines_ : byFamily(lines_))
                families.push_back({.family = line.family, .total = line.total});
    } else {
        for (const auto& [family, time] : full_ ? full_->kernels.families : times_->families)
            families.push_back({.family = family, .total = Nanoseconds(time)});
    }
    families_->showFamilies(families, full_ && full_->ops);
    families_->setSubtitle(joinedWords(tr("click to filter"), chosenWords()));
}

void KernelsPage::showRoofline()
{
    std::vector<RooflineBubble> bubbles;
    for (std::size_t i = 0; i < lines_.size(); ++i)
        if (const auto bubble = bubbleOf(lines_[i], std::int64_t(i)))
            bubbles.push_back(*bubble);
    const bool any = !bubbles.empty();
    roofline_->setVisible(any);
    noRoofline_->setVisible(!any);
    const QString why = titles().noWork;
    noRoofline_->setText(why.isEmpty() ? tr("The work of these rows is unknown.")
                                       : why.left(1).toUpper() + why.mid(1) + QLatin1Char('.'));
    std::vector<Roof> roofs;
    if (full_) {
        const query::DeviceCeilings& ceilings = full_->byShape  ? full_->byShape->ceilings
                                                : full_->opWork ? full_->opWork->ceilings
                                                                : full_->kernels.ceilings;
        roofs = {{ceilings.measured.flops, ceilings.measured.bytes, tr("measured")},
                 {ceilings.sheet.flops, ceilings.sheet.bytes, tr("data sheet")}};
        rooflinePanel_->setToolTip(QString::fromStdString(
            ceilings.measured.flops ? ceilings.measuredFrom
                                    : ceilings.measuredFrom + "; " + ceilings.sheetFrom));
    }
    roofline_->show(std::move(bubbles), std::move(roofs));
}

void KernelsPage::fillSteps()
{
    step_->addItem(tr("all steps"), kAllSteps);
    for (const query::TimelineStep& step : timeline_->firstSteps())
        step_->addItem(tr("step %1").arg(step.step), step.step);
}

// The chosen GPU, otherwise the process that all pages show.
std::optional<query::ProcessChoice> KernelsPage::chosen() const
{
    if (const query::ProcessChoice* device = device_->chosen())
        return *device;
    if (!run_ || run_->process.empty())
        return {};
    query::ProcessQuery asked = run_->process;
    asked.allSteps = false; // choices of processes have none
    const auto process = std::ranges::find(run_->run->processes, asked, &query::ProcessChoice::query);
    return process == run_->run->processes.end() ? std::nullopt : std::optional(*process);
}

QString KernelsPage::chosenWords() const
{
    if (const query::ProcessChoice* device = device_->chosen())
        return QString::fromStdString(device->title);
    return run_ ? run_->sumWords() : QString();
}

void KernelsPage::fillRanges()
{
    if (range_->count() == 0) {
        range_->addItem(tr("all ranges"), QString());
        for (const QString& path : rangeChoices(full_->kernels.ranges, kMostRanges))
            range_->addItem(path.mid(5), path); // all begin with step/
    }
    if (wantedRange_.isEmpty())
        return;
    int at = range_->findData(wantedRange_);
    if (at < 0) {
        range_->addItem(wantedRange_.section(QLatin1Char('/'), 1), wantedRange_);
        at = range_->count() - 1;
    }
    range_->setCurrentIndex(at);
    wantedRange_.clear();
}

} // namespace tilescope::ui
