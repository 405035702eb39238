#include "core/report/findings.h"

#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/base/shell_word.h"
#include "core/config/value_text.h"
#include "core/exchange/tables/number.h"
#include "core/report/fits.h"
#include "core/report/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tilescope::report {

namespace {

using RunPtr = std::shared_ptr<const RunFacts>;

std::string ofPoints(std::size_t count)
{
    return fmt::format("{} {}", count, plural(static_cast<std::int64_t>(count), "point"));
}

/// Runs of a finding that agree in the keys `by`.
struct Group {
    std::string label;
    RunList runs;
};

std::vector<Group> groupsOf(const FindingTemplate& wanted, const StudyRuns& study)
{
    const RunList runs = select(study, wanted.part, {});
    std::vector<Group> groups;
    for (const auto& values : distinctKeys(runs, wanted.by)) {
        Where where;
        Group group;
        for (std::size_t i = 0; i < values.size(); ++i) {
            where.emplace_back(wanted.by[i], values[i]);
            if (!values[i].empty())
                group.label += (group.label.empty() ? "" : ", ") + wanted.by[i] + " " +
                               config::valueText(wanted.by[i], values[i]);
        }
        std::ranges::copy_if(runs, std::back_inserter(group.runs),
                             [&](const RunPtr& run) { return matches(*run, where); });
        groups.push_back(std::move(group));
    }
    return groups;
}

/// The section of `show` that contains a metric of one run; empty for metrics in `show FILE runs`.
std::string sectionOfMetric(const std::string& metric)
{
    const auto is = [&metric](std::string_view kind) { return metric.starts_with(kind); };
    if (is("answer.")) {
        const std::string question = metric.substr(metric.find('.') + 1);
        return "answers " + question.substr(0, question.find('.'));
    }
    return is("memory.")                   ? "memory --group category"
           : is("advice")                  ? "advice"
           : is("tensor.")                 ? "memory --names"
           : is("residual")                ? "saved"
           : is("result.")                 ? "environment"
           : is("timed.") || is("warmup.") ? "samples"
           : metric == "mfu"               ? "mfu"
           : metric == "gpu_busy"          ? "steps"
                                           : "";
}

/// The commands that show the data of a finding.
/// \param of  the runs that the finding names, for metrics that are shown run by run
std::vector<std::string> commandsOf(const FindingTemplate& wanted, const StudyRuns& study,
                                    const RunList& of = {})
{
    const RunList runs = select(study, wanted.part, {});
    if (runs.empty())
        return {};
    const std::string section = sectionOfMetric(wanted.quantity.value);
    std::vector<std::string> commands;
    for (const RunPtr& run : of)
        if (std::string one = run->command(section);
            !section.empty() && std::ranges::find(commands, one) == commands.end())
            commands.push_back(std::move(one));
    if (commands.empty())
        commands.push_back("tilescope show " + shellPath(runs.front()->recording().file) +
                           " runs --format json");
    return commands;
}

struct Value {
    Measured measured;
    std::string at;
    RunPtr run;
};

/// The quantity of each group that has a run with status ok.
std::vector<Value> valuesOf(const FindingTemplate& wanted, const StudyRuns& study)
{
    const RunList part = select(study, wanted.part, {});
    std::vector<Value> values;
    for (const Group& group : groupsOf(wanted, study)) {
        RunPtr run;
        const Fact fact = quantityOf(group.runs, divisorsOf(wanted.quantity, wanted.by, group.runs, part),
                                     wanted.quantity, run);
        if (const auto* measured = std::get_if<Measured>(&fact); measured && run->status() == RunStatus::Ok)
            values.push_back({*measured, group.label, run});
    }
    std::ranges::stable_sort(values, {}, [](const Value& value) { return value.measured.value; });
    return values;
}

/// `0.29 (size small) to 0.33 (size xl)`; for equal values `0.29 (all 5 points)`; for a single point its
/// value.
std::string rangeOf(const std::vector<Value>& values)
{
    const auto text = [](const Value& value) {
        return textOf(value.measured) + (value.at.empty() ? "" : " (" + value.at + ")");
    };
    if (values.size() == 1)
        return text(values.front());
    const std::string same = textOf(values.front().measured);
    if (same == textOf(values.back().measured))
        return values.size() == 2 ? same + " (both points)"
                                  : fmt::format("{} (all {} points)", same, values.size());
    return text(values.front()) + " to " + text(values.back());
}

/// The sentence of a finding with … in place of its figures.
std::string outline(std::string_view say)
{
    std::string text;
    for (std::size_t open = say.find('{'); open != std::string_view::npos; open = say.find('{')) {
        text += say.substr(0, open);
        text += "…";
        const std::size_t close = say.find('}', open);
        say.remove_prefix(close == std::string_view::npos ? say.size() : close + 1);
    }
    text += say;
    while (text.ends_with('.'))
        text.pop_back();
    return text;
}

std::vector<Finding> inconclusive(const FindingTemplate& wanted, const StudyRuns& study,
                                  const std::string& why)
{
    return {{.text = fmt::format("Inconclusive (“{}”): {}", outline(wanted.say), why),
             .commands = commandsOf(wanted, study),
             .conclusive = false}};
}

std::vector<Finding> finding(const FindingTemplate& wanted, const StudyRuns& study,
                             const Placeholders& placeholders, std::string rule, const RunList& of = {})
{
    return {{.text = filled(wanted.say, placeholders),
             .rule = std::move(rule),
             .commands = commandsOf(wanted, study, of)}};
}

/// Finding::effect of ratios; 0 if they do not compare two configurations.
/// \param values  sorted
double effectOf(const FindingTemplate& wanted, const std::vector<Value>& values)
{
    if (wanted.quantity.overFrom.empty() || values.empty() || values.front().measured.value <= 0)
        return 0;
    return std::max(std::abs(std::log(values.front().measured.value)),
                    std::abs(std::log(values.back().measured.value)));
}

/// Compares two lines at the largest x that both have.
double effectOf(const std::vector<Curve>& curves, const std::string& first, const std::string& second)
{
    const auto a = std::ranges::find(curves, first, &Curve::name);
    const auto b = std::ranges::find(curves, second, &Curve::name);
    if (a == curves.end() || b == curves.end())
        return 0;
    for (auto point = a->points.rbegin(); point != a->points.rend(); ++point)
        if (const auto other = std::ranges::find(b->points, point->x, &CurvePoint::x);
            other != b->points.end() && point->y > 0 && other->y > 0)
            return std::abs(std::log(point->y / other->y));
    return 0;
}

std::vector<Finding> spread(const FindingTemplate& wanted, const StudyRuns& study)
{
    const std::vector<Value> values = valuesOf(wanted, study);
    if (values.empty())
        return inconclusive(wanted, study, "no point measured it.");
    std::vector<double> numbers;
    for (const Value& value : values)
        numbers.push_back(value.measured.value);
    Measured median = values.front().measured;
    median.value = analysis::median(numbers);
    median.interval = {};
    std::vector<Finding> made = finding(wanted, study,
                                        {{"range", rangeOf(values)},
                                         {"least", textOf(values.front().measured)},
                                         {"least_at", values.front().at},
                                         {"largest", textOf(values.back().measured)},
                                         {"largest_at", values.back().at},
                                         {"median", textOf(median)},
                                         {"points", std::to_string(values.size())}},
                                        "Minimum, maximum and median over the points that ran.",
                                        {values.front().run, values.back().run});
    made.front().effect = effectOf(wanted, values);
    return made;
}

std::vector<Finding> geometricMean(const FindingTemplate& wanted, const StudyRuns& study)
{
    const std::vector<Value> values = valuesOf(wanted, study);
    double logs = 0;
    for (const Value& value : values)
        logs += std::log(value.measured.value);
    if (values.empty() || !std::isfinite(logs))
        return inconclusive(wanted, study, "no point has both values.");
    const Measured mean{std::exp(logs / static_cast<double>(values.size()))};
    std::vector<Finding> made = finding(
        wanted, study,
        {{"mean", textOf(mean)}, {"range", rangeOf(values)}, {"points", std::to_string(values.size())}},
        "The geometric mean of the ratios over the points that ran.");
    made.front().effect = effectOf(wanted, values);
    return made;
}

std::vector<Finding> statuses(const FindingTemplate& wanted, const StudyRuns& study)
{
    const RunList runs = select(study, wanted.part, wanted.quantity.from);
    if (runs.empty())
        return inconclusive(wanted, study, "no point was run.");
    RunCounts counts;
    std::string at;
    for (const RunPtr& run : runs) {
        counts.add(run->status());
        if (run->status() == RunStatus::Oom)
            at += (at.empty() ? "" : "; ") + labelOf(*run, wanted.by);
    }
    return finding(
        wanted, study,
        {{"oom", counts.outOfMemory == 0 ? fmt::format("none of {} ran out of memory", ofPoints(runs.size()))
                                         : fmt::format("{} of {} ran out of memory: {}", counts.outOfMemory,
                                                       ofPoints(runs.size()), at)},
         {"skipped", std::to_string(counts.skipped)},
         {"failed", std::to_string(counts.failed + counts.cancelled)},
         {"points", std::to_string(runs.size())}},
        "Counted over the points that were run.");
}

/// An interval wider than the difference between N and N² is inconclusive.
bool isTelling(const PowerLaw& law)
{
    constexpr double kTelling = 1;
    return law.high - law.low < kTelling;
}

/// The growth of one line.
/// \param law  none: there are too few points
std::string exponentText(const Curve& curve, const FindingTemplate& wanted,
                         const std::optional<PowerLaw>& law)
{
    // A number needs the name of its key.
    const bool isNumber = !curve.name.empty() && curve.name.front() >= '0' && curve.name.front() <= '9';
    const std::string name = isNumber ? wanted.series + " " + curve.name : curve.name;
    const std::string_view comma = name.empty() ? "" : ", ";
    if (!law)
        return fmt::format("{}{}exponent not determined from {}; a slope takes at least {}", name, comma,
                           ofPoints(curve.points.size()), kLeastForSlope);
    const std::string interval =
        fmt::format("(95 % {:.2f} to {:.2f}, {} points)", law->low, law->high, law->points);
    if (!isTelling(*law))
        return fmt::format("{}{}exponent not determined {}", name, comma, interval);
    // An interval that contains 0 shows no growth.
    if (law->low < 0 && law->high > 0)
        return fmt::format("{}{}exponent not distinguishable from 0 {}", name, comma, interval);
    return fmt::format("{}{}as {}^{:.2f} {}", name, name.empty() ? "" : " ", wanted.x, law->exponent,
                       interval);
}

std::vector<Finding> growth(const FindingTemplate& wanted, const StudyRuns& study)
{
    std::string exponents;
    bool conclusive = false;
    for (const Curve& curve : curvesOf(wanted, study)) {
        const std::optional<PowerLaw> law = powerLaw(curve.points);
        conclusive = conclusive || (law && isTelling(*law));
        exponents += (exponents.empty() ? "" : "; ") + exponentText(curve, wanted, law);
    }
    if (exponents.empty())
        return inconclusive(wanted, study, "no point measured it.");
    std::vector<Finding> made = finding(
        wanted, study, {{"exponents", exponents}},
        "Least squares on the logarithms through the larger half of the points of each line, three at "
        "least, with Student's 95 % interval of the slope.");
    made.front().conclusive = conclusive;
    return made;
}

std::vector<Finding> crossover(const FindingTemplate& wanted, const StudyRuns& study)
{
    std::string list;
    double effect = 0;
    bool conclusive = false;
    for (const auto& values : distinctKeys(select(study, wanted.part, {}), wanted.by)) {
        Where where;
        std::string label;
        for (std::size_t i = 0; i < values.size(); ++i) {
            where.emplace_back(wanted.by[i], values[i]);
            label +=
                (label.empty() ? "" : ", ") + wanted.by[i] + " " + config::valueText(wanted.by[i], values[i]);
        }
        FindingTemplate one = wanted;
        one.quantity.from.insert(one.quantity.from.end(), where.begin(), where.end());
        const std::vector<Curve> curves = curvesOf(one, study);
        const std::optional<std::string> from = crossoverOf(curves, wanted.first, wanted.second);
        effect = std::max(effect, effectOf(curves, wanted.first, wanted.second));
        conclusive = conclusive || (from && !from->starts_with("inconclusive"));
        list += (list.empty() ? "" : "; ") + (label.empty() ? "" : label + ": ") +
                from.value_or("not determined: they have fewer than two lengths in common");
    }
    if (list.empty())
        return inconclusive(wanted, study, "no point was run.");
    std::vector<Finding> made = finding(
        wanted, study, {{"crossovers", list}},
        "The least " + wanted.x + " from which " + wanted.second + " is below " + wanted.first +
            " at every larger common point by more than runs differ (Welch's test on the logarithms of "
            "the medians, 5 %, with the deviation between repeats; for single runs with the deviation "
            "expected from their steps and flags).");
    made.front().effect = effect;
    made.front().conclusive = conclusive;
    return made;
}

std::vector<Finding> boundary(const FindingTemplate& wanted, const StudyRuns& study)
{
    const Boundary found = boundaryOf(wanted, study);
    if (!found.why.empty())
        return inconclusive(wanted, study, found.why);
    return finding(
        wanted, study,
        {{"predicted", fmt::format("{:.0f}", found.predicted)},
         {"limit", exchange::withUnit(found.limit, exchange::Unit::Bytes)},
         {"largest_ok", fmt::format("{:.0f}", found.largestOk)},
         {"least_oom", found.leastOom ? fmt::format("{:.0f}", *found.leastOom) : "none was tried"},
         {"agrees", found.agrees ? "agrees with" : "contradicts"},
         {"formula", found.formula}},
        "Least squares of a + b x + c x² to the peaks of the points that fit, solved for the limit.");
}

/// The saving of one choice in a quantity, and its cost in another, relative to the plain choice.
struct Trade {
    std::string choice;
    Measured saved;   ///< of the quantity to reduce
    double share = 0; ///< saving / quantity of the plain choice
    double cost = 0;  ///< increase of the other quantity / its plain value; negative: a gain

