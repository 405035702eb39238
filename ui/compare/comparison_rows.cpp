#include "ui/compare/comparison_rows.h"

#include "core/exchange/compare/compare_sections.h"
#include "core/exchange/compare/comparison_columns.h"
#include "core/model/text.h"
#include "core/query/memory/memory_tables.h"
#include "core/query/timeline/hue.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/path_text.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/tone.h"

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

using analysis::GroupVerdict;
using query::ComparedGroup;
using query::Comparison;

namespace {

// Whether the time differs. That launches are new, gone or of another number is not enough.
bool differs(const analysis::GroupDifference& difference)
{
    const auto& interval = difference.difference95;
    switch (difference.verdict) {
    case GroupVerdict::Slower:
    case GroupVerdict::Faster:
        return true;
    case GroupVerdict::New:
    case GroupVerdict::Gone:
    case GroupVerdict::Count:
        return interval && (interval->low > 0 || interval->high < 0);
    case GroupVerdict::NoDifference:
    case GroupVerdict::Inconclusive:
    case GroupVerdict::Untested:
        break;
    }
    return false;
}

// Sorted by size whatever the direction; noise stays grey.
void toneChange(TableCell& cell, bool seen)
{
    cell.tone = std::isnan(cell.sort) ? Tone::Plain : toneOf(cell.sort, seen);
    cell.sort = std::abs(cell.sort);
}

TableCell bar(double value, double most, bool seen)
{
    TableCell cell;
    cell.signedBar = seen && most > 0 ? value / most : 0;
    cell.sort = std::abs(value);
    return cell;
}

// Two digits: a spread is not known more precisely.
QString spreadText(double half)
{
    constexpr double kLeast = 0.001;
    if (half < kLeast)
        return half > 0 ? QStringLiteral("± <0.001") : QStringLiteral("± 0");
    const int decimals = std::clamp(1 - int(std::floor(std::log10(half))), 0, 4);
    return QStringLiteral("± ") + QString::number(half, 'f', decimals);
}

// Half the 95 % interval beside the difference; its ends on hover.
void showSpread(TableCell& cell, const ComparedGroup& group, const Unit& unit)
{
    cell.tone = Tone::Dim;
    const std::optional<analysis::ConfidenceInterval>& interval = group.difference.difference95;
    if (!interval) {
        cell.exact = QStringLiteral("too few traced steps, or a time span");
        return;
    }
    cell.text = spreadText(cell.sort / unit.divisor);
    cell.exact = QStringLiteral("95 % interval of B − A: %1 to %2")
                     .arg(signedColumnDigits(interval->low, unit),
                          withUnit(signedColumnDigits(interval->high, unit), unit.suffix));
}

double mostOf(const std::vector<ComparedGroup>& groups)
{
    double most = 0;
    for (const ComparedGroup& group : groups)
        if (differs(group.difference))
            most = std::max(most, std::abs(group.change()));
    return most;
}

KernelChange changeKind(const ComparedGroup& group)
{
    switch (group.difference.verdict) {
    case GroupVerdict::Gone:
        return KernelChange::Gone;
    case GroupVerdict::New:
        return KernelChange::New;
    case GroupVerdict::Count:
        return KernelChange::Count;
    case GroupVerdict::Slower:
        return KernelChange::Slower;
    case GroupVerdict::Faster:
        return KernelChange::Faster;
    case GroupVerdict::NoDifference:
    case GroupVerdict::Inconclusive:
    case GroupVerdict::Untested:
        break;
    }
    return KernelChange::Same;
}

// Two digits suffice.
QString probability(double p)
{
    return p < 0.001 ? QStringLiteral("< 0.001") : QStringLiteral("= ") + QString::number(p, 'g', 2);
}

QString tested(const analysis::GroupDifference& difference)
{
    return difference.p ? QStringLiteral("p ") + probability(*difference.p) : QString();
}

TableCell changeWord(const ComparedGroup& group)
{
    const analysis::GroupDifference& difference = group.difference;
    switch (difference.verdict) {
    case GroupVerdict::Gone:
        return makeWords(QStringLiteral("− gone"));
    case GroupVerdict::New:
        return makeWords(QStringLiteral("+ new"));
    case GroupVerdict::Count:
        return makeWords(difference.instancesB < difference.instancesA ? QStringLiteral("▾ fewer")
                                                                       : QStringLiteral("▴ more"));
    case GroupVerdict::Slower:
        return makeWords(QStringLiteral("▴ slower"), tested(difference));
    case GroupVerdict::Faster:
        return makeWords(QStringLiteral("▾ faster"), tested(difference));
    case GroupVerdict::NoDifference:
        return makeWords(QStringLiteral("no difference"), tested(difference), Tone::Dim);
    case GroupVerdict::Inconclusive:
        return makeWords(QStringLiteral("inconclusive"), tested(difference), Tone::Dim);
    case GroupVerdict::Untested:
        return makeWords(
            QStringLiteral("untested"),
            QStringLiteral("too few traced steps; set trace_steps: 3 or more for both runs. A time "
                           "span is one sample"),
            Tone::Dim);
    }
    return {};
}

// Adds the memory categories at the run's peak (within its time span, if any) to one side of the comparison.
void addCategories(std::vector<query::ComparedMemory>& categories, const store::RunReader& reader,
                   const query::ComparedRun& run, std::optional<Bytes> query::ComparedMemory::*side)
{
    const auto add = [&](std::string_view key, Bytes bytes) {
        auto known = std::ranges::find(categories, key, &query::ComparedMemory::what);
        if (known == categories.end())
            known = categories.insert(categories.end(), {.what = std::string(key)});
        (*known).*side = ((*known).*side).value_or(Bytes{}) + bytes;
    };
    if (run.atPeak) {
        for (std::size_t row = 0; row < run.atPeak->blocks.size(); ++row) {
            const query::MemoryLife& block = run.atPeak->block(row);
            add(wordOf(block.category), Bytes{block.bytes});
        }
        add(wordOf(MemoryCategory::Unattributed), run.atPeak->untraced);
    } else if (!run.span && reader.counts(run.run.run).allocEvents > 0) {
        for (const query::MemoryGroupRow& row :
             query::memoryGroupsTable(reader, {.run = run.run.run, .grouping = query::Grouping::Category})
                 .rows)
            add(row.key, row.held);
    }
}

void addTimes(std::vector<double>& times, const std::vector<Sample>& samples, Phase phase)
{
    for (const Sample& sample : samples)
        if (sample.kind == SampleKind::Measure && sample.phase == phase)
            times.push_back(double(sample.wall.count()) / 1e6);
}

std::vector<std::vector<Sample>> samplesOf(const store::RunReader& reader, const std::vector<RunId>& runs)
{
    std::vector<std::vector<Sample>> samples;
    for (const RunId run : runs)
        samples.push_back(reader.samples(run));
    return samples;
}

// The compared median. The spread of the samples of several runs is not its confidence interval.
void centreOn(analysis::Statistics& statistics, double median, std::int64_t runs)
{
    statistics.median = median;
    if (runs > 1)
        statistics.ci95.reset();
}

} // namespace

