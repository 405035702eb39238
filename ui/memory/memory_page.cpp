#include "ui/memory/memory_page.h"

#include "core/analysis/time/path_glob.h"
#include "core/model/text.h"
#include "core/query/memory/memory_difference.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/number_text.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_view.h"
#include "ui/memory/memory_areas.h"
#include "ui/memory/memory_blocks.h"
#include "ui/memory/memory_legend.h"
#include "ui/memory/memory_run_reading.h"
#include "ui/memory/memory_segments.h"
#include "ui/theme/theme.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QScrollArea>
#include <QShortcut>
#include <QSignalBlocker>
#include <QSlider>
#include <QSplitter>
#include <QStackedWidget>
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
    splitter->setStyleSheet(QStringLiteral("QSplitter::handle { background: transparent; }"));
    return splitter;
}

/// Blocks drawn individually by default, which keeps frames short.
constexpr std::size_t kBoxesAtFirst = 20'000;
constexpr int kSegmentsPlaced = 2; ///< index in the choices of block positions

/// The slider's positions are finer where few blocks are shown.
double shareAt(int position)
{
    return std::pow(position / 1000.0, 3);
}

int positionOf(double share)
{
    return std::clamp(int(std::ceil(1000 * std::cbrt(share))), 1, 1000);
}

QString signedBytes(std::int64_t bytes)
{
    const QString text = byteText(double(std::abs(bytes)));
    return bytes < 0 ? QChar(0x2212) + text : QLatin1Char('+') + text;
}

} // namespace

MemoryPage::MemoryPage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), colourBy_(new Segments({tr("category"), tr("phase"), tr("module")})),
      instantChoice_(new Segments({tr("peak"), tr("chosen"), tr("step end")})), run_(new ComboBox(tr("Run"))),
      summary_(new ElidedLabel), stack_(new QStackedWidget), message_(makeMessage()),
      areas_(new MemoryAreas(axis_)), legend_(new MemoryLegend), blocks_(new MemoryBlocks(axis_)),
      segments_(new MemorySegments), shares_(new TableView),
      filter_(makeFindField(tr("Filter…"), tr("Filter blocks"))), table_(new TableView)
{
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    stack_->addWidget(message_);
    stack_->addWidget(makePanels());
    layout->addWidget(stack_, 1);
    setFocusProxy(areas_);
    leadOut(*filter_, *table_);
    connect(&Theme::instance(), &Theme::changed, this, &MemoryPage::fillLegend);
    connect(&axis_, &MemoryAxis::cursorChanged, this, &MemoryPage::fillLegend);
    connect(&axis_, &MemoryAxis::spanChanged, this, &MemoryPage::tellSpan);
    for (MemoryChart* chart : {static_cast<MemoryChart*>(areas_), static_cast<MemoryChart*>(blocks_)}) {
        connect(chart, &MemoryChart::hovered, this, &Page::cursorText);
        connect(chart, &MemoryChart::instantClicked, this, &MemoryPage::chooseInstant);
    }
    connect(blocks_, &MemoryBlocks::blockClicked, this, &MemoryPage::chooseBlock);
    connect(segments_, &MemorySegments::blockClicked, this, &MemoryPage::chooseBlock);
    connect(segments_, &MemorySegments::segmentClicked, this, &MemoryPage::chooseSegment);
    connect(segments_, &MemorySegments::hovered, this, &Page::cursorText);
}

QWidget* MemoryPage::makeTools()
{
    auto* tools = new ToolBar;
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
    tools->addGap();
    tools->add(run_);
    summary_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    tools->addWide(summary_);
    connect(tools->addButton(tr("Fit"), tr("Show everything (F)")), &QPushButton::clicked, &axis_,
            &MemoryAxis::fit);
    connect(tools->addButton(tr("Export…"), tr("Save what this page shows (Ctrl+E)")), &QPushButton::clicked,
            this, &Page::exportWanted);
    connect(colourBy_, &Segments::changed, this, [this] {
        isColourChosen_ = true;
        group();
    });
    connect(instantChoice_, &Segments::changed, this, [this](int index) {
        instantKind_ = Instant(index);
        placeInstant();
    });
    connect(run_, &QComboBox::activated, this, &MemoryPage::load);
    return tools;
}

