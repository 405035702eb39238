// How the memory page comes by what its plots show: curves, blocks, groups, places.

#include "core/query/memory/memory_difference.h"
#include "ui/kit/controls.h"
#include "ui/kit/number_text.h"
#include "ui/kit/panel.h"
#include "ui/memory/memory_areas.h"
#include "ui/memory/memory_blocks.h"
#include "ui/memory/memory_legend.h"
#include "ui/memory/memory_page.h"
#include "ui/theme/theme.h"

#include <QComboBox>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>
#include <QStackedWidget>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

/// Blocks that are drawn one by one unless more are asked for: a frame stays short.
constexpr std::size_t kBoxesAtFirst = 20'000;
constexpr int kSegmentsPlaced = 2; ///< of the choices of where blocks stand

/// The slider's positions are finer where few blocks are shown.
double shareAt(int position)
{
    return std::pow(position / 1000.0, 3);
}

int positionOf(double share)
{
    return std::clamp(int(std::ceil(1000 * std::cbrt(share))), 1, 1000);
}

std::vector<MemoryRun> outlinesOf(const std::vector<SelectedRun>& runs, const query::Cancelled& cancelled)
{
    std::vector<MemoryRun> outlines;
    for (const SelectedRun& run : runs) {
        if (cancelled())
            break;
        auto session = run.file->borrow();
        auto history = query::memoryOutline(session->reader(), run.key.run);
        if (!history)
            break; // a short run's blocks are there as soon
        MemoryRun outline{.letter = run.letter, .title = run.title, .history = history};
        outline.steps = query::tracedSteps(session->reader(), run.key.run, history->origin);
        outline.isOutline = true;
        outlines.push_back(std::move(outline));
    }
    return outlines;
}

/// The first with its blocks; of the others the curves are enough.
std::vector<MemoryRun> wholeOf(const std::vector<SelectedRun>& runs, const query::Cancelled& cancelled)
{
    std::vector<MemoryRun> read;
    for (const SelectedRun& run : runs) {
        auto session = run.file->borrow();
        const store::RunReader& reader = session->reader();
        MemoryRun one{.letter = run.letter, .title = run.title, .history = nullptr};
        reader.atOnce([&] {
            if (&run != &runs.front())
                one.history = query::memoryOutline(reader, run.key.run);
            if (!one.history)
                one.history =
                    query::memoryHistory(reader, run.key.run, cancelled, query::MemoryParts::WithoutOps);
            if (&run == &runs.front() && one.history)
                if (const auto outside =
                        query::outsideOf(reader.memory(run.key.run).readings, one.history->device))
                    one.context = outside->most.count;
            if (one.history && !one.history->empty())
                one.steps = query::tracedSteps(reader, run.key.run, one.history->origin);
        });
        if (!one.history || cancelled())
            return {};
        if (!one.history->empty())
            read.push_back(std::move(one));
    }
    return read;
}

} // namespace

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
            emptyText(tr("A traced run shows what it allocated over time on this page, what each "
                         "block was for, and what was alive at the peak.")));
    isReading_ = true;
    std::vector<SelectedRun> runs = runs_;
    const auto first = std::ptrdiff_t(std::clamp(run_->currentIndex(), 0, int(runs.size()) - 1));
    if (!isColourChosen_) {
        // Nobody told a snapshot what its blocks are for, only who asked for them.
        const bool isSnapshot = runs[std::size_t(first)].run->workload == query::kSnapshotWorkload;
        const QSignalBlocker quiet(colourBy_);
        const QSignalBlocker quietToo(sharesBy_);
        const auto by = int(isSnapshot ? query::MemoryGrouping::Module : query::MemoryGrouping::Category);
        colourBy_->setCurrent(by);
        sharesBy_->setCurrent(by);
    }
    std::rotate(runs.begin(), runs.begin() + first, runs.begin() + first + 1);
    const auto failed = [this](const QString& sentence) { showMessage(sentence); };
    outlining_.start([runs](const query::Cancelled& cancelled) { return outlinesOf(runs, cancelled); },
                     [this](std::vector<MemoryRun> outlines) { outlined(std::move(outlines)); }, failed);
    loading_.start(
        [runs, grouping = grouping()](const query::Cancelled& cancelled) {
            Whole whole{wholeOf(runs, cancelled), nullptr};
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
    // What lies before and behind the traced steps is there when it is asked for.
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
    curvesPanel_->setSubtitle(main()->countsRequested() ? tr("bytes that the program asked for") : QString());
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

// With what makes frames of many of them short.
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
        words += tr(", in %1 %2")
                     .arg(wholeNumber(std::int64_t(layout_->areas.size())),
                          main()->history->segments.empty() ? tr("stretches of addresses") : tr("segments"));
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

// With the bytes under the cursor, else those of the instant.
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
                           tr("%1 (what for is being read)").arg(first.countWord()),
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

} // namespace tilescope::ui