ComparisonData compareRuns(const store::RunReader& a, RunId runA, const store::RunReader& b, RunId runB,
                           const std::array<std::optional<query::TimeSpan>, 2>& spans,
                           const query::ProcessQuery& process)
{
    ComparisonData compared;
    compared.comparison = std::make_shared<const Comparison>(
        spans[0] || spans[1] ? query::compareSpans(a, runA, b, runB, spans, process)
                             : query::compare(a, runA, b, runB, {}, process));
    const auto samplesA = samplesOf(a, compared.comparison->a.runs);
    const auto samplesB = samplesOf(b, compared.comparison->b.runs);
    for (const query::ComparedTime& time : compared.comparison->times) {
        if (time.onGpu)
            continue;
        PhaseSamples phase{QString::fromUtf8(wordOf(time.phase)), {}, {}, {}, {}, time.difference};
        for (const std::vector<Sample>& samples : samplesA)
            addTimes(phase.a, samples, time.phase);
        for (const std::vector<Sample>& samples : samplesB)
            addTimes(phase.b, samples, time.phase);
        const auto statisticsA = analysis::summarise(phase.a);
        const auto statisticsB = analysis::summarise(phase.b);
        if (!statisticsA || !statisticsB)
            continue;
        phase.statisticsA = *statisticsA;
        phase.statisticsB = *statisticsB;
        centreOn(phase.statisticsA, time.difference.medianA, time.difference.runsA);
        centreOn(phase.statisticsB, time.difference.medianB, time.difference.runsB);
        compared.phases.push_back(std::move(phase));
    }
    using Memory = query::ComparedMemory;
    addCategories(compared.categories, a, compared.comparison->a, &Memory::a);
    addCategories(compared.categories, b, compared.comparison->b, &Memory::b);
    const auto greater = [](const Memory& one) {
        return std::max(one.a.value_or(Bytes{}), one.b.value_or(Bytes{}));
    };
    std::erase_if(compared.categories, [&](const Memory& one) { return greater(one) == Bytes{}; });
    std::ranges::stable_sort(compared.categories, std::greater{}, greater);
    return compared;
}

