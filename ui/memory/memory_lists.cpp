#include "ui/memory/memory_lists.h"

#include "core/query/file_session.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"

#include <QLineEdit>
#include <QMenu>
#include <QVBoxLayout>

#include <algorithm>

namespace tilescope::ui {

MemoryLists::MemoryLists(QObject* parent)
    : QObject(parent), sharesPanel_(new Panel(tr("At the peak"))),
      sharesBy_(new SegmentedControl({tr("category"), tr("phase"), tr("module"), tr("op")})),
      shares_(new TableView), listPanel_(new Panel(tr("Blocks alive"))),
      listKind_(new SegmentedControl({tr("alive"), tr("ever"), tr("segments")})),
      filter_(makeFindField(tr("Filter…"), tr("Filter blocks"))), table_(new TableView)
{
    makeShares();
    makeList();
    leadOut(*filter_, *table_);
}

void MemoryLists::makeShares()
{
    sharesBy_->setAccessibleName(tr("Group allocated bytes by"));
    sharesPanel_->addToHeader(sharesBy_);
    shares_->setAccessibleName(tr("Allocated at the instant"));
    shares_->setRowHeight(22);
    sharesPanel_->setContent(shares_);
    connect(sharesBy_, &SegmentedControl::changed, this, &MemoryLists::wanted);
    connect(shares_, &TableView::chosen, this, &MemoryLists::chooseShare);
}

void MemoryLists::makeList()
{
    listKind_->setAccessibleName(tr("What the list shows"));
    listKind_->setToolTip(tr("Blocks alive at the instant, the largest ever, or the allocator's segments"));
    table_->setAccessibleName(tr("Blocks of memory"));
    table_->setRowHeight(22);
    table_->sortByColumn(int(BlockColumn::Bytes), Qt::DescendingOrder);
    filter_->setToolTip(tr("Keep rows that contain every word (/)"));
    auto* content = new QVBoxLayout;
    content->setContentsMargins(0, 0, 0, 0);
    content->setSpacing(0);
    auto* find = new QHBoxLayout;
    find->setContentsMargins(sizes().of(8), sizes().of(4), sizes().of(8), sizes().of(4));
    find->setSpacing(sizes().of(8));
    find->addWidget(listKind_);
    find->addWidget(filter_, 1);
    content->addLayout(find);
    content->addWidget(table_, 1);
    listPanel_->setContent(content);
    connect(listKind_, &SegmentedControl::changed, this, &MemoryLists::wanted);
    connect(table_, &TableView::chosen, this, [this](std::int64_t id) {
        if (list() == List::Segments)
            emit segmentChosen(std::uint64_t(id));
        else
            emit blockChosen(id);
    });
    connect(filter_, &QLineEdit::textChanged, this,
            [this](const QString& words) { table_->filter().setWords(words); });
}

MemoryLists::List MemoryLists::list() const
{
    return List(listKind_->current());
}

void MemoryLists::groupBy(MemoryTable by)
{
    const QSignalBlocker quiet(sharesBy_);
    sharesBy_->setCurrent(int(by));
}

void MemoryLists::clear()
{
    listing_.cancel();
    block_.reset();
    segment_.reset();
    table_->show({});
    shares_->show({});
}

void MemoryLists::show(const MemoryRun& run, const MemoryGroupings& groups, query::MemoryGrouping colours,
                       const Instant& instant, bool strips)
{
    const auto by = MemoryTable(sharesBy_->current());
    listing_.start(
        [run, by, grouped = groups[std::size_t(by)], strips, colours, coloured = groups[std::size_t(colours)],
         list = list(), time = instant.time](const query::Cancelled& cancelled) mutable {
            Made made;
            if (!coloured)
                coloured = query::memoryGroups(run.history, colours, cancelled, run.ops.get());
            if (by != MemoryTable::Op && !grouped)
                grouped = query::memoryGroups(run.history, query::MemoryGrouping(by), cancelled);
            if (cancelled())
                return made;
            made.shares = memoryShareRows(run, by, grouped.get(), time);
            if (list == List::Segments)
                made.segments = segmentRows(*run.history, time);
            else
                made.blocks = blockRows(
                    run, {.time = list == List::Ever ? std::nullopt : std::optional<std::int64_t>(time)},
                    coloured.get());
            if (strips || list == List::Segments)
                made.strips = query::memoryStrips(*run.history, time);
            return made;
        },
        [this, instant, hasReserved = run.hasReserved()](Made made) {
            take(std::move(made), instant, hasReserved);
        },
        [this](const QString& sentence) { emit failed(sentence); });
}

void MemoryLists::take(Made made, const Instant& instant, bool hasReserved)
{
    sharesPanel_->setTitle(instant.isPeak ? tr("At the peak") : instant.title);
    shareKeys_ = std::move(made.shares.keys);
    shares_->show(std::move(made.shares.table));
    if (list() == List::Segments) {
        const bool none = made.segments.table.rows.empty();
        listPanel_->setTitle(tr("Segments"));
        listPanel_->setSubtitle(none ? (hasReserved ? tr("not recorded") : tr("none on a CPU"))
                                     : wholeNumber(std::int64_t(made.segments.table.rows.size())));
        table_->setToolTip(made.segments.summary);
        table_->show(std::move(made.segments.table));
    } else {
        const auto listed = std::int64_t(made.blocks.table.rows.size());
        const auto all = std::int64_t(made.blocks.blocks);
        listPanel_->setTitle(list() == List::Ever ? tr("Largest ever")
                             : instant.isPeak     ? tr("Alive at the peak")
                                                  : tr("Alive"));
        listPanel_->setSubtitle(listed < all ? tr("%1 of %2").arg(wholeNumber(listed), wholeNumber(all))
                                             : counted(all, "block"));
        table_->setToolTip({});
        table_->show(std::move(made.blocks.table));
    }
    hideAtFirst(list());
    strips_ = std::move(made.strips);
    allocatedSize_ = made.shares.allocatedSize;
    markRow();
    emit shown();
}

// Hides wide columns once; the header's menu shows them.
void MemoryLists::hideAtFirst(List list)
{
    bool& known = isHidingKnown_[list == List::Segments ? 1 : 0];
    if (std::exchange(known, true))
        return;
    QMenu columns;
    table_->fillColumnMenu(columns);
    const QStringList hidden = list == List::Segments
                                   ? QStringList{tr("Free"), tr("Blocks"), tr("Stream"), tr("Kind")}
                                   : QStringList{tr("Range"),  tr("Since"), tr("Lives"),   tr("Op"),
                                                 tr("Tensor"), tr("Shape"), tr("Address"), tr("Code")};
    for (QAction* action : columns.actions())
        if (hidden.contains(action->text().section(QLatin1Char(','), 0, 0)))
            action->trigger();
}

void MemoryLists::select(std::optional<std::uint32_t> block, std::optional<std::uint64_t> segment)
{
    block_ = block;
    segment_ = segment;
    markRow();
}

// Selects the row of the selected block or segment; in the list of segments, the segment of the block.
void MemoryLists::markRow()
{
    std::optional<std::int64_t> id;
    if (list() != List::Segments) {
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

// Choosing a group filters the list to its blocks.
void MemoryLists::chooseShare(std::int64_t row)
{
    if (row < 0 || std::size_t(row) >= shareKeys_.size())
        return;
    const auto by = MemoryTable(sharesBy_->current());
    const QString key = QString::fromStdString(shareKeys_[std::size_t(row)]);
    if (by == MemoryTable::Category)
        filter_->setText(key);
    else if (by == MemoryTable::Op)
        filter_->setText(QString(key).remove(QStringLiteral("aten::")));
}

} // namespace tilescope::ui
