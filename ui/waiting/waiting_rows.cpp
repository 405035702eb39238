#include "ui/waiting/waiting_rows.h"

#include "core/exchange/waiting/waiting_columns.h"
#include "core/query/waiting/compared_lines.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/tone.h"

#include <QObject>

#include <algorithm>
#include <map>

namespace tilescope::ui {

namespace {

using query::WaitingRow;
using query::WaitingTable;

constexpr double kMuchLate = 0.02;

QString words(const std::string& text)
{
    return QString::fromStdString(text);
}

Swatch swatchOf(const auto& row)
{
    const auto cause = analysis::hostCauseOf(row.cause);
    return cause ? Swatch::of(query::hueOfCause(*cause)) : Swatch::neutral();
}

// trainer.py:12; what has no line is its cause.
QString nameOf(const auto& row)
{
    if (!row.line)
        return words(exchange::titleOfCause(row.cause));
    const QString text = words(exchange::lineText(row.line));
    return text.mid(text.lastIndexOf(QLatin1Char('/')) + 1);
}

template <class Row> void nameColumns(TableMaker<Row>& maker)
{
    maker
        .add(makeColumn(QObject::tr("Line"), TableColumn::Kind::Text, 0),
             [](const Row& row) { return makeWords(nameOf(row), words(exchange::lineText(row.line))); })
        .swatch = true;
    maker.add(makeColumn(QObject::tr("Function"), TableColumn::Kind::Text, 120, true),
              [](const Row& row) { return makeWords(row.line ? words(row.line->function) : QString()); });
}

TableData rowsOfTwo(const WaitingTable& lines, const WaitingTable& other)
{
    using query::ComparedLine;
    const std::vector<ComparedLine> rows = query::comparedLines(lines, other);
    TableMaker<ComparedLine> maker(rows);
    nameColumns(maker);
    using Of = exchange::ColumnOf<ComparedLine>;
    const exchange::Shown shown{.unit = exchange::Unit::Nanoseconds, .unitGroup = 1};
    maker.add(Of("", "idle A", &ComparedLine::a, shown), 70);
    maker.add(Of("", "idle B", &ComparedLine::b, shown), 70);
    maker.add(
        Of("", "B - A", &ComparedLine::change,
           {.unit = exchange::Unit::Nanoseconds, .meaning = exchange::Meaning::Difference, .unitGroup = 1}),
        80, [](TableCell& cell, const ComparedLine& line) { cell.tone = toneOf(line.change(), true); });
    return maker.table(rows, [](const ComparedLine& line) { return swatchOf(line); });
}

} // namespace

TableData lineRows(const WaitingTable& lines, const WaitingTable* other)
{
    if (other != nullptr)
        return rowsOfTwo(lines, *other);
    const exchange::WaitingColumns of(lines);
    TableMaker<WaitingRow> maker(lines.rows);
    nameColumns(maker);
    if (lines.isOfSeveral())
        maker.add(of.process, 64);
    maker.add(of.idle, 70);
    maker.addBar(of.idle, 60);
    TableColumn& share = maker.add(of.share, 54); // its whole title would leave no room for the names
    share.tip = share.title;
    share.title = QObject::tr("Share");
    share.dim = true; // a narrow table leaves out what is dim
    maker.add(of.interval, 96);
    maker.add(of.samples, 66).dim = true;
    return maker.table(lines.rows, [](const WaitingRow& row) { return swatchOf(row); });
}

std::vector<MeanStepBar::Part> stepParts(const WaitingTable& causes)
{
    std::vector<MeanStepBar::Part> parts{{.hue = query::Hue::Busy,
                                          .title = QObject::tr("GPU busy"),
                                          .time = causes.perGpuStep(causes.busy),
                                          .isIdle = false}};
    for (const WaitingRow& row : causes.rows) {
        const auto cause = analysis::hostCauseOf(row.cause);
        if (!cause)
            continue;
        const query::Hue hue = query::hueOfCause(*cause);
        const auto same = std::ranges::find(parts, hue, &MeanStepBar::Part::hue); // of another process
        if (same != parts.end())
            same->time += causes.perGpuStep(row.idle);
        else
            parts.push_back({.hue = hue,
                             .title = words(exchange::titleOfCause(row.cause)),
                             .time = causes.perGpuStep(row.idle)});
    }
    std::ranges::stable_sort(parts.begin() + 1, parts.end(), std::greater{}, &MeanStepBar::Part::time);
    return parts;
}

QString waitingSentence(const WaitingTable& causes, const WaitingTable& lines)
{
    QString text =
        words(exchange::idleSentence(causes)) + QLatin1Char(' ') + words(exchange::causesSentence(causes));
    const auto costliest =
        std::ranges::find_if(lines.rows, [](const WaitingRow& row) { return row.line.has_value(); });
    if (costliest != lines.rows.end())
        text += QObject::tr(" The costliest line is %1 with %2.")
                    .arg(nameOf(*costliest), timeText(WaitingTable::perStep(*costliest)));
    if (const std::string peers = exchange::peerSentence(lines); !peers.empty())
        text += QLatin1Char(' ') + words(peers);
    return text;
}

QString waitingFigures(const WaitingTable& causes)
{
    QString text = counted(causes.samples, "sample");
    if (causes.steps > 0)
        text = counted(causes.steps, "step") + QStringLiteral(", ") + text;
    if (causes.lateShare > kMuchLate)
        text += QObject::tr(", %1 late: the cores were full").arg(percentText(causes.lateShare));
    return text;
}

TableData sourceRows(const query::SourceText& source, const WaitingTable& lines, const WaitingRow& row,
                     int around)
{
    using Kind = TableColumn::Kind;
    struct SourceLine {
        std::int64_t number = 0;
        std::string text;
        double idle = 0; ///< ns of a mean step; 0: none
        query::Hue hue = query::Hue::Range;
    };
    std::map<std::int64_t, SourceLine> known;
    for (const WaitingRow& each : lines.rows)
        if (each.line && each.line->file == row.line->file && each.numbers.process == row.numbers.process) {
            SourceLine& line = known[each.line->line];
            line.idle += WaitingTable::perStep(each);
            if (const auto cause = analysis::hostCauseOf(each.cause))
                line.hue = query::hueOfCause(*cause);
        }
    std::vector<SourceLine> rows;
    const auto last = std::min<std::int64_t>(std::ssize(source.lines), row.line->line + around);
    for (std::int64_t i = std::max<std::int64_t>(1, row.line->line - around); i <= last; ++i) {
        SourceLine line;
        if (const auto found = known.find(i); found != known.end())
            line = found->second;
        line.number = i;
        line.text = source.lines[std::size_t(i - 1)];
        rows.push_back(std::move(line));
    }
    TableMaker<SourceLine> maker(rows);
    using Of = exchange::ColumnOf<SourceLine>;
    maker.add(makeColumn(QObject::tr("Line"), Kind::Number, 50, true),
              [](const SourceLine& line) { return makeCount(double(line.number)); });
    TableColumn& text =
        maker.add(makeColumn(QObject::tr("Source"), Kind::Text, 0), [](const SourceLine& line) {
            return makeWords(words(line.text).replace(QLatin1Char('\t'), QStringLiteral("    ")));
        });
    text.code = true;
    maker.add(Of("", "idle",
                 [](const SourceLine& line) {
                     return line.idle > 0 ? exchange::Cell(line.idle) : exchange::Cell();
                 },
                 {.unit = exchange::Unit::Nanoseconds}),
              80, [](TableCell& cell, const SourceLine& line) {
                  if (line.idle <= 0)
                      cell.text.clear();
              });
    const auto most = std::ranges::max_element(rows, {}, &SourceLine::idle);
    maker.add(makeColumn({}, Kind::Bar, 60),
              [largest = most == rows.end() ? 0.0 : most->idle](const SourceLine& line) {
                  return line.idle > 0 ? makeBar(line.idle, largest) : TableCell{};
              });
    TableData data = maker.table(
        rows, [](const SourceLine& line) { return line.idle > 0 ? Swatch::of(line.hue) : Swatch{}; });
    for (TableColumn& column : data.columns)
        column.sortable = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        data.rows[i].id = rows[i].number;
        data.rows[i].strong = rows[i].number == row.line->line;
    }
    return data;
}

bool isAboutWaiting(analysis::AdviceRule rule)
{
    using analysis::AdviceRule;
    return rule == AdviceRule::LaunchBound || rule == AdviceRule::Synchronization ||
           rule == AdviceRule::HostBoundDecode || rule == AdviceRule::DataLoading ||
           rule == AdviceRule::Fragmentation || rule == AdviceRule::GarbageCollection ||
           rule == AdviceRule::HostOptimizer || rule == AdviceRule::Logging;
}

} // namespace tilescope::ui