namespace {

// B - A of all kernels, or of the self time of ops: what a time filter compares.
double changeOf(const std::vector<ComparedGroup>& groups)
{
    double change = 0;
    for (const ComparedGroup& group : groups)
        change += group.change();
    return change;
}

} // namespace

ComparisonVerdict verdictOf(const Comparison& comparison)
{
    ComparisonVerdict verdict;
    verdict.sentence = QString::fromStdString(exchange::sentenceOf(comparison));
    for (const std::string& line : exchange::flagLines(comparison))
        verdict.flags << QString::fromStdString(line);
    const analysis::TimeDifference* step = comparison.judged();
    verdict.tone = step != nullptr ? toneOf(step->difference, step->verdict) : Tone::Dim;
    if (comparison.isLimited()) {
        verdict.words = comparison.kernels.empty() ? QStringLiteral("Nothing to compare")
                                                   : signedTimeText(changeOf(comparison.kernels));
    } else if (step == nullptr) {
        verdict.words = QStringLiteral("Not compared");
    } else if (step->verdict == analysis::Verdict::Inconclusive) {
        verdict.words = QStringLiteral("Inconclusive");
    } else if (step->verdict == analysis::Verdict::NoDifference) {
        verdict.words = QStringLiteral("No difference");
    } else {
        const bool faster = step->verdict == analysis::Verdict::Faster;
        verdict.words = QStringLiteral("B is %1, %2×")
                            .arg(faster ? QStringLiteral("faster") : QStringLiteral("slower"),
                                 threeDigits(faster ? 1 / step->ratio : step->ratio));
    }
    QStringList facts;
    for (const query::ComparedFact& fact : comparison.parameters)
        facts << QStringLiteral("%1 %2 → %3")
                     .arg(QString::fromStdString(fact.key),
                          fact.a.empty() ? notMeasured() : QString::fromStdString(fact.a),
                          fact.b.empty() ? notMeasured() : QString::fromStdString(fact.b));
    verdict.conditions = facts.isEmpty() ? QStringLiteral("same parameters in both")
                                         : QStringLiteral("differs: ") + facts.join(QStringLiteral(", "));
    const auto perToken = std::ranges::find(comparison.tokens, "per_token_p50", &query::ComparedToken::what);
    if (perToken != comparison.tokens.end())
        verdict.conditions = QStringLiteral("%1 %2 → %3; ")
                                 .arg(QString::fromStdString(perToken->words),
                                      timeText(perToken->a.value_or(0)), timeText(perToken->b.value_or(0))) +
                             verdict.conditions;
    if (step != nullptr) {
        const auto ofBoth = [](std::int64_t a, std::int64_t b, const char* noun) {
            return a == b ? counted(a, noun)
                          : QStringLiteral("%1 and %2").arg(QString::number(a), counted(b, noun));
        };
        verdict.conditions =
            QStringLiteral("%1 of %2%3; ")
                .arg(ofBoth(step->stepsA, step->stepsB, "step"), ofBoth(step->runsA, step->runsB, "run"),
                     step->stepsA == step->stepsB && step->runsA == step->runsB ? QStringLiteral(" each")
                                                                                : QString()) +
            verdict.conditions;
    }
    return verdict;
}

namespace {

using GroupTable = TableMaker<ComparedGroup>;

// The times of either run, with the difference as a bar about the middle.
// \param bars  title and width of the bars
void addTimes(GroupTable& table, const exchange::GroupDifferenceColumns& of,
              const std::vector<ComparedGroup>& groups, const QString& bars, double barWidth)
{
    const double most = mostOf(groups);
    table.add(of.times.a, 60, kMissingIsZero);
    table.add(of.times.b, 60, kMissingIsZero);
    table.add(makeColumn(bars, TableColumn::Kind::SignedBar, barWidth), [most](const ComparedGroup& group) {
        return bar(group.change(), most, differs(group.difference));
    });
    table.add(of.times.change, 82, [](TableCell& cell, const ComparedGroup& group) {
        toneChange(cell, differs(group.difference));
    });
    TableColumn& spread = table.add(of.spread, 82, showSpread);
    spread.dim = true;
    spread.tip =
        QStringLiteral("Half the 95 % interval of the difference, from the spread of runs and of their "
                       "traced steps, widened for the number of rows");
}

} // namespace

