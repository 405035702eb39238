#include "ui/models/memory_rows.h"

#include "ui/models/table_cells.h"
#include "ui/plots/number_text.h"

#include <algorithm>

namespace tilescope::ui {

namespace {

TableCell words(std::string_view text)
{
    TableCell cell;
    cell.text = text.empty() ? notMeasured() : QString::fromUtf8(text.data(), qsizetype(text.size()));
    if (text.empty())
        cell.tone = Tone::Dim;
    return cell;
}

TableCell number(Bytes bytes, const Unit& unit)
{
    TableCell cell;
    cell.text = threeDigits(double(bytes.count) / unit.size);
    cell.sort = double(bytes.count);
    cell.exact = withUnit(wholeNumber(bytes.count), "B");
    return cell;
}

std::vector<TableColumn> columnsFor(const Unit& unit)
{
    using Kind = TableColumn::Kind;
    std::vector<TableColumn> columns(static_cast<std::size_t>(MemoryColumn::Count));
    const auto set = [&columns](MemoryColumn at, const QString& title, Kind kind, double width) {
        TableColumn& column = columns[std::size_t(at)];
        column.title = title;
        column.kind = kind;
        column.width = width;
    };
    set(MemoryColumn::Path, QStringLiteral("Allocated in"), Kind::Text, 0);
    columns[std::size_t(MemoryColumn::Path)].swatch = true;
    set(MemoryColumn::Op, QStringLiteral("Op"), Kind::Text, 240);
    columns[std::size_t(MemoryColumn::Op)].dim = true;
    set(MemoryColumn::Category, QStringLiteral("Category"), Kind::Text, 110);
    columns[std::size_t(MemoryColumn::Category)].dim = true;
    set(MemoryColumn::Bytes, QString::fromUtf8(unit.word), Kind::Number, 76);
    set(MemoryColumn::Bar, {}, Kind::Bar, 132);
    return columns;
}

} // namespace

TableData memoryRows(const query::LiveMemoryTable& live, std::size_t most)
{
    const std::size_t count = std::min(most, live.blocks.size());
    Bytes greatest = live.untraced;
    for (std::size_t i = 0; i < count; ++i)
        greatest = std::max(greatest, live.blocks[i].bytes);
    const Unit unit = byteUnit(double(greatest.count) / 10);
    TableData data;
    data.columns = columnsFor(unit);
    for (std::size_t i = 0; i < count; ++i) {
        const analysis::LiveBlock& block = live.blocks[i];
        const AllocEvent& event = live.from.events[block.event];
        const std::string_view category = live.from.text(event.category);
        TableRow row;
        row.id = std::int64_t(i);
        row.swatch = Swatch::ofCategory(QString::fromUtf8(category.data(), qsizetype(category.size())));
        row.cells = {words(live.from.text(event.path)), words(live.from.op(event.op)), words(category),
                     number(block.bytes, unit), makeBar(double(block.bytes.count), double(greatest.count))};
        data.rows.push_back(std::move(row));
    }
    if (live.untraced > Bytes{}) {
        TableRow row;
        row.id = -1;
        row.section = true;
        row.selectable = false;
        row.swatch = Swatch::neutral();
        row.cells = {words("before the trace"), words({}), words({}), number(live.untraced, unit),
                     makeBar(double(live.untraced.count), double(greatest.count))};
        data.rows.push_back(std::move(row));
    }
    return data;
}

} // namespace tilescope::ui
