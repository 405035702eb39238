#include "core/exchange/memory/oom_columns.h"
#include "core/exchange/tables/number.h"
#include "core/exchange/tables/printed_table.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/sections.h"
#include "core/exchange/tables/text.h"
#include "core/model/text.h"

#include <fmt/format.h>

#include <initializer_list>
#include <ostream>

namespace tilescope::exchange {

namespace {

using query::OomReport;

/// An array with an object for each row.
template <class Row>
RawJson jsonOf(const std::vector<Row>& rows, std::initializer_list<const ColumnOf<Row>*> columns)
{
    return jsonList(rows, [&columns](const Row& row) {
        JsonObject object;
        for (const auto* column : columns)
            object.add(column->about.key, column->value(row));
        return object.json();
    });
}

RawJson holdersJson(const OomReport& report)
{
    const HolderColumns of(report);
    return jsonOf(report.holders,
                  {&of.bytes, &of.category, &of.path, &of.op, &of.tensor, &of.shape, &of.name, &of.percent});
}

RawJson categoriesJson(const OomReport& report)
{
    JsonObject categories;
    for (const auto& [category, bytes] : report.categories)
        categories.add(wordOf(category), bytes);
    return categories.json();
}

RawJson suggestionsJson(const OomReport& report)
{
    const ChangeColumns of(report.limit);
    return jsonOf(report.suggestions,
                  {&of.change, &of.peakAllocated, &of.peakReserved, &of.peak, &of.left, &of.step});
}

/// A value of a column as text; a dash if there is none.
template <class Row> std::string textOf(const ColumnOf<Row>& column, const Row& row)
{
    const Cell cell = column.value(row);
    if (const auto size = sizeOf(cell))
        return withUnit(*size, column.about.unit);
    const auto* text = std::get_if<std::string>(&cell);
    return text ? escapeForTerminal(*text) : "-";
}

void writeSuggestions(std::ostream& out, const OomReport& report)
{
    if (report.suggestions.empty()) {
        out << "\nAccording to the predictor, none of the changes tried makes it fit.\n";
        return;
    }
    out << "\nAccording to the predictor, these changes make it fit:\n";
    const ChangeColumns of(report.limit);
    for (const query::FittingChange& change : report.suggestions)
        out << fmt::format("  {:>12}  {}\n", textOf(of.peak, change), textOf(of.flags, change));
}

std::string whoAsked(const OomReport& report)
{
    if (!report.op.empty() && !report.path.empty())
        return report.op + " in " + report.path;
    if (!report.path.empty() || !report.op.empty())
        return report.path.empty() ? report.op : report.path;
    return report.phase;
}

std::string whatIsToBlame(const OomReport& report)
{
    const auto blame = report.fragmentationIsToBlame();
    if (!blame)
        return {};
    const std::string free = sizeText(*report.reserved - *report.allocated);
    if (*blame)
        return fmt::format(
            "The cause is fragmentation: {} were reserved and free, but the largest free block had {}.", free,
            sizeText(*report.largestFree));
    return fmt::format(
        "The cause is not fragmentation: only {} were reserved and free, the largest free block had {}.",
        free, sizeText(*report.largestFree));
}

} // namespace

Table tableOf(std::shared_ptr<const OomReport> report)
{
    const auto column = [&report](std::string key, auto get) {
        return Column{.key = std::move(key),
                      .cell = [report, get](std::size_t) { return toCell(std::invoke(get, *report)); }};
    };
    Table table{.heading = describeRun(report->run),
                .rows = report->run.result.status == RunStatus::Oom ? 1U : 0U};
    table.columns = {column("run", [](const OomReport& r) { return r.run.run.value; }),
                     column("phase", [](const OomReport& r) { return cellOrNull(r.phase); }),
                     column("path", [](const OomReport& r) { return cellOrNull(r.path); }),
                     column("op", [](const OomReport& r) { return cellOrNull(r.op); }),
                     column("requested", &OomReport::asked),
                     column("allocated", &OomReport::allocated),
                     column("reserved", &OomReport::reserved),
                     column("largest_free", &OomReport::largestFree),
                     column("fragmentation", &OomReport::fragmentation),
                     column("device_free", &OomReport::deviceFree),
                     column("fragmentation_is_to_blame", &OomReport::fragmentationIsToBlame),
                     column("categories", categoriesJson),
                     column("holders", holdersJson),
                     column("suggestions", suggestionsJson)};
    return table;
}

void writeOom(std::ostream& out, const OomReport& report)
{
    out << escapeForTerminal(describeRun(report.run)) << '\n';
    if (report.run.result.status != RunStatus::Oom) {
        out << "It did not run out of memory.\n";
        return;
    }
    if (report.asked)
        out << escapeForTerminal(whoAsked(report)) << " asked for " << sizeText(*report.asked);
    else
        out << "Out of memory in " << escapeForTerminal(whoAsked(report));
    if (report.allocated)
        out << " with " << sizeText(*report.allocated) << " allocated";
    if (report.reserved && report.reserved != report.allocated)
        out << " and " << sizeText(*report.reserved) << " reserved";
    out << ".\n";
    if (const std::string blame = whatIsToBlame(report); !blame.empty())
        out << blame << '\n';
    if (report.holders.empty()) {
        out << "The holders of the rest are unknown: they were not recorded (memory: false).\n";
        return writeSuggestions(out, report);
    }
    out << "\nBy category:\n";
    for (const auto& [category, bytes] : report.categories)
        out << fmt::format("  {:>12}  {}\n", sizeText(bytes), wordOf(category));
    out << "\nThe largest holders:\n";
    const HolderColumns of(report);
    for (const std::uint32_t block : report.holders) {
        const bool hasShape = report.history->blocks[block].shape != 0;
        out << fmt::format("  {:>12}  {:<12}  {}{}\n", textOf(of.bytes, block), textOf(of.category, block),
                           textOf(of.name, block), hasShape ? " " + textOf(of.shape, block) : "");
    }
    writeSuggestions(out, report);
}

} // namespace tilescope::exchange
