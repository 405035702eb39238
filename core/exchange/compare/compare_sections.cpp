#include "core/exchange/compare/compare_sections.h"

#include "core/base/plural.h"
#include "core/exchange/compare/comparison_columns.h"
#include "core/exchange/tables/json_text.h"
#include "core/exchange/tables/number.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/sections.h"
#include "core/exchange/tables/text.h"
#include "core/exchange/waiting/waiting_columns.h"
#include "core/model/flags.h"
#include "core/model/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <utility>

namespace tilescope::exchange {

namespace {

using analysis::GroupVerdict;
using analysis::TimeDifference;
using query::ComparedFact;
using query::ComparedGroup;
using query::ComparedTime;
using query::Comparison;
using ComparisonPtr = std::shared_ptr<const Comparison>;

Table factsTable(const ComparisonPtr& comparison, const std::vector<ComparedFact>& facts,
                 const std::string& heading)
{
    const ColumnsOf column(comparison, facts);
    Table table{.heading = heading, .rows = facts.size()};
    table.columns = {column("key", "key", &ComparedFact::key, {.keep = 2}),
                     column("a", "A", [](const ComparedFact& fact) { return cellOrNull(fact.a); },
                            {.keep = 2, .elidable = true}),
                     column("b", "B", [](const ComparedFact& fact) { return cellOrNull(fact.b); },
                            {.keep = 2, .elidable = true})};
    return table;
}

Table timesTable(const ComparisonPtr& comparison)
{
    const ColumnsOf column(comparison, comparison->times);
    const auto word = [](const ComparedTime& time) { return wordOf(time.phase); };
    const auto figure = [](auto member) { return memberOf(&ComparedTime::difference, member); };
    const SideColumns<ComparedTime> sides("_ms", "difference", figure(&TimeDifference::medianA),
                                          figure(&TimeDifference::medianB),
                                          figure(&TimeDifference::difference), Unit::Milliseconds);
    const TimeDifferenceColumns of;
    const auto ratio = [&column](const ColumnOf<TimeDifference>& part) {
        return column(
            columnOfPart<ComparedTime>(part, [](const ComparedTime& time) { return &time.difference; }));
    };
    Table table{.heading = "Times: medians of the timed steps, B against A",
                .rows = comparison->times.size()};
    table.columns = {
        column.programs("phase", word),
        column.programs("clock", [](const ComparedTime& time) { return time.onGpu ? "gpu" : "wall"; }),
        column.people("phase",
                      [word](const ComparedTime& time) {
                          return std::string(word(time)) + (time.onGpu ? " on GPU" : "");
                      }),
        column(sides.a),
        column(sides.b),
        column(sides.change),
        column.programs("difference_ci95", figure(&TimeDifference::difference95)),
        column.programs("ratio", figure(&TimeDifference::ratio)),
        column.programs("ratio_ci95", figure(&TimeDifference::ratio95)),
        ratio(of.ratio),
        ratio(of.interval),
        column.programs("runs_a", figure(&TimeDifference::runsA)),
        column.programs("runs_b", figure(&TimeDifference::runsB)),
        column("n_a", "n A", figure(&TimeDifference::stepsA)),
        column("n_b", "n B", figure(&TimeDifference::stepsB)),
        ratio(of.verdict),
        column.programs("verdict", [](const ComparedTime& time) { return wordOf(time.difference.verdict); })};
    return table;
}

Table memoryTable(const ComparisonPtr& comparison)
{
    const ColumnsOf column(comparison, comparison->memory);
    const MemoryDifferenceColumns of(heldWords(*comparison));
    return {.heading = "Memory",
            .columns = {column(of.what), column(of.words), column(of.a), column(of.b), column(of.change),
                        column(of.ratio)},
            .rows = comparison->memory.size()};
}

/// Programs that generate text, by token.
Table tokensTable(const ComparisonPtr& comparison)
{
    using query::ComparedToken;
    const ColumnsOf column(comparison, comparison->tokens);
    const Shown time{.unit = Unit::Nanoseconds, .unitGroup = 1};
    const auto perToken = std::ranges::find(comparison->tokens, "per_token_p50", &query::ComparedToken::what);
    const bool isSpeculative =
        perToken != comparison->tokens.end() && perToken->words.starts_with("time per decode");
    return {.heading = isSpeculative
                           ? "Generation: a decode iteration makes one token or more of each sequence"
                           : "Generation: a decode iteration makes a token of each sequence",
            .columns = {column.programs("what", &ComparedToken::what),
                        column.people("what", &ComparedToken::words, {.keep = 2}),
                        column("a_ns", "A", &ComparedToken::a, time),
                        column("b_ns", "B", &ComparedToken::b, time),
                        column("difference_ns", "difference", &ComparedToken::change,
                               {.unit = Unit::Nanoseconds, .meaning = Meaning::Difference, .unitGroup = 1})},
            .rows = comparison->tokens.size()};
}

Table groupsTable(const ComparisonPtr& comparison, const std::vector<ComparedGroup>& groups,
                  const std::string& heading, const GroupDifferenceColumns& of)
{
    const ColumnsOf column(comparison, groups);
    Table table{.heading = heading, .rows = groups.size()};
    const bool ofKernels = &groups == &comparison->kernels && !comparison->opsForKernels;
    for (const auto* each :
         {&of.key, &of.shortName, &of.name, &of.family, &of.times.a, &of.times.b, &of.times.change,
          &of.spread, &of.ratio, &of.instancesA, &of.instancesB, &of.p, &of.verdict})
        if (ofKernels || (each != &of.shortName && each != &of.family))
            table.columns.push_back(column(*each));
    return table;
}

/// The time that a change describes, in words.
std::string_view stepWords(const query::StepChange& change)
{
    return change.isWhole          ? "the whole recording"
           : change.isOfTimedSteps ? "the median timed step"
                                   : "the mean traced step";
}

/// The heading of the parts' places; it depends on how the sides were aligned.
std::string placeWord(const std::optional<query::StepChange>& change)
{
    if (change && change->onGpu && change->alignedBy == query::AlignedBy::Ops)
        return "ops";
    return change && change->alignedBy == query::AlignedBy::Frames ? "function" : "module";
}

std::optional<RawJson> alignmentJson(const std::optional<query::StepChange>& change)
{
    if (!change)
        return {};
    return JsonObject()
        .add("by", query::wordOf(change->alignedBy))
        .add("aligned", change->aligned)
        .add("of", change->isWhole          ? "recording"
                   : change->isOfTimedSteps ? "timed steps"
                                            : "traced steps")
        .add("steps_a", change->stepsA)
        .add("steps_b", change->stepsB)
        .add("process", cellOrNull(change->process))
        .json();
}

/// Lines of Python whose idle time of the GPUs changed.
Table linesTable(const ComparisonPtr& comparison)
{
    using query::ComparedLine;
    const ColumnsOf column(comparison, comparison->lines);
    const SideColumns<ComparedLine> sides("_ns", "difference", &ComparedLine::a, &ComparedLine::b,
                                          &ComparedLine::change, Unit::Nanoseconds);
    const auto ofLine = [&column](std::string key, auto get) {
        return column.programs(
            std::move(key), [get](const ComparedLine& line) { return line.line ? get(*line.line) : Cell(); });
    };
    Table table{.heading = "Idle lines: what GPUs wait for in a mean step", .rows = comparison->lines.size()};
    table.columns = {
        column("cause", "cause", [](const ComparedLine& line) { return cellOrNull(line.cause); },
               {.keep = 2}),
        ofLine("file", [](const query::CodeLine& line) { return cellOrNull(line.file); }),
        ofLine("line", [](const query::CodeLine& line) { return line.line > 0 ? Cell(line.line) : Cell(); }),
        ofLine("function", [](const query::CodeLine& line) { return cellOrNull(line.function); }),
        column.people("line", [](const ComparedLine& line) { return cellOrNull(lineText(line.line)); },
                      {.keep = 2, .elidable = true}),
        column.people(
            "function",
            [](const ComparedLine& line) { return line.line ? cellOrNull(line.line->function) : Cell(); },
            {.elidable = true}),
        column(sides.a),
        column(sides.b),
        column(sides.change)};
    return table;
}

/// The parts of the change of the step.
Table partsTable(const ComparisonPtr& comparison)
{
    using query::ChangePart;
    static const std::vector<ChangePart> kNone;
    const std::vector<ChangePart>& parts = comparison->change ? comparison->change->parts : kNone;
    const ColumnsOf column(comparison, parts);
    const auto sides = partColumns();
    Table table{.heading = "Causes: parts of the change of a step", .rows = parts.size()};
    table.columns = {
        column("kind", "what", [](const ChangePart& part) { return query::wordOf(part.kind); }, {.keep = 2}),
        column("module", placeWord(comparison->change),
               [](const ChangePart& part) { return cellOrNull(part.module); }, {.keep = 2, .elidable = true}),
        column.programs("name", [](const ChangePart& part) { return cellOrNull(part.name); }),
        column.people(comparison->change && !comparison->change->onGpu ? "op" : "kernel",
                      [](const ChangePart& part) { return cellOrNull(part.shortName); },
                      {.keep = 2, .elidable = true}),
        column(sides.a),
        column(sides.b),
        column(sides.change)};
    if (comparison->change && table.rows > 0)
        table.notes.push_back(
            fmt::format("All parts add up to {}, the change of {}{}. {}",
                        quantity::withUnit(static_cast<double>(comparison->change->delta), Unit::Nanoseconds),
                        stepWords(*comparison->change),
                        comparison->change->process.empty() ? "" : ", " + comparison->change->process,
                        query::alignmentSentence(*comparison->change)));
    return table;
}

using HeldRows = std::vector<query::HeldDifference> query::MemoryDifference::*;

struct HeldTable {
    std::string_view name; ///< in JSON
    std::string_view key;  ///< its name in --memory-by and in the first column
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
    const auto& rows = (*comparison->held).*held.rows;
    const ColumnsOf column(comparison, rows);
    const SideColumns<HeldDifference> sides("", "difference", &HeldDifference::a, &HeldDifference::b,
                                            &HeldDifference::change, Unit::Bytes);
    Table table{.heading = fmt::format("Memory {} at A's {} and B's {}, by {}", heldWords(*comparison),
                                       wordOf(comparison->held->a.moment), wordOf(comparison->held->b.moment),
                                       held.key),
                .rows = rows.size()};
    table.columns = {
        column("key", std::string(held.key), &HeldDifference::key, {.keep = 2, .elidable = true}),
        column(sides.a),
        column(sides.b),
        column(sides.change),
        column("blocks_a", "blocks A", &HeldDifference::blocksA),
        column("blocks_b", "blocks B", &HeldDifference::blocksB),
        column("verdict", "verdict", &HeldDifference::verdict, {.keep = 2})};
    return table;
}

/// Keeps the rows of a table that `isKept`.
void keepRows(Table& table, const std::function<bool(std::size_t row)>& isKept)
{
    auto kept = std::make_shared<std::vector<std::size_t>>();
    for (std::size_t row = 0; row < table.rows; ++row)
        if (isKept(row))
            kept->push_back(row);
    for (Column& made : table.columns)
        made.cell = [kept, cell = made.cell](std::size_t row) { return cell((*kept)[row]); };
    table.rows = kept->size();
}

/// Keeps the rows of a table of blocks that differ, and their sum.
Table onlyChanged(Table table, const query::MemoryDifference& held, HeldRows rows)
{
    const std::size_t all = table.rows;
    keepRows(table, [&](std::size_t row) { return (held.*rows)[row].verdict() != "none"; });
    const std::size_t same = all - table.rows;
    if (table.rows == 0)
        table.whyEmpty = fmt::format("The same in all of {}.", same);
    table.notes.push_back(fmt::format(
        "{}Together {} in A, {} in B: a change of {} ({} bytes).",
        same > 0 && table.rows > 0 ? fmt::format("The same in {} more. ", same) : std::string(),
        sizeText(held.a.allocated), sizeText(held.b.allocated), sizeText(held.b.allocated - held.a.allocated),
        (held.b.allocated - held.a.allocated).count));
    return table;
}

std::optional<RawJson> heldSideJson(const query::HeldSide& side)
{
    if (!side.recorded)
        return {};
    return JsonObject()
        .add("moment", wordOf(side.moment))
        .add("allocated", side.allocated)
        .add("reserved", side.reserved)
        .json();
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

/// Keeps the rows of a table of groups that differ.
Table onlyDifferent(Table table, const std::vector<ComparedGroup>& groups)
{
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
    keepRows(table, [&groups](std::size_t row) { return isDifferent(groups[row].difference.verdict); });
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

/// The span as JSON; none if the comparison is not limited to a span.
std::optional<RawJson> spanJson(const std::optional<query::TimeSpan>& span)
{
    if (!span)
        return {};
    return JsonObject()
        .add("from_ns", span->from.count())
        .add("to_ns", span->to == Nanoseconds::max() ? std::nullopt : std::optional(span->to.count()))
        .json();
}

RawJson sideJson(const query::ComparedRun& side)
{
    return JsonObject()
        .add("file", side.file)
        .add("run", side.run.run.value)
        .add("uid", side.run.uid)
        .add("name", side.run.name)
        .add("status", wordOf(side.run.result.status))
        .add("runs", jsonList(side.runs, [](RunId run) { return run.value; }))
        .add("span", spanJson(side.span))
        .add("losses", jsonList(side.losses, [](const std::string& lost) { return lost; }))
        .json();
}

std::string_view wordOf(analysis::BetweenRuns::Source source)
{
    using Source = analysis::BetweenRuns::Source;
    return source == Source::Repeats ? "repeats" : source == Source::Given ? "given" : "steps";
}

RawJson ratioJson(const TimeDifference& step)
{
    const auto& interval = step.ratio95;
    return JsonObject()
        .add("value", step.ratio)
        .add("lo", interval ? std::optional(interval->low) : std::nullopt)
        .add("hi", interval ? std::optional(interval->high) : std::nullopt)
        .add("confidence", interval ? std::optional(analysis::kConfidence) : std::nullopt)
        .add("reason", cellOrNull(analysis::whyNoInterval(step)))
        .add("basis", wordOf(step.basis))
        .json();
}

std::optional<RawJson> gateJson(const std::optional<analysis::Gate>& gate)
{
    if (!gate)
        return {};
    return JsonObject()
        .add("allowed", gate->allowed)
        .add("outcome", wordOf(gate->outcome))
        .add("repeats", gate->repeats)
        .add("sentence", sentenceOf(*gate))
        .json();
}

RawJson betweenRunsJson(const analysis::BetweenRuns& between)
{
    return JsonObject()
        .add("deviation", between.deviation)
        .add("degrees", between.degrees)
        .add("runs", between.runs)
        .add("source", wordOf(between.source))
        .add("in_turn", between.inTurn)
        .add("shift", between.shift)
        .json();
}

RawJson flagsJson(const Comparison& comparison)
{
    return jsonList(comparison.flags, [](const query::ComparedFlag& flag) {
        return JsonObject()
            .add("side", std::string(1, flag.side))
            .add("run", flag.run.value)
            .add("flag", flag.text)
            .json();
    });
}

/// "The mean traced step takes 7.56 ms in B, 8.01 ms in A. "
std::string tracedSentence(const std::optional<query::StepChange>& change)
{
    if (!change)
        return {};
    const auto time = [](double ns) { return quantity::withUnit(ns, Unit::Nanoseconds); };
    return fmt::format("{}{} takes {} in B, {} in A. ",
                       change->isWhole ? "The recording" : "The mean traced step",
                       change->process.empty() ? "" : " (" + change->process + ")", time(change->wallB),
                       time(change->wallA));
}

/// "GPU time of kernels: A 1.20 ms in 2.00 ms of it, B 1.10 ms in 2.00 ms of it."
std::string spanSentence(const Comparison& comparison)
{
    if (comparison.kernels.empty())
        return "Nothing to compare: neither kernels nor ops of both runs are in the time span.";
    const auto time = [](double ns) { return quantity::withUnit(ns, Unit::Nanoseconds); };
    double a = 0;
    double b = 0;
    for (const ComparedGroup& group : comparison.kernels) {
        a += group.difference.a.value_or(0);
        b += group.difference.b.value_or(0);
    }
    const auto side = [&](char letter, const query::ComparedRun& run, double total) {
        return fmt::format("{} {} {}", letter, time(total),
                           run.span ? exchange::spanText(*run.span) : "in its mean traced step");
    };
    return fmt::format("{}: {}, {}.", comparison.opsForKernels ? "Self time of ops" : "GPU time of kernels",
                       side('A', comparison.a, a), side('B', comparison.b, b));
}

/// "A and B differ by GPU (NVIDIA H100; AMD Instinct MI300X), ranks (8; 2) and batch (4; 8)." Empty: by none of these.
std::string unlikeSides(const Comparison& comparison)
{
    std::vector<std::string> unlike;
    const auto add = [&unlike](std::string_view what, const query::ComparedFact& fact) {
        const auto orNone = [](const std::string& value) { return value.empty() ? "none" : value; };
        unlike.push_back(fmt::format("{} ({}; {})", what, orNone(fact.a), orNone(fact.b)));
    };
    for (const query::ComparedFact& fact : comparison.environment)
        if (fact.key == "gpu.name" || fact.key == "gpu.0.name")
            add("GPU", fact);
    for (const query::ComparedFact& fact : comparison.environment)
        if (fact.key == "ranks")
            add("ranks", fact);
    constexpr std::array<std::string_view, 8> kVersions{
        "torch", "python", "cuda", "driver.cuda", "nccl", "hip_runtime", "cuda_runtime", "cuda_driver"};
    for (const query::ComparedFact& fact : comparison.environment)
        if (std::ranges::find(kVersions, fact.key) != kVersions.end())
            add(fact.key, fact);
    for (const query::ComparedFact& fact : comparison.parameters)
        if (fact.key == "batch")
            add("batch", fact);
    std::string text;
    for (std::size_t i = 0; i < unlike.size(); ++i)
        text += (i == 0 ? "" : i + 1 == unlike.size() ? " and " : ", ") + unlike[i];
    return text.empty() ? text : "A and B differ by " + text + ".";
}

/// Where the deviation between runs comes from, for people.
std::string betweenRunsText(const analysis::BetweenRuns& between)
{
    using Source = analysis::BetweenRuns::Source;
    const std::string percent = quantity::withUnit(100 * between.deviation, Unit::Percent);
    switch (between.source) {
    case Source::Repeats:
        if (between.inTurn)
            return fmt::format("Medians of runs that were taken in turn deviate by {}, measured on {}.",
                               percent, counted(between.runs, "run"));
        return fmt::format(
            "Medians of runs deviate by {}, measured on {}. A and B were not taken in turn: by how busy "
            "the host was, each may lie {} higher as a whole.",
            percent, counted(between.runs, "repeat"), quantity::withUnit(100 * between.shift, Unit::Percent));
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
    const bool ops = comparison->opsForKernels;
    const bool isOfProcess = comparison->change && !comparison->change->process.empty();
    const std::string when =
        comparison->isLimited()
            ? "in the time span"
            : "a traced step" + (isOfProcess ? ", " + comparison->change->process : std::string());
    return {
        {"parameters", factsTable(comparison, comparison->parameters, "Parameters that differ")},
        {"environment", factsTable(comparison, comparison->environment, "What else differs")},
        {"times", timesTable(comparison)},
        {"parts", partsTable(comparison)},
        {"per_token", tokensTable(comparison)},
        {"memory", memoryTable(comparison)},
        {"families", groupsTable(comparison, comparison->families,
                                 (ops ? "Op families: self time " : "Kernel families: GPU time ") + when,
                                 {"family", "family"})},
        {ops ? "ops" : "kernels",
         groupsTable(comparison, comparison->kernels, (ops ? "Ops: self time " : "Kernels: GPU time ") + when,
                     {"name", ops ? "op" : "kernel"})},
        {"ranges", groupsTable(comparison, comparison->ranges, "Ranges: time " + when, {"path", "range"})},
        {"lines", linesTable(comparison)}};
}

std::vector<NamedTable> differencesOf(ComparisonPtr comparison)
{
    std::vector<NamedTable> tables = tablesOf(comparison);
    if (comparison->isLimited())
        return tables; // a time span has no tests
    for (NamedTable& named : tables)
        if (isGroups(named.name) && named.table.rows > 0)
            named.table = onlyDifferent(std::move(named.table), groupsOf(*comparison, named.name));
    return tables;
}

std::string_view verdictOf(const Comparison& comparison)
{
    const TimeDifference* step = comparison.judged();
    return step ? wordOf(step->verdict) : "untested";
}

std::string sentenceOf(const Comparison& comparison)
{
    if (const TimeDifference* step = comparison.step())
        return analysis::sentenceOf(*step);
    if (comparison.isLimited())
        return spanSentence(comparison);
    if (const auto& recorded = comparison.recordedStep)
        return tracedSentence(comparison.change) + analysis::sentenceOf(*recorded);
    if (comparison.a.run.traits().isMemoryOnly || comparison.b.run.traits().isMemoryOnly)
        return "A memory snapshot holds no step times: only memory is compared.";
    if (comparison.a.run.coversRecording() || comparison.b.run.coversRecording())
        return tracedSentence(comparison.change) +
               "A recording without steps has no times to compare: whether the "
               "difference is more than chance is not tested.";
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
    if (comparison.a.run.coversRecording() || comparison.b.run.coversRecording())
        if (std::string unlike = unlikeSides(comparison); !unlike.empty())
            lines.push_back(std::move(unlike));
    for (const auto& [letter, side] : {std::pair('A', &comparison.a), std::pair('B', &comparison.b)}) {
        if (side->losses.empty())
            continue;
        std::string line = fmt::format("{}: {}", letter, side->losses.front());
        if (const std::int64_t others = std::ssize(side->losses) - 1; others > 0)
            line += " " + counted(others, "more run lacks", "more runs lack") + " something.";
        lines.push_back(std::move(line));
    }
    const std::size_t before = lines.size();
    for (const query::ComparedFlag& flag : comparison.flags) {
        if (lines.size() == before + kMost) {
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
    const TimeDifference* step = comparison->judged();
    const char* separator = "{";
    const auto add = [&](std::string_view key, const auto& value) {
        out << std::exchange(separator, ",\n ") << jsonString(key) << ": " << cellJson(toCell(value));
    };
    add("a", sideJson(comparison->a));
    add("b", sideJson(comparison->b));
    add("verdict", verdictOf(*comparison));
    add("sentence", sentenceOf(*comparison));
    add("ratio", step ? std::optional(ratioJson(*step)) : std::nullopt);
    add("delta_ns", comparison->delta());
    add("alignment", alignmentJson(comparison->change));
    add("between_runs", step ? std::optional(betweenRunsJson(step->between)) : std::nullopt);
    add("gate", gateJson(gate));
    add("flags", flagsJson(*comparison));
    for (const NamedTable& named : tablesOf(comparison)) {
        out << ",\n \"" << named.name << "\": ";
        writeJson(out, named.table);
    }
    if (comparison->held) {
        out << ",\n \"held\": {\"a\": " << cellJson(toCell(heldSideJson(comparison->held->a)))
            << ", \"b\": " << cellJson(toCell(heldSideJson(comparison->held->b)));
        for (const HeldTable& held : kHeldTables) {
            out << ",\n \"" << held.name << "\": ";
            writeJson(out, heldTable(comparison, held));
        }
        out << "}";
    }
    out << "}\n";
}

std::string repeatsText(const query::ComparedRun& side)
{
    constexpr std::size_t kMost = 5; // with more, the first three
    const std::size_t runs = side.runs.size();
    if (runs < 2)
        return {};
    const std::size_t named = runs <= kMost ? runs : 3;
    std::string text = ", " + counted(static_cast<std::int64_t>(runs), "repeat") + ": runs";
    for (std::size_t i = 0; i < named; ++i)
        text += (i == 0 ? " " : i + 1 == runs ? " and " : ", ") + std::to_string(side.runs[i].value);
    return named < runs ? text + " and " + std::to_string(runs - named) + " more" : text;
}

void writeComparisonTerminal(std::ostream& out, ComparisonPtr comparison, const TerminalStyle& style,
                             const std::string& memoryBy)
{
    const auto side = [](const query::ComparedRun& run) {
        const std::string span = run.span ? ", " + exchange::spanText(*run.span) : std::string();
        return escapeForTerminal(run.file + ", " + describeRun(run.run) + repeatsText(run) + span);
    };
    out << "A  " << side(comparison->a) << "\nB  " << side(comparison->b) << "\n\n"
        << (style.colour ? "\x1b[1m" : "") << sentenceOf(*comparison) << (style.colour ? "\x1b[0m" : "")
        << "\n"
        << (comparison->judged() ? betweenRunsText(comparison->judged()->between) + "\n" : std::string());
    for (const std::string& line : flagLines(*comparison))
        out << (style.colour ? "\x1b[33m" : "") << "flagged  " << escapeForTerminal(line)
            << (style.colour ? "\x1b[0m" : "") << "\n";
    if (comparison->change)
        for (const std::string& line : query::causesOf(*comparison->change))
            out << "cause    " << escapeForTerminal(line) << "\n";
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
