#include "core/exchange/memory/memory_columns.h"
#include "core/exchange/tables/number.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/sections.h"

namespace tilescope::exchange {

namespace {

Cell timeCell(std::int64_t time)
{
    return time == query::MemoryLife::kBefore || time == query::MemoryLife::kAfter ? Cell() : Cell(time);
}

std::string note(const query::NamedMemory& named)
{
    const query::MemoryHistory& history = *named.history;
    std::int64_t known = 0;
    for (const query::NamedBlock& row : named.rows)
        known +=
            row.life.isAliveAt(named.at.value_or(history.peakTime)) && !row.name.empty() ? row.life.bytes : 0;
    const std::string when =
        withUnit(static_cast<double>(named.at.value_or(history.peakTime)), Unit::Nanoseconds) +
        " after the first event" +
        (named.at.value_or(history.peakTime) == history.peakTime ? ", the peak" : "");
    return "Allocated at " + when + ": " + sizeText({named.allocated}) + ", " + sizeText({known}) +
           " of it in the rows with a name, " + sizeText({named.unknown}) + " in no block that is known.";
}

} // namespace

Table tableOf(std::shared_ptr<const query::NamedMemory> named)
{
    using Row = query::NamedBlock;
    const auto column = columnsOf(named);
    const MemoryBlockColumns of(*named->history);
    const auto ofBlock = [&column](const MemoryBlockColumns::Of& block) {
        return column(columnOfPart<Row>(block, [](const Row& row) { return &row.block; }));
    };
    const auto time = [&column](std::string key, std::string title, std::int64_t query::MemoryLife::*member) {
        return column(std::move(key), std::move(title),
                      [member](const Row& row) { return timeCell(row.life.*member); },
                      {.unit = Unit::Nanoseconds, .unitGroup = 1});
    };
    Table table{.heading =
                    describeRun(named->history->run) +
                    (named->at ? "; tensors that are allocated" : "; tensors of the first traced step"),
                .rows = named->rows.size()};
    table.columns = {
        column("tensor", "tensor", [](const Row& row) { return cellOrNull(row.name); }, {.keep = 2}),
        column("shape", "shape", [](const Row& row) { return cellOrNull(row.shape); }),
        ofBlock(of.bytes),
        ofBlock(of.category),
        ofBlock(of.path),
        ofBlock(of.range),
        ofBlock(of.op),
        time("from_ns", "from", &query::MemoryLife::begin),
        time("to_ns", "to", &query::MemoryLife::end),
        column("allocated", "then allocated", &Row::allocated, {.unit = Unit::Bytes}),
        column("reuses", "in the memory of", [](const Row& row) { return cellOrNull(row.reuses); },
               {.elidable = true}),
        ofBlock(of.address)};
    addRowProcess(table, named->history->process);
    if (named->history->empty()) {
        table.whyEmpty = whyNoAllocations(named->history->run);
        return table;
    }
    table.whyEmpty = "No block lies in those ranges.";
    table.notes.push_back(note(*named));
    return table;
}

} // namespace tilescope::exchange
