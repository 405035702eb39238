#include "ui/ranks/rank_lanes.h"

#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"
#include "ui/ranks/lateness_grid.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <map>

namespace tilescope::ui {

namespace {

using query::Lane;

QString lanesText(const char* text)
{
    return QCoreApplication::translate("RankLanes", text);
}

std::optional<std::int32_t> stepToShow(const query::RanksTable& table, std::optional<std::int32_t> wanted)
{
    if (wanted)
        return wanted;
    const std::vector<const query::RankRow*> rows = table.meanRows();
    return rows.empty() ? std::nullopt : std::optional(rows.front()->step);
}

/// The processes to show: all if they are few, otherwise those that are late.
std::set<ProcessIndex> chosenOf(const query::RanksTable& table, std::int32_t step,
                                const std::optional<std::set<ProcessIndex>>& found)
{
    std::set<ProcessIndex> all;
    for (const query::RankRow& row : table.rows)
        if (row.step == step && (!found || found->contains(row.process)))
            all.insert(row.process);
    if (all.size() <= RankLanes::kMost)
        return all;
    std::set<ProcessIndex> chosen;
    const LatenessGrid grid = latenessGrid(table, step, all); // of many ranks, the latest first
    for (const LatenessGrid::Rank& rank : grid.ranks)
        if (chosen.size() < RankLanes::kMost)
            chosen.insert(rank.process);
    for (const ProcessIndex process : all) // without collectives there is no order
        if (chosen.size() < RankLanes::kMost)
            chosen.insert(process);
    return chosen;
}

/// What is not communication, ns.
std::int64_t workIn(const query::Track& track, std::int64_t from, std::int64_t to)
{
    std::int64_t work = 0;
    const auto times = track.coveredByHue(from, to);
    for (std::size_t hue = 0; hue < times.size(); ++hue)
        work += query::Hue(hue) == query::Hue::Collective ? 0 : times[hue];
    return work;
}

/// The rows of a process with work, the busiest lane last: the others are seen where it pauses.
std::vector<RankLanes::Rows> workOf(const query::Timeline& timeline, ProcessIndex process, Lane::Kind kind,
                                    std::int64_t from, std::int64_t to)
{
    std::vector<std::pair<std::int64_t, RankLanes::Rows>> found;
    for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
        const Lane& lane = timeline.lanes[i];
        if (lane.kind != kind || lane.process != process)
            continue;
        std::int64_t all = 0;
        RankLanes::Rows rows{i, {}};
        const std::size_t count =
            kind == Lane::Kind::Stream ? lane.rows.size() : std::min<std::size_t>(1, lane.rows.size());
        for (std::size_t row = 0; row < count; ++row)
            if (const std::int64_t work = workIn(lane.rows[row], from, to); work > 0) {
                all += work;
                rows.rows.push_back(row);
            }
        if (all > 0)
            found.emplace_back(all, std::move(rows));
    }
    std::ranges::stable_sort(found, {}, &std::pair<std::int64_t, RankLanes::Rows>::first);
    std::vector<RankLanes::Rows> work;
    for (auto& [time, rows] : found)
        work.push_back(std::move(rows));
    return work;
}

} // namespace

