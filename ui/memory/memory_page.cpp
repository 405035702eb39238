#include "ui/memory/memory_page.h"

#include "core/analysis/time/path_glob.h"
#include "core/query/memory/memory_difference.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/message_stack.h"
#include "ui/kit/missing_trace.h"
#include "ui/kit/number_text.h"
#include "ui/kit/panel.h"
#include "ui/kit/view_command.h"
#include "ui/kit/view_history.h"
#include "ui/memory/memory_areas.h"
#include "ui/memory/memory_blocks.h"
#include "ui/memory/memory_facts.h"
#include "ui/memory/memory_legend.h"
#include "ui/memory/memory_lists.h"
#include "ui/memory/memory_placement.h"
#include "ui/memory/memory_run_reading.h"
#include "ui/memory/memory_segments.h"
#include "ui/theme/theme.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

QSplitter* makeSplitter(Qt::Orientation orientation)
{
    auto* splitter = new QSplitter(orientation);
    splitter->setHandleWidth(orientation == Qt::Vertical ? sizes().of(12) : sizes().gap);
    splitter->setChildrenCollapsible(false);
    splitter->setProperty("kind", "gap");
    return splitter;
}

QString signedBytes(std::int64_t bytes)
{
    const QString text = byteText(double(std::abs(bytes)));
    return bytes < 0 ? QChar(0x2212) + text : QLatin1Char('+') + text;
}

} // namespace

MemoryPage::MemoryPage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent),
      colourBy_(new SegmentedControl({tr("category"), tr("phase"), tr("module"), tr("op")})),
      instantChoice_(new SegmentedControl({tr("peak"), tr("chosen"), tr("step end")})),
      run_(new ComboBox(tr("Run"))), device_(new ComboBox(tr("GPU"))), stack_(new MessageStack),
      areas_(new MemoryAreas(axis_)), legend_(new MemoryLegend), placement_(new MemoryPlacement(axis_)),
      lists_(new MemoryLists(this)), facts_(new MemoryFacts)
{
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    layout->addWidget(stack_, 1);
    stack_->addWidget(makePanels());
    setFocusTarget(areas_);
    connectParts();
}

void MemoryPage::connectParts()
{
    connect(&Theme::instance(), &Theme::changed, this, &MemoryPage::fillLegend);
    connect(&axis_, &MemoryAxis::cursorChanged, this, &MemoryPage::fillLegend);
    connect(&axis_, &MemoryAxis::spanChanged, this, &MemoryPage::tellSpan);
    connect(&axis_, &MemoryAxis::moved, this, [this](const TimeWindow& before) {
        ViewHistory::note(*this, {.name = tr("zoom"),
                                  .undo = [this, before] { axis_.setWindow(before, false); },
                                  .redo = [this, now = axis_.window()] { axis_.setWindow(now, false); },
                                  .of = axis_.content(),
                                  .series = QStringLiteral("zoom")});
    });
    for (MemoryChart* chart :
         {static_cast<MemoryChart*>(areas_), static_cast<MemoryChart*>(&placement_->blocks())}) {
        connect(chart, &MemoryChart::hovered, this, &Page::cursorText);
        connect(chart, &MemoryChart::instantClicked, this, &MemoryPage::chooseInstant);
    }
    connect(&placement_->blocks(), &MemoryBlocks::blockClicked, this, &MemoryPage::chooseBlock);
    connect(&placement_->segments(), &MemorySegments::blockClicked, this, &MemoryPage::chooseBlock);
    connect(&placement_->segments(), &MemorySegments::segmentClicked, this, &MemoryPage::chooseSegment);
    connect(&placement_->segments(), &MemorySegments::hovered, this, &Page::cursorText);
    connect(placement_, &MemoryPlacement::stripsWanted, this, &MemoryPage::showLists);
    connect(placement_, &MemoryPlacement::failed, this, &MemoryPage::showMessage);
    connect(lists_, &MemoryLists::wanted, this, &MemoryPage::showLists);
    connect(lists_, &MemoryLists::shown, this, &MemoryPage::showInstant);
    connect(lists_, &MemoryLists::blockChosen, this, &MemoryPage::chooseBlock);
    connect(lists_, &MemoryLists::segmentChosen, this, &MemoryPage::chooseSegment);
    connect(lists_, &MemoryLists::failed, this, &MemoryPage::showMessage);
    connect(facts_, &MemoryFacts::selectionText, this, &Page::selectionText);
    connect(this, &Page::selectionText, this, &MemoryPage::describe);
}

