#include "core/query/calls/flame_graph.h"

#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/waiting/host_cause.h"
#include "core/model/autograd_op.h"
#include "core/query/calls/call_tree_filter.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tilescope::query {

namespace {

/// "step (train.py)" of "train.py(12): step".
std::string shortFrame(const std::string& name)
{
    const auto parts = analysis::partsOf(name);
    if (parts.file.empty())
        return name;
    return std::string(parts.name) + " (" + std::string(parts.file.substr(parts.file.rfind('/') + 1)) + ")";
}

/// Equal names of one kind are described once.
class Labels {
public:
    Labels(const CallTreeTable& table, std::vector<std::string>& labels)
        : tree_(table.tree), byLaunch_(table.byLaunch), labels_(labels),
          isIdle_(table.weight == CallWeight::Idle)
    {
    }

    struct Label {
        std::uint32_t index = 0;
        Hue hue = Hue::Other;
    };
    Label of(CallTree::Node node)
    {
        const CallTree::Entry& entry = tree_.entries()[node];
        constexpr int kKindBits = 8;
        const std::uint64_t key =
            std::uint64_t{entry.name} << kKindBits | static_cast<std::uint8_t>(entry.kind);
        const auto [known, isNew] = known_.try_emplace(key);
        if (isNew)
            known->second = make(entry.kind, tree_.nameOf(node));
        return known->second;
    }

private:
    Label make(CallKind kind, const std::string& name)
    {
        const auto index = static_cast<std::uint32_t>(labels_.size());
        if (const auto device = deviceKindOf(kind)) {
            analysis::KernelDescription description =
                analysis::KernelFamilies::standard().describe(name, *device);
            const auto launched =
                description.family == analysis::KernelFamily::Other ? byLaunch_.find(name) : byLaunch_.end();
            const Hue hue = launched == byLaunch_.end() ? description.family : launched->second;
            labels_.push_back(std::move(description.shortName));
            return {index, hue};
        }
        labels_.push_back(isIdle_ && kind == CallKind::Frame ? shortFrame(name)
                          : kind == CallKind::Op             ? std::string(withoutEvaluation(name))
                                                             : name);
        switch (kind) {
        case CallKind::Frame:
            return {index, hueOfFrame(name)};
        case CallKind::Op:
            return {index, hueOfOp(name)};
        default:
            return {index, Hue::Range};
        }
    }

