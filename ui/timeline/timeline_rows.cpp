#include "ui/timeline/timeline_rows.h"

#include "core/exchange/kernels/kernel_columns.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/tone.h"

#include <algorithm>
#include <map>

namespace tilescope::ui {

using query::KernelStat;
using query::Lane;

namespace {

struct KernelOfSpan {
    QString name;
    QString label;
    query::Hue hue = query::Hue::Other;
    query::KernelRow runs[2] = {}; // without instances where only the other run has it

    void add(std::size_t run, std::int64_t instances, Nanoseconds total)
    {
        runs[run].instances += instances;
        runs[run].total += total;
    }
    Nanoseconds difference() const { return runs[1].total - runs[0].total; }
};

using SpanTable = TableMaker<KernelOfSpan>;

TableRow sumRow(const SpanTable& table, const std::vector<KernelOfSpan>& kernels)
{
    KernelOfSpan sum;
    sum.label = QStringLiteral("all %1").arg(wholeNumber(std::int64_t(kernels.size())));
    for (const KernelOfSpan& kernel : kernels)
        for (std::size_t run = 0; run < 2; ++run)
            sum.add(run, kernel.runs[run].instances, kernel.runs[run].total);
    TableRow row = table.row(sum);
    for (TableCell& cell : row.cells)
        cell.bar = std::min(cell.bar, 0.0);
    row.id = -1;
    row.cells[1].text.clear();
    row.strong = row.section = true;
    row.selectable = false;
    return row;
}

} // namespace

namespace {

QString ofWhom(const query::Timeline& timeline, ProcessIndex process)
{
    const auto& processes = timeline.processes;
    const auto own = std::ranges::find(processes, process, [](const auto& each) { return each.first; });
    if (own != processes.end())
        return QString::fromStdString(own->second);
    if (processes.size() < 2)
        return {};
    const bool areRanks =
        std::ranges::all_of(processes, [](const auto& each) { return each.second.starts_with("rank "); });
    return areRanks ? QObject::tr("all %1 ranks").arg(processes.size())
                    : QObject::tr("all %1 processes").arg(processes.size());
}

} // namespace

SpanOfRun spanOf(std::shared_ptr<const query::Timeline> timeline, query::Stretch stretch,
                 const QString& letter, const std::function<bool()>& cancelled, ProcessIndex process,
                 std::optional<std::size_t> lane)
{
    SpanOfRun span{letter, ofWhom(*timeline, process), timeline, stretch, {}};
    span.ofOps = std::none_of(timeline->lanes.begin(), timeline->lanes.end(),
                              [](const query::Lane& each) { return each.kind == query::Lane::Kind::Stream; });
    if (lane)
        span.ofOps = timeline->lanes[*lane].kind == query::Lane::Kind::Thread;
    span.kernels = span.ofOps ? opsWithin(*timeline, stretch, cancelled, process, lane)
                              : kernelsWithin(*timeline, stretch, cancelled, process, lane);
    if (stretch.second > stretch.first && !cancelled()) {
        span.busy = busyShare(*timeline, stretch, process);
        span.memory = memoryAcross(*timeline, stretch, process);
    }
    return span;
}

QString spanWords(const SpanOfRun& span)
{
    std::int64_t instances = 0;
    std::int64_t total = 0;
    for (const KernelStat& stat : span.kernels) {
        instances += stat.instances;
        total += stat.total;
    }
    QStringList parts{timeText(double(span.stretch.second - span.stretch.first))};
    if (span.busy)
        parts << QStringLiteral("busy %1").arg(percentText(span.busy->busy())) +
                     (span.busy->devices > 1
                          ? QStringLiteral(" of %1").arg(counted(span.busy->devices, "GPU"))
                          : QString());
    if (span.busy || instances > 0)
        parts << counted(instances, span.ofOps ? "op" : "kernel") +
                     (total > 0 ? QStringLiteral(" in ") + timeText(double(total)) : QString());
    else
        parts << QStringLiteral("no kernels or ops");
    if (span.memory && span.memory->first != span.memory->second) {
        const double change = double(span.memory->second - span.memory->first);
        const Unit unit = byteUnit(change);
        parts << withUnit(signedColumnDigits(change, unit), unit.suffix);
    }
    if (!span.of.isEmpty())
        parts << span.of;
    return (span.letter.isEmpty() ? QString() : span.letter + QLatin1Char(' ')) +
           parts.join(QStringLiteral(", "));
}

TableData spanRows(const std::vector<SpanOfRun>& runs)
{
    using Kind = TableColumn::Kind;
    const std::size_t shown = std::min<std::size_t>(2, runs.size());
    std::map<QString, KernelOfSpan> kernels; // by full name
    Nanoseconds most{0};
    for (std::size_t run = 0; run < shown; ++run) {
        for (const KernelStat& stat : runs[run].kernels) {
            const query::TimelineName& name = runs[run].timeline->names[stat.name];
            KernelOfSpan& kernel = kernels[QString::fromStdString(name.text)];
            kernel.name = QString::fromStdString(name.text);
            kernel.label = QString::fromStdString(name.label);
            kernel.hue = stat.hue;
            kernel.add(run, stat.instances, Nanoseconds(stat.total));
            most = std::max(most, kernel.runs[run].total);
        }
    }
    const bool pair = shown > 1;
    const analysis::Verdict verdict = pair ? runs[1].verdict : analysis::Verdict::Inconclusive;
    const bool ops = !runs.empty() &&
                     std::all_of(runs.begin(), runs.end(), [](const SpanOfRun& run) { return run.ofOps; });
    std::vector<KernelOfSpan> rows;
    for (auto& [name, kernel] : kernels)
        rows.push_back(std::move(kernel));
    SpanTable table(rows);
    table
        .add(makeColumn(ops ? QStringLiteral("Op") : QStringLiteral("Kernel"), Kind::Text, 0),
             [](const KernelOfSpan& kernel) { return makeWords(kernel.label, kernel.name); })
        .swatch = true;
    const exchange::KernelColumns of;
    const exchange::KernelColumns::Of time = ops ? exchange::OpColumns().self : of.total;
    table
        .add(makeColumnOf(of.family.about, Kind::Text, 88),
             [](const KernelOfSpan& kernel) { return makeWords(QString::fromUtf8(hueWord(kernel.hue))); })
        .dim = true;
    for (std::size_t run = 0; run < shown; ++run) {
        const QString letter = pair ? QLatin1Char(' ') + runs[run].letter : QString();
        const auto ofRun = [run](const KernelOfSpan& kernel) {
            return kernel.runs[run].instances > 0 ? &kernel.runs[run] : nullptr;
        };
        table.add(exchange::columnOfPart<KernelOfSpan>(of.instances, ofRun), pair ? 62 : 52, kMissingIsZero)
            .title += letter;
        table.add(exchange::columnOfPart<KernelOfSpan>(time, ofRun), pair ? 84 : 72, kMissingIsZero).title +=
            letter;
        table.add(makeColumn({}, Kind::Bar, 76), [run, most](const KernelOfSpan& kernel) {
            return makeBar(double(kernel.runs[run].total.count()), double(most.count()));
        });
    }
    if (pair)
        table.add(
            exchange::ColumnOf<KernelOfSpan>(
                "", (runs[1].letter + QStringLiteral(" - ") + runs[0].letter).toStdString(),
                &KernelOfSpan::difference,
                {.meaning = exchange::Meaning::Difference, .unitGroup = time.about.unitGroup}),
            92, [verdict](TableCell& cell, const KernelOfSpan&) { cell.tone = toneOf(cell.sort, verdict); });
    TableData data = table.table(rows, [](const KernelOfSpan& kernel) { return Swatch::of(kernel.hue); });
    if (data.rows.size() > 1)
        data.rows.push_back(sumRow(table, rows));
    return data;
}

TableData noteRows(const std::vector<NoteRow>& notes)
{
    using Kind = TableColumn::Kind;
    TableData data;
    data.columns = {makeColumn(QStringLiteral("Run"), Kind::Text, 44),
                    makeColumn(QStringLiteral("Note"), Kind::Text, 0),
                    makeColumn(QStringLiteral("At"), Kind::Text, 160, true),
                    makeColumn(QStringLiteral("Start, ms"), Kind::Number, 84),
                    makeColumn(QStringLiteral("Length"), Kind::Number, 84)};
    for (std::size_t i = 0; i < notes.size(); ++i) {
        const NoteRow& note = notes[i];
        TableRow row;
        row.id = std::int64_t(i);
        TableCell start = makeWords(threeDigits(double(note.at) / 1e6), exactTime(note.at));
        start.sort = double(note.at);
        TableCell length = makeWords(note.length == 0 ? notMeasured() : timeText(double(note.length)),
                                     note.length == 0 ? QString() : exactTime(note.length));
        length.sort = double(note.length);
        row.cells = {makeWords(note.letter.isEmpty() ? notMeasured() : note.letter),
                     note.text.isEmpty() ? makeWords(QStringLiteral("bookmark"), {}, Tone::Dim)
                                         : makeWords(note.text),
                     makeWords(note.about), start, length};
        data.rows.push_back(std::move(row));
    }
    return data;
}

std::vector<FoundBox> foundBoxes(const std::vector<FoundInRun>& runs, std::size_t most)
{
    std::vector<FoundBox> boxes;
    for (std::size_t run = 0; run < runs.size(); ++run)
        for (const query::FoundItem& item : runs[run].result.items)
            boxes.push_back({run, item});
    std::stable_sort(boxes.begin(), boxes.end(),
                     [](const FoundBox& a, const FoundBox& b) { return a.found.length > b.found.length; });
    if (boxes.size() > most)
        boxes.resize(most);
    return boxes;
}

TableData foundRows(const std::vector<FoundInRun>& runs, const std::vector<FoundBox>& boxes)
{
    using Kind = TableColumn::Kind;
    const std::int64_t most = boxes.empty() ? 0 : boxes.front().found.length;
    const Unit unit = timeUnit(double(most));
    TableData data;
    data.columns = {makeColumn(QStringLiteral("Run"), Kind::Text, 44),
                    makeColumn(QStringLiteral("Name"), Kind::Text, 0),
                    makeColumn(QStringLiteral("Lane"), Kind::Text, 110, true),
                    makeColumn(QStringLiteral("Start, ms"), Kind::Number, 84),
                    makeColumn(titleIn({}, unit), Kind::Number, 64),
                    makeColumn({}, Kind::Bar, 90)};
    data.columns[1].swatch = true;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        const FoundBox& box = boxes[i];
        const query::Timeline& timeline = *runs[box.run].timeline;
        const Lane& lane = timeline.lanes[box.found.item.lane];
        const query::Track& track = lane.rows[box.found.item.row];
        const query::TimelineName& name = timeline.names[track.name(box.found.item.index)];
        TableRow row;
        row.id = std::int64_t(i);
        row.swatch =
            lane.kind == Lane::Kind::Ranges ? Swatch::neutral() : Swatch::of(track.hue(box.found.item.index));
        TableCell start = makeWords(threeDigits(double(box.found.start) / 1e6), exactTime(box.found.start));
        start.sort = double(box.found.start);
        row.cells = {makeWords(runs[box.run].letter.isEmpty() ? notMeasured() : runs[box.run].letter),
                     makeWords(QString::fromStdString(name.label), QString::fromStdString(name.text)),
                     makeWords(QString::fromStdString(lane.title)),
                     start,
                     makeNumber(double(box.found.length), unit, exactTime),
                     makeBar(box.found.length, most)};
        data.rows.push_back(std::move(row));
    }
    return data;
}

} // namespace tilescope::ui
