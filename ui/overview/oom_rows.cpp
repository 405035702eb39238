#include "ui/overview/oom_rows.h"

#include "core/exchange/memory/oom_columns.h"
#include "core/model/memory_category.h"
#include "core/model/text.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"

#include <QObject>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

using query::OomReport;

QString tr(const char* text)
{
    return QObject::tr(text);
}

QString plainText(std::string_view text)
{
    return QString::fromUtf8(text.data(), qsizetype(text.size()));
}

std::optional<double> number(const std::optional<Bytes>& bytes)
{
    return bytes ? std::optional(double(bytes->count)) : std::nullopt;
}

KeyFigure bytesFigure(const QString& title, std::optional<double> bytes, const QString& verdict,
                      const QString& page = QStringLiteral("memory"))
{
    KeyFigure figure{.title = title, .lines = {}, .verdict = verdict, .page = page};
    KeyFigure::Line line{{}, notMeasured(), {}, {}};
    if (bytes)
        line.set(*bytes, quantity::Unit::Bytes);
    figure.lines.push_back(line);
    return figure;
}

QString placeOf(const OomReport& report)
{
    QStringList place;
    if (!report.path.empty())
        place << plainText(report.path);
    if (!report.op.empty())
        place << plainText(report.op);
    return place.join(QStringLiteral(", "));
}

QString shareOf(double part, const std::optional<double>& whole)
{
    return whole && *whole > 0 ? tr("%1 of the limit").arg(percentText(part / *whole)) : QString();
}

} // namespace

double LimitBar::held() const
{
    double sum = 0;
    for (const LimitPart& part : parts)
        sum += part.bytes;
    return sum;
}

LimitBar limitBar(const OomReport& report)
{
    LimitBar bar;
    double allocated = 0;
    for (const auto& [category, bytes] : report.categories) {
        const QString word = plainText(wordOf(category));
        bar.parts.push_back({word, Swatch::ofCategory(word), double(bytes.count)});
        allocated += double(bytes.count);
    }
    const std::optional<double> held = number(report.reserved);
    if (bar.parts.empty())
        if (const auto all = number(report.allocated)) {
            bar.parts.push_back({tr("allocated"), Swatch::neutral(), *all});
            allocated = *all;
        }
    if (held && *held > allocated)
        bar.parts.push_back(
            {tr("reserved, free"), Swatch::ofCategory(QStringLiteral("reserved_free")), *held - allocated});
    bar.asked = number(report.asked).value_or(0);
    bar.limit = number(report.limit);
    bar.needed = number(report.needed);
    return bar;
}

std::vector<LimitVariant> limitVariants(const OomReport& report,
                                        const std::vector<const query::RunSummary*>& runs)
{
    std::vector<LimitVariant> variants;
    for (std::size_t i = 0; i < report.suggestions.size(); ++i) {
        const query::FittingChange& suggestion = report.suggestions[i];
        const query::RunSummary* run = i < runs.size() ? runs[i] : nullptr;
        LimitVariant variant{wordsOf(suggestion), double(suggestion.peak().count),
                             LimitVariant::State::Predicted, i};
        const std::optional<Bytes> peak = run == nullptr            ? std::nullopt
                                          : suggestion.peakReserved ? run->result.peakReserved
                                                                    : run->result.peakAllocated;
        if (run != nullptr && run->result.status == RunStatus::Ok && peak) {
            variant.state = LimitVariant::State::Measured;
            variant.bytes = double(peak->count);
            variant.words += QStringLiteral(": ") + byteText(variant.bytes);
            if (run->step)
                variant.words += tr(", step %1").arg(timeText(run->step->median * 1e6));
        } else if (run != nullptr && run->result.status != RunStatus::Running) {
            variant.state = LimitVariant::State::Failed;
            variant.words += QStringLiteral(": ") + QString::fromUtf8(wordOf(run->result.status));
        } else {
            variant.words += tr(": %1, predicted").arg(byteText(variant.bytes));
        }
        variants.push_back(variant);
    }
    return variants;
}

