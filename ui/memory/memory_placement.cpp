#include "ui/memory/memory_placement.h"

#include "core/query/file_session.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/memory/memory_blocks.h"
#include "ui/memory/memory_segments.h"
#include "ui/theme/theme.h"

#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

/// Blocks drawn individually by default, which keeps frames short.
constexpr std::size_t kBoxesAtFirst = 20'000;
constexpr int kSegmentsPlaced = 2; ///< index in the choices of block positions
constexpr int kMostDetail = 1000;

/// The slider's positions are finer where few blocks are shown.
double shareAt(int position)
{
    return std::pow(position / double(kMostDetail), 3);
}

int positionOf(double share)
{
    return std::clamp(int(std::ceil(kMostDetail * std::cbrt(share))), 1, kMostDetail);
}

} // namespace

MemoryPlacement::MemoryPlacement(MemoryAxis& axis, QWidget* parent)
    : Panel(tr("Blocks"), parent),
      placement_(new SegmentedControl({tr("by address"), tr("stacked"), tr("segments")})),
      detailTools_(new QWidget), detail_(new QSlider(Qt::Horizontal)), placed_(new QStackedWidget),
      blocks_(new MemoryBlocks(axis)), segments_(new MemorySegments)
{
    placement_->setAccessibleName(tr("Placement of the blocks"));
    placement_->setToolTip(
        tr("Over time, by address or stacked in order of allocation, or in the segments at the instant"));
    detail_->setRange(1, kMostDetail);
    detail_->setMinimumWidth(sizes().of(48));
    detail_->setMaximumWidth(sizes().of(110));
    detail_->setAccessibleName(tr("Detail: the share of blocks that are drawn, the largest first"));
    addToHeader(placement_);
    QSizePolicy keepsPlace = detailTools_->sizePolicy();
    keepsPlace.setRetainSizeWhenHidden(true); // widgets beside it keep their place
    detailTools_->setSizePolicy(keepsPlace);
    auto* tools = new QHBoxLayout(detailTools_);
    tools->setContentsMargins(0, 0, 0, 0);
    auto* word = new QLabel(tr("Detail"));
    word->setProperty("kind", "dim");
    tools->addWidget(word);
    tools->addWidget(detail_);
    addToHeader(detailTools_);
    placed_->addWidget(blocks_);
    placed_->addWidget(segments_);
    auto* content = new QVBoxLayout;
    content->setContentsMargins(sizes().of(8), sizes().of(4), sizes().of(4), sizes().of(4));
    content->addWidget(placed_);
    setContent(content);
    connect(placement_, &SegmentedControl::changed, this, &MemoryPlacement::place);
    connect(detail_, &QSlider::valueChanged, this, &MemoryPlacement::layOut);
}

bool MemoryPlacement::showsSegments() const
{
    return placed_->currentIndex() == 1;
}

void MemoryPlacement::cancel()
{
    placing_.cancel();
    levelling_.cancel();
}

void MemoryPlacement::clear()
{
    cancel();
    run_.reset();
    groups_.reset();
    layout_.reset();
    block_.reset();
    segment_.reset();
    blocks_->clear();
}

void MemoryPlacement::setRun(const MemoryRun& run)
{
    clear();
    run_ = run;
    if (run.isOutline)
        return setSubtitle(tr("being read…"));
    const QSignalBlocker quiet(detail_);
    const auto blocks = std::max<std::size_t>(1, run.history->blocks.size());
    detail_->setValue(blocks <= kBoxesAtFirst ? kMostDetail
                                              : positionOf(double(kBoxesAtFirst) / double(blocks)) - 1);
}

void MemoryPlacement::setOps(std::shared_ptr<const query::MemoryOps> ops)
{
    if (run_)
        run_->ops = ops;
    blocks_->setOps(std::move(ops));
}

void MemoryPlacement::show(std::shared_ptr<const query::MemoryGroups> groups)
{
    groups_ = std::move(groups);
    if (showsSegments())
        emit stripsWanted();
    if (layout_)
        showBlocks();
    else
        layOut();
}