RankLanes rankLanes(const query::RanksTable& table, std::optional<std::int32_t> wanted,
                    const std::optional<std::set<ProcessIndex>>& found)
{
    RankLanes lanes;
    const std::optional<std::int32_t> step = stepToShow(table, wanted);
    if (!step)
        return lanes;
    if (*step != kNoStep)
        lanes.step = step;
    const std::set<ProcessIndex> chosen = chosenOf(table, *step, found);
    std::map<ProcessIndex, std::size_t> placeOf;
    Timestamp end = Timestamp::min();
    lanes.begin = Timestamp::max();
    for (const query::RankRow& row : table.rows) {
        if (row.step != *step || (found && !found->contains(row.process)))
            continue;
        if (!chosen.contains(row.process)) {
            ++lanes.omitted;
            continue;
        }
        placeOf.emplace(row.process, lanes.ranks.size());
        lanes.ranks.push_back(
            {.process = row.process,
             .title = row.title.empty() ? lanesText("the process") : QString::fromStdString(row.title)});
        lanes.begin = std::min(lanes.begin, row.parts.wall.start);
        end = std::max(end, row.parts.wall.end);
    }
    if (lanes.ranks.empty())
        return lanes;
    lanes.length = double((end - lanes.begin).count());
    const auto at = [&lanes](Timestamp time) { return double((time - lanes.begin).count()); };
    for (std::size_t i = 0; i < table.collectives.size(); ++i) {
        const query::CollectiveRow& row = table.collectives[i];
        if (row.step != *step || row.ranks.empty())
            continue;
        const Timestamp first = row.firstStart();
        const auto endOf = [](const query::CollectiveRank& rank) { return rank.start + rank.duration; };
        const auto last = std::ranges::find(row.ranks, row.last, &query::CollectiveRank::title);
        const bool isLate = !row.last.empty() && last != row.ranks.end();
        lanes.collectives.push_back({.index = i,
                                     .name = collectiveName(table, row),
                                     .number = row.sequence < 0 ? QString() : wholeNumber(row.sequence),
                                     .last = isLate ? QString::fromStdString(row.last) : QString(),
                                     .first = at(first),
                                     .afterFirst = isLate ? double((last->start - first).count()) : 0,
                                     .end = at(endOf(std::ranges::max(row.ranks, {}, endOf))),
                                     .wait = double(row.wait().count())});
        for (const query::CollectiveRank& rank : row.ranks)
            if (const auto place = placeOf.find(rank.process); place != placeOf.end()) {
                const double start = at(rank.start);
                const auto duration = double(rank.duration.count());
                lanes.ranks[place->second].parts.push_back(
                    {.collective = lanes.collectives.size() - 1,
                     .start = start,
                     .ready = start + std::clamp(double(rank.wait.count()), 0.0, duration),
                     .end = start + duration,
                     .device = rank.device,
                     .stream = rank.stream,
                     .at = rank.start});
            }
    }
    return lanes;
}

void RankLanes::setWork(std::shared_ptr<const query::Timeline> run)
{
    timeline = std::move(run);
    if (isEmpty())
        return;
    const std::int64_t from = (begin - timeline->origin).count();
    const std::int64_t to = from + std::int64_t(length);
    for (Rank& rank : ranks) {
        // Streams tell what the device did. Without them, the outermost ops tell what the host did.
        rank.work = workOf(*timeline, rank.process, Lane::Kind::Stream, from, to);
        if (rank.work.empty())
            rank.work = workOf(*timeline, rank.process, Lane::Kind::Thread, from, to);
        const auto idle = std::ranges::find_if(timeline->lanes, [&rank](const Lane& lane) {
            return lane.kind == Lane::Kind::Busy && lane.process == rank.process && !lane.rows.empty();
        });
        rank.idle.reset();
        if (idle != timeline->lanes.end())
            rank.idle = {std::size_t(idle - timeline->lanes.begin()), {0}};
    }
}

const RankLanes::Part* RankLanes::partOf(std::size_t rank, std::size_t collective) const
{
    const std::vector<Part>& parts = ranks[rank].parts;
    const auto part = std::ranges::lower_bound(parts, collective, {}, &Part::collective);
    return part == parts.end() || part->collective != collective ? nullptr : &*part;
}

QString RankLanes::words(std::size_t rank, const Part& part) const
{
    const Collective& collective = collectives[part.collective];
    const QString& title = ranks[rank].title;
    if (collective.last == title && collective.afterFirst > 0)
        return lanesText("%1: %2 starts last, %3 after the first")
            .arg(collective.name, title, timeText(collective.afterFirst));
    if (part.ready > part.start)
        return collective.last.isEmpty()
                   ? lanesText("%1: %2 waits %3")
                         .arg(collective.name, title, timeText(part.ready - part.start))
                   : lanesText("%1: %2 waits %3 for %4")
                         .arg(collective.name, title, timeText(part.ready - part.start), collective.last);
    return lanesText("%1: %2 takes %3").arg(collective.name, title, timeText(part.end - part.start));
}

TableData RankLanes::table() const
{
    TableData values;
    values.columns = {makeColumn(lanesText("Collective"), TableColumn::Kind::Text, 0),
                      makeColumn(lanesText("Rank"), TableColumn::Kind::Text, 80),
                      makeColumn(lanesText("Start in step, ns"), TableColumn::Kind::Number, 100),
                      makeColumn(lanesText("Wait, ns"), TableColumn::Kind::Number, 100),
                      makeColumn(lanesText("Duration, ns"), TableColumn::Kind::Number, 100)};
    for (const Rank& rank : ranks)
        for (const Part& part : rank.parts) {
            TableRow& row = values.rows.emplace_back();
            row.id = std::int64_t(values.rows.size()) - 1;
            row.cells = {makeWords(collectives[part.collective].name), makeWords(rank.title)};
            for (const double time : {part.start, part.ready - part.start, part.end - part.start})
                row.cells.push_back(makeWords(QString::number(std::llround(time))));
        }
    return values;
}

} // namespace tilescope::ui
