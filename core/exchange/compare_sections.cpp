#include "core/exchange/compare_sections.h"

#include "core/base/plural.h"
#include "core/exchange/columns.h"
#include "core/exchange/number.h"
#include "core/exchange/sections.h"
#include "core/exchange/text.h"
#include "core/model/flags.h"
#include "core/model/text.h"
#include "core/query/memory/held_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

namespace tilescope::exchange {

namespace {

using analysis::GroupVerdict;
using analysis::TimeDifference;
using query::ComparedFact;
using query::ComparedGroup;
using query::ComparedMemory;
using query::ComparedTime;
using query::Comparison;
using ComparisonPtr = std::shared_ptr<const Comparison>;

// A, B and their difference are the only columns with a unit, and share it.

template <class Row>
Column column(const ComparisonPtr& comparison, std::vector<Row> Comparison::*rows, std::string key,
              std::string title, std::function<Cell(const Row&)> get, Unit unit = Unit::None)
{
    return {.key = std::move(key),
            .title = std::move(title),
            .cell = [comparison, rows, get](std::size_t row) { return get(((*comparison).*rows)[row]); },
            .unit = unit,
            .sharesUnit = true};
}

Column only(Audience audience, Column made)
{
    made.audience = audience;
    return made;
}

std::string ratioInterval(const TimeDifference& difference)
{
    return difference.ratio95
               ? fmt::format("{:.3f} to {:.3f}", difference.ratio95->low, difference.ratio95->high)
               : "-";
}

/// What people read: `no difference` for no-difference.
std::string wordsOf(std::string_view verdict)
{
    std::string words(verdict);
    std::replace(words.begin(), words.end(), '-', ' ');
    return words;
}

/// What the bytes of the blocks of both sides are: "allocated", or "allocated and requested".
std::string heldWords(const Comparison& comparison)
{
    const std::string_view a = query::heldWord(comparison.a.run.workload);
    const std::string_view b = query::heldWord(comparison.b.run.workload);
    return std::string(a) + (a == b ? "" : " and " + std::string(b));
}

/// What people read: `peak requested` for peak_allocated of a snapshot.
std::string wordsOfMemory(std::string_view what, const std::string& held)
{
    if (what == "peak_allocated")
        return "peak " + held;
    std::string words(what);
    std::replace(words.begin(), words.end(), '_', ' ');
    return words;
}

Table factsTable(const ComparisonPtr& comparison, std::vector<ComparedFact> Comparison::*rows,
                 const std::string& heading)
{
    Table table{.heading = heading, .rows = ((*comparison).*rows).size()};
    table.columns = {column<ComparedFact>(comparison, rows, "key", "key",
                                          [](const ComparedFact& fact) { return cellOf(fact.key); }),
                     column<ComparedFact>(comparison, rows, "a", "A",
                                          [](const ComparedFact& fact) { return cellOrNull(fact.a); }),
                     column<ComparedFact>(comparison, rows, "b", "B",
                                          [](const ComparedFact& fact) { return cellOrNull(fact.b); })};
    for (Column& made : table.columns)
        made.keep = 2;
    table.columns[1].elidable = table.columns[2].elidable = true;
    return table;
}

Table timesTable(const ComparisonPtr& comparison)
{
    const auto add = [&comparison](std::string key, std::string title,
                                   std::function<Cell(const ComparedTime&)> get, Unit unit = Unit::None) {
        return column<ComparedTime>(comparison, &Comparison::times, std::move(key), std::move(title),
                                    std::move(get), unit);
    };
    Table table{.heading = "Times: medians of the timed steps, B against A",
                .rows = comparison->times.size()};
    table.columns = {
        only(Audience::Programs,
             add("phase", "", [](const ComparedTime& t) { return cellOf(wordOf(t.phase)); })),
        only(Audience::Programs,
             add("clock", "", [](const ComparedTime& t) { return cellOf(t.onGpu ? "gpu" : "wall"); })),
        only(Audience::People, add("what", "phase",
                                   [](const ComparedTime& t) {
                                       return cellOf(std::string(wordOf(t.phase)) +
                                                     (t.onGpu ? " on GPU" : ""));
                                   })),
        add(
            "a_ms", "A", [](const ComparedTime& t) { return Cell(t.difference.medianA); },
            Unit::Milliseconds),
        add(
            "b_ms", "B", [](const ComparedTime& t) { return Cell(t.difference.medianB); },
            Unit::Milliseconds),
        add(
            "difference_ms", "B - A", [](const ComparedTime& t) { return Cell(t.difference.difference); },
            Unit::Milliseconds),
        only(Audience::Programs,
             add("difference_ci95", "",
                 [](const ComparedTime& t) { return cellOf(t.difference.difference95); })),
        only(Audience::Programs,
             add("ratio", "", [](const ComparedTime& t) { return Cell(t.difference.ratio); })),
        only(Audience::Programs,
             add("ratio_ci95", "", [](const ComparedTime& t) { return cellOf(t.difference.ratio95); })),
        only(Audience::People,
             add("ratio", "B / A",
                 [](const ComparedTime& t) { return cellOf(fmt::format("{:.3f}", t.difference.ratio)); })),
        only(Audience::People,
             add("interval", "95 % interval",
                 [](const ComparedTime& t) { return cellOf(ratioInterval(t.difference)); })),
        only(Audience::Programs,
             add("runs_a", "", [](const ComparedTime& t) { return Cell(t.difference.runsA); })),
        only(Audience::Programs,
             add("runs_b", "", [](const ComparedTime& t) { return Cell(t.difference.runsB); })),
        add("n_a", "n A", [](const ComparedTime& t) { return Cell(t.difference.stepsA); }),
        add("n_b", "n B", [](const ComparedTime& t) { return Cell(t.difference.stepsB); }),
        add("verdict", "verdict",
            [](const ComparedTime& t) { return cellOf(wordsOf(wordOf(t.difference.verdict))); })};
    // Programs get the word, people the phrase.
    table.columns.back().audience = Audience::People;
    table.columns.back().meaning = Meaning::Verdict;
    table.columns.back().keep = 2;
    table.columns.push_back(only(Audience::Programs, add("verdict", "", [](const ComparedTime& t) {
                                     return cellOf(wordOf(t.difference.verdict));
                                 })));
    return table;
}

Table memoryTable(const ComparisonPtr& comparison)
{
    const auto add = [&comparison](std::string key, std::string title,
                                   std::function<Cell(const ComparedMemory&)> get, Unit unit = Unit::None) {
        return column<ComparedMemory>(comparison, &Comparison::memory, std::move(key), std::move(title),
                                      std::move(get), unit);
    };
    Table table{.heading = "Memory", .rows = comparison->memory.size()};
    table.columns = {
        only(Audience::Programs, add("what", "", [](const ComparedMemory& m) { return cellOf(m.what); })),
        only(Audience::People, add("what", "what",
                                   [held = heldWords(*comparison)](const ComparedMemory& m) {
                                       return cellOf(wordsOfMemory(m.what, held));
                                   })),
        add(
            "a", "A", [](const ComparedMemory& m) { return cellOf(m.a); }, Unit::Bytes),
        add(
            "b", "B", [](const ComparedMemory& m) { return cellOf(m.b); }, Unit::Bytes),
        add(
            "difference", "B - A",
            [](const ComparedMemory& m) { return m.a && m.b ? cellOf(*m.b - *m.a) : Cell(); }, Unit::Bytes),
        add("ratio", "B / A", [](const ComparedMemory& m) {
            return m.a && m.b && m.a->count > 0
                       ? Cell(static_cast<double>(m.b->count) / static_cast<double>(m.a->count))
                       : Cell();
        })};
    return table;
}

Table groupsTable(const ComparisonPtr& comparison, std::vector<ComparedGroup> Comparison::*rows,
                  const std::string& heading, const std::string& key)
{
    const auto add = [&comparison, rows](std::string name, std::string title,
                                         std::function<Cell(const ComparedGroup&)> get,
                                         Unit unit = Unit::None) {
        return column<ComparedGroup>(comparison, rows, std::move(name), std::move(title), std::move(get),
                                     unit);
    };
    const auto text = [](const ComparedGroup& group) { return cellOf(group.difference.key); };
    Table table{.heading = heading, .rows = ((*comparison).*rows).size()};
    table.columns.push_back(only(Audience::Programs, add(key, "", text)));
    if (key == "name" && !comparison->opsForKernels) {
        table.columns.push_back(
            add("short_name", "kernel", [](const ComparedGroup& group) { return cellOf(group.shortName); }));
        table.columns.back().elidable = true;
        table.columns.push_back(
            add("family", "family", [](const ComparedGroup& group) { return cellOf(group.family); }));
    } else {
        table.columns.push_back(only(Audience::People, add(key, key, text)));
        table.columns.back().elidable = true;
    }
    table.columns[1].keep = 2;
    table.columns.push_back(add(
        "a_ns", "A per step", [](const ComparedGroup& group) { return cellOf(group.difference.a); },
        Unit::Nanoseconds));
    table.columns.push_back(add(
        "b_ns", "B per step", [](const ComparedGroup& group) { return cellOf(group.difference.b); },
        Unit::Nanoseconds));
    table.columns.push_back(add(
        "difference_ns", "B - A",
        [](const ComparedGroup& group) {
            return Cell(group.difference.b.value_or(0) - group.difference.a.value_or(0));
        },
        Unit::Nanoseconds));
    table.columns.push_back(
        add("ratio", "B / A", [](const ComparedGroup& group) { return cellOf(group.difference.ratio); }));
    table.columns.push_back(add("instances_a", "count A", [](const ComparedGroup& group) {
        return Cell(group.difference.instancesA);
    }));
    table.columns.push_back(add("instances_b", "count B", [](const ComparedGroup& group) {
        return Cell(group.difference.instancesB);
    }));
    table.columns.push_back(only(Audience::Programs, add("p", "", [](const ComparedGroup& group) {
                                     return cellOf(group.difference.p);
                                 })));
    table.columns.push_back(add("verdict", "verdict", [](const ComparedGroup& group) {
        return cellOf(wordOf(group.difference.verdict));
    }));
    table.columns.back().meaning = Meaning::Verdict;
    table.columns.back().keep = 2;
    return table;
}

using HeldRows = std::vector<query::HeldDifference> query::MemoryDifference::*;

struct HeldTable {
    std::string_view name; ///< in JSON
    std::string_view key;  ///< what --memory-by and the first column call it
    HeldRows rows;
};

constexpr std::array kHeldTables{HeldTable{"categories", "category", &query::MemoryDifference::categories},
                                 HeldTable{"ops", "op", &query::MemoryDifference::ops},
                                 HeldTable{"modules", "module", &query::MemoryDifference::modules},
                                 HeldTable{"ranges", "range", &query::MemoryDifference::ranges},
                                 HeldTable{"sizes", "size", &query::MemoryDifference::sizes}};

std::string_view wordOf(query::MemoryMoment moment)
{
    return moment == query::MemoryMoment::Peak ? "peak" : "end";
}

Table heldTable(const ComparisonPtr& comparison, const HeldTable& held)
{
    using query::HeldDifference;
    const auto add = [&](std::string key, std::string title, auto get, Unit unit = Unit::None) {
        return Column{.key = std::move(key),
                      .title = std::move(title),
                      .cell = [comparison, rows = held.rows,
                               get](std::size_t row) { return Cell(get(((*comparison->held).*rows)[row])); },
                      .unit = unit,
                      .sharesUnit = true};
    };
    Table table{.heading = fmt::format("Memory {} at A's {} and B's {}, by {}", heldWords(*comparison),
                                       wordOf(comparison->held->a.moment), wordOf(comparison->held->b.moment),
                                       held.key),
                .rows = ((*comparison->held).*held.rows).size()};
    table.columns = {
        add("key", std::string(held.key), [](const HeldDifference& row) { return row.key; }),
        add(
            "a", "A", [](const HeldDifference& row) { return row.a.count; }, Unit::Bytes),
        add(
            "b", "B", [](const HeldDifference& row) { return row.b.count; }, Unit::Bytes),
        add(
            "difference", "B - A", [](const HeldDifference& row) { return row.change().count; }, Unit::Bytes),
        add("blocks_a", "blocks A", [](const HeldDifference& row) { return row.blocksA; }),
        add("blocks_b", "blocks B", [](const HeldDifference& row) { return row.blocksB; }),
        add("verdict", "verdict", [](const HeldDifference& row) { return std::string(row.verdict()); })};
    table.columns.front().keep = table.columns.back().keep = 2;
    table.columns.front().elidable = true;
    return table;
}

/// Those rows of a table of blocks that differ, and what all of them add up to.
Table onlyChanged(Table table, const query::MemoryDifference& held, HeldRows rows)
{
    auto changed = std::make_shared<std::vector<std::size_t>>();
    for (std::size_t row = 0; row < (held.*rows).size(); ++row)
        if ((held.*rows)[row].verdict() != "none")
            changed->push_back(row);
    const std::size_t same = table.rows - changed->size();
    for (Column& made : table.columns)
        made.cell = [changed, cell = made.cell](std::size_t row) { return cell((*changed)[row]); };
    table.rows = changed->size();
    if (table.rows == 0)
        table.whyEmpty = fmt::format("The same in all of {}.", same);
    table.notes.push_back(fmt::format(
        "{}Together {} in A, {} in B: a change of {} ({} bytes).",
        same > 0 && table.rows > 0 ? fmt::format("The same in {} more. ", same) : std::string(),
        sizeText(held.a.allocated), sizeText(held.b.allocated), sizeText(held.b.allocated - held.a.allocated),
        (held.b.allocated - held.a.allocated).count));
    return table;
}

std::string heldSideJson(const query::HeldSide& side)
{
    return side.recorded ? fmt::format(R"({{"moment": "{}", "allocated": {}, "reserved": {}}})",
                                       wordOf(side.moment), side.allocated.count, side.reserved.count)
                         : "null";
}

bool isDifferent(GroupVerdict verdict)
{
    return verdict != GroupVerdict::NoDifference && verdict != GroupVerdict::Inconclusive &&
           verdict != GroupVerdict::Untested;
}

bool isGroups(const std::string& name)
{
    return name == "families" || name == "kernels" || name == "ops" || name == "ranges";
}

/// The rows of a table of groups that say something: those that differ.
Table onlyDifferent(Table table, const std::vector<ComparedGroup>& groups)
{
    auto rows = std::make_shared<std::vector<std::size_t>>();
    for (std::size_t row = 0; row < groups.size(); ++row)
        if (isDifferent(groups[row].difference.verdict))
            rows->push_back(row);
    const auto count = [&groups](GroupVerdict verdict) {
        return std::count_if(groups.begin(), groups.end(), [verdict](const ComparedGroup& group) {
            return group.difference.verdict == verdict;
        });
    };
    std::string rest;
    for (const auto& [verdict, words] : {std::pair(GroupVerdict::NoDifference, "no difference"),
                                         std::pair(GroupVerdict::Inconclusive, "inconclusive"),
                                         std::pair(GroupVerdict::Untested, "untested")})
        if (const auto many = count(verdict); many > 0)
            rest += fmt::format("{}{} {}", rest.empty() ? "" : ", ", words, many);
    for (Column& made : table.columns)
        made.cell = [rows, cell = made.cell](std::size_t row) { return cell((*rows)[row]); };
    table.rows = rows->size();
    if (table.rows == 0)
        table.whyEmpty = fmt::format("No group differs: {}.", rest);
    else if (!rest.empty())
        table.notes.push_back(fmt::format("The others: {}.", rest));
    return table;
}

const std::vector<ComparedGroup>& groupsOf(const Comparison& comparison, const std::string& name)
{
    return name == "families" ? comparison.families
           : name == "ranges" ? comparison.ranges
                              : comparison.kernels;
}

std::string sideJson(const query::ComparedRun& side)
{
    std::vector<std::int64_t> runs;
    for (const RunId run : side.runs)
        runs.push_back(run.value);
    return "{\"file\": " + jsonString(side.file) + ", \"run\": " + std::to_string(side.run.run.value) +
           ", \"uid\": " + jsonString(side.run.uid) + ", \"name\": " + jsonString(side.run.name) +
           ", \"status\": " + jsonString(wordOf(side.run.result.status)) +
           ", \"runs\": " + fmt::format("[{}]", fmt::join(runs, ", ")) + "}";
}

std::string_view wordOf(analysis::BetweenRuns::Source source)
{
    using Source = analysis::BetweenRuns::Source;
    return source == Source::Repeats ? "repeats" : source == Source::Given ? "given" : "steps";
}

/// verdict, sentence, ratio, delta_ns and what they rest on.
std::string verdictJson(const Comparison& comparison)
{
    std::string text = "\"verdict\": " + jsonString(verdictOf(comparison)) +
                       ",\n \"sentence\": " + jsonString(sentenceOf(comparison));
    const TimeDifference* step = comparison.step();
    if (!step)
        return text + ",\n \"ratio\": null,\n \"delta_ns\": null,\n \"between_runs\": null";
    constexpr double kNsPerMs = 1e6;
    const std::string why = analysis::whyNoInterval(*step);
    text += ",\n \"ratio\": {\"value\": " + jsonNumber(step->ratio);
    text += step->ratio95 ? ", \"lo\": " + jsonNumber(step->ratio95->low) +
                                ", \"hi\": " + jsonNumber(step->ratio95->high) +
                                ", \"confidence\": " + jsonNumber(analysis::kConfidence)
                          : ", \"lo\": null, \"hi\": null, \"confidence\": null";
    text += ", \"reason\": " + (why.empty() ? "null" : jsonString(why)) + "}";
    text += ",\n \"delta_ns\": " + std::to_string(std::llround(step->difference * kNsPerMs));
    return text + ",\n \"between_runs\": {\"deviation\": " + jsonNumber(step->between.deviation) +
           ", \"degrees\": " + jsonNumber(step->between.degrees) +
           ", \"runs\": " + std::to_string(step->between.runs) +
           ", \"source\": " + jsonString(wordOf(step->between.source)) + "}";
}

std::string gateJson(const std::optional<analysis::Gate>& gate)
{
    if (!gate)
        return "null";
    return fmt::format(R"({{"allowed": {}, "outcome": {}, "repeats": {}, "sentence": {}}})",
                       jsonNumber(gate->allowed), jsonString(wordOf(gate->outcome)),
                       gate->repeats ? std::to_string(*gate->repeats) : "null",
                       jsonString(sentenceOf(*gate)));
}

std::string flagsJson(const Comparison& comparison)
{
    std::string text;
    for (const query::ComparedFlag& flag : comparison.flags)
        text += (text.empty() ? "" : ", ") + ("{\"side\": " + jsonString(std::string(1, flag.side))) +
                ", \"run\": " + std::to_string(flag.run.value) + ", \"flag\": " + jsonString(flag.text) + "}";
    return "[" + text + "]";
}

/// Where the deviation between runs comes from, for people.
std::string betweenRunsText(const analysis::BetweenRuns& between)
{
    using Source = analysis::BetweenRuns::Source;
    const std::string percent = quantity::withUnit(100 * between.deviation, Unit::Percent);
    switch (between.source) {
    case Source::Repeats:
        return fmt::format("Medians of runs deviate by {}, measured on {}.", percent,
                           counted(between.runs, "repeat"));
    case Source::Given:
        return fmt::format("Medians of runs are taken to deviate by {}, as given.", percent);
    case Source::Steps:
        break;
    }
    return fmt::format("How much runs differ is not measured; by their steps and flags, at least {} is "
                       "to be expected.",
                       percent);
}

} // namespace

std::vector<NamedTable> tablesOf(ComparisonPtr comparison)
{
    const std::string kernels = comparison->opsForKernels ? "ops" : "kernels";
    std::vector<NamedTable> tables;
    tables.push_back(
        {"parameters", factsTable(comparison, &Comparison::parameters, "Parameters that differ")});
    tables.push_back({"environment", factsTable(comparison, &Comparison::environment, "What else differs")});
    tables.push_back({"times", timesTable(comparison)});
    tables.push_back({"memory", memoryTable(comparison)});
    tables.push_back(
        {"families", groupsTable(comparison, &Comparison::families,
                                 comparison->opsForKernels ? "Op families: self time a traced step"
                                                           : "Kernel families: GPU time a traced step",
                                 "family")});
    tables.push_back({kernels, groupsTable(comparison, &Comparison::kernels,
                                           comparison->opsForKernels ? "Ops: self time a traced step"
                                                                     : "Kernels: GPU time a traced step",
                                           "name")});
    tables.push_back(
        {"ranges", groupsTable(comparison, &Comparison::ranges, "Ranges: time a traced step", "path")});
    return tables;
}

std::vector<NamedTable> differencesOf(ComparisonPtr comparison)
{
    std::vector<NamedTable> tables = tablesOf(comparison);
    for (NamedTable& named : tables)
        if (isGroups(named.name) && named.table.rows > 0)
            named.table = onlyDifferent(std::move(named.table), groupsOf(*comparison, named.name));
    return tables;
}

std::string_view verdictOf(const Comparison& comparison)
{
    const TimeDifference* step = comparison.step();
    return step ? wordOf(step->verdict) : "untested";
}

std::string sentenceOf(const Comparison& comparison)
{
    const TimeDifference* step = comparison.step();
    if (step)
        return analysis::sentenceOf(*step);
    if (comparison.a.run.workload == query::kSnapshotWorkload ||
        comparison.b.run.workload == query::kSnapshotWorkload)
        return "A memory snapshot holds no step times: only memory is compared.";
    return fmt::format(
        "The step times cannot be compared: run {} of A is {}, run {} of B is {}, and each side needs a "
        "timed step.",
        comparison.a.run.run.value, wordOf(comparison.a.run.result.status), comparison.b.run.run.value,
        wordOf(comparison.b.run.result.status));
}

std::vector<std::string> flagLines(const Comparison& comparison)
{
    constexpr std::size_t kMost = 6;
    std::vector<std::string> lines;
    for (const query::ComparedFlag& flag : comparison.flags) {
        if (lines.size() == kMost) {
            lines.push_back(counted(static_cast<std::int64_t>(comparison.flags.size() - kMost), "more flag"));
            break;
        }
        lines.push_back(fmt::format("{}, run {}: {}", flag.side, flag.run.value, describeFlag(flag.text)));
    }
    return lines;
}

void writeComparisonJson(std::ostream& out, ComparisonPtr comparison,
                         const std::optional<analysis::Gate>& gate)
{
    out << "{\"a\": " << sideJson(comparison->a) << ",\n \"b\": " << sideJson(comparison->b) << ",\n "
        << verdictJson(*comparison) << ",\n \"gate\": " << gateJson(gate)
        << ",\n \"flags\": " << flagsJson(*comparison);
    for (const NamedTable& named : tablesOf(comparison)) {
        out << ",\n \"" << named.name << "\": ";
        writeJson(out, named.table);
    }
    if (comparison->held) {
        out << ",\n \"held\": {\"a\": " << heldSideJson(comparison->held->a)
            << ", \"b\": " << heldSideJson(comparison->held->b);
        for (const HeldTable& held : kHeldTables) {
            out << ",\n \"" << held.name << "\": ";
            writeJson(out, heldTable(comparison, held));
        }
        out << "}";
    }
    out << "}\n";
}

void writeComparisonTerminal(std::ostream& out, ComparisonPtr comparison, const TerminalStyle& style,
                             const std::string& memoryBy)
{
    const auto side = [](const query::ComparedRun& run) {
        const std::string repeats = run.runs.size() > 1
                                        ? ", " + counted(static_cast<std::int64_t>(run.runs.size()), "repeat")
                                        : std::string();
        return escapeForTerminal(run.file + ", " + describeRun(run.run) + repeats);
    };
    out << "A  " << side(comparison->a) << "\nB  " << side(comparison->b) << "\n\n"
        << (style.colour ? "\x1b[1m" : "") << sentenceOf(*comparison) << (style.colour ? "\x1b[0m" : "")
        << "\n"
        << (comparison->step() ? betweenRunsText(comparison->step()->between) + "\n" : std::string());
    for (const std::string& line : flagLines(*comparison))
        out << (style.colour ? "\x1b[33m" : "") << "flagged  " << escapeForTerminal(line)
            << (style.colour ? "\x1b[0m" : "") << "\n";
    for (const NamedTable& named : differencesOf(comparison)) {
        if (named.table.rows == 0 && named.table.whyEmpty.empty())
            continue;
        out << "\n";
        writeTerminal(out, named.table, style);
    }
    if (!comparison->held || !comparison->held->a.recorded || !comparison->held->b.recorded)
        return;
    for (const HeldTable& held : kHeldTables)
        if (held.key == "category" || held.key == memoryBy) {
            out << "\n";
            writeTerminal(out, onlyChanged(heldTable(comparison, held), *comparison->held, held.rows), style);
        }
}

} // namespace tilescope::exchange
