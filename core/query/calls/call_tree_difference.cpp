#include "core/query/calls/call_tree_difference.h"

#include "core/base/error.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

namespace tilescope::query {

namespace {

std::int64_t tracedSteps(const store::RunReader& reader, RunId run)
{
    std::set<std::int32_t> steps;
    reader.eachRange({.run = run}, [&steps](const Range& range) {
        if (range.step != kNoStep)
            steps.insert(range.step);
        return true;
    });
    return std::ssize(steps);
}

std::int64_t stepMean(std::int64_t amount, std::int64_t steps)
{
    return steps == 1 ? amount
                      : std::llround(static_cast<double>(amount) /
                                     static_cast<double>(std::max<std::int64_t>(1, steps)));
}

/// Adds the stacks of one side to the joined tree.
void joinSide(const CallTree& side, std::int64_t steps, CallTree& joined, std::vector<std::int64_t>& amounts,
              std::vector<std::int64_t>& counts)
{
    std::vector<CallTree::Node> places(side.entries().size(), CallTree::kRoot);
    for (CallTree::Node node = CallTree::kRoot; node < side.entries().size(); ++node) {
        const CallTree::Entry& entry = side.entries()[node];
        if (node != CallTree::kRoot)
            places[node] = joined.child(places[entry.parent], entry.kind, side.nameOf(node));
        const CallTree::Node place = places[node];
        if (place >= amounts.size()) {
            amounts.resize(place + 1);
            counts.resize(place + 1);
        }
        amounts[place] += stepMean(entry.amount, steps);
        counts[place] += entry.count;
    }
}

/// The amounts of each node with everything below it.
std::vector<std::int64_t> withBelow(const CallTree& tree, std::vector<std::int64_t> amounts)
{
    for (std::size_t node = tree.entries().size(); node-- > 1;)
        amounts[tree.entries()[node].parent] += amounts[node];
    return amounts;
}

} // namespace

CallTreeDifference callTreeDifference(const store::RunReader& a, const EventQuery& queryA,
                                      const store::RunReader& b, const EventQuery& queryB,
                                      CallTreeOptions options, bool isInverted,
                                      const std::optional<TimeSpan>& spanB,
                                      const std::function<bool()>& cancelled)
{
    const RunId runA = chooseRun(a, queryA.run).run;
    const RunId runB = chooseRun(b, queryB.run).run;
    CallTreeDifference difference;
    const std::int64_t stepsA = tracedSteps(a, runA);
    const std::int64_t stepsB = tracedSteps(b, runB);
    const bool isPerStep = stepsA > 0 && stepsB > 0 && !options.span && !spanB;
    options.scope = isPerStep ? CallTreeScope::Steps : CallTreeScope::Recording;
    if (isPerStep) {
        difference.stepsA = stepsA;
        difference.stepsB = stepsB;
    }
    CallTreeTable left = callTree(a, queryA, options, cancelled);
    if (spanB)
        options.span = spanB;
    CallTreeTable right = callTree(b, queryB, options, cancelled);
    if (options.weight == CallWeight::Idle) { // a step of it is what the table of waiting says
        const bool hasSteps = left.steps > 0 && right.steps > 0;
        difference.stepsA = hasSteps ? left.steps : 1;
        difference.stepsB = hasSteps ? right.steps : 1;
        right.whole = !hasSteps;
        right.steps = 0; // the amounts are of one
    }
    if (left.onGpu != right.onGpu)
        throw Error{.what = "only one of the two runs was traced on a GPU",
                    .where = b.file().string(),
                    .remedy = "compare their host time: --weight host"};
    if (isInverted) {
        left.tree = inverted(left.tree);
        right.tree = inverted(right.tree);
    }
    const auto hiddenOf = [](const CallTreeTable& side, std::int64_t steps) {
        return HiddenCalls{stepMean(side.hidden.amount, steps), side.hidden.count};
    };
    difference.hiddenA = hiddenOf(left, difference.stepsA);
    difference.hiddenB = hiddenOf(right, difference.stepsB);
    CallTree joined;
    joinSide(left.tree, difference.stepsA, joined, difference.selfA, difference.countA);
    joinSide(right.tree, difference.stepsB, joined, difference.selfB, difference.countB);
    const std::size_t nodes = joined.entries().size();
    for (auto* list : {&difference.selfA, &difference.selfB, &difference.countA, &difference.countB})
        list->resize(nodes);
    for (CallTree::Node node = CallTree::kRoot; node < nodes; ++node)
        if (difference.countA[node] + difference.countB[node] > 0)
            joined.add(node, std::max(difference.selfA[node], difference.selfB[node]),
                       difference.countB[node]);
    difference.totalA = withBelow(joined, difference.selfA);
    difference.totalB = withBelow(joined, difference.selfB);
    difference.countA = withBelow(joined, std::move(difference.countA));
    difference.countB = withBelow(joined, std::move(difference.countB));
    difference.a = std::move(left.run);
    difference.joined = std::move(right);
    difference.joined.tree = std::move(joined);
    return difference;
}

std::vector<CallTreeDifferenceRow> rowsOf(const CallTreeDifference& difference, std::size_t most)
{
    const auto change = [&difference](CallTree::Node node) {
        return std::abs(difference.totalB[node] - difference.totalA[node]);
    };
    std::vector<CallTreeDifferenceRow> rows;
    for (CallPlace& place : depthFirst(difference.joined.tree, most, change)) {
        const CallTree::Node node = place.node;
        rows.push_back({std::move(place), difference.totalA[node], difference.totalB[node],
                        difference.selfB[node] - difference.selfA[node], difference.countA[node],
                        difference.countB[node]});
    }
    return rows;
}

} // namespace tilescope::query
