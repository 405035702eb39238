#include "core/analysis/kernels/kernel_families.h"
#include "core/base/plural.h"
#include "core/exchange/section_parts.h"
#include "core/exchange/sections.h"

namespace tilescope::exchange {

namespace {

/// As in the table of kernels.
std::string shortName(const query::CallTreeRow& row)
{
    const auto device = query::deviceKindOf(row.kind);
    return device ? analysis::KernelFamilies::standard().describe(row.name, *device).shortName : row.name;
}

} // namespace

Table tableOf(std::shared_ptr<const query::CallTreeTable> tree, std::size_t most)
{
    using Row = query::CallTreeRow;
    const auto rows = std::make_shared<const std::vector<Row>>(query::rowsOf(tree->tree, most));
    const ColumnsOf column(rows, *rows);
    const std::string time = tree->onGpu ? "GPU time" : "self time of ops";
    Table table{.heading = describeRun(tree->run) +
                           (tree->whole ? "; whole recording, " : "; traced steps, ") + time,
                .rows = rows->size()};
    table.columns = {column.programs("id", &Row::id),
                     column.programs("parent", &Row::parent),
                     column.programs("name", &Row::name),
                     column.people("call",
                                   [](const Row& row) {
                                       constexpr std::size_t kIndent = 2;
                                       return std::string(kIndent * row.depth, ' ') + shortName(row);
                                   },
                                   {.keep = 2, .elidable = true}),
                     column("kind", "kind", [](const Row& row) { return query::wordOf(row.kind); }),
                     column("total_ns", "total", &Row::total, {.keep = 2, .sharesUnit = true}),
                     column("percent", tree->onGpu ? "of GPU time" : "of self time", &Row::percent,
                            {.unit = Unit::Percent, .keep = 2}),
                     column("self_ns", "self", &Row::self, {.sharesUnit = true}),
                     column("count", "count", &Row::count),
                     column.programs("path", [](const Row& row) { return cellOrNull(row.path); })};
    const std::string what = tree->onGpu ? "GPU activity" : "op";
    table.whyEmpty = tree->events == 0
                         ? whyNoEvents(tree->run, "kernels or ops")
                         : "None of the run's " +
                               counted(tree->events, what, tree->onGpu ? "GPU activities" : "ops") +
                               " is selected.";
    const std::size_t nodes = tree->tree.entries().size() - 1;
    if (rows->size() < nodes)
        table.notes.push_back(
            "The longest " + std::to_string(rows->size()) + " of " + std::to_string(nodes) +
            " calls (--limit 0: all); their parts that are not shown count in their totals.");
    return table;
}

} // namespace tilescope::exchange