QWidget* MemoryPage::makeTools()
{
    auto* tools = new ToolBar(this);
    tools->addWord(tr("Colour by"));
    colourBy_->setAccessibleName(tr("Colour by"));
    tools->add(colourBy_);
    tools->addGap();
    tools->addWord(tr("Instant"));
    instantChoice_->setAccessibleName(tr("Instant"));
    instantChoice_->setToolTip(tr("The instant of the tables; click a plot to choose one"));
    tools->add(instantChoice_);
    run_->setMinimumWidth(sizes().of(120));
    run_->setToolTip(tr("The run whose blocks are shown; the others are outlines"));
    device_->setMinimumWidth(sizes().of(120));
    device_->setToolTip(tr("The GPU whose memory is shown"));
    tools->addGap();
    tools->add(run_);
    tools->add(device_);
    tools->addStretch();
    connect(tools->addButton(tr("Fit"), tr("Show everything (F)")), &QPushButton::clicked, &axis_,
            &MemoryAxis::fit);
    connect(tools->addButton(tr("Export…"), tr("Save what this page shows (Ctrl+E)")), &QPushButton::clicked,
            this, &Page::exportWanted);
    connect(colourBy_, &SegmentedControl::changed, this, [this] {
        isColourChosen_ = true;
        group();
        showLists();
    });
    connect(instantChoice_, &SegmentedControl::changed, this, [this](int index) {
        instantKind_ = Instant(index);
        placeInstant();
    });
    connect(run_, &QComboBox::activated, this, [this] {
        device_->clear();
        load();
    });
    connect(device_, &QComboBox::activated, this, &MemoryPage::load);
    tools->actOn(*stack_);
    return tools;
}

void MemoryPage::addPlots(QSplitter& both)
{
    QSplitter* plots = makeSplitter(Qt::Vertical);
    both.addWidget(plots);
    curvesPanel_ = new Panel(tr("Allocated"));
    plots->addWidget(curvesPanel_);
    auto* content = new QVBoxLayout;
    content->setContentsMargins(sizes().of(8), sizes().of(6), sizes().of(4), sizes().of(4));
    content->setSpacing(0);
    curvesPanel_->setContent(content);
    auto* legend = new QHBoxLayout;
    legend->setContentsMargins(sizes().of(8), 0, sizes().of(8), 0);
    content->addLayout(legend);
    legend->addWidget(legend_);
    content->addWidget(areas_, 1);
    plots->addWidget(placement_);
    plots->setStretchFactor(0, 4);
    plots->setStretchFactor(1, 5);
}

void MemoryPage::addSide(QSplitter& both)
{
    QSplitter* side = makeSplitter(Qt::Vertical);
    both.addWidget(side);
    side->setMinimumWidth(sizes().of(356)); // independent of the panels' titles: the plots keep their width
    side->addWidget(lists_->sharesPanel());
    side->addWidget(lists_->listPanel());
    side->addWidget(facts_);
    for (const auto& [index, stretch] : {std::pair(0, 10), std::pair(1, 12), std::pair(2, 8)})
        side->setStretchFactor(index, stretch);
    side->setSizes({sizes().of(345), sizes().of(330), sizes().of(235)});
}

QWidget* MemoryPage::makePanels()
{
    // Builds from the outside in: Qt styles a widget again whenever one of its ancestors gets a parent.
    auto* panels = new QWidget(stack_);
    auto* layout = new QVBoxLayout(panels);
    const int margin = sizes().of(12);
    layout->setContentsMargins(sizes().margin, margin, sizes().margin, margin);
    QSplitter* both = makeSplitter(Qt::Horizontal);
    layout->addWidget(both);
    addPlots(*both);
    addSide(*both);
    both->setStretchFactor(0, 70);
    both->setStretchFactor(1, 30);
    both->setSizes({sizes().of(830), sizes().of(360)});
    return panels;
}

bool MemoryPage::startFind()
{
    lists_->filter().setFocus();
    lists_->filter().selectAll();
    return lists_->filter().isVisible() && lists_->filter().isEnabled();
}

QString MemoryPage::command() const
{
    if (main() == nullptr)
        return {};
    SelectedRun run = runs_[std::size_t(std::max(0, run_->currentIndex()))];
    const bool isPeak = instantKind_ == Instant::Peak && !run.span;
    run.span.reset(); // the instant is in it
    ViewCommand command(run, "memory");
    command.add("--at", isPeak ? "peak" : std::to_string(std::max<std::int64_t>(0, instant())));
    if (const auto only = device())
        command.add("--device", std::to_string(only->value));
    return command.text();
}

