// The instant, the block and the span that the memory page looks at, and its tables about them.

#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/number_text.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_view.h"
#include "ui/memory/memory_areas.h"
#include "ui/memory/memory_blocks.h"
#include "ui/memory/memory_page.h"
#include "ui/memory/memory_segments.h"

#include "core/analysis/time/path_glob.h"
#include "core/model/text.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QStackedWidget>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

QString signedBytes(std::int64_t bytes)
{
    const QString text = byteText(double(std::abs(bytes)));
    return bytes < 0 ? QChar(0x2212) + text : QLatin1Char('+') + text;
}

} // namespace

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
    words += instantKind_ == Instant::Peak ? tr(" at the peak") : tr(" at %1").arg(timeText(axis_.instant()));
    if (run.hasReserved())
        words += tr(" of %1 reserved").arg(byteText(double(run.history->reserved.at(time))));
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
        listPanel_->setSubtitle(
            none ? (run.hasReserved() ? tr("were not recorded") : tr("a CPU's allocator has none"))
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

// Columns that there is no room for stay hidden until somebody asks for them in the header's menu.
void MemoryPage::hideAtFirst(List list)
{
    bool& known = isHidingKnown_[list == List::Segments ? 1 : 0];
    if (std::exchange(known, true))
        return;
    QMenu columns;
    table_->fillColumnMenu(columns);
    const QStringList hidden = list == List::Segments
                                   ? QStringList{tr("Free"), tr("Blocks"), tr("Stream"), tr("Kind")}
                                   : QStringList{tr("Asked for in"), tr("From"), tr("Lives")};
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
                ? tr("The segments of this run were not recorded: an older program wrote it.")
                : tr("The allocator of a CPU has no segments."));
    else
        segments_->show(*main(), groups, strips_);
    segment_ ? segments_->selectSegment(segment_) : segments_->select(block_);
}

// The row of what is selected; in a list of segments that of the one that the block lies in.
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
        factsPanel_->setSubtitle(tr("not there at this instant"));
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
        factsPanel_->setSubtitle(tr("click one in the plot or in the list"));
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
    emit selectionText(tr("1 block selected, %1, %2")
                           .arg(byteText(double(block.bytes)),
                                QString::fromUtf8(category.data(), qsizetype(category.size()))));
}

// A group of the table keeps the list to its blocks.
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
    emit selectionText(tr("%1: %2 allocated, %3 at most, %4 asked for")
                           .arg(timeText(axis_.span()->length()), signedBytes(curve.at(to) - curve.at(from)),
                                byteText(double(curve.extremes(from, to).second)),
                                counted(std::max<std::ptrdiff_t>(0, ended - begun), "block")));
}

// To the largest block at the peak that blockGroup() calls so: range and category.
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
