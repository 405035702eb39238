#include "ui/ranks/rank_rows.h"

#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"

#include <QCoreApplication>

#include <algorithm>
#include <map>
#include <set>

namespace tilescope::ui {

namespace {

using query::CollectiveRank;
using query::CollectiveRow;
using query::RankRow;

QString tr(const char* text)
{
    return QCoreApplication::translate("RankRows", text);
}

double nanoseconds(Nanoseconds time)
{
    return double(time.count());
}

std::optional<double> nanoseconds(const std::optional<Nanoseconds>& time)
{
    return time ? std::optional(nanoseconds(*time)) : std::nullopt;
}

QString titleOf(const RankRow& row)
{
    return row.title.empty() ? tr("the process") : QString::fromStdString(row.title);
}

/// The sums of a rank's steps.
struct Sums {
    QString title;
    analysis::RankStep parts = {};
    double steps = 0;

    void add(const analysis::RankStep& step)
    {
        parts.compute += step.compute;
        parts.overlapped += step.overlapped;
        parts.exposedCommunication += step.exposedCommunication;
        parts.exposedCopies += step.exposedCopies;
        parts.host += step.host;
        parts.idle += step.idle;
        ++steps;
    }
    StepBar bar() const
    {
        StepBar bar{{}, title, {}};
        const auto part = [&](const QString& label, query::Hue hue, Nanoseconds time) {
            if (time.count() > 0)
                bar.parts.push_back({label, hue, nanoseconds(time) / steps});
        };
        part(tr("compute"), query::Hue::Busy, parts.compute - parts.overlapped);
        part(tr("compute with communication"), query::Hue::GapSynchronizing, parts.overlapped);
        part(tr("exposed communication"), query::Hue::Collective, parts.exposedCommunication);
        part(tr("exposed copies"), query::Hue::Copy, parts.exposedCopies);
        part(tr("host"), query::Hue::GapLaunching, parts.host);
        part(tr("idle"), query::Hue::GapUnexplained, parts.idle);
        return bar;
    }
};

QString opText(const CollectiveRow& row)
{
    QString range = QString::fromStdString(row.range);
    if (range.startsWith(QLatin1String("step/")))
        range.remove(0, 5);
    const QString op = QString::fromStdString(row.op);
    return range.isEmpty() ? op : op + QLatin1Char(' ') + range;
}

/// The largest value of a column, for its unit.
template <class Rows, class Get> double largest(const Rows& rows, Get get)
{
    double most = 0;
    for (const auto* row : rows)
        most = std::max(most, get(*row).value_or(0));
    return most;
}

} // namespace

std::vector<std::int32_t> stepsOf(const query::RanksTable& table)
{
    std::set<std::int32_t> steps;
    for (const RankRow& row : table.rows)
        steps.insert(row.step);
    return {steps.begin(), steps.end()};
}

std::vector<StepBar> rankBars(const query::RanksTable& table, std::optional<std::int32_t> step)
{
    std::vector<std::pair<ProcessIndex, Sums>> ranks; // in the order of the rows, which is that of the ranks
    for (const RankRow& row : table.rows) {
        if (step && row.step != *step)
            continue;
        auto rank = std::ranges::find(ranks, row.process, &std::pair<ProcessIndex, Sums>::first);
        if (rank == ranks.end())
            rank = ranks.insert(ranks.end(), {row.process, Sums{.title = titleOf(row)}});
        rank->second.add(row.parts);
    }
    std::vector<StepBar> bars;
    for (const auto& [process, sums] : ranks)
        bars.push_back(sums.bar());
    return bars;
}

TableData collectiveRows(const query::RanksTable& table, std::optional<std::int32_t> step)
{
    std::vector<const CollectiveRow*> rows;
    for (const CollectiveRow& row : table.collectives)
        if (!step || row.step == *step)
            rows.push_back(&row);
    const auto transfer = [](const CollectiveRow& row) { return nanoseconds(row.transfer); };
    const auto late = [](const CollectiveRow& row) {
        return row.last.empty() ? std::nullopt : std::optional(nanoseconds(row.late));
    };
    const auto wait = [](const CollectiveRow& row) {
        return row.transfer ? std::optional(nanoseconds(row.wait())) : std::nullopt;
    };
    const auto exposed = [](const CollectiveRow& row) { return std::optional(nanoseconds(row.exposed())); };
    const auto slack = [](const CollectiveRow& row) {
        const CollectiveRank* const rank = row.tightest();
        return rank ? std::optional(nanoseconds(rank->slack->slack)) : std::nullopt;
    };
    const auto stall = [](const CollectiveRow& row) {
        const CollectiveRank* const rank = row.tightest();
        return rank ? std::optional(nanoseconds(rank->slack->stall)) : std::nullopt;
    };
    const auto bytes = [](const CollectiveRow& row) {
        return row.bytes ? std::optional(double(row.bytes->count)) : std::nullopt;
    };
    using Kind = TableColumn::Kind;
    TableMaker<CollectiveRow> maker;
    const auto time = [&](const QString& title, auto get, double width, const QString& tip) {
        const Unit unit = timeUnit(largest(rows, get));
        maker
            .add(makeColumn(titleIn(title, unit), Kind::Number, width),
                 [get, unit](const CollectiveRow& row) { return makeNumber(get(row), unit, exactTime); })
            .tip = tip;
    };
    // A number that is a name, not an amount.
    const auto numbered = [&](const QString& title, auto get) {
        maker.add(makeColumn(title, Kind::Number, 48), [get](const CollectiveRow& row) {
            TableCell cell = makeWords(get(row) < 0 ? notMeasured() : wholeNumber(get(row)));
            cell.sort = double(get(row));
            return cell;
        });
    };
    if (!step)
        numbered(tr("Step"), [](const CollectiveRow& row) { return std::int64_t{row.step}; });
    numbered(tr("#"), [](const CollectiveRow& row) { return row.sequence; });
    maker.add(makeColumn(tr("Operation"), Kind::Text, 0),
              [](const CollectiveRow& row) { return makeWords(opText(row)); });
    const Unit message = byteUnit(largest(rows, bytes));
    maker.add(
        makeColumn(titleIn(tr("Message"), message), Kind::Number, 96),
        [bytes, message](const CollectiveRow& row) { return makeNumber(bytes(row), message, exactBytes); });
    time(tr("Transfer"), transfer, 86, tr("Shortest duration among the ranks"));
    maker
        .add(makeColumn(tr("Last"), Kind::Text, 66),
             [](const CollectiveRow& row) {
                 return makeWords(row.last.empty() ? notMeasured() : QString::fromStdString(row.last), {},
                                  row.late.count() > 0 ? Tone::Strong : Tone::Plain);
             })
        .tip = tr("The rank that started last");
    time(tr("Late"), late, 76, tr("Lateness that begins here; earlier lateness is not counted again"));
    time(tr("Wait"), wait, 76, tr("Total time that the other ranks wait for it"));
    maker
        .add(makeColumn(tr("Bus, GB/s"), Kind::Number, 80),
             [](const CollectiveRow& row) {
                 return makeNumber(row.bandwidth ? std::optional(row.bandwidth->bus) : std::nullopt,
                                   Unit{"GB/s", 1});
             })
        .tip = tr("Bus bandwidth as nccl-tests defines it, from the transfer time");
    if (table.link)
        maker
            .add(makeColumn(tr("Of link, %"), Kind::Number, 80),
                 [&table](const CollectiveRow& row) {
                     return makeNumber(table.linkPercent(row), Unit{"%", 1});
                 })
            .tip = tr("Bus bandwidth as a share of %1 GB/s in one direction (%2)")
                       .arg(table.link->bytesPerSecond / 1e9, 0, 'f', 0)
                       .arg(QString::fromStdString(table.link->source));
    time(tr("Exposed"), exposed, 86, tr("Without a compute kernel of the same rank, mean over the ranks"));
    if (std::ranges::any_of(rows, [](const CollectiveRow* row) { return row->tightest() != nullptr; })) {
        time(tr("Slack"), slack, 76, tr("From the end of an all-gather to the work that needs it"));
        time(tr("Stall"), stall, 76, tr("How long a stream waited for an all-gather; 0: it ended in time"));
    }
    std::vector<CollectiveRow> copies;
    for (const CollectiveRow* row : rows)
        copies.push_back(*row);
    TableData data =
        maker.table(copies, [](const CollectiveRow&) { return Swatch::of(query::Hue::Collective); });
    for (std::size_t i = 0; i < rows.size(); ++i)
        data.rows[i].id = rows[i] - table.collectives.data();
    return data;
}

TableData collectiveRankRows(const CollectiveRow& collective)
{
    std::vector<const CollectiveRank*> rows;
    Timestamp first = Timestamp::max();
    for (const CollectiveRank& rank : collective.ranks) {
        rows.push_back(&rank);
        first = std::min(first, rank.start);
    }
    using Kind = TableColumn::Kind;
    TableMaker<CollectiveRank> maker;
    maker.add(makeColumn(tr("Rank"), Kind::Text, 0), [last = collective.last](const CollectiveRank& rank) {
        return makeWords(rank.title.empty() ? tr("the process") : QString::fromStdString(rank.title), {},
                         !last.empty() && rank.title == last ? Tone::Strong : Tone::Plain);
    });
    const auto time = [&](const QString& title, auto get, const QString& tip) {
        const Unit unit = timeUnit(largest(rows, get));
        maker
            .add(makeColumn(titleIn(title, unit), Kind::Number, 78),
                 [get, unit](const CollectiveRank& rank) { return makeNumber(get(rank), unit, exactTime); })
            .tip = tip;
    };
    time(
        tr("Start"),
        [first](const CollectiveRank& rank) { return std::optional(nanoseconds(rank.start - first)); },
        tr("After the first rank"));
    time(
        tr("Takes"), [](const CollectiveRank& rank) { return std::optional(nanoseconds(rank.duration)); },
        tr("Its duration on this rank"));
    time(
        tr("Waits"), [](const CollectiveRank& rank) { return std::optional(nanoseconds(rank.wait)); },
        tr("For the rank that starts last"));
    time(
        tr("Exposed"), [](const CollectiveRank& rank) { return std::optional(nanoseconds(rank.exposed)); },
        tr("Without a compute kernel of this rank"));
    return maker.table(collective.ranks, [](const CollectiveRank&) { return Swatch(); });
}

} // namespace tilescope::ui