    double worth() const { return share / std::max(cost, 1e-9); }
};

std::optional<Trade> bestTrade(const FindingTemplate& wanted, const RunList& runs)
{
    const auto number = [](const RunPtr& run, const std::string& metric) {
        return run->status() == RunStatus::Ok ? run->number(metric) : std::nullopt;
    };
    const auto plain = std::ranges::find_if(
        runs, [&](const RunPtr& run) { return run->param(wanted.series) == wanted.first; });
    if (plain == runs.end())
        return {};
    const auto had = number(*plain, wanted.quantity.value);
    const auto took = number(*plain, wanted.quantity.over);
    if (!had || !took || had->value <= 0 || took->value <= 0)
        return {};
    std::optional<Trade> best;
    for (const RunPtr& run : runs) {
        const auto has = number(run, wanted.quantity.value);
        const auto takes = number(run, wanted.quantity.over);
        if (run == *plain || !has || !takes || has->value >= had->value)
            continue;
        Trade trade{.choice = std::string(run->param(wanted.series)),
                    .saved = Measured{had->value - has->value, {}, 1, had->unit},
                    .share = 1 - has->value / had->value,
                    .cost = takes->value / took->value - 1};
        if (!best || trade.worth() > best->worth())
            best = std::move(trade);
    }
    return best;
}

std::vector<Finding> trade(const FindingTemplate& wanted, const StudyRuns& study)
{
    std::string list;
    double effect = 0;
    for (const Group& group : groupsOf(wanted, study)) {
        const std::optional<Trade> best = bestTrade(wanted, group.runs);
        effect = best ? std::max(effect, std::abs(std::log(1 - best->share))) : effect;
        list += (list.empty() ? "" : "; ") + (group.label.empty() ? "" : group.label + ": ");
        if (!best)
            list += "no choice saves any";
        else if (best->cost <= 0)
            list += fmt::format("{} saves {} ({:.0f} %) at no cost", best->choice, textOf(best->saved),
                                100 * best->share);
        else
            list += fmt::format("{} saves {} ({:.0f} %) for {:.0f} % more", best->choice, textOf(best->saved),
                                100 * best->share, 100 * best->cost);
    }
    if (list.empty())
        return inconclusive(wanted, study, "no point was run.");
    std::vector<Finding> made =
        finding(wanted, study, {{"trades", list}},
                "The choice with the largest share saved per share of additional cost.");
    made.front().effect = effect;
    return made;
}

std::vector<Finding> say(const FindingTemplate& wanted, const StudyRuns& study)
{
    for (const RunPtr& run : select(study, wanted.part, wanted.quantity.from)) {
        const Fact fact = run->fact(wanted.quantity.value);
        if (run->status() != RunStatus::Ok || std::holds_alternative<std::monostate>(fact))
            continue;
        const auto* text = std::get_if<std::string>(&fact);
        return {{.text = filled(wanted.say, {{"value", text ? *text : textOf(std::get<Measured>(fact))},
                                             {"size", std::string(run->param("size"))}}),
                 .rule = "Taken from the run.",
                 .commands = {run->command("environment")}}};
    }
    return inconclusive(wanted, study, "no point has this value.");
}

struct Rule {
    std::string_view name;
    std::vector<Finding> (*make)(const FindingTemplate&, const StudyRuns&);
};

constexpr std::array kRules{Rule{"spread", spread},       Rule{"statuses", statuses},
                            Rule{"mean", geometricMean},  Rule{"growth", growth},
                            Rule{"crossover", crossover}, Rule{"boundary", boundary},
                            Rule{"trade", trade},         Rule{"say", say}};

} // namespace

