#include "core/query/work/replay_op.h"

#include "core/analysis/work/replayable.h"
#include "core/base/error.h"
#include "core/base/number_text.h"

#include <algorithm>

namespace tilescope::query {

namespace {

constexpr const char* kWhere = "--op";
constexpr const char* kListed = "tilescope show FILE roofline --group shape";

Op findOp(const store::RunReader& reader, const store::RunRecord& run, OpId id)
{
    std::optional<Op> found;
    reader.eachOp({.run = run.run}, [&](const Op& op) {
        if (op.id == id)
            found = op;
        return !found;
    });
    if (!found)
        throw Error{.what = "run " + std::to_string(run.run.value) + " has no op " + std::to_string(id.value),
                    .where = kWhere,
                    .remedy = std::string("see first_op of: ") + kListed + " --format json"};
    return *found;
}

/// The first op with the arguments that took most time.
OpId findNamed(const RooflineTable& table, const std::string& name)
{
    const auto row = std::ranges::find_if(
        table.rows, [&](const RooflineRow& each) { return each.op == name && each.firstOp; });
    if (row == table.rows.end())
        throw Error{.what = "run " + std::to_string(table.run.run.value) + " has no op '" + name + "'",
                    .where = kWhere,
                    .remedy = std::string("see ") + kListed};
    return row->firstOp;
}

} // namespace

ReplayOp replayOp(const store::RunReader& reader, std::optional<RunId> run, const std::string& asked)
{
    const RooflineTable table = roofline(reader, {.run = run, .grouping = Grouping::Shape});
    const auto number = parseNumber<std::uint32_t>(asked);
    const Op op = findOp(reader, table.run, number ? OpId{*number} : findNamed(table, asked));
    ReplayOp found{.run = table.run, .op = std::string(reader.text(op.name)), .ceilings = table.ceilings};
    if (const auto why = analysis::whyNotReplayable(found.op))
        throw Error{.what = *why, .where = kWhere, .remedy = std::string("choose another op: ") + kListed};
    if (!op.shapes)
        throw Error{.what = "the arguments of this " + found.op + " were not recorded",
                    .where = kWhere,
                    .remedy = std::string(whyNoShapes(table.run))};
    found.shapes = reader.text(op.shapes);
    const auto row = std::ranges::find_if(table.rows, [&](const RooflineRow& each) {
        return each.op == found.op && each.shapes == found.shapes;
    });
    if (row != table.rows.end())
        found.row = *row;
    return found;
}

} // namespace tilescope::query
