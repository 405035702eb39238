#include "ui/compare/comparison_rows.h"

#include "core/exchange/compare_sections.h"
#include "core/model/text.h"
#include "core/query/memory/memory_tables.h"
#include "core/query/timeline/hue.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
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
TableCell change(double value, const Unit& unit, bool seen)
{
    TableCell cell = makeDifference(value, unit, toneOf(value, seen));
    cell.sort = std::abs(value);
    return cell;
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
TableCell spread(const ComparedGroup& group, const Unit& unit)
{
    const std::optional<analysis::ConfidenceInterval>& interval = group.difference.difference95;
    if (!interval)
        return makeWords(notMeasured(), QStringLiteral("too few traced steps, or a time span"), Tone::Dim);
    const double half = (interval->high - interval->low) / 2;
    TableCell cell = makeWords(spreadText(half / unit.size),
                               QStringLiteral("95 % interval of B − A: %1 to %2")
                                   .arg(signedColumnDigits(interval->low, unit),
                                        withUnit(signedColumnDigits(interval->high, unit), unit.word)),
                               Tone::Dim);
    cell.sort = half;
    return cell;
}

double mostOf(const std::vector<ComparedGroup>& groups)
{
    double most = 0;
    for (const ComparedGroup& group : groups)
        if (differs(group.difference))
            most = std::max(most, std::abs(group.change()));
    return most;
}

double longestOf(const std::vector<ComparedGroup>& groups)
{
    double longest = 0;
    for (const ComparedGroup& group : groups)
        longest = std::max({longest, group.difference.a.value_or(0), group.difference.b.value_or(0)});
    return longest;
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

// What a run's peak is made of, within its span if it has one, added to one side of the list.
void addCategories(std::vector<CategoryBytes>& categories, const store::RunReader& reader,
                   const query::ComparedRun& run, std::optional<double> CategoryBytes::*side)
{
    const auto add = [&](const QString& key, double bytes) {
        auto known = std::ranges::find(categories, key, &CategoryBytes::category);
        if (known == categories.end())
            known = categories.insert(categories.end(), CategoryBytes{key, {}, {}});
        (*known).*side = ((*known).*side).value_or(0) + bytes;
    };
    if (run.atPeak) {
        for (std::size_t row = 0; row < run.atPeak->blocks.size(); ++row) {
            const query::MemoryLife& block = run.atPeak->block(row);
            add(QString::fromUtf8(wordOf(block.category)), double(block.bytes));
        }
        add(QString::fromUtf8(wordOf(MemoryCategory::Unattributed)), double(run.atPeak->untraced.count));
    } else if (!run.span && reader.counts(run.run.run).allocEvents > 0) {
        for (const query::MemoryGroupRow& row :
             query::memoryGroupsTable(reader, {.run = run.run.run, .grouping = query::Grouping::Category})
                 .rows)
            add(QString::fromStdString(row.key), double(row.atPeak.count));
    }
}

QString phaseName(Phase phase)
{
    switch (phase) {
    case Phase::Step:
        return QStringLiteral("step");
    case Phase::Forward:
        return QStringLiteral("forward");
    case Phase::Loss:
        return QStringLiteral("loss");
    case Phase::Backward:
        return QStringLiteral("backward");
    case Phase::Optimizer:
        return QStringLiteral("optimizer");
    case Phase::Collective:
        return QStringLiteral("collective");
    }
    return {};
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
                           const std::array<std::optional<query::TimeSpan>, 2>& spans)
{
    ComparisonData compared;
    compared.comparison =
        std::make_shared<const Comparison>(spans[0] || spans[1] ? query::compareSpans(a, runA, b, runB, spans)
                                                                : query::compare(a, runA, b, runB));
    const auto samplesA = samplesOf(a, compared.comparison->a.runs);
    const auto samplesB = samplesOf(b, compared.comparison->b.runs);
    for (const query::ComparedTime& time : compared.comparison->times) {
        if (time.onGpu)
            continue;
        PhaseSamples phase{phaseName(time.phase), {}, {}, {}, {}, time.difference};
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
    addCategories(compared.categories, a, compared.comparison->a, &CategoryBytes::a);
    addCategories(compared.categories, b, compared.comparison->b, &CategoryBytes::b);
    std::erase_if(compared.categories,
                  [](const CategoryBytes& one) { return one.a.value_or(0) == 0 && one.b.value_or(0) == 0; });
    std::stable_sort(compared.categories.begin(), compared.categories.end(),
                     [](const CategoryBytes& one, const CategoryBytes& other) {
                         return std::max(one.a.value_or(0), one.b.value_or(0)) >
                                std::max(other.a.value_or(0), other.b.value_or(0));
                     });
    return compared;
}

namespace {

// B - A of all kernels, or of the own time of ops: what a time filter compares.
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
    const analysis::TimeDifference* step = comparison.step();
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
    if (step != nullptr)
        verdict.conditions = QStringLiteral("%1 and %2 of %3 and %4; ")
                                 .arg(step->stepsA)
                                 .arg(counted(step->stepsB, "step"))
                                 .arg(step->runsA)
                                 .arg(counted(step->runsB, "run")) +
                             verdict.conditions;
    return verdict;
}

namespace {

using GroupTable = TableMaker<ComparedGroup>;

// The times of either run, with the difference as a bar about the middle.
// \param bars  title and width of the bars
void addTimes(GroupTable& table, const std::vector<ComparedGroup>& groups, const QString& bars,
              double barWidth)
{
    using Kind = TableColumn::Kind;
    using Group = ComparedGroup;
    const Unit unit = timeUnit(longestOf(groups));
    const double most = mostOf(groups);
    table.add(makeColumn(titleIn(QStringLiteral("A"), unit), Kind::Number, 60),
              [unit](const Group& group) { return makePart(group.difference.a, unit); });
    table.add(makeColumn(titleIn(QStringLiteral("B"), unit), Kind::Number, 60),
              [unit](const Group& group) { return makePart(group.difference.b, unit); });
    table.add(makeColumn(bars, Kind::SignedBar, barWidth),
              [most](const Group& group) { return bar(group.change(), most, differs(group.difference)); });
    table.add(makeColumn(titleIn(QStringLiteral("B − A"), unit), Kind::Number, 82),
              [unit](const Group& group) { return change(group.change(), unit, differs(group.difference)); });
    table
        .add(makeColumn(QStringLiteral("95 %"), Kind::Number, 70, true),
             [unit](const Group& group) { return spread(group, unit); })
        .tip =
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
        return QObject::tr("GPU idle, host waiting");
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
    std::vector<double> times;
    double most = std::max(1.0, std::abs(double(comparison.change->delta)));
    // A change that is not decided has no colour.
    const analysis::TimeDifference* step = comparison.step();
    const bool decided = step != nullptr && (step->verdict == analysis::Verdict::Faster ||
                                             step->verdict == analysis::Verdict::Slower);
    for (const Part& part : comparison.change->parts) {
        times.push_back(std::max(std::abs(part.a.value_or(0)), std::abs(part.b.value_or(0))));
        most = std::max(most, std::abs(double(part.delta)));
    }
    const Unit unit = columnUnit(times, timeUnit);
    TableMaker<Part> table;
    table
        .add(makeColumn(QObject::tr("Part"), Kind::Text, 0),
             [](const Part& part) {
                 return makeWords(causeWords(part),
                                  part.name.empty() ? QString()
                                                    : QString::fromStdString(part.module + ": " + part.name));
             })
        .swatch = true;
    table.add(makeColumn(titleIn(QStringLiteral("A"), unit), Kind::Number, 60),
              [unit](const Part& part) { return makePart(part.a, unit); });
    table.add(makeColumn(titleIn(QStringLiteral("B"), unit), Kind::Number, 60),
              [unit](const Part& part) { return makePart(part.b, unit); });
    table.add(makeColumn({}, Kind::SignedBar, 64),
              [most](const Part& part) { return bar(double(part.delta), most, true); });
    table.add(makeColumn(titleIn(QStringLiteral("B − A"), unit), Kind::Number, 82),
              [unit, decided](const Part& part) { return change(double(part.delta), unit, decided); });
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
    GroupTable table;
    table
        .add(makeColumn(QStringLiteral("Family"), TableColumn::Kind::Text, 0),
             [](const ComparedGroup& group) {
                 return makeWords(QString::fromStdString(group.difference.key));
             })
        .swatch = true;
    addTimes(table, comparison.families, {}, 64);
    return table.table(comparison.families, [](const ComparedGroup& group) {
        return Swatch::of(query::hueOfFamily(group.difference.key));
    });
}

TableData rangeDifferenceRows(const Comparison& comparison)
{
    GroupTable table;
    table.add(makeColumn(QStringLiteral("Range"), TableColumn::Kind::Text, 0),
              [](const ComparedGroup& group) {
                  const QString path = QString::fromStdString(group.difference.key);
                  return makeWords(path.startsWith(QLatin1String("step/")) ? path.mid(5) : path);
              });
    addTimes(table, comparison.ranges, {}, 64);
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
    using Kind = TableColumn::Kind;
    using Group = ComparedGroup;
    const bool ops = comparison.opsForKernels;
    GroupTable table;
    table
        .add(makeColumn(ops ? QStringLiteral("Op") : QStringLiteral("Kernel"), Kind::Text, 0),
             [](const Group& group) {
                 const std::string& name = group.difference.key;
                 return makeWords(QString::fromStdString(group.shortName.empty() ? name : group.shortName),
                                  QString::fromStdString(name));
             })
        .swatch = true;
    table.add(makeColumn(QStringLiteral("Family"), Kind::Text, 84, true),
              [](const Group& group) { return makeWords(QString::fromStdString(group.family)); });
    table.add(makeColumn(QStringLiteral("Change"), Kind::Text, 96), changeWord).tip =
        QStringLiteral("By Welch's test with the deviation between runs; of what is called slower or faster "
                       "at most one in twenty is expected to be wrong");
    table.add(makeColumn(QStringLiteral("A n"), Kind::Number, 42),
              [](const Group& group) { return makeCount(group.difference.instancesA); });
    table.add(makeColumn(QStringLiteral("B n"), Kind::Number, 42),
              [](const Group& group) { return makeCount(group.difference.instancesB); });
    addTimes(table, comparison.kernels, QStringLiteral("faster | slower"), 100);
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
    using Kind = TableColumn::Kind;
    const auto bytes = [](const std::optional<Bytes>& value) {
        return value ? std::optional(double(value->count)) : std::nullopt;
    };
    const std::vector<query::ComparedMemory>& memory = compared.comparison->memory;
    double most = 0;
    for (const query::ComparedMemory& one : memory)
        most = std::max({most, bytes(one.a).value_or(0), bytes(one.b).value_or(0)});
    const Unit unit = byteUnit(most);
    TableData data;
    data.columns = {makeColumn(QStringLiteral("Memory"), Kind::Text, 0),
                    makeColumn(titleIn(QStringLiteral("A"), unit), Kind::Number, 54),
                    makeColumn(titleIn(QStringLiteral("B"), unit), Kind::Number, 54),
                    makeColumn(titleIn(QStringLiteral("B − A"), unit), Kind::Number, 78)};
    data.columns[0].swatch = true;
    const auto add = [&](const QString& name, std::optional<double> a, std::optional<double> b) -> TableRow& {
        TableRow& row = data.rows.emplace_back();
        row.id = std::int64_t(data.rows.size()) - 1;
        row.cells = {makeWords(name), makePart(a, unit), makePart(b, unit),
                     a && b ? change(*b - *a, unit, true) : makeWords(notMeasured())};
        return row;
    };
    for (const query::ComparedMemory& one : memory)
        add(QString::fromStdString(one.what).replace(QLatin1Char('_'), QLatin1Char(' ')), bytes(one.a),
            bytes(one.b));
    for (std::size_t i = 0; i < compared.categories.size(); ++i) {
        const CategoryBytes& one = compared.categories[i];
        // A run with events that lacks a category has none of it; of a run without events nothing is known.
        const bool events[] = {std::any_of(compared.categories.begin(), compared.categories.end(),
                                           [](const CategoryBytes& c) { return c.a.has_value(); }),
                               std::any_of(compared.categories.begin(), compared.categories.end(),
                                           [](const CategoryBytes& c) { return c.b.has_value(); })};
        TableRow& row =
            add(one.category, one.a || !events[0] ? one.a : 0.0, one.b || !events[1] ? one.b : 0.0);
        row.swatch = Swatch::ofCategory(one.category);
        row.section = i == 0;
    }
    return data;
}

namespace {

TableCell intervalOfRatio(const analysis::TimeDifference& step)
{
    if (!step.ratio95)
        return makeWords(notMeasured(), QString::fromStdString(analysis::whyNoInterval(step)), Tone::Dim);
    TableCell cell = makeWords(
        QStringLiteral("%1 to %2").arg(threeDigits(step.ratio95->low), threeDigits(step.ratio95->high)));
    cell.sort = step.ratio95->high / step.ratio95->low;
    return cell;
}

// Why a run is not compared.
TableCell withoutVerdict(const query::RunSummary& a, const RunAgainst& run)
{
    if (!run.isCompared)
        return makeWords(QStringLiteral("comparing…"), {}, Tone::Dim);
    const RunResult& result = run.run.summary->result;
    const QString reason = QString::fromStdString(result.reason);
    if (run.run.summary->step && !a.step)
        return makeWords(QStringLiteral("A has no timed step"), QString::fromStdString(a.result.reason),
                         Tone::Dim);
    return makeWords(result.status == RunStatus::Running ? QStringLiteral("no timed step yet")
                                                         : QStringLiteral("no timed step"),
                     reason, Tone::Dim);
}

TableCell verdictCell(const query::RunSummary& a, const RunAgainst& run)
{
    if (!run.step)
        return withoutVerdict(a, run);
    const QString sentence = QString::fromStdString(analysis::sentenceOf(*run.step));
    switch (run.step->verdict) {
    case analysis::Verdict::Faster:
        return makeWords(QStringLiteral("▾ faster"), sentence);
    case analysis::Verdict::Slower:
        return makeWords(QStringLiteral("▴ slower"), sentence);
    case analysis::Verdict::NoDifference:
        return makeWords(QStringLiteral("no difference"), sentence, Tone::Dim);
    case analysis::Verdict::Inconclusive:
        break;
    }
    return makeWords(QStringLiteral("inconclusive"), sentence, Tone::Dim);
}

// The compared median, which may be that of several repeats; of a run that is not compared its own.
TableCell medianAgainst(const RunColumns& shared, const RunAgainst& run)
{
    if (!run.step)
        return shared.median(medianStepOf(*run.run.summary));
    TableCell cell = shared.median(run.step->medianB * 1e6);
    cell.exact += QStringLiteral(", ") + counted(run.step->stepsB, "step") + QStringLiteral(" of ") +
                  counted(run.step->runsB, "run");
    return cell;
}

} // namespace

TableData againstRows(const query::RunSummary& a, const std::vector<RunAgainst>& runs, std::size_t b)
{
    using Kind = TableColumn::Kind;
    RunColumns shared;
    shared.cover(a);
    double most = 0;
    for (const RunAgainst& run : runs) {
        shared.cover(*run.run.summary);
        if (run.step && run.step->isDifferent())
            most = std::max(most, std::abs(std::log(run.step->ratio)));
    }
    TableMaker<RunAgainst> table;
    table.add(RunColumns::nameColumn(), [](const RunAgainst& run) { return RunColumns::name(run.run); });
    table.add(RunColumns::statusColumn(), [](const RunAgainst& run) { return RunColumns::status(run.run); });
    table.add(shared.medianColumn(), [&](const RunAgainst& run) { return medianAgainst(shared, run); });
    table.add(makeColumn(QStringLiteral("B over A, ×"), Kind::Number, 92), [](const RunAgainst& run) {
        return run.step ? RunColumns::ratio(run.step->medianB, run.step->medianA) : makeWords(notMeasured());
    });
    table
        .add(makeColumn({}, Kind::SignedBar, 110),
             [most](const RunAgainst& run) {
                 return run.step ? bar(std::log(run.step->ratio), most, run.step->isDifferent())
                                 : TableCell();
             })
        .tip = QStringLiteral("Logarithm of the ratio: left is faster than A");
    table.add(makeColumn(QStringLiteral("95 % interval, ×"), Kind::Number, 116, true),
              [](const RunAgainst& run) {
                  return run.step ? intervalOfRatio(*run.step) : makeWords(notMeasured());
              });
    table.add(makeColumn(QStringLiteral("Verdict"), Kind::Text, 140),
              [&](const RunAgainst& run) { return verdictCell(a, run); });
    table.add(shared.peakColumn(), [&](const RunAgainst& run) { return shared.peak(run.run); });
    table.add(makeColumn(QStringLiteral("Peak over A, ×"), Kind::Number, 104), [&](const RunAgainst& run) {
        return RunColumns::ratio(peakAllocatedOf(*run.run.summary), peakAllocatedOf(a));
    });
    TableData data = table.table(runs, [](const RunAgainst&) { return Swatch(); });
    data.rows.at(b).cells[0].tone = Tone::Strong;
    return data;
}

} // namespace tilescope::ui
