#include "core/exchange/advice/advice_section.h"

#include "core/base/plural.h"
#include "core/exchange/advice/advice_columns.h"
#include "core/exchange/tables/json_text.h"
#include "core/exchange/tables/number.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/text.h"

#include <algorithm>
#include <cmath>
#include <ostream>

namespace tilescope::exchange {

namespace {

using query::Advice;
using query::AdviceEvidence;

/// A row of the table: a finding, or a rule that is not judged.
struct AdviceRow {
    const Advice* finding = nullptr;
    const query::UnjudgedRule* unjudged = nullptr;
};

struct AdviceRows {
    std::shared_ptr<const query::AdviceTable> advice;
    std::vector<AdviceRow> rows;
};

std::string durationText(double nanoseconds)
{
    return withUnit(nanoseconds, Unit::Nanoseconds);
}

RawJson evidenceJson(const Advice& finding)
{
    return jsonList(finding.evidence, [](const AdviceEvidence& row) {
        return JsonObject()
            .add("kind", row.kind)
            .add("name", row.name)
            .add("place", cellOrNull(row.place))
            .add("note", cellOrNull(row.note))
            .add("count", row.count)
            .add("total_ns", row.total)
            .add("at_stake_ns", row.atStake)
            .json();
    });
}

/// `gemm bf16, 12 times, 3.10 ms in all`.
std::string evidenceText(const AdviceEvidence& row)
{
    std::string text = row.name;
    if (!row.place.empty())
        text += " in " + row.place;
    if (!row.note.empty())
        text += ", " + row.note;
    return text;
}

std::string rulesText(const std::vector<analysis::AdviceRule>& rules)
{
    std::string text;
    for (const analysis::AdviceRule rule : rules)
        text += (text.empty() ? "" : ", ") + std::string(wordOf(rule));
    return text;
}

/// Rules that are not judged for the same reason, in one sentence.
std::vector<std::string> notJudged(const query::AdviceTable& advice)
{
    std::vector<std::string> reasons;
    for (const query::UnjudgedRule& each : advice.unjudged)
        if (std::ranges::find(reasons, each.why) == reasons.end())
            reasons.push_back(each.why);
    std::vector<std::string> sentences;
    for (const std::string& why : reasons) {
        std::vector<analysis::AdviceRule> rules;
        for (const query::UnjudgedRule& each : advice.unjudged)
            if (each.why == why)
                rules.push_back(each.rule);
        sentences.push_back("Not judged: " + rulesText(rules) + ", because " + why + ".");
    }
    return sentences;
}

/// " 28 of 30 steps; …", as further sentences.
std::string leftOutText(const query::StepChoice& choice)
{
    std::string text;
    for (const std::string& sentence : choice.notes())
        text += " " + sentence;
    return text;
}

} // namespace

std::vector<std::string> closingNotes(const query::AdviceTable& advice)
{
    std::vector<std::string> notes = notJudged(advice);
    if (!advice.silent.empty())
        notes.push_back("Nothing found by: " + rulesText(advice.silent) + ".");
    if (advice.rows.size() > 1)
        notes.push_back("Findings may be about the same time: do not add them up.");
    return notes;
}

std::string denominatorOf(const query::AdviceTable& advice)
{
    if (advice.isWhole)
        return "Shares are of the whole recording, " + durationText(advice.perStep(advice.wall)) +
               ": no steps were recorded.";
    return "Shares are of the mean wall time of " +
           advice.choice.counted(advice.steps, advice.choice.leftOut.empty() ? "traced" : "typical") + ", " +
           durationText(advice.perStep(advice.wall)) +
           (advice.process.empty() ? "." : "; " + advice.process + ".") + leftOutText(advice.choice);
}

Table tableOf(std::shared_ptr<const query::AdviceTable> advice)
{
    auto rows = std::make_shared<AdviceRows>(AdviceRows{.advice = advice, .rows = {}});
    for (const Advice& finding : advice->rows)
        rows->rows.push_back({.finding = &finding});
    for (const query::UnjudgedRule& unjudged : advice->unjudged)
        rows->rows.push_back({.unjudged = &unjudged});
    const std::shared_ptr<const AdviceRows> shared = rows;
    const auto column = columnsOf(shared);
    const auto text = [](std::string Advice::*member) {
        return [member](const AdviceRow& row) {
            return row.finding ? cellOrNull(row.finding->*member) : Cell();
        };
    };
    const AdviceColumns of(*advice);
    // A rule that is not judged has no finding.
    const auto ofFinding = [&column](const ColumnOf<Advice>& definition, auto otherwise) {
        Column made = column("", "", [value = definition.value, otherwise](const AdviceRow& row) {
            return row.finding ? value(*row.finding) : otherwise(*row.unjudged);
        });
        const auto cell = made.cell;
        made = definition.about;
        made.cell = cell;
        return made;
    };
    const auto nothing = [](const query::UnjudgedRule&) { return Cell(); };
    Table table{.heading = describeRun(advice->run), .rows = shared->rows.size()};
    if (!advice->process.empty())
        table.heading += "; " + advice->process;
    table.columns = {
        column.programs("run", [run = advice->run.run](const AdviceRow&) { return run.value; }),
        column.programs("rank", [rank = advice->rank](const AdviceRow&) { return rank; }),
        ofFinding(of.rule, [](const query::UnjudgedRule& rule) { return cellOf(wordOf(rule.rule)); }),
        ofFinding(of.atStake, nothing),
        ofFinding(of.percent, nothing),
        column.programs("at_stake_total_ns",
                        [](const AdviceRow& row) {
                            return row.finding ? std::optional(row.finding->atStake) : std::nullopt;
                        }),
        column.programs("wall_total_ns", [wall = advice->wall](const AdviceRow&) { return wall; }),
        column.programs("steps", [steps = advice->steps](const AdviceRow&) { return steps; }),
        column.programs("denominator",
                        [isWhole = advice->isWhole](const AdviceRow&) {
                            return std::string(isWhole ? "recording" : "traced steps");
                        }),
        column.programs("at_stake_bytes",
                        [](const AdviceRow& row) { return row.finding ? row.finding->bytes : std::nullopt; }),
        ofFinding(of.sentence,
                  [](const query::UnjudgedRule& rule) { return Cell("Not judged: " + rule.why + "."); }),
        column.programs("bound", text(&Advice::bound)),
        ofFinding(of.remedy, nothing),
        column.programs(
            "evidence",
            [](const AdviceRow& row) { return row.finding ? evidenceJson(*row.finding) : RawJson{"[]"}; }),
        column.programs("command", text(&Advice::command)),
        column.programs(
            "why",
            [](const AdviceRow& row) { return row.unjudged ? cellOrNull(row.unjudged->why) : Cell(); }),
        column.programs("process", [of = advice->numbers](const AdviceRow&) { return of.process; }),
        column.programs("pid", [of = advice->numbers](const AdviceRow&) { return of.pid; })};
    table.whyEmpty = advice->steps > 0 ? "Nothing to advise." : whyNoEvents(advice->run, "events");
    if (advice->steps > 0) {
        table.notes = {denominatorOf(*advice)};
        if (!advice->silent.empty())
            table.notes.push_back("Nothing found by: " + rulesText(advice->silent) + ".");
    }
    return table;
}

void writeAdvice(std::ostream& out, const query::AdviceTable& advice, std::size_t most)
{
    out << escapeForTerminal(describeRun(advice.run)) << '\n';
    if (advice.steps == 0) {
        out << escapeForTerminal(whyNoEvents(advice.run, "events")) << '\n';
        return;
    }
    out << escapeForTerminal(denominatorOf(advice)) << '\n';
    for (const Advice& finding : advice.rows) {
        out << '\n' << wordOf(finding.rule) << ": ";
        if (finding.atStake.count() > 0 || !finding.bytes)
            out << durationText(advice.perStep(finding.atStake)) << " at most, "
                << withUnit(advice.percent(finding.atStake), Unit::Percent) << '\n';
        else
            out << sizeText(*finding.bytes) << '\n';
        out << "  " << escapeForTerminal(finding.sentence) << '\n';
        out << "  Remedy: " << escapeForTerminal(finding.remedy) << '\n';
        const std::size_t shown =
            most > 0 ? std::min(most, finding.evidence.size()) : finding.evidence.size();
        for (std::size_t i = 0; i < shown; ++i) {
            const AdviceEvidence& row = finding.evidence[i];
            const std::string share = durationText(advice.perStep(row.atStake));
            out << "    " << std::string(share.size() < 9 ? 9 - share.size() : 0, ' ') << share << "  "
                << escapeForTerminal(evidenceText(row)) << " ("
                << (row.count > 0 ? counted(row.count, "time") + ", " : "") // samples do not count calls
                << durationText(static_cast<double>(row.total.count())) << " in all)\n";
        }
        if (shown < finding.evidence.size())
            out << "    and " << counted(std::int64_t(finding.evidence.size() - shown), "more row")
                << ": --limit 0\n";
        out << "    At stake: " << escapeForTerminal(finding.bound) << ".\n";
        out << "    -> " << escapeForTerminal(finding.command) << '\n';
    }
    if (advice.rows.empty())
        out << "\nNothing to advise.\n";
    out << '\n';
    for (const std::string& note : closingNotes(advice))
        out << escapeForTerminal(note) << '\n';
}

} // namespace tilescope::exchange