void MemoryPlacement::layOut()
{
    if (!run_ || run_->isOutline || placement_->current() == kSegmentsPlaced)
        return;
    const auto blocks = double(run_->history->blocks.size());
    const auto most = std::size_t(std::max(1.0, std::ceil(shareAt(detail_->value()) * blocks)));
    placing_.start(
        [history = run_->history, most,
         placing = query::MemoryPlacing(placement_->current())](const query::Cancelled& cancelled) {
            return query::memoryLayout(*history, placing, most, cancelled);
        },
        [this](std::shared_ptr<const query::MemoryLayout> layout) {
            if (!layout)
                return;
            layout_ = std::move(layout);
            showBlocks();
        },
        [this](const QString& sentence) { emit failed(sentence); });
}

// Levels of detail keep frames with many blocks short.
void MemoryPlacement::showBlocks()
{
    if (!groups_)
        return;
    levelling_.start(
        [layout = layout_, groups = groups_](const query::Cancelled& cancelled) {
            return query::memoryLevels(*layout, groups->groupOf, cancelled);
        },
        [this, layout = layout_, groups = groups_](std::shared_ptr<const query::MemoryLevels> levels) {
            if (!levels || !run_)
                return;
            blocks_->show(*run_, groups, layout, std::move(levels));
            segment_ ? blocks_->selectSegment(segment_) : blocks_->select(block_);
            showDetail();
        },
        [this](const QString& sentence) { emit failed(sentence); });
}

void MemoryPlacement::showDetail()
{
    const auto all = std::int64_t(run_->history->blocks.size());
    const double share = all == 0 ? 1 : double(layout_->blocks) / double(all);
    QString words = layout_->blocks == std::size_t(all)
                        ? tr("all %1").arg(wholeNumber(all))
                        : tr("the largest %1: %2 of %3, %4 of bytes over time")
                              .arg(percentText(share), wholeNumber(std::int64_t(layout_->blocks)),
                                   wholeNumber(all), percentText(layout_->byteShare));
    if (!layout_->areas.empty())
        words +=
            QStringLiteral(", in ") + counted(std::int64_t(layout_->areas.size()),
                                              run_->history->segments.empty() ? "address range" : "segment");
    setSubtitle(words);
}

// Over time, or in the segments of the instant.
void MemoryPlacement::place()
{
    const bool segments = placement_->current() == kSegmentsPlaced;
    placed_->setCurrentIndex(segments ? 1 : 0);
    detailTools_->setVisible(!segments);
    if (segments)
        emit stripsWanted();
    else
        layOut();
}

void MemoryPlacement::showStrips(const std::vector<query::MemoryStrip>& strips, const QString& instant)
{
    if (!groups_ || !run_)
        return;
    std::int64_t used = 0;
    std::int64_t all = 0;
    for (const query::MemoryStrip& strip : strips) {
        used += strip.used;
        all += strip.segment.bytes;
    }
    setSubtitle(strips.empty()
                    ? QString()
                    : tr("%1 at %2, %3 of them used")
                          .arg(counted(std::ssize(strips), "segment"), instant,
                               percentText(double(used) / double(std::max<std::int64_t>(1, all)))));
    if (strips.empty())
        segments_->showMessage(
            run_->hasReserved()
                ? tr("The segments of this run were not recorded: it was written by an older version.")
                : tr("The allocator of a CPU has no segments."));
    else
        segments_->show(*run_, groups_, strips);
    segment_ ? segments_->selectSegment(segment_) : segments_->select(block_);
}

void MemoryPlacement::select(std::optional<std::uint32_t> block, std::optional<std::uint64_t> segment)
{
    block_ = block;
    segment_ = segment;
    if (segment) {
        blocks_->selectSegment(segment);
        segments_->selectSegment(segment);
    } else {
        blocks_->select(block);
        segments_->select(block);
    }
}

} // namespace tilescope::ui