void MemoryPage::showMessage(const QString& text)
{
    isReading_ = false;
    shown_.clear();
    groups_ = {};
    block_.reset();
    segment_.reset();
    areas_->show({}, nullptr);
    placement_->clear();
    lists_->clear();
    legend_->show({});
    run_->setVisible(false);
    device_->setVisible(false);
    stack_->showMessage(text);
}

void MemoryPage::showRuns(const std::vector<SelectedRun>& runs)
{
    runs_ = runs;
    wanted_.clear();
    device_->clear();
    {
        const QSignalBlocker quiet(run_);
        run_->clear();
        for (const SelectedRun& run : runs)
            run_->addItem(run.letter.isEmpty() ? run.title : run.letter + QLatin1Char(' ') + run.title);
    }
    load();
}

void MemoryPage::load()
{
    for (JobTracker* job : {&outlining_, &loading_, &namingOps_, &grouping_})
        job->cancel();
    placement_->cancel();
    lists_->cancel();
    if (runs_.empty())
        return showMessage(
            emptyText(tr("This page shows what a traced run allocates over time, the purpose of each "
                         "block, and what is allocated at the peak.")));
    isReading_ = true;
    std::vector<SelectedRun> runs = runs_;
    const auto first = std::ptrdiff_t(std::clamp(run_->currentIndex(), 0, int(runs.size()) - 1));
    std::rotate(runs.begin(), runs.begin() + first, runs.begin() + first + 1);
    const auto failed = [this](const QString& sentence) { showMessage(sentence); };
    outlining_.start(
        [runs, device = device()](const query::Cancelled& cancelled) {
            return readMemoryOutlines(runs, device, cancelled);
        },
        [this](std::vector<MemoryRun> outlines) { outlined(std::move(outlines)); }, failed);
    loading_.start(
        [runs, device = device(), grouping = grouping(),
         isChosen = isColourChosen_](const query::Cancelled& cancelled) {
            Whole whole{readMemoryRuns(runs, device, cancelled), nullptr};
            if (!whole.runs.empty()) {
                const auto& history = whole.runs.front().history;
                whole.groups = query::memoryGroups(
                    history, isChosen ? grouping : query::defaultGrouping(*history), cancelled);
            }
            return whole;
        },
        [this](Whole whole) { loaded(std::move(whole)); }, failed);
}

// The curves alone, of runs that are long.
void MemoryPage::outlined(std::vector<MemoryRun> runs)
{
    if (runs.size() != runs_.size())
        return;
    shown_ = std::move(runs);
    groups_ = {};
    block_.reset();
    segment_.reset();
    placement_->setRun(*main());
    fitAxis();
    showCurves();
}

QString MemoryPage::whyNoMemory() const
{
    if (const QString why = runs_.size() == 1 ? whyTraceIsMissing(*runs_.front().run) : QString();
        !why.isEmpty())
        return why;
    QStringList remedies;
    for (const SelectedRun& run : runs_)
        remedies << remedyFor(MissingPart::Memory, *run.run);
    remedies.removeDuplicates();
    return tr("No allocations were recorded.\n") + remedies.join(QLatin1Char('\n'));
}

void MemoryPage::loaded(Whole whole)
{
    outlining_.cancel();
    isReading_ = false;
    if (whole.runs.empty())
        return showMessage(whyNoMemory());
    const bool wasOutlined = main() != nullptr && main()->isOutline;
    const TimeWindow window = axis_.window();
    shown_ = std::move(whole.runs);
    groups_ = {};
    if (!isColourChosen_) {
        const QSignalBlocker quiet(colourBy_);
        colourBy_->setCurrent(int(whole.groups->grouping));
        lists_->groupBy(MemoryTable(whole.groups->grouping));
    }
    groups_[std::size_t(whole.groups->grouping)] = std::move(whole.groups);
    block_.reset();
    segment_.reset();
    placement_->setRun(*main());
    lists_->select({}, {});
    fillDevices();
    fitAxis();
    if (wasOutlined)
        axis_.setWindow(window, false);
    showCurves();
    placeInstant();
    if (groups_[std::size_t(grouping())])
        grouped(groups_[std::size_t(grouping())]);
    else
        group();
    loadOps();
}

