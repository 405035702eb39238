#include "core/exchange/json_text.h"
#include "core/exchange/number.h"
#include "core/exchange/section_parts.h"
#include "core/exchange/sections.h"
#include "core/exchange/text.h"
#include "core/model/text.h"

#include <fmt/format.h>

#include <ostream>

namespace tilescope::exchange {

namespace {

using query::MemoryHistory;
using query::MemoryLife;
using query::OomReport;

/// The recorded step's figure, else the failing one's.
std::optional<Bytes> first(const std::optional<Bytes>& seen, const std::optional<Bytes>& reported)
{
    return seen ? seen : reported;
}

RawJson holdersJson(const OomReport& report)
{
    const MemoryHistory& history = *report.history;
    return jsonList(report.holders, [&history](std::uint32_t index) {
        const MemoryLife& block = history.blocks[index];
        const auto text = [&history](auto id) { return cellOrNull(history.text(id)); };
        return JsonObject()
            .add("bytes", block.bytes)
            .add("category", wordOf(block.category))
            .add("path", text(block.path))
            .add("op", text(block.op))
            .add("name", text(block.name))
            .add("shape", text(block.shape))
            .json();
    });
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
    return jsonList(report.suggestions, [](const predict::Suggestion& suggestion) {
        JsonObject change;
        for (const auto& [key, value] : suggestion.keys)
            change.add(key, value);
        return JsonObject()
            .add("change", change.json())
            .add("peak_allocated", suggestion.peakAllocated)
            .add("peak_reserved", suggestion.peakReserved)
            .json();
    });
}

void writeSuggestions(std::ostream& out, const OomReport& report)
{
    if (report.suggestions.empty()) {
        out << "\nAccording to the predictor, none of the changes tried makes it fit.\n";
        return;
    }
    out << "\nAccording to the predictor, these changes make it fit:\n";
    for (const predict::Suggestion& suggestion : report.suggestions)
        out << fmt::format("  {:>12}  {}\n", sizeText(suggestion.peakAllocated), suggestion.flags());
}

std::string whoAsked(const OomReport& report)
{
    if (!report.op.empty() && !report.path.empty())
        return report.op + " in " + report.path;
    if (!report.path.empty() || !report.op.empty())
        return report.path.empty() ? report.op : report.path;
    return report.info.phase;
}

/// `layers.3/ffn/down [512, 128]`, or the op or range that allocated it.
std::string describe(const MemoryHistory& history, const MemoryLife& block)
{
    std::string text(history.text(block.name == 0 ? block.path : block.name));
    if (block.op != 0)
        text.append(text.empty() ? "" : ", ").append(history.text(block.op));
    if (block.shape != 0)
        text.append(" ").append(history.text(block.shape));
    return text.empty() ? "not known" : text;
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
    table.columns = {
        column("run", [](const OomReport& r) { return r.run.run.value; }),
        column("phase", [](const OomReport& r) { return cellOrNull(r.info.phase); }),
        column("path", [](const OomReport& r) { return cellOrNull(r.path); }),
        column("op", [](const OomReport& r) { return cellOrNull(r.op); }),
        column("requested", [](const OomReport& r) { return first(r.asked, r.info.requested); }),
        column("allocated", [](const OomReport& r) { return first(r.allocated, r.info.allocated); }),
        column("reserved", [](const OomReport& r) { return first(r.reserved, r.info.reserved); }),
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
    const auto requested = first(report.asked, report.info.requested);
    const auto allocated = first(report.allocated, report.info.allocated);
    const auto reserved = first(report.reserved, report.info.reserved);
    if (requested)
        out << escapeForTerminal(whoAsked(report)) << " asked for " << sizeText(*requested);
    else
        out << "Out of memory in " << escapeForTerminal(whoAsked(report));
    if (allocated)
        out << " with " << sizeText(*allocated) << " allocated";
    if (reserved && reserved != allocated)
        out << " and " << sizeText(*reserved) << " reserved";
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
    for (const std::uint32_t index : report.holders) {
        const MemoryLife& block = report.history->blocks[index];
        out << fmt::format("  {:>12}  {:<12}  {}\n", sizeText(Bytes{block.bytes}), wordOf(block.category),
                           escapeForTerminal(describe(*report.history, block)));
    }
    writeSuggestions(out, report);
}

} // namespace tilescope::exchange
