#include "ui/ranks/lateness_grid.h"

#include "core/analysis/stats/statistics.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <map>
#include <span>

namespace tilescope::ui {

namespace {

constexpr std::size_t kMostInOrder = 4; ///< of more ranks, the latest come first

QString latenessText(const char* text)
{
    return QCoreApplication::translate("LatenessGrid", text);
}

/// The ranks of the collectives in the order of their numbers.
std::vector<LatenessGrid::Rank> ranksOf(const query::RanksTable& table,
                                        const std::vector<std::size_t>& collectives,
                                        const std::optional<std::set<ProcessIndex>>& found)
{
    std::map<std::pair<std::int32_t, std::int32_t>, LatenessGrid::Rank> ranks;
    for (const std::size_t index : collectives)
        for (const query::CollectiveRank& rank : table.collectives[index].ranks)
            if (!found || found->contains(rank.process))
                ranks.try_emplace({rank.rank.value_or(-1), rank.process.value},
                                  LatenessGrid::Rank{rank.process, rank.title.empty()
                                                                       ? latenessText("the process")
                                                                       : QString::fromStdString(rank.title)});
    std::vector<LatenessGrid::Rank> result;
    for (auto& [number, rank] : ranks)
        result.push_back(std::move(rank));
    return result;
}

QString nameOf(const query::CollectiveRow& row, bool hasSeveralGroups)
{
    QString name = QString::fromStdString(row.op);
    if (row.sequence >= 0)
        name += QStringLiteral(" %1").arg(row.sequence);
    if (!row.group.empty() && hasSeveralGroups)
        name = latenessText("%1 of group %2").arg(name, QString::fromStdString(row.group));
    return name;
}

} // namespace

QString collectiveName(const query::RanksTable& table, const query::CollectiveRow& row)
{
    return nameOf(row, table.hasSeveralGroups());
}

std::optional<std::set<ProcessIndex>> foundRanks(const query::RanksTable& table, const QString& text)
{
    const QString wanted = text.simplified();
    if (wanted.isEmpty())
        return {};
    bool isNumber = false;
    const int number = wanted.toInt(&isNumber);
    std::set<ProcessIndex> found;
    for (const query::RankRow& row : table.rows)
        if (isNumber ? row.rank == number
                     : QString::fromStdString(row.title).contains(wanted, Qt::CaseInsensitive) ||
                           QString::fromStdString(row.host).contains(wanted, Qt::CaseInsensitive))
            found.insert(row.process);
    return found;
}

LatenessGrid latenessGrid(const query::RanksTable& table, std::optional<std::int32_t> step,
                          const std::optional<std::set<ProcessIndex>>& found)
{
    LatenessGrid grid;
    const bool hasSeveralGroups = table.hasSeveralGroups(); // looks at all collectives
    for (std::size_t i = 0; i < table.collectives.size(); ++i)
        if (!step || table.collectives[i].step == *step) {
            const query::CollectiveRow& row = table.collectives[i];
            const QString name = nameOf(row, hasSeveralGroups);
            grid.collectives.push_back(i);
            grid.names.push_back(step || row.step == kNoStep
                                     ? name
                                     : latenessText("step %1, %2").arg(QString::number(row.step), name));
            grid.numbers.push_back(row.sequence < 0 ? QString() : wholeNumber(row.sequence));
        }
    grid.ranks = ranksOf(table, grid.collectives, found);
    const std::size_t columns = grid.collectives.size();
    std::map<ProcessIndex, std::size_t> rowOf;
    for (std::size_t row = 0; row < grid.ranks.size(); ++row)
        rowOf[grid.ranks[row].process] = row;
    std::vector<std::optional<double>> late(grid.ranks.size() * columns);
    for (std::size_t column = 0; column < columns; ++column) {
        const query::CollectiveRow& collective = table.collectives[grid.collectives[column]];
        if (!collective.transfer)
            continue;
        const Timestamp first = collective.firstStart();
        for (const query::CollectiveRank& rank : collective.ranks) {
            const auto place = rowOf.find(rank.process);
            if (place == rowOf.end())
                continue;
            LatenessGrid::Rank& row = grid.ranks[place->second];
            const auto value = double((rank.start - first).count());
            late[place->second * columns + column] = value;
            row.lateness += value;
            row.last += !collective.last.empty() && rank.title == collective.last ? 1 : 0;
            grid.most = std::max(grid.most, value);
        }
    }
    for (std::size_t row = 0; row < grid.ranks.size(); ++row) {
        std::vector<double> known;
        for (std::size_t column = 0; column < columns; ++column)
            if (const std::optional<double>& value = late[row * columns + column])
                known.push_back(*value);
        if (!known.empty())
            grid.ranks[row].median = analysis::median(known);
    }
    std::vector<std::size_t> order(grid.ranks.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    if (order.size() > kMostInOrder)
        std::ranges::stable_sort(order, std::ranges::greater{},
                                 [&](std::size_t row) { return grid.ranks[row].lateness; });
    std::vector<LatenessGrid::Rank> ranks;
    for (const std::size_t row : order) {
        ranks.push_back(std::move(grid.ranks[row]));
        grid.late.insert(grid.late.end(), late.begin() + std::ptrdiff_t(row * columns),
                         late.begin() + std::ptrdiff_t((row + 1) * columns));
    }
    grid.ranks = std::move(ranks);
    return grid;
}

QString LatenessGrid::lastWords() const
{
    std::vector<const Rank*> order;
    for (const Rank& rank : ranks)
        if (rank.last > 0)
            order.push_back(&rank);
    if (order.empty())
        return {};
    std::ranges::stable_sort(order, std::ranges::greater{}, &Rank::last);
    constexpr std::size_t kMostNamed = 8;
    QStringList words;
    for (const Rank* rank : std::span(order).first(std::min(order.size(), kMostNamed)))
        words << QStringLiteral("%1: %2").arg(rank->title, wholeNumber(rank->last));
    if (order.size() > kMostNamed)
        words << latenessText("%1 others").arg(wholeNumber(std::int64_t(order.size() - kMostNamed)));
    return latenessText("Last to start: %1 of %2")
        .arg(words.join(QStringLiteral(", ")), wholeNumber(std::ssize(collectives)));
}

TableData LatenessGrid::table() const
{
    TableData values;
    values.columns = {makeColumn(latenessText("Collective"), TableColumn::Kind::Text, 0),
                      makeColumn(latenessText("Rank"), TableColumn::Kind::Text, 80),
                      makeColumn(latenessText("Late, ns"), TableColumn::Kind::Number, 100)};
    for (std::size_t column = 0; column < collectives.size(); ++column)
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            const std::optional<double>& value = at(rank, column);
            TableRow& row = values.rows.emplace_back();
            row.id = std::int64_t(values.rows.size()) - 1;
            row.cells = {makeWords(names[column]), makeWords(ranks[rank].title),
                         makeWords(value ? QString::number(std::llround(*value)) : notMeasured())};
        }
    return values;
}

} // namespace tilescope::ui