Panel* MemoryPage::makeBlocks()
{
    auto* panel = new Panel(tr("Blocks"));
    placement_ = new Segments({tr("by address"), tr("stacked"), tr("segments")});
    placement_->setAccessibleName(tr("Where blocks stand"));
    placement_->setToolTip(
        tr("Over time at their addresses or on each other as they were allocated, or in the segments of the "
           "instant"));
    detail_ = new QSlider(Qt::Horizontal);
    detail_->setRange(1, 1000);
    detail_->setMinimumWidth(sizes().of(48));
    detail_->setMaximumWidth(sizes().of(110));
    detail_->setAccessibleName(tr("Detail: the share of blocks that are drawn, the largest first"));
    panel->addToHeader(placement_);
    detailTools_ = new QWidget;
    QSizePolicy keepsPlace = detailTools_->sizePolicy();
    keepsPlace.setRetainSizeWhenHidden(true); // widgets beside it keep their place
    detailTools_->setSizePolicy(keepsPlace);
    auto* tools = new QHBoxLayout(detailTools_);
    tools->setContentsMargins(0, 0, 0, 0);
    auto* word = new QLabel(tr("Detail"));
    word->setProperty("kind", "dim");
    tools->addWidget(word);
    tools->addWidget(detail_);
    panel->addToHeader(detailTools_);
    placed_ = new QStackedWidget;
    placed_->addWidget(blocks_);
    placed_->addWidget(segments_);
    auto* content = new QVBoxLayout;
    content->setContentsMargins(sizes().of(8), sizes().of(4), sizes().of(4), sizes().of(4));
    content->addWidget(placed_);
    panel->setContent(content);
    connect(placement_, &Segments::changed, this, &MemoryPage::place);
    connect(detail_, &QSlider::valueChanged, this, &MemoryPage::layOut);
    return panel;
}

QWidget* MemoryPage::makePlots()
{
    curvesPanel_ = new Panel(tr("Allocated"));
    auto* content = new QVBoxLayout;
    content->setContentsMargins(sizes().of(8), sizes().of(6), sizes().of(4), sizes().of(4));
    content->setSpacing(0);
    auto* legend = new QHBoxLayout;
    legend->setContentsMargins(sizes().of(8), 0, sizes().of(8), 0);
    legend->addWidget(legend_);
    content->addLayout(legend);
    content->addWidget(areas_, 1);
    curvesPanel_->setContent(content);
    blocksPanel_ = makeBlocks();
    QSplitter* plots = makeSplitter(Qt::Vertical);
    plots->addWidget(curvesPanel_);
    plots->addWidget(blocksPanel_);
    plots->setStretchFactor(0, 4);
    plots->setStretchFactor(1, 5);
    return plots;
}

QWidget* MemoryPage::makeSide()
{
    sharesPanel_ = new Panel(tr("At the peak"));
    sharesBy_ = new Segments({tr("category"), tr("phase"), tr("module"), tr("op")});
    sharesBy_->setAccessibleName(tr("Group what is allocated by"));
    sharesPanel_->addToHeader(sharesBy_);
    shares_->setAccessibleName(tr("Allocated at the instant"));
    shares_->setRowHeight(22);
    sharesPanel_->setContent(shares_);
    connect(sharesBy_, &Segments::changed, this, &MemoryPage::showLists);
    connect(shares_, &TableView::chosen, this, &MemoryPage::chooseShare);

    listPanel_ = new Panel(tr("Blocks alive"));
    listKind_ = new Segments({tr("alive"), tr("ever"), tr("segments")});
    listKind_->setAccessibleName(tr("What the list shows"));
    listKind_->setToolTip(
        tr("Blocks alive at the instant, the largest of all times, or the allocator's segments"));
    table_->setAccessibleName(tr("Blocks of memory"));
    table_->setRowHeight(22);
    table_->sortByColumn(int(BlockColumn::Bytes), Qt::DescendingOrder);
    filter_->setToolTip(tr("Keep rows that contain every word (/)"));
    auto* list = new QVBoxLayout;
    list->setContentsMargins(0, 0, 0, 0);
    list->setSpacing(0);
    auto* find = new QHBoxLayout;
    find->setContentsMargins(sizes().of(8), sizes().of(4), sizes().of(8), sizes().of(4));
    find->addWidget(listKind_);
    find->addWidget(filter_, 1);
    list->addLayout(find);
    list->addWidget(table_, 1);
    listPanel_->setContent(list);
    connect(listKind_, &Segments::changed, this, &MemoryPage::showLists);
    connect(table_, &TableView::chosen, this, [this](std::int64_t id) {
        if (List(listKind_->current()) == List::Segments)
            chooseSegment(std::uint64_t(id));
        else
            chooseBlock(id);
    });
    connect(filter_, &QLineEdit::textChanged, this,
            [this](const QString& words) { table_->filter().setWords(words); });

    QSplitter* side = makeSplitter(Qt::Vertical);
    side->setMinimumWidth(sizes().of(356)); // independent of the panels' titles: the plots keep their width
    side->addWidget(sharesPanel_);
    side->addWidget(listPanel_);
    side->addWidget(makeFacts());
    for (const auto& [index, stretch] : {std::pair(0, 10), std::pair(1, 12), std::pair(2, 8)})
        side->setStretchFactor(index, stretch);
    side->setSizes({sizes().of(345), sizes().of(330), sizes().of(235)});
    return side;
}

