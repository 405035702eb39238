#include "ui/flame/flame_shares.h"

#include "core/exchange/calls/call_columns.h"
#include "ui/kit/table_cells.h"

#include <QObject>

#include <algorithm>
#include <optional>

namespace tilescope::ui {

namespace {

using Node = query::CallTree::Node;
using query::CallTree;
using query::CallWeight;

// Equal calls together.
struct ShareRow : query::CallTreeRow {
    Node node = CallTree::kRoot; // one of them
};

// A share is what ends at its calls or, if the graph is inverted, all that their callers take.
std::vector<ShareRow> rowsOf(const query::FlameGraph& graph, const std::vector<query::FlameShare>& shares)
{
    std::vector<ShareRow> rows;
    for (const query::FlameShare& share : shares) {
        ShareRow& row = rows.emplace_back();
        row.node = share.node;
        row.self = row.total = share.amount / std::max<std::int64_t>(1, graph.table.steps);
        row.count = share.count;
        row.percent = 100 * graph.shareOfAll(share.amount);
    }
    return rows;
}

// What took the time of the selected box in one run.
TableData tableOfOne(const query::FlameGraph& graph, Node node, const std::vector<query::FlameShare>& shares)
{
    const CallTree& tree = graph.table.tree;
    const std::vector<ShareRow> listed = rowsOf(graph, shares);
    const exchange::CallColumns of(graph.table);
    const bool isSelf = graph.table.isTime() && !graph.table.onGpu && !graph.isInverted;
    const exchange::CallColumns::Of& amount = isSelf ? of.self : of.total;
    TableMaker<ShareRow> maker(listed);
    maker
        .add(makeColumn(endWords(graph).first, TableColumn::Kind::Text, 0),
             [&](const ShareRow& row) {
                 return makeWords(boxTitle(graph, row.node), QString::fromStdString(tree.nameOf(row.node)));
             })
        .swatch = true;
    maker.add(of.count, 60);
    maker.add(amount, 76);
    maker.addBar(amount, 110);
    maker.add(
        exchange::ColumnOf<ShareRow>("", "of the box",
                                     [box = double(std::max<std::int64_t>(1, graph.sums.amount[node])) /
                                            double(std::max<std::int64_t>(1, graph.table.steps))](
                                         const ShareRow& row) { return 100.0 * double(row.total) / box; },
                                     {.unit = quantity::Unit::Percent}),
        86);
    maker.add(of.percent, 104);
    return maker.table(listed, [&](const ShareRow& row) { return Swatch::of(graph.boxOf(row.node).hue); });
}

// Both runs side by side. The drawn widths are the larger of both, so neither run has them.
TableData tableOfTwo(const query::FlameGraph& graph, const std::vector<query::FlameShare>& shares)
{
    using Share = query::FlameShare;
    using Of = exchange::ColumnOf<Share>;
    const CallTree& tree = graph.table.tree;
    const quantity::Unit unit = exchange::amountsOf(graph.table).unit;
    const double allA = double(graph.difference->totalA.front());
    const double allB = double(graph.difference->totalB.front());
    double most = 0;
    for (const Share& row : shares)
        most = std::max({most, double(row.a), double(row.b)});
    TableMaker<Share> maker(shares);
    maker
        .add(makeColumn(endWords(graph).first, TableColumn::Kind::Text, 0),
             [&](const Share& row) {
                 return makeWords(boxTitle(graph, row.node), QString::fromStdString(tree.nameOf(row.node)));
             })
        .swatch = true;
    const auto amount = [&maker, unit](const char* name, std::int64_t Share::*value,
                                       std::int64_t Share::*count) {
        maker.add(Of("", name,
                     [value, count](const Share& row) {
                         return row.*count > 0 ? std::optional(double(row.*value)) : std::nullopt;
                     },
                     {.unit = unit, .unitGroup = 1}),
                  70, kMissingIsZero);
    };
    amount("A", &Share::a, &Share::countA);
    amount("B", &Share::b, &Share::countB);
    maker
        .add(makeColumn(QObject::tr("A over B"), TableColumn::Kind::Bar, 70),
             [most](const Share& row) {
                 TableCell bar = makeBar(double(row.a), most);
                 bar.secondBar = most > 0 ? double(row.b) / most : -1;
                 return bar;
             })
        .sortable = false;
    maker.add(Of("", "B - A", [](const Share& row) { return double(row.b - row.a); },
                 {.unit = unit, .meaning = exchange::Meaning::Difference, .unitGroup = 1}),
              80);
    const auto percent = [&maker](const char* name, std::int64_t Share::*value, double all) {
        maker.add(Of("", name,
                     [value, all](const Share& row) {
                         return all > 0 ? std::optional(100 * double(row.*value) / all) : std::nullopt;
                     },
                     {.unit = quantity::Unit::Percent}),
                  66);
    };
    percent("of A", &Share::a, allA);
    percent("of B", &Share::b, allB);
    return maker.table(shares, [&](const Share& row) { return Swatch::of(graph.boxOf(row.node).hue); });
}

} // namespace

QString boxTitle(const query::FlameGraph& graph, Node node)
{
    return node == CallTree::kRoot ? QObject::tr("Whole run") : QString::fromStdString(graph.labelOf(node));
}

std::pair<QString, QString> endWords(const query::FlameGraph& graph)
{
    if (graph.isInverted)
        return {QObject::tr("Caller"), QObject::tr("Callers")};
    if (graph.table.weight == CallWeight::Allocated)
        return {QObject::tr("Category"), QObject::tr("Categories")};
    if (graph.table.weight == CallWeight::Idle)
        return {QObject::tr("Cause"), QObject::tr("Causes")};
    if (graph.table.weight == CallWeight::Samples)
        return {QObject::tr("Line"), QObject::tr("Lines")};
    return graph.table.weight == CallWeight::Time && graph.table.onGpu
               ? std::pair(QObject::tr("Kernel"), QObject::tr("Kernels"))
               : std::pair(QObject::tr("Op"), QObject::tr("Ops"));
}

TableData sharesTable(const query::FlameGraph& graph, Node node, const std::vector<query::FlameShare>& shares)
{
    return graph.difference ? tableOfTwo(graph, shares) : tableOfOne(graph, node, shares);
}

} // namespace tilescope::ui