// "softmax forward, attention (gone)"; idle time by its reason.
QString causeWords(const query::ChangePart& part)
{
    using query::ChangeKind;
    switch (part.kind) {
    case ChangeKind::Launching:
        return QObject::tr("GPU idle, host launching");
    case ChangeKind::Synchronizing:
        return QObject::tr("GPU idle, synchronizing");
    case ChangeKind::Tracing:
        return QObject::tr("GPU idle, tracing");
    case ChangeKind::Unexplained:
        return QObject::tr("GPU idle, unexplained");
    case ChangeKind::Overlap:
        return QObject::tr("overlap of GPU work");
    case ChangeKind::OutsideOps:
        return QObject::tr("time outside of ops");
    case ChangeKind::Untraced:
        return QObject::tr("not in the traced steps");
    case ChangeKind::Replaced:
        return QString::fromStdString(part.shortName).replace(QLatin1String(" -> "), QStringLiteral(" → "));
    case ChangeKind::Communication:
    case ChangeKind::Copying:
        return QObject::tr("exposed %1").arg(QString::fromStdString(part.shortName));
    default:
        break;
    }
    const QString module = QString::fromStdString(part.module);
    QString words = QString::fromStdString(part.shortName);
    if (!module.isEmpty())
        words += QStringLiteral(", ") + module.mid(module.lastIndexOf(QLatin1Char('/')) + 1);
    if (part.kind == ChangeKind::Gone)
        words += QObject::tr(" (gone)");
    if (part.kind == ChangeKind::New)
        words += QObject::tr(" (new)");
    return words;
}

TableData causeRows(const Comparison& comparison)
{
    using Kind = TableColumn::Kind;
    using Part = query::ChangePart;
    if (!comparison.change)
        return {};
    double most = std::max(1.0, std::abs(double(comparison.change->delta)));
    // A change that is not decided has no colour.
    const analysis::TimeDifference* step = comparison.judged();
    const bool decided = step != nullptr && (step->verdict == analysis::Verdict::Faster ||
                                             step->verdict == analysis::Verdict::Slower);
    for (const Part& part : comparison.change->parts)
        most = std::max(most, std::abs(double(part.delta)));
    const auto of = exchange::partColumns();
    TableMaker<Part> table(comparison.change->parts);
    table
        .add(makeColumn(QObject::tr("Part"), Kind::Text, 0),
             [](const Part& part) {
                 return makeWords(causeWords(part),
                                  part.name.empty() ? QString()
                                                    : QString::fromStdString(part.module + ": " + part.name));
             })
        .swatch = true;
    table.add(of.a, 60, kMissingIsZero);
    table.add(of.b, 60, kMissingIsZero);
    table.add(makeColumn({}, Kind::SignedBar, 64),
              [most](const Part& part) { return bar(double(part.delta), most, true); });
    table.add(of.change, 82, [decided](TableCell& cell, const Part&) { toneChange(cell, decided); });
    TableData data = table.table(comparison.change->parts, [&](const Part& part) {
        if (part.name.empty())
            return Swatch::neutral();
        if (comparison.opsForKernels)
            return Swatch::of(query::hueOfOp(part.name));
        return Swatch::of(part.family);
    });
    const Part sum{.delta = comparison.change->delta};
    TableRow total = table.row(sum);
    total.cells.front() =
        makeWords(comparison.change->isWhole          ? QObject::tr("change of the recording")
                  : comparison.change->isOfTimedSteps ? QObject::tr("change of the median step")
                                                      : QObject::tr("change of the traced step"));
    total.strong = true;
    total.selectable = false;
    total.id = -1;
    data.rows.push_back(std::move(total));
    return data;
}

