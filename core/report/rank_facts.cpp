#include "core/report/rank_facts.h"

#include "core/analysis/stats/statistics.h"
#include "core/exchange/ranks/collective_columns.h"
#include "core/query/advice/rank_answers.h"

#include <algorithm>
#include <set>

namespace tilescope::report {

namespace {

using exchange::Unit;

Measured inMilliseconds(Nanoseconds time)
{
    return {static_cast<double>(time.count()) / 1e6, {}, 1, Unit::Milliseconds};
}

std::size_t stepsOf(const query::RanksTable& ranks)
{
    std::set<std::int32_t> steps;
    for (const query::RankRow& row : ranks.rows)
        steps.insert(row.step);
    return std::max<std::size_t>(1, steps.size());
}

Measured inAStep(const query::RanksTable& ranks, Nanoseconds time)
{
    return inMilliseconds(time / static_cast<std::int64_t>(stepsOf(ranks)));
}

std::int64_t largestMessage(const query::RanksTable& ranks)
{
    std::int64_t largest = 0;
    for (const query::CollectiveRow& row : ranks.collectives)
        largest = std::max(largest, row.bytes.value_or(Bytes{}).count);
    return largest;
}

/// The median of a column over the collectives with the largest message.
Fact medianOf(const query::RanksTable& ranks, const exchange::ColumnOf<query::CollectiveRow>& column)
{
    const std::int64_t largest = largestMessage(ranks);
    std::vector<double> values;
    Unit unit = Unit::None;
    for (const query::CollectiveRow& row : ranks.collectives)
        if (row.bytes.value_or(Bytes{}).count == largest)
            if (const Fact fact = factOf(column, row); const auto* measured = std::get_if<Measured>(&fact)) {
                values.push_back(measured->value);
                unit = measured->unit;
            }
    const auto statistics = analysis::summarise(values);
    return statistics ? factOf(*statistics, unit) : Fact();
}

/// The bytes that all ranks of a group send together, in a ring.
double bytesSentByAll(const query::CollectiveRow& row)
{
    if (!row.bandwidth || !row.transfer)
        return 0;
    const double each = row.bandwidth->bus * static_cast<double>(row.transfer->count()); // 10^9 B/s times ns
    const double senders = row.op == "broadcast" ? row.groupSize - 1 : row.groupSize;
    return each * senders;
}

Fact gatherFact(const query::RanksTable& ranks, std::string_view which)
{
    const query::GatherTotals totals = query::gatherTotals(ranks);
    if (totals.gathers == 0)
        return {};
    if (which == "gathers")
        return Measured{static_cast<double>(totals.gathers) / static_cast<double>(stepsOf(ranks))};
    if (which == "late_gathers")
        return Measured{static_cast<double>(totals.late) / static_cast<double>(stepsOf(ranks))};
    if (which == "stall")
        return inAStep(ranks, totals.stall);
    if (which == "slack")
        return inMilliseconds(totals.worst->tightest()->slack->slack);
    return {};
}

} // namespace

Fact ranksFact(const query::RanksTable& ranks, std::string_view which)
{
    const auto mean = ranks.meanStep();
    if (!mean)
        return {};
    if (which == "late")
        return ranks.sentence();
    const Nanoseconds wall = mean->wall.length();
    if (which == "exposed_share")
        return wall.count() > 0
                   ? Fact(Measured{100 * static_cast<double>(mean->exposedCommunication.count()) /
                                       static_cast<double>(wall.count()),
                                   {},
                                   1,
                                   Unit::Percent})
                   : Fact();
    const std::pair<std::string_view, Nanoseconds> parts[] = {
        {"wall", wall},
        {"compute", mean->compute},
        {"overlapped", mean->overlapped},
        {"exposed", mean->exposedCommunication},
        {"communication", mean->exposedCommunication + mean->overlapped},
        {"copies", mean->exposedCopies},
        {"host", mean->host},
        {"idle", mean->idle}};
    const auto found = std::ranges::find(parts, which, &std::pair<std::string_view, Nanoseconds>::first);
    return found == std::end(parts) ? Fact() : Fact(inMilliseconds(found->second));
}

Fact collectiveFact(const query::RanksTable& ranks, std::string_view which)
{
    if (ranks.collectives.empty())
        return {};
    if (which == "op") {
        std::set<std::string> ops;
        for (const query::CollectiveRow& row : ranks.collectives)
            ops.insert(row.op);
        std::string text;
        for (const std::string& op : ops)
            text += (text.empty() ? "" : ", ") + op;
        return text;
    }
    if (which == "count")
        return Measured{static_cast<double>(ranks.collectives.size()) / static_cast<double>(stepsOf(ranks))};
    if (which == "message")
        return Measured{static_cast<double>(largestMessage(ranks)), {}, 1, Unit::Bytes};
    if (which == "sent") {
        double bytes = 0; // of all ranks
        for (const query::CollectiveRow& row : ranks.collectives)
            bytes += bytesSentByAll(row);
        const auto rankSteps =
            static_cast<double>(std::max<std::size_t>(1, ranks.rankCount) * stepsOf(ranks));
        return Measured{bytes / rankSteps, {}, 1, Unit::Bytes};
    }
    if (which == "wait") {
        Nanoseconds sum{0};
        for (const query::CollectiveRow& row : ranks.collectives)
            sum += row.wait();
        return inAStep(ranks, sum);
    }
    const exchange::CollectiveColumns of(ranks);
    const auto* const column = columnOf<query::CollectiveRow>(which, {{"transfer", &of.transfer},
                                                                      {"algorithm", &of.algorithmRate},
                                                                      {"bus", &of.busRate},
                                                                      {"link_share", &of.linkPercent}});
    return column ? medianOf(ranks, *column) : gatherFact(ranks, which);
}

} // namespace tilescope::report