std::vector<KeyFigure> oomFigures(const OomReport& report, const query::RunSummary& run)
{
    const std::optional<double> asked = number(report.asked);
    const std::optional<double> allocated = number(report.allocated);
    const std::optional<double> reserved = number(report.reserved);
    const std::optional<double> held = reserved ? reserved : allocated;
    const std::optional<double> limit = number(report.limit);
    KeyFigure end{
        .title = tr("Ended in"), .lines = {}, .verdict = placeOf(report), .page = QStringLiteral("memory")};
    end.lines.push_back({{}, tr("OOM"), {}, plainText(report.phase)});
    end.tone = Tone::Warning;
    const std::optional<double> left =
        limit && held ? std::optional(std::max(0.0, *limit - *held)) : number(report.deviceFree);
    const QString lacking =
        asked && left && *asked > *left ? tr("short by %1").arg(byteText(*asked - *left)) : QString();
    const std::optional<double> needed = number(report.needed);
    const QString excess = needed && limit && *needed > *limit
                               ? tr("%1 too much, predicted").arg(byteText(*needed - *limit))
                           : needed ? tr("predicted")
                                    : tr("cannot be predicted");
    KeyFigure steps{
        .title = tr("Step so far, median"), .lines = {}, .verdict = {}, .page = QStringLiteral("charts")};
    KeyFigure::Line line{{}, notMeasured(), {}, {}};
    if (run.step) {
        line.set(run.step->median, quantity::Unit::Milliseconds);
        steps.verdict = tr("of %1").arg(counted(run.step->n, "step"));
    } else {
        steps.verdict = tr("no timed step was reached");
    }
    steps.lines.push_back(line);
    return {end,
            bytesFigure(tr("Requested"), asked, report.op.empty() ? QString() : plainText(report.op)),
            bytesFigure(tr("Free"), left, lacking),
            bytesFigure(reserved ? tr("Reserved") : tr("Allocated"), held,
                        held ? shareOf(*held, limit) : QString()),
            bytesFigure(tr("Would need"), needed, excess),
            steps};
}

TableData holderRows(const OomReport& report)
{
    if (!report.history)
        return {};
    const exchange::HolderColumns of(report);
    TableMaker<std::uint32_t> table(report.holders);
    table.add(of.name, 0).swatch = true;
    table.add(of.shape, 130).dim = true;
    table.add(of.bytes, 80);
    table.addBar(of.bytes, 80);
    table.add(of.percent, 64);
    return table.table(report.holders, [&](std::uint32_t block) {
        return Swatch::ofCategory(plainText(wordOf(report.history->blocks[block].category)));
    });
}

QString wordsOf(const predict::Suggestion& suggestion)
{
    QStringList changes;
    for (const auto& [key, value] : suggestion.keys)
        changes << QStringLiteral("%1 %2").arg(plainText(key), plainText(value));
    return changes.join(QStringLiteral(", "));
}

TableData fitRows(const OomReport& report, const std::vector<const query::RunSummary*>& runs,
                  const std::vector<bool>& isQueued)
{
    using Kind = TableColumn::Kind;
    using Change = query::FittingChange;
    const exchange::ChangeColumns of(report.limit);
    TableMaker<Change> maker(report.suggestions);
    maker.add(of.flags, 0,
              [](TableCell& cell, const Change& row) { cell = makeWords(wordsOf(row), cell.text); });
    maker.add(of.peak, 80);
    const double limit = number(report.limit).value_or(0);
    maker.add(makeColumn(tr("Of the limit"), Kind::Bar, 110), [limit](const Change& row) {
        return limit > 0 ? makeBar(double(row.peak().count), limit) : makeWords(notMeasured());
    });
    maker.add(of.left, 80);
    if (std::ranges::any_of(report.suggestions,
                            [](const Change& row) { return row.stepSeconds.has_value(); }))
        maker.add(of.step, 80);
    const auto indexOf = [&](const Change& row) { return std::size_t(&row - report.suggestions.data()); };
    const auto runOf = [&](const Change& row) {
        return indexOf(row) < runs.size() ? runs[indexOf(row)] : nullptr;
    };
    if (std::ranges::any_of(runs, [](const auto* run) { return run != nullptr; })) {
        using Measured = exchange::ColumnOf<Change>;
        maker.add(Measured("", "measured",
                           [runOf](const Change& row) {
                               const query::RunSummary* run = runOf(row);
                               if (run == nullptr || run->result.status != RunStatus::Ok)
                                   return std::optional<Bytes>();
                               return row.peakReserved ? run->result.peakReserved : run->result.peakAllocated;
                           },
                           {.unitGroup = 1}),
                  90, [runOf](TableCell& cell, const Change& row) {
                      if (const query::RunSummary* run = runOf(row); run == nullptr)
                          cell = makeWords({});
                      else if (run->result.status != RunStatus::Ok)
                          cell = makeWords(QString::fromUtf8(wordOf(run->result.status)));
                  });
        maker.add(Measured("", "measured step",
                           [runOf](const Change& row) {
                               const query::RunSummary* run = runOf(row);
                               return run != nullptr && run->step ? std::optional(run->step->median)
                                                                  : std::nullopt;
                           },
                           {.unit = quantity::Unit::Milliseconds}),
                  90, [](TableCell& cell, const Change&) {
                      if (std::isnan(cell.sort))
                          cell = makeWords({});
                  });
    }
    maker.add(makeColumn({}, Kind::Text, 84), [&](const Change& row) {
        const query::RunSummary* run = runOf(row);
        if (run != nullptr)
            return makeWords(run->result.status == RunStatus::Running ? tr("Running") : tr("Open"));
        const std::size_t index = indexOf(row);
        return makeWords(index < isQueued.size() && isQueued[index] ? tr("Queued") : tr("Run"));
    });
    return maker.table(report.suggestions, [](const Change&) { return Swatch{}; });
}

} // namespace tilescope::ui