QString alignmentWords(const Comparison& comparison)
{
    if (!comparison.change)
        return {};
    const query::StepChange& change = *comparison.change;
    return QObject::tr("%1 aligned by %2")
        .arg(percentText(change.aligned),
             change.alignedBy == query::AlignedBy::Kernels
                 ? QObject::tr("kernel order")
                 : QString::fromUtf8(query::wordOf(change.alignedBy).data(),
                                     qsizetype(query::wordOf(change.alignedBy).size())));
}

TableData familyDifferenceRows(const Comparison& comparison)
{
    const exchange::GroupDifferenceColumns of("family", "family");
    GroupTable table(comparison.families);
    table.add(of.name, 0).swatch = true;
    addTimes(table, of, comparison.families, {}, 64);
    return table.table(comparison.families, [](const ComparedGroup& group) {
        return Swatch::of(query::hueOfFamily(group.difference.key));
    });
}

TableData rangeDifferenceRows(const Comparison& comparison)
{
    const exchange::GroupDifferenceColumns of("path", "range");
    GroupTable table(comparison.ranges);
    table.add(of.name, 0, [](TableCell& cell, const ComparedGroup&) { cell.text = belowStep(cell.text); });
    addTimes(table, of, comparison.ranges, {}, 64);
    TableData data = table.table(comparison.ranges, [](const ComparedGroup&) { return Swatch(); });
    std::erase_if(data.rows, [](const TableRow& row) { return row.cells[0].text == QLatin1String("step"); });
    return data;
}

int countOf(const Comparison& comparison, KernelChange which)
{
    return int(std::count_if(comparison.kernels.begin(), comparison.kernels.end(),
                             [which](const ComparedGroup& group) {
                                 return which == KernelChange::All || changeKind(group) == which;
                             }));
}

TableData kernelDifferenceRows(const Comparison& comparison, KernelChange which)
{
    using Group = ComparedGroup;
    const bool ops = comparison.opsForKernels;
    const exchange::GroupDifferenceColumns of("name", ops ? "op" : "kernel");
    GroupTable table(comparison.kernels);
    table
        .add(of.name, 0,
             [](TableCell& cell, const Group& group) {
                 cell.exact = QString::fromStdString(group.difference.key);
             })
        .swatch = true;
    table.add(of.family, 84).dim = true;
    table.add(of.verdict, 96, [](TableCell& cell, const Group& group) { cell = changeWord(group); }).tip =
        QStringLiteral("By Welch's test with the deviation between runs; of what is called slower or faster "
                       "at most one in twenty is expected to be wrong");
    table.add(of.instancesA, 62);
    table.add(of.instancesB, 62);
    addTimes(table, of, comparison.kernels, QStringLiteral("faster | slower"), 100);
    TableData data = table.table(comparison.kernels, [ops](const Group& group) {
        return Swatch::of(ops ? query::hueOfOp(group.difference.key) : query::hueOfFamily(group.family));
    });
    std::erase_if(data.rows, [&](const TableRow& row) {
        return which != KernelChange::All && changeKind(comparison.kernels[std::size_t(row.id)]) != which;
    });
    return data;
}

TableData memoryDifferenceRows(const ComparisonData& compared)
{
    using Row = query::ComparedMemory;
    std::vector<Row> rows = compared.comparison->memory;
    // A run with events that lacks a category has none of it; of a run without events nothing is known.
    const bool events[] = {
        std::ranges::any_of(compared.categories, [](const Row& one) { return one.a.has_value(); }),
        std::ranges::any_of(compared.categories, [](const Row& one) { return one.b.has_value(); })};
    for (const Row& one : compared.categories)
        rows.push_back({one.what, events[0] ? one.a.value_or(Bytes{}) : one.a,
                        events[1] ? one.b.value_or(Bytes{}) : one.b});
    const exchange::MemoryDifferenceColumns of(exchange::heldWords(*compared.comparison));
    TableMaker<Row> table(rows);
    table.add(of.words, 0).swatch = true;
    table.add(of.a, 54, kMissingIsZero);
    table.add(of.b, 54, kMissingIsZero);
    table.add(of.change, 78, [](TableCell& cell, const Row&) { toneChange(cell, true); });
    TableData data = table.table(rows, [](const Row&) { return Swatch(); });
    for (std::size_t i = compared.comparison->memory.size(); i < rows.size(); ++i) {
        data.rows[i].swatch = Swatch::ofCategory(QString::fromStdString(rows[i].what));
        data.rows[i].section = i == compared.comparison->memory.size();
    }
    return data;
}