Panel* MemoryPage::makeFacts()
{
    factsPanel_ = new Panel(tr("No block selected"));
    facts_ = new KeyValueTable;
    facts_->setAccessibleName(tr("Details of the selected block"));
    auto* scroll = new QScrollArea;
    scroll->setWidgetResizable(true);
    scroll->setAccessibleName(tr("Selected block"));
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidget(facts_);
    for (QWidget* ground : {scroll->viewport(), static_cast<QWidget*>(facts_)}) {
        ground->setAutoFillBackground(false);
        ground->setStyleSheet(QStringLiteral("background: transparent"));
    }
    factsPanel_->setContent(scroll);
    return factsPanel_;
}

QWidget* MemoryPage::makePanels()
{
    QSplitter* both = makeSplitter(Qt::Horizontal);
    both->addWidget(makePlots());
    both->addWidget(makeSide());
    both->setStretchFactor(0, 70);
    both->setStretchFactor(1, 30);
    both->setSizes({sizes().of(830), sizes().of(360)});
    auto* panels = new QWidget;
    auto* layout = new QVBoxLayout(panels);
    const int margin = sizes().of(12);
    layout->setContentsMargins(sizes().margin, margin, sizes().margin, margin);
    layout->addWidget(both);
    return panels;
}

void MemoryPage::startFind()
{
    filter_->setFocus();
    filter_->selectAll();
}

void MemoryPage::showMessage(const QString& text)
{
    isReading_ = false;
    shown_.clear();
    groups_ = {};
    layout_.reset();
    block_.reset();
    segment_.reset();
    areas_->show({}, nullptr);
    blocks_->clear();
    table_->show({});
    shares_->show({});
    legend_->show({});
    summary_->clear();
    run_->setVisible(false);
    message_->setText(text);
    stack_->setCurrentWidget(message_);
}