// The GPUs of the run, if there are several. Which of them has the highest peak is known from the first reading.
void MemoryPage::fillDevices()
{
    const MemoryRun& run = *main();
    device_->setVisible(run.gpus.size() > 1);
    if (run.gpus.size() < 2 || device_->count() > 0)
        return;
    for (const auto& [gpu, title] : run.gpus) {
        const bool isHighest = gpu == run.history->device;
        device_->addItem(isHighest ? tr("%1, highest peak").arg(title) : title, gpu.value);
        if (isHighest)
            device_->setCurrentIndex(device_->count() - 1);
    }
}

// The chosen GPU; none: the one with the highest peak.
std::optional<DeviceIndex> MemoryPage::device() const
{
    if (device_->count() == 0)
        return {};
    return DeviceIndex{std::int16_t(device_->currentData().toInt())};
}

void MemoryPage::fitAxis()
{
    TimeWindow bounds{0, 1000};
    for (const MemoryRun& run : shown_) {
        bounds.from = std::min(bounds.from, double(run.history->allocated.time(0) - run.zero()));
        bounds.to = std::max(bounds.to, double(run.history->length - run.zero()));
    }
    const MemoryRun& first = shown_.front();
    if (first.span) {
        const auto [from, to] = first.shown();
        bounds = {double(from - first.zero()), double(to - first.zero())};
    }
    axis_.start(bounds, first.span.has_value());
    std::vector<MemoryStepMark> steps;
    // The first view shows the traced steps; the rest can be panned to.
    double stepsEnd = 0;
    for (const MemoryRun& run : shown_)
        if (!run.steps.empty())
            stepsEnd = std::max(stepsEnd, double(run.steps.back().end - run.zero()));
    if (stepsEnd > 0 && !first.span)
        axis_.setWindow({std::max(bounds.from, -0.02 * stepsEnd), std::min(bounds.to, 1.02 * stepsEnd)},
                        false);
    for (const query::TimelineStep& step : first.steps)
        steps.push_back({tr("step %1").arg(step.step), double(step.start - first.zero()),
                         double(step.end - first.zero())});
    areas_->setSteps(steps, true);
    placement_->blocks().setSteps(std::move(steps), false);
}

void MemoryPage::showCurves()
{
    run_->setVisible(shown_.size() > 1);
    curvesPanel_->setTitle(main()->countsRequested() ? tr("Requested by the program") : tr("Allocated"));
    areas_->show(shown_, groups_[std::size_t(grouping())]);
    fillLegend();
    stack_->showContent();
}

query::MemoryGrouping MemoryPage::grouping() const
{
    return query::MemoryGrouping(colourBy_->current());
}

void MemoryPage::group()
{
    if (main() == nullptr || main()->isOutline)
        return;
    if (const auto& known = groups_[std::size_t(grouping())])
        return grouped(known);
    grouping_.start(
        [history = main()->history, ops = main()->ops, by = grouping()](const query::Cancelled& cancelled) {
            return query::memoryGroups(history, by, cancelled, ops.get());
        },
        [this](std::shared_ptr<const query::MemoryGroups> groups) {
            if (groups)
                grouped(std::move(groups));
        },
        [this](const QString& sentence) { showMessage(sentence); });
}

void MemoryPage::grouped(std::shared_ptr<const query::MemoryGroups> groups)
{
    groups_[std::size_t(groups->grouping)] = groups;
    if (groups->grouping != grouping())
        return;
    areas_->show(shown_, groups);
    fillLegend();
    placement_->show(groups);
}

void MemoryPage::loadOps()
{
    const SelectedRun& run = runs_[std::size_t(std::max(0, run_->currentIndex()))];
    namingOps_.start(
        [run, history = main()->history](const query::Cancelled& cancelled) {
            return query::memoryOps(run.file->borrow()->reader(), *history, cancelled);
        },
        [this](std::shared_ptr<const query::MemoryOps> ops) {
            if (!ops || main() == nullptr)
                return;
            shown_.front().ops = ops;
            placement_->setOps(ops);
            groups_[std::size_t(query::MemoryGrouping::Op)].reset(); // they have no names yet
            grouping_.cancel(); // a job that runs may group without names
            group();
            showLists();
            showBlock();
        },
        [this](const QString& sentence) { showMessage(sentence); });
}