namespace {

void showIntervalOfRatio(TableCell& cell, const RunAgainst& run)
{
    if (!run.step)
        return;
    if (!run.step->ratio95)
        cell =
            makeWords(notMeasured(), QString::fromStdString(analysis::whyNoInterval(*run.step)), Tone::Dim);
    else
        cell.sort = run.step->ratio95->high / run.step->ratio95->low;
}

// Why a run is not compared.
TableCell withoutVerdict(const query::RunSummary& a, const RunAgainst& run)
{
    if (!run.isCompared)
        return makeWords(QStringLiteral("comparing…"), {}, Tone::Dim);
    const RunResult& result = run.summary->result;
    const QString reason = QString::fromStdString(result.reason);
    if (run.summary->step && !a.step)
        return makeWords(QStringLiteral("A has no timed step"), QString::fromStdString(a.result.reason),
                         Tone::Dim);
    return makeWords(result.status == RunStatus::Running ? QStringLiteral("no timed step yet")
                                                         : QStringLiteral("no timed step"),
                     reason, Tone::Dim);
}

void showVerdict(TableCell& cell, const RunAgainst& run)
{
    cell.exact = QString::fromStdString(analysis::sentenceOf(*run.step));
    if (run.step->verdict == analysis::Verdict::Faster)
        cell.text.prepend(QStringLiteral("▾ "));
    else if (run.step->verdict == analysis::Verdict::Slower)
        cell.text.prepend(QStringLiteral("▴ "));
    else
        cell.tone = Tone::Dim;
}

// The compared median, which may be that of several repeats; of a run that is not compared its own.
void showMedian(TableCell& cell, const RunAgainst& run, const Unit& unit)
{
    if (!run.step)
        return;
    cell = makeNumber(run.step->medianB, unit);
    cell.exact = exactTime(std::llround(run.step->medianB * 1e6)) + QStringLiteral(", ") +
                 counted(run.step->stepsB, "step") + QStringLiteral(" of ") + counted(run.step->runsB, "run");
}

} // namespace

TableData againstRows(const query::RunSummary& a, const std::vector<RunAgainst>& runs, std::size_t b)
{
    using Kind = TableColumn::Kind;
    double most = 0;
    for (const RunAgainst& run : runs)
        if (run.step && run.step->isDifferent())
            most = std::max(most, std::abs(std::log(run.step->ratio)));
    const exchange::RunColumns<NamedRun> of;
    const exchange::TimeDifferenceColumns ofStep;
    const auto part = [](const exchange::ColumnOf<analysis::TimeDifference>& column) {
        return exchange::columnOfPart<RunAgainst>(
            column, [](const RunAgainst& run) { return run.step ? &*run.step : nullptr; });
    };
    TableMaker<RunAgainst> table(runs);
    table.add(nameColumn(), nameCell);
    table.add(of.status, 104, showStatus).dim = true;
    table.add(of.step, 110, showMedian);
    table
        .add(part(ofStep.ratio), 92,
             [](TableCell& cell, const RunAgainst& run) {
                 if (run.step)
                     cell.sort = run.step->ratio;
             })
        .kind = Kind::Number;
    table
        .add(makeColumn({}, Kind::SignedBar, 110),
             [most](const RunAgainst& run) {
                 return run.step ? bar(std::log(run.step->ratio), most, run.step->isDifferent())
                                 : TableCell();
             })
        .tip = QStringLiteral("Logarithm of the ratio: left is faster than A");
    TableColumn& interval = table.add(part(ofStep.interval), 116, showIntervalOfRatio);
    interval.kind = Kind::Number;
    interval.dim = true;
    table.add(part(ofStep.verdict), 140, [&a](TableCell& cell, const RunAgainst& run) {
        if (run.step)
            showVerdict(cell, run);
        else
            cell = withoutVerdict(a, run);
    });
    table.add(of.peakAllocated, 132);
    table.add(makeColumn(QStringLiteral("Peak B / A"), Kind::Number, 104), [&a](const RunAgainst& run) {
        return makeRatio(peakAllocatedOf(*run.summary), peakAllocatedOf(a));
    });
    TableData data = table.table(runs, [](const RunAgainst&) { return Swatch(); });
    data.rows.at(b).cells[0].tone = Tone::Strong;
    return data;
}

} // namespace tilescope::ui