    const CallTree& tree_;
    const LaunchFamilies& byLaunch_;
    std::vector<std::string>& labels_;
    bool isIdle_;
    std::unordered_map<std::uint64_t, Label> known_;
};

char lower(char c)
{
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool contains(std::string_view text, std::string_view part)
{
    return std::search(text.begin(), text.end(), part.begin(), part.end(),
                       [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

/// By node of a tree of idle time: the cause of most of it, if that is most of all; otherwise Range.
std::vector<Hue> huesOfCauses(const CallTree& tree)
{
    constexpr double kMost = 0.6;
    std::vector<std::array<std::int64_t, analysis::kHostCauses>> times(tree.entries().size());
    for (CallTree::Node end = CallTree::kRoot + 1; end < tree.entries().size(); ++end) {
        const std::int64_t amount = tree.entries()[end].amount;
        std::optional<analysis::HostCause> cause;
        for (CallTree::Node at = end; at != CallTree::kRoot && !cause; at = tree.entries()[at].parent)
            if (tree.entries()[at].kind == CallKind::Cause)
                cause = analysis::hostCauseOf(tree.nameOf(at));
        for (CallTree::Node at = end; cause && at != CallTree::kRoot; at = tree.entries()[at].parent)
            times[at][static_cast<std::size_t>(*cause)] += amount;
    }
    std::vector<Hue> hues;
    for (const auto& byCause : times) {
        const auto* const most = std::ranges::max_element(byCause);
        const auto sum = std::accumulate(byCause.begin(), byCause.end(), std::int64_t{0});
        const bool isClear = *most > 0 && static_cast<double>(*most) >= kMost * static_cast<double>(sum);
        hues.push_back(isClear ? hueOfCause(static_cast<analysis::HostCause>(most - byCause.begin()))
                               : Hue(Hue::Range));
    }
    return hues;
}

/// Places the boxes of its tree.
void layOut(FlameGraph& graph)
{
    const CallTree& tree = graph.table.tree;
    graph.sums = tree.sums();
    graph.places.resize(tree.entries().size());
    const std::vector<std::int64_t>& ns = graph.sums.amount;
    std::vector<CallTree::Node> order(tree.entries().size() - 1);
    std::iota(order.begin(), order.end(), CallTree::kRoot + 1);
    // Sorted by parent, so that the children of a node are adjacent; the longest comes first.
    std::ranges::sort(order, [&](CallTree::Node a, CallTree::Node b) {
        const CallTree::Node left = tree.entries()[a].parent;
        const CallTree::Node right = tree.entries()[b].parent;
        return left != right ? left < right : ns[a] != ns[b] ? ns[a] > ns[b] : a < b;
    });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> children(tree.entries().size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        auto& [first, last] = children[tree.entries()[order[i]].parent];
        if (last == 0)
            first = i;
        last = i + 1;
    }
    Labels labels(graph.table, graph.labels);
    const bool isIdle = graph.table.weight == CallWeight::Idle;
    const std::vector<Hue> waits = isIdle ? huesOfCauses(tree) : std::vector<Hue>();
    // Level by level, each in order of its start.
    std::vector<FlameBox> above{{.start = 0, .end = graph.width(), .node = CallTree::kRoot}};
    while (!above.empty()) {
        std::vector<FlameBox> row;
        for (const FlameBox& parent : above) {
            std::int64_t at = parent.start;
            const auto [first, last] = children[parent.node];
            for (std::uint32_t i = first; i < last; ++i) {
                const CallTree::Node node = order[i];
                if (ns[node] == 0)
                    break;
                const Labels::Label label = labels.of(node);
                Hue hue = label.hue;
                if (tree.entries()[node].kind == CallKind::Module)
                    hue = hueOfRange(tree.modulePath(node));
                if (isIdle)
                    hue = waits[node];
                graph.places[node] = {static_cast<std::uint32_t>(graph.rows.size()),
                                      static_cast<std::uint32_t>(row.size())};
                row.push_back({at, at + ns[node], node, label.index, hue});
                at += ns[node];
            }
        }
        if (!row.empty())
            graph.rows.push_back(row);
        above = std::move(row);
    }
}

} // namespace

FlameGraph flameGraph(CallTreeTable table, bool isInverted, std::span<const CallFilter> filters)
{
    table = filtered(std::move(table), filters);
    if (isInverted)
        table.tree = inverted(table.tree);
    FlameGraph graph{.table = std::move(table), .isInverted = isInverted != showsCallers(filters)};
    layOut(graph);
    return graph;
}

FlameGraph flameGraph(std::shared_ptr<const CallTreeDifference> difference, bool isInverted,
                      std::span<const CallFilter> filters)
{
    FlameGraph graph{.table = difference->joined, .isInverted = isInverted != showsCallers(filters)};
    graph.difference = std::move(difference);
    layOut(graph);
    return graph;
}

std::optional<double> changeOf(const FlameGraph& graph, CallTree::Node node)
{
    if (!graph.difference)
        return {};
    const auto a = static_cast<double>(graph.difference->totalA[node]);
    const auto b = static_cast<double>(graph.difference->totalB[node]);
    const double larger = std::max(a, b);
    return larger > 0 ? (b - a) / larger : 0;
}

FlameMatches findBoxes(const FlameGraph& graph, std::string_view text)
{
    const CallTree& tree = graph.table.tree;
    FlameMatches found{.has = std::vector<bool>(tree.entries().size())};
    if (text.empty())
        return found;
    std::vector<bool> names(tree.names().size());
    for (std::size_t i = 0; i < names.size(); ++i)
        names[i] = contains(tree.names()[i], text);
    std::vector<bool> labels(graph.labels.size());
    for (std::size_t i = 0; i < labels.size(); ++i)
        labels[i] = contains(graph.labels[i], text);
    std::vector<bool> within(tree.entries().size()); // of a match
    for (const std::vector<FlameBox>& row : graph.rows)
        for (const FlameBox& box : row) {
            const CallTree::Entry& entry = tree.entries()[box.node];
            const bool matches = names[entry.name] || labels[box.label];
            found.has[box.node] = matches;
            within[box.node] = matches || within[entry.parent];
            if (!matches)
                continue;
            ++found.boxes;
            if (!within[entry.parent]) {
                found.amount += graph.sums.amount[box.node];
                if (graph.difference) {
                    found.a += graph.difference->totalA[box.node];
                    found.b += graph.difference->totalB[box.node];
                }
                found.count += graph.sums.count[box.node];
            }
        }
    return found;
}

std::vector<FlameShare> sharesOf(const FlameGraph& graph, CallTree::Node node)
{
    const CallTree& tree = graph.table.tree;
    std::unordered_map<std::uint64_t, FlameShare> shares;
    const auto add = [&](CallTree::Node at, std::int64_t ns, std::int64_t count) {
        constexpr int kKindBits = 8;
        const CallTree::Entry& entry = tree.entries()[at];
        FlameShare& share =
            shares[std::uint64_t{entry.name} << kKindBits | static_cast<std::uint8_t>(entry.kind)];
        if (share.count == 0)
            share.node = at;
        share.amount += ns;
        share.count += count;
        if (const CallTreeDifference* both = graph.difference.get()) {
            const bool ends = !graph.isInverted;
            share.a += (ends ? both->selfA : both->totalA)[at];
            share.b += (ends ? both->selfB : both->totalB)[at];
            share.countA += both->countA[at];
            share.countB += both->countB[at];
        }
    };
    std::vector<bool> below(tree.entries().size());
    below[node] = true;
    for (CallTree::Node at = node; at < tree.entries().size(); ++at) {
        const CallTree::Entry& entry = tree.entries()[at];
        if (at != node && at != CallTree::kRoot)
            below[at] = below[entry.parent];
        if (!below[at])
            continue;
        if (graph.isInverted) {
            if (at != node && entry.parent == node && graph.sums.amount[at] > 0)
                add(at, graph.sums.amount[at], graph.sums.count[at]);
        } else if (entry.amount > 0) {
            add(at, entry.amount, entry.count);
        }
    }
    std::vector<FlameShare> list;
    list.reserve(shares.size());
    for (const auto& [key, share] : shares)
        list.push_back(share);
    std::ranges::sort(list, [](const FlameShare& a, const FlameShare& b) {
        return a.amount != b.amount ? a.amount > b.amount : a.node < b.node;
    });
    return list;
}

} // namespace tilescope::query
