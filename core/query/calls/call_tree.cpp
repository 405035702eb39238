#include "core/query/calls/call_tree.h"

#include "core/base/error.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

namespace tilescope::query {

namespace {

constexpr std::array<std::string_view, 7> kWeights{"time",  "host", "allocated", "flops",
                                                   "bytes", "idle", "samples"};
constexpr int kHalf = 32;
constexpr int kKindBits = 4;

std::uint64_t pairOf(std::uint32_t high, std::uint32_t low)
{
    return std::uint64_t{high} << kHalf | low;
}

/// The nodes to show: the largest, of equal ones those that stand first, so that a parent is before its children.
std::vector<bool> largest(const std::vector<std::int64_t>& amount, std::size_t most)
{
    std::vector<bool> keep(amount.size(), true);
    if (most == 0 || amount.size() <= most + 1)
        return keep;
    std::vector<CallTree::Node> nodes(amount.size() - 1);
    std::iota(nodes.begin(), nodes.end(), CallTree::kRoot + 1);
    const auto last = nodes.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(nodes.begin(), last, nodes.end(), [&amount](CallTree::Node a, CallTree::Node b) {
        return amount[a] != amount[b] ? amount[a] > amount[b] : a < b;
    });
    std::for_each(last, nodes.end(), [&keep](CallTree::Node node) { keep[node] = false; });
    return keep;
}

double shareOf(std::int64_t part, std::int64_t whole)
{
    return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

} // namespace

std::string_view wordOf(CallKind kind)
{
    constexpr std::array<std::string_view, 10> kWords{"process", "frame",  "module",     "op",    "kernel",
                                                      "copy",    "memset", "allocation", "cause", "call"};
    return kWords[static_cast<std::size_t>(kind)];
}

std::string_view wordOf(CallWeight weight)
{
    return kWeights[static_cast<std::size_t>(weight)];
}

CallWeight callWeightOf(std::string_view word)
{
    const auto* const known = std::ranges::find(kWeights, word);
    if (known == kWeights.end())
        throw Error{.what = "'" + std::string(word) + "' is not a weight",
                    .where = "--weight",
                    .remedy = "allowed: time, host, allocated, flops, bytes, idle, samples"};
    return static_cast<CallWeight>(known - kWeights.begin());
}

std::uint32_t CallTree::nameIndex(std::string_view name)
{
    const auto [text, isNew] =
        nameIndex_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
    if (isNew)
        names_.emplace_back(name);
    return text->second;
}

CallTree::Node CallTree::child(Node parent, CallKind kind, std::string_view name)
{
    return child(parent, kind, nameIndex(name));
}

CallTree::Node CallTree::child(Node parent, CallKind kind, std::uint32_t name)
{
    const auto [node, isNew] =
        children_.try_emplace(pairOf(parent, name << kKindBits | static_cast<std::uint32_t>(kind)),
                              static_cast<Node>(entries_.size()));
    if (isNew)
        entries_.push_back({.parent = parent, .name = name, .kind = kind});
    return node->second;
}

void CallTree::add(Node node, std::int64_t amount, std::int64_t count)
{
    entries_[node].amount += amount;
    entries_[node].count += count;
}

void CallTree::renameAll(const std::function<std::string(const std::string&)>& rename)
{
    for (std::string& name : names_)
        name = rename(name);
    nameIndex_.clear();
}

std::vector<std::uint32_t> CallTree::stackOf(Node node) const
{
    std::vector<std::uint32_t> stack;
    for (; node != kRoot; node = entries_[node].parent)
        stack.push_back(entries_[node].name);
    std::ranges::reverse(stack);
    return stack;
}

std::string CallTree::modulePath(Node node) const
{
    std::string path;
    for (; node != kRoot; node = entries_[node].parent)
        if (entries_[node].kind == CallKind::Module)
            path = nameOf(node) + (path.empty() ? "" : "/" + path);
    return path;
}

CallTree::Sums CallTree::sums() const
{
    Sums sums{.amount = std::vector<std::int64_t>(entries_.size()),
              .count = std::vector<std::int64_t>(entries_.size())};
    for (std::size_t node = entries_.size(); node-- > 0;) {
        sums.amount[node] += entries_[node].amount;
        sums.count[node] += entries_[node].count;
        if (node != kRoot) {
            sums.amount[entries_[node].parent] += sums.amount[node];
            sums.count[entries_[node].parent] += sums.count[node];
        }
    }
    return sums;
}

std::int64_t CallTree::totalAmount() const
{
    return std::accumulate(entries_.begin(), entries_.end(), std::int64_t{0},
                           [](std::int64_t sum, const Entry& entry) { return sum + entry.amount; });
}

std::int64_t CallTree::totalCount() const
{
    return std::accumulate(entries_.begin(), entries_.end(), std::int64_t{0},
                           [](std::int64_t sum, const Entry& entry) { return sum + entry.count; });
}

std::optional<DeviceEventKind> deviceKindOf(CallKind kind)
{
    switch (kind) {
    case CallKind::Kernel:
        return DeviceEventKind::Kernel;
    case CallKind::Copy:
        return DeviceEventKind::Memcpy;
    case CallKind::Memset:
        return DeviceEventKind::Memset;
    default:
        return {};
    }
}

CallTree inverted(const CallTree& tree)
{
    CallTree turned;
    for (CallTree::Node node = CallTree::kRoot + 1; node < tree.entries().size(); ++node) {
        const CallTree::Entry& end = tree.entries()[node];
        if (end.count == 0)
            continue;
        CallTree::Node to = CallTree::kRoot;
        for (CallTree::Node at = node; at != CallTree::kRoot; at = tree.entries()[at].parent)
            to = turned.child(to, tree.entries()[at].kind, tree.nameOf(at));
        turned.add(to, end.amount, end.count);
    }
    return turned;
}

std::vector<CallPlace> depthFirst(const CallTree& tree, std::size_t most,
                                  const std::function<std::int64_t(CallTree::Node)>& rank)
{
    const std::vector<bool> keep = largest(tree.sums().amount, most);
    std::vector<std::vector<CallTree::Node>> children(tree.entries().size());
    for (CallTree::Node node = CallTree::kRoot + 1; node < tree.entries().size(); ++node)
        if (keep[node])
            children[tree.entries()[node].parent].push_back(node);
    // The last of them is the next on the stack.
    for (std::vector<CallTree::Node>& each : children) {
        std::ranges::reverse(each);
        std::ranges::stable_sort(each, std::less{}, rank);
    }
    std::vector<CallPlace> order;
    std::vector<std::int64_t> ids(tree.entries().size(), -1);
    std::vector<CallTree::Node> todo = children[CallTree::kRoot];
    while (!todo.empty()) {
        const CallTree::Node node = todo.back();
        todo.pop_back();
        todo.insert(todo.end(), children[node].begin(), children[node].end());
        const CallTree::Entry& entry = tree.entries()[node];
        ids[node] = std::ssize(order);
        CallPlace place{.node = node, .id = ids[node], .name = tree.nameOf(node), .kind = entry.kind};
        if (const std::int64_t parent = ids[entry.parent]; parent >= 0) {
            place.parent = parent;
            place.depth = order[static_cast<std::size_t>(parent)].depth + 1;
        }
        if (entry.kind == CallKind::Module)
            place.path = tree.modulePath(node);
        order.push_back(std::move(place));
    }
    return order;
}

std::vector<CallTreeRow> rowsOf(const CallTree& tree, std::size_t most)
{
    const CallTree::Sums sums = tree.sums();
    std::vector<CallTreeRow> rows;
    for (CallPlace& place :
         depthFirst(tree, most, [&sums](CallTree::Node node) { return sums.amount[node]; })) {
        const CallTree::Node node = place.node;
        rows.push_back({std::move(place), tree.entries()[node].amount, sums.amount[node], sums.count[node],
                        shareOf(sums.amount[node], sums.amount[CallTree::kRoot])});
    }
    return rows;
}

} // namespace tilescope::query
