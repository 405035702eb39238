#include "ui/kit/run_columns.h"

namespace tilescope::ui {

std::optional<double> medianStepOf(const query::RunSummary& run)
{
    constexpr double kNsPerMs = 1e6;
    return run.step ? std::optional(run.step->median * kNsPerMs) : std::nullopt;
}

std::optional<double> peakAllocatedOf(const query::RunSummary& run)
{
    return run.result.peakAllocated ? std::optional(double(run.result.peakAllocated->count)) : std::nullopt;
}

TableColumn nameColumn()
{
    return makeColumn(QStringLiteral("Run"), TableColumn::Kind::Text, 0);
}

TableCell nameCell(const NamedRun& run)
{
    return makeWords(run.letter.isEmpty() ? run.title : run.letter + QLatin1Char(' ') + run.title);
}

void showStatus(TableCell& cell, const NamedRun& run)
{
    const RunResult& result = resultOf(run);
    cell.exact = QString::fromStdString(result.reason);
    cell.tone = result.status == RunStatus::Ok ? Tone::Plain : Tone::Warning;
}

TableCell makeRatio(std::optional<double> of, std::optional<double> to)
{
    if (!of || !to || *to <= 0)
        return makeWords(notMeasured());
    TableCell cell = makeWords(threeDigits(*of / *to));
    cell.sort = *of / *to;
    return cell;
}

} // namespace tilescope::ui