// Shows the bytes under the cursor, otherwise those of the instant.
void MemoryPage::fillLegend()
{
    if (main() == nullptr)
        return;
    const MemoryRun& first = *main();
    const double at = axis_.cursor().value_or(axis_.instant());
    const auto bytesAt = [at](const MemoryRun& run, const query::StepCurve& curve) {
        const auto time = std::int64_t(std::floor(at)) + run.zero();
        return byteText(curve.empty() || time < curve.time(0) ? 0 : double(curve.at(time)));
    };
    std::vector<MemoryLegend::Entry> entries;
    if (const auto& groups = groups_[std::size_t(grouping())]) {
        const std::vector<Swatch> swatches = swatchesOf(*groups);
        for (std::size_t i = 0; i < groups->names.size(); ++i)
            if (!groups->curves[i]->empty() && groups->curves[i]->value(groups->curves[i]->peak()) > 0)
                entries.push_back({swatches[i], QString::fromStdString(groups->names[i]),
                                   bytesAt(first, *groups->curves[i])});
    } else {
        entries.push_back({Swatch::ofCategory(QStringLiteral("unattributed")),
                           tr("%1 (reading categories…)").arg(first.countWord()),
                           bytesAt(first, first.history->allocated)});
    }
    if (groups_[std::size_t(grouping())])
        entries.push_back(
            {Swatch::neutral(), first.countWord(), bytesAt(first, first.history->allocated), true});
    if (first.hasReserved())
        entries.push_back({Swatch::ofCategory(QStringLiteral("reserved_free")), tr("reserved"),
                           bytesAt(first, first.history->reserved), false, true});
    for (std::size_t i = 1; i < shown_.size(); ++i)
        entries.push_back({Swatch::ofLine(MemoryAreas::outlineOf(i)),
                           shown_[i].letter + QLatin1Char(' ') + shown_[i].title,
                           bytesAt(shown_[i], shown_[i].history->allocated), true});
    legend_->show(std::move(entries));
    areas_->setAccessibleDescription(legend_->accessibleDescription());
}

std::int64_t MemoryPage::instant() const
{
    return std::llround(axis_.instant()) + main()->zero();
}

void MemoryPage::placeInstant()
{
    const MemoryRun* run = main();
    if (run == nullptr)
        return;
    std::int64_t time = instant();
    if (instantKind_ == Instant::Peak) {
        time = run->peakTime();
    } else if (instantKind_ == Instant::StepEnd && !run->steps.empty()) {
        const query::TimelineStep* step = run->stepAt(time);
        const auto [first, last] = run->shown();
        time = std::clamp(step != nullptr ? step->end : run->steps.back().end, first, last);
    }
    axis_.setInstant(double(time - run->zero()));
    instantChoice_->setCurrent(int(instantKind_));
    fillLegend();
    showLists();
}

void MemoryPage::chooseInstant(double time)
{
    const MemoryRun* run = main();
    if (run == nullptr)
        return;
    const auto [first, last] = run->shown();
    axis_.setInstant(std::floor(std::clamp(time, double(first - run->zero()), double(last - run->zero()))));
    instantKind_ = Instant::Chosen;
    placeInstant();
}

QString MemoryPage::instantWords() const
{
    const std::int64_t time = instant();
    QString words;
    if (const query::TimelineStep* step = main()->stepAt(time))
        words = tr("step %1, ").arg(step->step);
    return words + timeText(axis_.instant());
}

QString MemoryPage::summaryWords(std::optional<std::int64_t> allocatedSize) const
{
    const MemoryRun& run = *main();
    const std::int64_t time = instant();
    const std::int64_t bytes = run.history->allocated.at(time);
    QString words = run.countWord() + QLatin1Char(' ') + byteText(double(bytes));
    if (allocatedSize && *allocatedSize != bytes)
        words += tr(" (allocated with rounding: %1)").arg(byteText(double(*allocatedSize)));
    if (run.hasReserved())
        words += tr(", reserved %1").arg(byteText(double(run.history->reserved.at(time))));
    words += instantKind_ == Instant::Peak
                 ? (run.span ? tr(" at the peak within the time filter") : tr(" at the peak"))
                 : tr(" at %1").arg(timeText(axis_.instant()));
    if (run.predicted && instantKind_ == Instant::Peak && !run.span) {
        // Traced steps are other ones and may need less.
        if (run.timedPeak && byteText(double(*run.timedPeak)) != byteText(double(bytes)))
            words += tr(", %1 in the timed steps").arg(byteText(double(*run.timedPeak)));
        words += tr(", predicted %1 allocated").arg(byteText(double(*run.predicted)));
    }
    return words;
}

