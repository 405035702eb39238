#include "ui/overview/oom_rows.h"

#include "core/model/memory_category.h"
#include "core/model/text.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"

#include <QObject>

#include <algorithm>

namespace tilescope::ui {

namespace {

using query::MemoryHistory;
using query::MemoryLife;
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

// The value from the recorded repetition of the step, otherwise from the failing step.
std::optional<double> seen(const std::optional<Bytes>& recorded, const std::optional<Bytes>& reported)
{
    return number(recorded ? recorded : reported);
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

QString holderName(const MemoryHistory& history, const MemoryLife& block)
{
    const auto text = [&history](std::uint32_t id) { return plainText(history.text(id)); };
    if (block.name != 0)
        return text(block.name);
    if (block.path != 0)
        return text(block.path);
    if (block.op != 0)
        return text(block.op);
    return block.isOlder() ? tr("before the trace") : tr("not recorded");
}

double neededBy(const predict::Suggestion& suggestion)
{
    return double(suggestion.peakReserved.value_or(suggestion.peakAllocated).count);
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
    const std::optional<double> held = seen(report.reserved, report.info.reserved);
    if (bar.parts.empty())
        if (const auto all = seen(report.allocated, report.info.allocated)) {
            bar.parts.push_back({tr("allocated"), Swatch::neutral(), *all});
            allocated = *all;
        }
    if (held && *held > allocated)
        bar.parts.push_back(
            {tr("reserved, free"), Swatch::ofCategory(QStringLiteral("reserved_free")), *held - allocated});
    bar.asked = seen(report.asked, report.info.requested).value_or(0);
    bar.limit = number(report.limit);
    bar.needed = number(report.needed);
    return bar;
}

std::vector<LimitVariant> limitVariants(const OomReport& report,
                                        const std::vector<const query::RunSummary*>& runs)
{
    std::vector<LimitVariant> variants;
    for (std::size_t i = 0; i < report.suggestions.size(); ++i) {
        const predict::Suggestion& suggestion = report.suggestions[i];
        const query::RunSummary* run = i < runs.size() ? runs[i] : nullptr;
        LimitVariant variant{wordsOf(suggestion), neededBy(suggestion), LimitVariant::State::Predicted, i};
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
    const std::optional<double> asked = seen(report.asked, report.info.requested);
    const std::optional<double> allocated = seen(report.allocated, report.info.allocated);
    const std::optional<double> reserved = seen(report.reserved, report.info.reserved);
    const std::optional<double> held = reserved ? reserved : allocated;
    const std::optional<double> limit = number(report.limit);
    KeyFigure end{
        .title = tr("Ended in"), .lines = {}, .verdict = placeOf(report), .page = QStringLiteral("memory")};
    end.lines.push_back({{}, tr("OOM"), {}, plainText(report.info.phase)});
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
    using Kind = TableColumn::Kind;
    if (!report.history)
        return {};
    const MemoryHistory& history = *report.history;
    std::vector<MemoryLife> holders;
    for (const std::uint32_t index : report.holders)
        holders.push_back(history.blocks[index]);
    const exchange::ColumnOf<MemoryLife> size("", "size",
                                              [](const MemoryLife& block) { return Bytes{block.bytes}; });
    TableMaker<MemoryLife> maker(holders);
    maker
        .add(makeColumn(tr("Holder"), Kind::Text, 0),
             [&](const MemoryLife& block) { return makeWords(holderName(history, block)); })
        .swatch = true;
    maker.add(makeColumn(tr("Shape"), Kind::Text, 130, true),
              [&](const MemoryLife& block) { return makeWords(plainText(history.text(block.shape))); });
    maker.add(size, 80);
    maker.addBar(size, 80);
    const double all = seen(report.allocated, report.info.allocated).value_or(0);
    maker.add(makeColumn(tr("Share, %"), Kind::Number, 64),
              [&](const MemoryLife& block) { return makeShare(double(block.bytes), all); });
    return maker.table(holders, [](const MemoryLife& block) {
        return Swatch::ofCategory(plainText(wordOf(block.category)));
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
    using predict::Suggestion;
    std::vector<double> peaks;
    for (const Suggestion& suggestion : report.suggestions)
        peaks.push_back(neededBy(suggestion));
    const double limit = number(report.limit).value_or(0);
    const Unit unit = columnUnit(peaks, byteUnit);
    TableMaker<Suggestion> maker;
    maker.add(makeColumn(tr("Change"), Kind::Text, 0), [](const Suggestion& row) {
        return makeWords(wordsOf(row), QString::fromStdString(row.flags()));
    });
    maker.add(makeColumn(titleIn(tr("Peak"), unit), Kind::Number, 80),
              [&](const Suggestion& row) { return makeNumber(neededBy(row), unit, exactBytes); });
    maker.add(makeColumn(tr("Of the limit"), Kind::Bar, 110), [&](const Suggestion& row) {
        return limit > 0 ? makeBar(neededBy(row), limit) : makeWords(notMeasured());
    });
    maker.add(makeColumn(titleIn(tr("Left"), unit), Kind::Number, 80), [&](const Suggestion& row) {
        return makeNumber(limit > 0 ? std::optional(limit - neededBy(row)) : std::nullopt, unit, exactBytes);
    });
    const auto indexOf = [&](const Suggestion& row) { return std::size_t(&row - report.suggestions.data()); };
    if (std::ranges::any_of(report.stepSeconds, [](const auto& seconds) { return seconds.has_value(); }))
        maker.add(makeColumn(tr("Step, ms"), Kind::Number, 80), [&](const Suggestion& row) {
            const std::optional<double> seconds = report.stepSeconds[indexOf(row)];
            TableCell cell = makeWords(seconds ? threeDigits(*seconds * 1e3) : notMeasured());
            if (seconds)
                cell.sort = *seconds;
            return cell;
        });
    const auto runOf = [&](const Suggestion& row) {
        return indexOf(row) < runs.size() ? runs[indexOf(row)] : nullptr;
    };
    if (std::ranges::any_of(runs, [](const auto* run) { return run != nullptr; })) {
        maker.add(makeColumn(titleIn(tr("Measured"), unit), Kind::Number, 90), [=](const Suggestion& row) {
            const query::RunSummary* run = runOf(row);
            if (run == nullptr)
                return makeWords({});
            if (run->result.status != RunStatus::Ok)
                return makeWords(QString::fromUtf8(wordOf(run->result.status)));
            const std::optional<Bytes> peak =
                row.peakReserved ? run->result.peakReserved : run->result.peakAllocated;
            return makeNumber(peak ? std::optional(double(peak->count)) : std::nullopt, unit, exactBytes);
        });
        maker.add(makeColumn(tr("Measured, ms"), Kind::Number, 90), [=](const Suggestion& row) {
            const query::RunSummary* run = runOf(row);
            return run != nullptr && run->step ? makeWords(threeDigits(run->step->median)) : makeWords({});
        });
    }
    maker.add(makeColumn({}, Kind::Text, 84), [&](const Suggestion& row) {
        const query::RunSummary* run = runOf(row);
        if (run != nullptr)
            return makeWords(run->result.status == RunStatus::Running ? tr("Running") : tr("Open"));
        const std::size_t index = indexOf(row);
        return makeWords(index < isQueued.size() && isQueued[index] ? tr("Queued") : tr("Run"));
    });
    return maker.table(report.suggestions, [](const Suggestion&) { return Swatch{}; });
}

} // namespace tilescope::ui
