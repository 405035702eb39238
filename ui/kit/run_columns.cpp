#include "ui/kit/run_columns.h"

#include "core/model/text.h"

#include <algorithm>

namespace tilescope::ui {

using Kind = TableColumn::Kind;

std::optional<double> medianStepOf(const query::RunSummary& run)
{
    constexpr double kNsPerMs = 1e6;
    return run.step ? std::optional(run.step->median * kNsPerMs) : std::nullopt;
}

std::optional<double> peakAllocatedOf(const query::RunSummary& run)
{
    return run.result.peakAllocated ? std::optional(double(run.result.peakAllocated->count)) : std::nullopt;
}

void RunColumns::cover(const query::RunSummary& run)
{
    longest_ = std::max(longest_, medianStepOf(run).value_or(0));
    largest_ = std::max(largest_, peakAllocatedOf(run).value_or(0));
}

TableColumn RunColumns::nameColumn()
{
    return makeColumn(QStringLiteral("Run"), Kind::Text, 0);
}

TableCell RunColumns::name(const NamedRun& run)
{
    return makeWords(run.letter.isEmpty() ? run.title : run.letter + QLatin1Char(' ') + run.title);
}

TableColumn RunColumns::statusColumn()
{
    return makeColumn(QStringLiteral("Status"), Kind::Text, 104, true);
}

TableCell RunColumns::status(const NamedRun& run)
{
    const RunResult& result = run.summary->result;
    return makeWords(QString::fromUtf8(wordOf(result.status)), QString::fromStdString(result.reason),
                     result.status == RunStatus::Ok ? Tone::Plain : Tone::Warning);
}

TableColumn RunColumns::medianColumn() const
{
    return makeColumn(titleIn(QStringLiteral("Median step"), time()), Kind::Number, 110);
}

TableCell RunColumns::median(std::optional<double> nanoseconds) const
{
    return makeNumber(nanoseconds, time(), exactTime);
}

TableColumn RunColumns::intervalColumn() const
{
    return makeColumn(titleIn(QStringLiteral("95 % interval"), time()), Kind::Number, 120, true);
}

// "117 to 122"; sorted by its width.
TableCell RunColumns::interval(const NamedRun& run) const
{
    const std::optional<analysis::Statistics>& step = run.summary->step;
    if (!step || !step->ci95)
        return makeWords(notMeasured(), step ? QStringLiteral("n < 6: no interval") : QString(), Tone::Dim);
    const double scale = 1e6 / time().size;
    TableCell cell =
        makeWords(QStringLiteral("%1 to %2")
                      .arg(threeDigits(step->ci95->low * scale), threeDigits(step->ci95->high * scale)));
    cell.sort = step->ci95->high - step->ci95->low;
    return cell;
}

TableCell RunColumns::medianBar(const NamedRun& run) const
{
    return makeBar(medianStepOf(*run.summary).value_or(0), longest_);
}

TableColumn RunColumns::peakColumn() const
{
    return makeColumn(titleIn(QStringLiteral("Peak allocated"), bytes()), Kind::Number, 132);
}

TableCell RunColumns::peak(const NamedRun& run) const
{
    return makeNumber(peakAllocatedOf(*run.summary), bytes(), exactBytes);
}

TableCell RunColumns::peakBar(const NamedRun& run) const
{
    return makeBar(peakAllocatedOf(*run.summary).value_or(0), largest_);
}

TableCell RunColumns::ratio(std::optional<double> of, std::optional<double> to)
{
    if (!of || !to || *to <= 0)
        return makeWords(notMeasured());
    TableCell cell = makeWords(threeDigits(*of / *to));
    cell.sort = *of / *to;
    return cell;
}

} // namespace tilescope::ui