void MemoryPage::showLists()
{
    if (main() == nullptr || main()->isOutline)
        return;
    lists_->show(*main(), groups_, grouping(),
                 {.time = instant(),
                  .isPeak = instantKind_ == Instant::Peak,
                  .title = tr("At %1").arg(timeText(axis_.instant()))},
                 placement_->showsSegments());
}

// The tables of the instant are there.
void MemoryPage::showInstant()
{
    if (main() == nullptr)
        return;
    if (segment_)
        facts_->showSegment(*segment_, stripOf(*segment_));
    if (placement_->showsSegments())
        placement_->showStrips(lists_->strips(), instantWords());
    curvesPanel_->setSubtitle(summaryWords(lists_->allocatedSize()));
    if (!wanted_.isEmpty()) {
        PageTarget target;
        target.kind = PageTarget::Kind::Range;
        target.text = std::exchange(wanted_, {});
        goTo(target);
    }
}

const query::MemoryStrip* MemoryPage::stripOf(std::uint64_t address) const
{
    const auto strip =
        std::ranges::find(lists_->strips(), address, [](const auto& each) { return each.segment.address; });
    return strip == lists_->strips().end() ? nullptr : &*strip;
}

void MemoryPage::chooseBlock(std::int64_t block)
{
    const MemoryRun* run = main();
    if (run == nullptr)
        return;
    block_ = block >= 0 && std::size_t(block) < run->history->blocks.size()
                 ? std::optional(std::uint32_t(block))
                 : std::nullopt;
    segment_.reset();
    showSelected();
}

void MemoryPage::chooseSegment(std::uint64_t address)
{
    if (main() == nullptr)
        return;
    block_.reset();
    segment_ = address;
    showSelected();
}

void MemoryPage::showSelected()
{
    placement_->select(block_, segment_);
    lists_->select(block_, segment_);
    if (segment_)
        facts_->showSegment(*segment_, stripOf(*segment_));
    else
        showBlock();
}

void MemoryPage::showBlock()
{
    if (block_ && main() != nullptr)
        facts_->showBlock(*main(), *block_);
    else
        facts_->showNothing();
}

// The allocator's activity within the selected span.
void MemoryPage::tellSpan()
{
    const MemoryRun* run = main();
    if (run == nullptr)
        return;
    if (!axis_.span())
        return showBlock();
    const auto from = std::int64_t(std::floor(axis_.span()->from)) + run->zero();
    const auto to = std::int64_t(std::ceil(axis_.span()->to)) + run->zero();
    const query::StepCurve& curve = run->history->allocated;
    const auto begun = std::ranges::lower_bound(run->history->blocks, from, {}, &query::MemoryLife::begin);
    const auto ended = std::ranges::upper_bound(run->history->blocks, to, {}, &query::MemoryLife::begin);
    emit selectionText(tr("%1: %2 allocated, maximum %3, %4 requested")
                           .arg(timeText(axis_.span()->length()), signedBytes(curve.at(to) - curve.at(from)),
                                byteText(double(curve.extremes(from, to).second)),
                                counted(std::max<std::ptrdiff_t>(0, ended - begun), "block")));
}

// For screen readers: what is selected in the pictures of blocks.
void MemoryPage::describe(const QString& selection)
{
    const QString shown =
        main() == nullptr
            ? QString()
            : tr("; %1 of %2").arg(counted(std::ssize(main()->history->blocks), "block"), main()->title);
    for (QWidget* picture :
         {static_cast<QWidget*>(&placement_->blocks()), static_cast<QWidget*>(&placement_->segments())})
        picture->setAccessibleDescription((selection.isEmpty() ? tr("no block is selected") : selection) +
                                          shown);
}

// Selects the largest block at the peak with that blockGroup().
void MemoryPage::goTo(const PageTarget& target)
{
    if (target.kind != PageTarget::Kind::Range)
        return;
    if (isReading_ || main() == nullptr) {
        wanted_ = target.text;
        return;
    }
    const MemoryRun& run = *main();
    for (const std::uint32_t block : run.history->aliveAt(run.peakTime()))
        if (blockGroup(*run.history, block) == target.text) {
            instantKind_ = Instant::Peak;
            placeInstant();
            chooseBlock(block);
            return;
        }
}

} // namespace tilescope::ui
