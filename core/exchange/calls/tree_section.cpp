#include "core/analysis/kernels/kernel_families.h"
#include "core/base/plural.h"
#include "core/exchange/calls/call_columns.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/sections.h"

namespace tilescope::exchange {

namespace {

using query::CallWeight;

/// As in the table of kernels, indented by its depth.
std::string callText(const auto& row)
{
    constexpr std::size_t kIndent = 2;
    const auto device = query::deviceKindOf(row.kind);
    return std::string(kIndent * row.depth, ' ') +
           (device ? analysis::KernelFamilies::standard().describe(row.name, *device).shortName : row.name);
}

std::string partText(const query::CallTreeTable& tree)
{
    if (tree.weight == CallWeight::Idle && tree.steps > 0)
        return counted(tree.steps, "step");
    if (!tree.span)
        return tree.whole ? "whole recording" : "traced steps";
    return spanText(*tree.span);
}

std::string whyEmpty(const query::CallTreeTable& tree)
{
    const std::string none = "None of the run's ";
    switch (tree.weight) {
    case CallWeight::Allocated:
        return tree.events == 0 ? whyNoEvents(tree.run, "allocations")
                                : none + counted(tree.events, "event") + " of an allocator is selected.";
    case CallWeight::Flops:
    case CallWeight::Moved:
        return "No op with recorded shapes and a rule is selected: run with --shapes true, or record with "
               "--ops.";
    case CallWeight::Idle:
    case CallWeight::Samples:
        return tree.whyEmpty;
    default:
        return tree.events == 0 ? whyNoActivities(tree.run, "kernels or ops")
                                : none +
                                      counted(tree.events, tree.onGpu ? "GPU activity" : "op",
                                              tree.onGpu ? "GPU activities" : "ops") +
                                      " is selected.";
    }
}

/// The part that filters left out, and the total with the rows.
void noteHidden(Table& table, const query::CallTreeTable& tree)
{
    if (tree.hidden.count == 0)
        return;
    const CallAmounts amounts = amountsOf(tree);
    const auto hidden = static_cast<double>(tree.hidden.amount);
    const double whole = hidden + static_cast<double>(tree.tree.totalAmount());
    table.notes.push_back("The filters hide " + withUnit(hidden, amounts.unit) + " of " +
                          withUnit(whole, amounts.unit) + "; shares are of what is left.");
}

void noteOmitted(Table& table, std::size_t nodes)
{
    if (table.rows < nodes)
        table.notes.push_back(
            "The largest " + std::to_string(table.rows) + " of " + std::to_string(nodes) +
            " calls (--limit 0: all); their parts that are not shown count in their totals.");
}

} // namespace

Table tableOf(std::shared_ptr<const query::CallTreeTable> tree, std::size_t most)
{
    using Row = query::CallTreeRow;
    const auto rows = std::make_shared<const std::vector<Row>>(query::rowsOf(tree->tree, most));
    const ColumnsOf column(rows, *rows);
    const CallColumns of(*tree);
    Table table{.heading = describeRun(tree->run) + "; " + partText(*tree) + ", " + amountsOf(*tree).name,
                .rows = rows->size()};
    table.columns = {column.programs("id", &Row::id),
                     column.programs("parent", &Row::parent),
                     column.programs("name", &Row::name),
                     column.people("call", callText<Row>, {.keep = 2, .elidable = true}),
                     column(of.kind),
                     column(of.total),
                     column(of.percent),
                     column(of.self),
                     column(of.count),
                     column.programs("path", [](const Row& row) { return cellOrNull(row.path); })};
    table.whyEmpty = tree->hidden.count > 0 ? "The filters hide every stack." : whyEmpty(*tree);
    noteHidden(table, *tree);
    noteOmitted(table, tree->tree.entries().size() - 1);
    return table;
}

Table tableOf(std::shared_ptr<const query::CallTreeDifference> difference, std::size_t most)
{
    using Row = query::CallTreeDifferenceRow;
    const auto rows = std::make_shared<const std::vector<Row>>(query::rowsOf(*difference, most));
    const ColumnsOf column(rows, *rows);
    const query::CallTreeTable& tree = difference->joined;
    const CallAmounts amounts = amountsOf(tree);
    Table table{.heading = "A: " + describeRun(difference->a) + "; B: " + describeRun(tree.run) + "; " +
                           (difference->isPerStep() ? "mean traced step" : partText(tree)) + ", " +
                           amounts.name,
                .rows = rows->size()};
    const Shown shown{.unit = amounts.unit, .keep = 2, .unitGroup = 1};
    table.columns = {column.programs("id", &Row::id),
                     column.programs("parent", &Row::parent),
                     column.programs("name", &Row::name),
                     column.people("call", callText<Row>, {.keep = 2, .elidable = true}),
                     column("kind", "kind", [](const Row& row) { return query::wordOf(row.kind); }),
                     column("a_" + amounts.key, "A", &Row::a, shown),
                     column("b_" + amounts.key, "B", &Row::b, shown),
                     column("difference_" + amounts.key, "B - A", &Row::change, shown),
                     column("self_difference_" + amounts.key, "of it self", &Row::selfChange,
                            {.unit = amounts.unit, .unitGroup = 1}),
                     column("count_a", "count A", &Row::countA),
                     column("count_b", "count B", &Row::countB),
                     column.programs("path", [](const Row& row) { return cellOrNull(row.path); })};
    const query::HiddenCalls& hiddenA = difference->hiddenA;
    const query::HiddenCalls& hiddenB = difference->hiddenB;
    table.whyEmpty = hiddenA.count + hiddenB.count > 0 ? "The filters hide every stack." : whyEmpty(tree);
    if (hiddenA.count + hiddenB.count > 0)
        table.notes.push_back("The filters hide A " +
                              withUnit(static_cast<double>(hiddenA.amount), amounts.unit) + ", B " +
                              withUnit(static_cast<double>(hiddenB.amount), amounts.unit) + ".");
    noteOmitted(table, tree.tree.entries().size() - 1);
    return table;
}

} // namespace tilescope::exchange
