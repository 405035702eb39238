#include "ui/memory/memory_facts.h"

#include "core/model/text.h"
#include "ui/kit/count_text.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/number_text.h"

#include <QScrollArea>

#include <algorithm>

namespace tilescope::ui {

MemoryFacts::MemoryFacts(QWidget* parent) : Panel({}, parent), facts_(new KeyValueTable)
{
    facts_->setAccessibleName(tr("Details of the selected block"));
    auto* scroll = new QScrollArea;
    scroll->setWidgetResizable(true);
    scroll->setFocusPolicy(Qt::NoFocus); // the rows take it
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidget(facts_);
    for (QWidget* ground : {scroll->viewport(), static_cast<QWidget*>(facts_)}) {
        ground->setAutoFillBackground(false);
        ground->setStyleSheet(QStringLiteral("background: transparent"));
    }
    setContent(scroll);
    showNothing();
}

void MemoryFacts::showNothing()
{
    setTitle(tr("No block selected"));
    setSubtitle(tr("click a block in the plot or in the list"));
    facts_->setRows({});
    emit selectionText({});
}

void MemoryFacts::showBlock(const MemoryRun& run, std::uint32_t block)
{
    const query::MemoryLife& life = run.history->blocks[block];
    setTitle(blockName(run, block));
    setSubtitle({});
    std::vector<KeyValueRow> rows;
    for (const BlockFact& fact : blockFacts(run, block))
        rows.push_back({.key = fact.key, .values = {fact.value}, .dim = fact.dim});
    facts_->setRows(std::move(rows), true);
    const std::string_view category = wordOf(life.category);
    emit selectionText(
        tr("1 block selected, %1, %2").arg(byteText(double(life.bytes)), QString::fromUtf8(category)));
}

void MemoryFacts::showSegment(std::uint64_t address, const query::MemoryStrip* strip)
{
    setTitle(tr("Segment 0x%1").arg(address, 0, 16));
    facts_->setRows({});
    if (strip == nullptr) {
        setSubtitle(tr("does not exist at this instant"));
        emit selectionText(tr("1 segment selected"));
        return;
    }
    const MemorySegment& segment = strip->segment;
    const auto blocks = std::ranges::count_if(
        strip->parts, [](const auto& part) { return part.state != analysis::PlacedBlock::State::Free; });
    setSubtitle({});
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

} // namespace tilescope::ui
