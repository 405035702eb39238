#include "core/query/calls/call_tree_filter.h"

#include "core/base/error.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace tilescope::query {

namespace {

using Node = CallTree::Node;

constexpr Node kNoCall = CallTree::kRoot;

/// By node: the innermost call of that name in its stack, itself included; kNoCall if there is none.
std::vector<Node> innermostCalls(const CallTree& tree, const std::string& name)
{
    std::vector<bool> isNamed(tree.names().size());
    for (std::size_t i = 0; i < isNamed.size(); ++i)
        isNamed[i] = tree.names()[i] == name;
    std::vector<Node> innermost(tree.entries().size(), kNoCall);
    for (Node node = CallTree::kRoot + 1; node < innermost.size(); ++node) {
        const CallTree::Entry& entry = tree.entries()[node];
        innermost[node] = isNamed[entry.name] ? node : innermost[entry.parent];
    }
    return innermost;
}

/// The stacks at whose ends `keeps` is true.
FilteredCalls keptStacks(const CallTree& tree, const std::vector<bool>& keeps)
{
    FilteredCalls result;
    std::vector<bool> isNeeded(tree.entries().size()); // it or something below is kept
    for (Node node = Node(tree.entries().size()); node-- > CallTree::kRoot + 1;) {
        const CallTree::Entry& entry = tree.entries()[node];
        if (entry.count > 0 && keeps[node])
            isNeeded[node] = true;
        if (isNeeded[node])
            isNeeded[entry.parent] = true;
    }
    std::vector<Node> places(tree.entries().size(), CallTree::kRoot);
    for (Node node = CallTree::kRoot; node < places.size(); ++node) {
        const CallTree::Entry& entry = tree.entries()[node];
        if (node != CallTree::kRoot && isNeeded[node])
            places[node] = result.tree.child(places[entry.parent], entry.kind, tree.nameOf(node));
        if (keeps[node])
            result.tree.add(places[node], entry.amount, entry.count);
        else
            result.hidden.add(entry.amount, entry.count);
    }
    return result;
}

FilteredCalls callersOf(const CallTree& tree, const std::vector<Node>& innermost)
{
    FilteredCalls result;
    std::vector<std::pair<std::int64_t, std::int64_t>> sums(
        tree.entries().size()); // amount and count by call
    for (Node node = CallTree::kRoot; node < innermost.size(); ++node) {
        const CallTree::Entry& entry = tree.entries()[node];
        if (innermost[node] == kNoCall) {
            result.hidden.add(entry.amount, entry.count);
        } else {
            sums[innermost[node]].first += entry.amount;
            sums[innermost[node]].second += entry.count;
        }
    }
    for (Node node = CallTree::kRoot + 1; node < sums.size(); ++node) {
        if (sums[node].second == 0)
            continue;
        Node to = CallTree::kRoot;
        for (Node at = node; at != CallTree::kRoot; at = tree.entries()[at].parent)
            to = result.tree.child(to, tree.entries()[at].kind, tree.nameOf(at));
        result.tree.add(to, sums[node].first, sums[node].second);
    }
    return result;
}

FilteredCalls calleesOf(const CallTree& tree, const std::string& name)
{
    FilteredCalls result;
    std::vector<Node> places(tree.entries().size(), CallTree::kRoot); // within an outermost call of that name
    for (Node node = CallTree::kRoot; node < places.size(); ++node) {
        const CallTree::Entry& entry = tree.entries()[node];
        const bool isWithin =
            node != CallTree::kRoot && (places[entry.parent] != CallTree::kRoot || tree.nameOf(node) == name);
        if (isWithin) {
            places[node] = result.tree.child(places[entry.parent], entry.kind, tree.nameOf(node));
            result.tree.add(places[node], entry.amount, entry.count);
        } else {
            result.hidden.add(entry.amount, entry.count);
        }
    }
    return result;
}

FilteredCalls filteredBy(const CallTree& tree, const CallFilter& filter)
{
    if (filter.kind == CallFilter::Kind::Callees)
        return calleesOf(tree, filter.name);
    const std::vector<Node> innermost = innermostCalls(tree, filter.name);
    if (filter.kind == CallFilter::Kind::Callers)
        return callersOf(tree, innermost);
    std::vector<bool> keeps(innermost.size());
    for (std::size_t node = 0; node < keeps.size(); ++node)
        keeps[node] = (innermost[node] != kNoCall) == (filter.kind == CallFilter::Kind::KeepOnly);
    return keptStacks(tree, keeps);
}

} // namespace

FilteredCalls filtered(const CallTree& tree, std::span<const CallFilter> filters)
{
    FilteredCalls result;
    const CallTree* current = &tree;
    for (const CallFilter& filter : filters) {
        FilteredCalls next = filteredBy(*current, filter);
        next.hidden.add(result.hidden.amount, result.hidden.count);
        result = std::move(next);
        current = &result.tree;
    }
    if (filters.empty())
        result.tree = tree;
    return result;
}

CallTreeTable filtered(CallTreeTable table, std::span<const CallFilter> filters)
{
    if (filters.empty())
        return table;
    FilteredCalls result = filtered(table.tree, filters);
    table.tree = std::move(result.tree);
    table.hidden.add(result.hidden.amount, result.hidden.count);
    return table;
}

std::string_view wordOf(CallFilter::Kind kind)
{
    constexpr std::array<std::string_view, 4> kWords{"keep", "hide", "callers", "callees"};
    return kWords[static_cast<std::size_t>(kind)];
}

CallFilter callFilter(std::string_view text)
{
    const std::size_t equals = std::min(text.find('='), text.size());
    for (const auto kind : {CallFilter::Kind::KeepOnly, CallFilter::Kind::Hide, CallFilter::Kind::Callers,
                            CallFilter::Kind::Callees})
        if (text.substr(0, equals) == wordOf(kind) && equals + 1 < text.size())
            return {kind, std::string(text.substr(equals + 1))};
    throw Error{.what = "'" + std::string(text) + "' is not a filter",
                .where = "--filter",
                .remedy =
                    "keep=NAME, hide=NAME, callers=NAME or callees=NAME, with the whole name of a call"};
}

bool showsCallers(std::span<const CallFilter> filters)
{
    return std::ranges::count(filters, CallFilter::Kind::Callers, &CallFilter::kind) % 2 == 1;
}

} // namespace tilescope::query