void MemoryPage::showRuns(const std::vector<SelectedRun>& runs)
{
    runs_ = runs;
    wanted_.clear();
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
    for (JobTracker* job :
         {&outlining_, &loading_, &namingOps_, &grouping_, &placing_, &levelling_, &listing_})
        job->cancel();
    if (runs_.empty())
        return showMessage(
            emptyText(tr("This page shows what a traced run allocates over time, the purpose of each "
                         "block, and what is allocated at the peak.")));
    isReading_ = true;
    std::vector<SelectedRun> runs = runs_;
    const auto first = std::ptrdiff_t(std::clamp(run_->currentIndex(), 0, int(runs.size()) - 1));
    if (!isColourChosen_) {
        // A snapshot has no categories, only stacks.
        const bool isSnapshot = runs[std::size_t(first)].run->workload == query::kSnapshotWorkload;
        const QSignalBlocker quiet(colourBy_);
        const QSignalBlocker quietToo(sharesBy_);
        const auto by = int(isSnapshot ? query::MemoryGrouping::Module : query::MemoryGrouping::Category);
        colourBy_->setCurrent(by);
        sharesBy_->setCurrent(by);
    }
    std::rotate(runs.begin(), runs.begin() + first, runs.begin() + first + 1);
    const auto failed = [this](const QString& sentence) { showMessage(sentence); };
    outlining_.start(
        [runs](const query::Cancelled& cancelled) { return readMemoryOutlines(runs, cancelled); },
        [this](std::vector<MemoryRun> outlines) { outlined(std::move(outlines)); }, failed);
    loading_.start(
        [runs, grouping = grouping()](const query::Cancelled& cancelled) {
            Whole whole{readMemoryRuns(runs, cancelled), nullptr};
            if (!whole.runs.empty())
                whole.groups = query::memoryGroups(whole.runs.front().history, grouping, cancelled);
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
    blocks_->clear();
    blocksPanel_->setSubtitle(tr("being read…"));
    fitAxis();
    showCurves();
}

void MemoryPage::loaded(Whole whole)
{
    outlining_.cancel();
    isReading_ = false;
    if (whole.runs.empty())
        return showMessage(
            tr("No allocations were recorded.\nGive the run memory: true, trace: kernels or full, "
               "and trace_steps above 0, to see its memory."));
    const bool wasOutlined = main() != nullptr && main()->isOutline;
    const TimeWindow window = axis_.window();
    shown_ = std::move(whole.runs);
    groups_ = {};
    groups_[std::size_t(whole.groups->grouping)] = std::move(whole.groups);
    block_.reset();
    segment_.reset();
    layout_.reset();
    blocks_->clear();
    fitAxis();
    if (wasOutlined)
        axis_.setWindow(window, false);
    showCurves();
    {
        const QSignalBlocker quiet(detail_);
        const auto blocks = std::max<std::size_t>(1, main()->history->blocks.size());
        detail_->setValue(blocks <= kBoxesAtFirst ? 1000
                                                  : positionOf(double(kBoxesAtFirst) / double(blocks)) - 1);
    }
    placeInstant();
    if (groups_[std::size_t(grouping())])
        grouped(groups_[std::size_t(grouping())]);
    else
        group();
    loadOps();
}

void MemoryPage::fitAxis()
{
    TimeWindow bounds{0, 1000};
    for (const MemoryRun& run : shown_) {
        bounds.from = std::min(bounds.from, double(run.history->allocated.time(0) - run.zero()));
        bounds.to = std::max(bounds.to, double(run.history->length - run.zero()));
    }
    axis_.start(bounds);
    std::vector<MemoryStepMark> steps;
    const MemoryRun& first = shown_.front();
    // The first view shows the traced steps; the rest can be panned to.
    double stepsEnd = 0;
    for (const MemoryRun& run : shown_)
        if (!run.steps.empty())
            stepsEnd = std::max(stepsEnd, double(run.steps.back().end - run.zero()));
    if (stepsEnd > 0)
        axis_.setWindow({std::max(bounds.from, -0.02 * stepsEnd), std::min(bounds.to, 1.02 * stepsEnd)},
                        false);
    for (const query::TimelineStep& step : first.steps)
        steps.push_back({tr("step %1").arg(step.step), double(step.start - first.zero()),
                         double(step.end - first.zero())});
    areas_->setSteps(steps, true);
    blocks_->setSteps(std::move(steps), false);
}

void MemoryPage::showCurves()
{
    run_->setVisible(shown_.size() > 1);
    curvesPanel_->setTitle(main()->countsRequested() ? tr("Requested") : tr("Allocated"));
    curvesPanel_->setSubtitle(main()->countsRequested() ? tr("bytes that the program requested") : QString());
    areas_->show(shown_, groups_[std::size_t(grouping())]);
    fillLegend();
    stack_->setCurrentIndex(1);
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
        [history = main()->history, by = grouping()](const query::Cancelled& cancelled) {
            return query::memoryGroups(history, by, cancelled);
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
    if (placed_->currentIndex() == 1)
        showLists();
    if (layout_)
        showBlocks();
    else
        layOut();
}

void MemoryPage::layOut()
{
    if (main() == nullptr || main()->isOutline || placement_->current() == kSegmentsPlaced)
        return;
    const auto blocks = double(main()->history->blocks.size());
    const auto most = std::size_t(std::max(1.0, std::ceil(shareAt(detail_->value()) * blocks)));
    placing_.start(
        [history = main()->history, most,
         placing = query::MemoryPlacing(placement_->current())](const query::Cancelled& cancelled) {
            return query::memoryLayout(*history, placing, most, cancelled);
        },
        [this](std::shared_ptr<const query::MemoryLayout> layout) {
            if (!layout)
                return;
            layout_ = std::move(layout);
            showBlocks();
        },
        [this](const QString& sentence) { showMessage(sentence); });
}

// Levels of detail keep frames with many blocks short.
void MemoryPage::showBlocks()
{
    const auto& groups = groups_[std::size_t(grouping())];
    if (!groups)
        return;
    levelling_.start(
        [layout = layout_, groups](const query::Cancelled& cancelled) {
            return query::memoryLevels(*layout, groups->groupOf, cancelled);
        },
        [this, layout = layout_, groups](std::shared_ptr<const query::MemoryLevels> levels) {
            if (!levels || main() == nullptr)
                return;
            blocks_->show(*main(), groups, layout, std::move(levels));
            segment_ ? blocks_->selectSegment(segment_) : blocks_->select(block_);
            showDetail();
        },
        [this](const QString& sentence) { showMessage(sentence); });
}

// Over time, or in the segments of the instant.
void MemoryPage::place()
{
    const bool segments = placement_->current() == kSegmentsPlaced;
    placed_->setCurrentIndex(segments ? 1 : 0);
    detailTools_->setVisible(!segments);
    if (segments)
        showLists();
    else
        layOut();
}

void MemoryPage::showDetail()
{
    const auto all = std::int64_t(main()->history->blocks.size());
    const double share = all == 0 ? 1 : double(layout_->blocks) / double(all);
    QString words = layout_->blocks == std::size_t(all)
                        ? tr("all %1").arg(wholeNumber(all))
                        : tr("the largest %1: %2 of %3, %4 of bytes over time")
                              .arg(percentText(share), wholeNumber(std::int64_t(layout_->blocks)),
                                   wholeNumber(all), percentText(layout_->byteShare));
    if (!layout_->areas.empty())
        words += QStringLiteral(", in ") +
                 counted(std::int64_t(layout_->areas.size()),
                         main()->history->segments.empty() ? "address range" : "segment");
    blocksPanel_->setSubtitle(words);
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
            blocks_->setOps(ops);
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
        for (std::size_t i = 0; i < groups->names.size(); ++i)
            if (!groups->curves[i]->empty() && groups->curves[i]->value(groups->curves[i]->peak()) > 0)
                entries.push_back({swatchOfGroup(groups->grouping, groups->names[i]),
                                   QString::fromStdString(groups->names[i]),
                                   bytesAt(first, *groups->curves[i])});
    } else {
        entries.push_back({swatchOfGroup(query::MemoryGrouping::Category, "unattributed"),
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
}

std::int64_t MemoryPage::instant() const
{
    return std::llround(axis_.instant()) + main()->zero();
}

void MemoryPage::setInstant(std::int64_t time)
{
    chooseInstant(double(time - main()->zero()));
}

void MemoryPage::placeInstant()
{
    const MemoryRun* run = main();
    if (run == nullptr)
        return;
    std::int64_t time = instant();
    if (instantKind_ == Instant::Peak) {
        time = run->history->peakTime;
    } else if (instantKind_ == Instant::StepEnd && !run->steps.empty()) {
        const query::TimelineStep* step = run->stepAt(time);
        time = step != nullptr ? step->end : run->steps.back().end;
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
    const double first = double(run->history->allocated.time(0) - run->zero());
    const double last = double(run->history->length - run->zero());
    axis_.setInstant(std::floor(std::clamp(time, first, last)));
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
    if (run.devices > 1 && run.history->device)
        words = tr("GPU %1, the highest peak of %2 GPUs: ").arg(run.history->device.value).arg(run.devices) +
                words;
    words += instantKind_ == Instant::Peak ? tr(" at the peak") : tr(" at %1").arg(timeText(axis_.instant()));
    return words;
}

void MemoryPage::showLists()
{
    if (main() == nullptr || main()->isOutline)
        return;
    const auto by = MemoryTable(sharesBy_->current());
    const List list = List(listKind_->current());
    auto groups = by == MemoryTable::Op ? nullptr : groups_[std::size_t(by)];
    listing_.start(
        [run = *main(), by, list, groups, time = instant(),
         strips = placed_->currentIndex() == 1](const query::Cancelled& cancelled) {
            Lists lists;
            auto grouped = groups;
            if (by != MemoryTable::Op && !grouped)
                grouped = query::memoryGroups(run.history, query::MemoryGrouping(by), cancelled);
            if (cancelled())
                return lists;
            lists.shares = memoryShareRows(run, by, grouped.get(), time);
            if (list == List::Segments)
                lists.segments = segmentRows(*run.history, time);
            else
                lists.blocks = blockRows(
                    run, {.time = list == List::Ever ? std::nullopt : std::optional<std::int64_t>(time)});
            if (strips || list == List::Segments)
                lists.strips = query::memoryStrips(*run.history, time);
            return lists;
        },
        [this](Lists lists) { showInstant(std::move(lists)); },
        [this](const QString& sentence) { showMessage(sentence); });
}

void MemoryPage::showInstant(Lists lists)
{
    if (main() == nullptr)
        return;
    const MemoryRun& run = *main();
    const bool peak = instantKind_ == Instant::Peak;
    sharesPanel_->setTitle(peak ? tr("At the peak") : tr("At %1").arg(timeText(axis_.instant())));
    shareKeys_ = std::move(lists.shares.keys);
    shares_->show(std::move(lists.shares.table));
    const List list = List(listKind_->current());
    if (list == List::Segments) {
        const bool none = lists.segments.table.rows.empty();
        listPanel_->setTitle(tr("Segments"));
        listPanel_->setSubtitle(none ? (run.hasReserved() ? tr("not recorded") : tr("none on a CPU"))
                                     : wholeNumber(std::int64_t(lists.segments.table.rows.size())));
        table_->setToolTip(lists.segments.summary);
        table_->show(std::move(lists.segments.table));
        hideAtFirst(list);
    } else {
        const auto listed = std::int64_t(lists.blocks.table.rows.size());
        const auto all = std::int64_t(lists.blocks.blocks);
        listPanel_->setTitle(list == List::Ever ? tr("Largest ever")
                             : peak             ? tr("Alive at the peak")
                                                : tr("Alive"));
        listPanel_->setSubtitle(listed < all ? tr("%1 of %2").arg(wholeNumber(listed), wholeNumber(all))
                                             : counted(all, "block"));
        table_->setToolTip({});
        table_->show(std::move(lists.blocks.table));
        hideAtFirst(list);
    }
    strips_ = std::move(lists.strips);
    markRow();
    if (segment_)
        showSegment();
    if (placed_->currentIndex() == 1)
        showStrips();
    summary_->setText(summaryWords(lists.shares.allocatedSize));
    if (!wanted_.isEmpty()) {
        PageTarget target;
        target.kind = PageTarget::Kind::Range;
        target.text = std::exchange(wanted_, {});
        goTo(target);
    }
}

// Hides wide columns once; the header's menu shows them.
void MemoryPage::hideAtFirst(List list)
{
    bool& known = isHidingKnown_[list == List::Segments ? 1 : 0];
    if (std::exchange(known, true))
        return;
    QMenu columns;
    table_->fillColumnMenu(columns);
    const QStringList hidden = list == List::Segments
                                   ? QStringList{tr("Free"), tr("Blocks"), tr("Stream"), tr("Kind")}
                                   : QStringList{tr("Requested in"), tr("From"), tr("Lives")};
    for (QAction* action : columns.actions())
        if (hidden.contains(action->text().section(QLatin1Char(','), 0, 0)))
            action->trigger();
}

void MemoryPage::showStrips()
{
    const auto& groups = groups_[std::size_t(grouping())];
    if (!groups)
        return;
    std::int64_t used = 0;
    std::int64_t all = 0;
    for (const query::MemoryStrip& strip : strips_) {
        used += strip.used;
        all += strip.segment.bytes;
    }
    blocksPanel_->setSubtitle(
        strips_.empty() ? QString()
                        : tr("%1 at %2, %3 of them used")
                              .arg(counted(std::ssize(strips_), "segment"), instantWords(),
                                   percentText(double(used) / double(std::max<std::int64_t>(1, all)))));
    if (strips_.empty())
        segments_->showMessage(
            main()->hasReserved()
                ? tr("The segments of this run were not recorded: it was written by an older version.")
                : tr("The allocator of a CPU has no segments."));
    else
        segments_->show(*main(), groups, strips_);
    segment_ ? segments_->selectSegment(segment_) : segments_->select(block_);
}

// Selects the row of the selected block or segment; in the list of segments, the segment of the block.
void MemoryPage::markRow()
{
    std::optional<std::int64_t> id;
    if (List(listKind_->current()) != List::Segments) {
        if (block_)
            id = *block_;
    } else if (segment_) {
        id = std::int64_t(*segment_);
    } else if (block_) {
        for (const query::MemoryStrip& strip : strips_)
            if (std::ranges::any_of(strip.parts, [this](const auto& part) { return part.block == block_; }))
                id = std::int64_t(strip.segment.address);
    }
    table_->setCurrentId(id);
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
    blocks_->select(block_);
    segments_->select(block_);
    markRow();
    showBlock();
}

void MemoryPage::chooseSegment(std::uint64_t address)
{
    if (main() == nullptr)
        return;
    block_.reset();
    segment_ = address;
    blocks_->selectSegment(segment_);
    segments_->selectSegment(segment_);
    markRow();
    showSegment();
}

void MemoryPage::showSegment()
{
    factsPanel_->setTitle(tr("Segment 0x%1").arg(*segment_, 0, 16));
    const auto strip = std::ranges::find(strips_, *segment_, [](const auto& s) { return s.segment.address; });
    facts_->setRows({});
    if (strip == strips_.end()) {
        factsPanel_->setSubtitle(tr("does not exist at this instant"));
        emit selectionText(tr("1 segment selected"));
        return;
    }
    const MemorySegment& segment = strip->segment;
    const auto blocks = std::ranges::count_if(
        strip->parts, [](const auto& part) { return part.state != analysis::PlacedBlock::State::Free; });
    factsPanel_->setSubtitle({});
    facts_->setRows({{.key = tr("Size"), .values = {byteText(double(segment.bytes))}},
                     {.key = tr("Used"), .values = {byteText(double(strip->used))}},
                     {.key = tr("Free"), .values = {byteText(double(segment.bytes - strip->used))}},
                     {.key = tr("Largest free"), .values = {byteText(double(strip->largestFree))}},
                     {.key = tr("Blocks"), .values = {wholeNumber(blocks)}},
                     {.key = tr("Stream"),
                      .values = {segment.stream ? QString::number(segment.stream.value) : notMeasured()}},
                     {.key = tr("Kind"),
                      .values = {segment.isExpandable ? tr("expandable")
                                 : segment.isLarge    ? tr("large")
                                                      : tr("small")}}},
                    true);
    emit selectionText(
        tr("1 segment selected, %1, %2 used")
            .arg(byteText(double(segment.bytes)),
                 percentText(double(strip->used) / double(std::max<std::int64_t>(1, segment.bytes)))));
}

void MemoryPage::showBlock()
{
    if (!block_ || main() == nullptr) {
        factsPanel_->setTitle(tr("No block selected"));
        factsPanel_->setSubtitle(tr("click a block in the plot or in the list"));
        facts_->setRows({});
        emit selectionText({});
        return;
    }
    const query::MemoryLife& block = main()->history->blocks[*block_];
    factsPanel_->setTitle(blockName(*main(), *block_));
    factsPanel_->setSubtitle({});
    std::vector<KeyValueRow> rows;
    for (const auto& [key, value] : blockFacts(*main(), *block_))
        rows.push_back({.key = key, .values = {value}});
    facts_->setRows(std::move(rows), true);
    const std::string_view category = wordOf(block.category);
    emit selectionText(
        tr("1 block selected, %1, %2").arg(byteText(double(block.bytes)), QString::fromUtf8(category)));
}

// Choosing a group filters the list to its blocks.
void MemoryPage::chooseShare(std::int64_t row)
{
    if (row < 0 || std::size_t(row) >= shareKeys_.size())
        return;
    const auto by = MemoryTable(sharesBy_->current());
    if (by == MemoryTable::Category)
        filter_->setText(QString::fromStdString(shareKeys_[std::size_t(row)]));
    else if (by == MemoryTable::Op)
        filter_->setText(
            QString::fromStdString(shareKeys_[std::size_t(row)]).remove(QStringLiteral("aten::")));
}

// What the allocator did within the selected span.
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
    for (const std::uint32_t block : run.history->aliveAt(run.history->peakTime))
        if (blockGroup(*run.history, block) == target.text) {
            instantKind_ = Instant::Peak;
            placeInstant();
            chooseBlock(block);
            return;
        }
}

} // namespace tilescope::ui
