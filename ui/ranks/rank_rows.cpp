#include "ui/ranks/rank_rows.h"

#include "core/exchange/ranks/collective_columns.h"
#include "ui/kit/path_text.h"
#include "ui/kit/table_cells.h"
#include "ui/ranks/lateness_grid.h"

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
    StepBar bar(bool isComputeKnown) const
    {
        StepBar bar{{}, title, {}};
        const auto part = [&](const QString& label, query::Hue hue, Nanoseconds time) {
            if (time.count() > 0)
                bar.parts.push_back({label, hue, nanoseconds(time) / steps});
        };
        if (!isComputeKnown) {
            part(tr("not recorded: neither kernels nor ops"), query::Hue::GapUnexplained,
                 parts.exposedCommunication + parts.exposedCopies + parts.host + parts.idle);
            return bar;
        }
        part(tr("compute"), query::Hue::Busy, parts.compute - parts.overlapped);
        part(tr("compute with communication"), query::Hue::GapSynchronizing, parts.overlapped);
        part(tr("exposed communication"), query::Hue::Collective, parts.exposedCommunication);
        part(tr("exposed copies"), query::Hue::Copy, parts.exposedCopies);
        part(tr("host"), query::Hue::GapLaunching, parts.host);
        part(tr("idle"), query::Hue::GapUnexplained, parts.idle);
        return bar;
    }
};

} // namespace

std::vector<std::int32_t> stepsOf(const query::RanksTable& table)
{
    std::set<std::int32_t> steps;
    for (const RankRow& row : table.rows)
        steps.insert(row.step);
    return {steps.begin(), steps.end()};
}

std::vector<StepBar> rankBars(const query::RanksTable& table, std::optional<std::int32_t> step,
                              const std::optional<std::set<ProcessIndex>>& found)
{
    std::vector<Sums> ranks; // in the order of the rows, which is that of the ranks
    std::map<ProcessIndex, std::size_t> places;
    const bool onlyTypical =
        !step && std::ranges::any_of(table.rows, [](const RankRow& row) { return row.leftOut.empty(); });
    for (const RankRow& row : table.rows) {
        if ((step && row.step != *step) || (onlyTypical && !row.leftOut.empty()) ||
            (found && !found->contains(row.process)))
            continue;
        const auto [place, isNew] = places.try_emplace(row.process, ranks.size());
        if (isNew)
            ranks.push_back({.title = titleOf(row)});
        ranks[place->second].add(row.parts);
    }
    std::vector<StepBar> bars;
    for (const Sums& sums : ranks)
        bars.push_back(sums.bar(table.isComputeKnown));
    return bars;
}

TableData collectiveRows(const query::RanksTable& table, std::optional<std::int32_t> step)
{
    std::vector<CollectiveRow> rows;
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < table.collectives.size(); ++i)
        if (!step || table.collectives[i].step == *step) {
            rows.push_back(table.collectives[i]);
            ids.push_back(std::int64_t(i));
        }
    const exchange::CollectiveColumns of(table);
    TableMaker<CollectiveRow> maker(rows);
    if (!step)
        maker.add(of.step, 48);
    maker.add(of.sequence, 48).tip = tr("Number of the collective within its group of ranks");
    if (table.hasSeveralGroups()) {
        TableColumn& group = maker.add(of.group, 64);
        group.tip = tr("Group of ranks, which numbers its collectives by itself");
        group.dim = true;
    }
    maker.add(of.op, 0, [](TableCell& cell, const CollectiveRow& row) {
        QString where = row.range.empty() ? QString() : belowStep(row.range);
        // A range of the library repeats the op: backward/nccl:all_reduce.
        if (const qsizetype last = where.lastIndexOf(QLatin1Char('/')) + 1;
            where.mid(last).endsWith(cell.text))
            where.truncate(std::max<qsizetype>(0, last - 1));
        if (!where.isEmpty())
            cell.text += QLatin1Char(' ') + where;
    });
    maker.add(of.bytes, 96);
    maker.add(of.transfer, 86).tip = tr("Shortest duration among the ranks");
    maker
        .add(of.last, 66,
             [](TableCell& cell, const CollectiveRow& row) {
                 cell.tone = row.late.count() > 0 ? Tone::Strong : Tone::Plain;
             })
        .tip = tr("The rank that started last");
    maker.add(of.late, 76).tip = tr("Lateness that begins here; earlier lateness is not counted again");
    maker.add(of.wait, 76).tip = tr("Total time that the other ranks wait for it");
    // In a narrow table, dim numbers go before names are cut to a few letters.
    const auto addDim = [&maker](const auto& column, int width, const QString& tip) {
        TableColumn& added = maker.add(column, width);
        added.tip = tip;
        added.dim = true;
    };
    addDim(of.busRate, 80, tr("Bus bandwidth as nccl-tests defines it, from the transfer time"));
    if (table.link)
        addDim(of.linkPercent, 80,
               tr("Bus bandwidth as a share of %1 GB/s in one direction (%2)")
                   .arg(table.link->bytesPerSecond / 1e9, 0, 'f', 0)
                   .arg(QString::fromStdString(table.link->source)));
    addDim(of.exposed, 86, tr("Without a compute kernel of the same rank, mean over the ranks"));
    if (std::ranges::any_of(rows, [](const CollectiveRow& row) { return row.tightest() != nullptr; })) {
        addDim(of.slack, 76, tr("From the end of an all-gather to the work that needs it"));
        addDim(of.stall, 76, tr("How long a stream waited for an all-gather; 0: it ended in time"));
    }
    TableData data =
        maker.table(rows, [](const CollectiveRow&) { return Swatch::of(query::Hue::Collective); });
    for (std::size_t i = 0; i < rows.size(); ++i)
        data.rows[i].id = ids[i];
    return data;
}

TableData collectiveRankRows(const CollectiveRow& collective)
{
    const exchange::CollectiveRankColumns of;
    TableMaker<CollectiveRank> maker(collective.ranks);
    maker
        .add(of.rank, 0,
             [&collective](TableCell& cell, const CollectiveRank& rank) {
                 cell = makeWords(
                     rank.title.empty() ? tr("the process") : QString::fromStdString(rank.title), {},
                     !collective.last.empty() && rank.title == collective.last ? Tone::Strong : Tone::Plain);
             })
        .kind = TableColumn::Kind::Text;
    maker
        .add(exchange::CollectiveRankColumns::after(collective.ranks.empty() ? Timestamp{}
                                                                             : collective.firstStart()),
             78)
        .tip = tr("Its start, after that of the first rank");
    maker.add(of.duration, 92).tip = tr("Its duration on this rank");
    maker.add(of.wait, 78).tip = tr("For the rank that starts last");
    TableColumn& exposed = maker.add(of.exposed, 84);
    exposed.tip = tr("Without a compute kernel of this rank");
    exposed.dim = true; // goes where the table is narrow
    return maker.table(collective.ranks, [](const CollectiveRank&) { return Swatch(); });
}

} // namespace tilescope::ui