std::vector<std::string_view> ruleNames()
{
    std::vector<std::string_view> names;
    for (const Rule& rule : kRules)
        names.push_back(rule.name);
    return names;
}

std::vector<Finding> makeFindings(const FindingTemplate& wanted, const StudyRuns& study)
{
    const auto rule = std::ranges::find(kRules, wanted.rule, &Rule::name);
    if (rule == kRules.end())
        throw Error{.what = "there is no rule '" + wanted.rule + "'", .where = study.study.name};
    std::vector<Finding> findings = rule->make(wanted, study);
    for (Finding& finding : findings)
        if (!wanted.figure.empty())
            finding.figure = study.study.name + "-" + wanted.figure;
    return findings;
}

std::string filled(std::string_view say, const Placeholders& placeholders)
{
    std::string text;
    const bool beginsWithOne = say.starts_with('{');
    for (std::size_t open = say.find('{'); open != std::string_view::npos; open = say.find('{')) {
        const std::size_t close = std::min(say.find('}', open), say.size() - 1);
        const auto found = placeholders.find(say.substr(open + 1, close - open - 1));
        text += say.substr(0, open);
        text += found == placeholders.end() ? say.substr(open, close + 1 - open)
                                            : std::string_view(found->second);
        say.remove_prefix(close + 1);
    }
    text += say;
    if (beginsWithOne && !text.empty())
        text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return text;
}

} // namespace tilescope::report
