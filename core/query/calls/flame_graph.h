#pragma once

#include "core/query/calls/call_tree_difference.h"
#include "core/query/timeline/hue.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// A node of a call tree as a box. Its width is its amount; its position says nothing.
struct FlameBox {
    std::int64_t start = 0; ///< amount from the left edge
    std::int64_t end = 0;
    CallTree::Node node = CallTree::kRoot;
    std::uint32_t label = 0; ///< index into FlameGraph::labels
    Hue hue = Hue::Other;
};

/// A call tree laid out for drawing: children within their parents, the largest first. Immutable.
struct FlameGraph {
    CallTreeTable table = {};
    bool isInverted = false; ///< callers are below what they called
    CallTree::Sums sums = {};
    std::vector<std::vector<FlameBox>> rows = {}; ///< by depth; the boxes of a row are disjoint and in order
    std::vector<std::string> labels = {};         ///< names for readers: short ones of kernels
    /// The box of a node: its row and its place in it.
    struct Place {
        std::uint32_t row = 0;
        std::uint32_t box = 0;
    };
    std::shared_ptr<const CallTreeDifference> difference = {}; ///< of two runs; null: of one
    std::vector<Place> places = {}; ///< by node; those of the root and of nodes without time are unused

    std::int64_t width() const { return sums.amount.empty() ? 0 : sums.amount.front(); }
    /// 0 to 1.
    double shareOfAll(std::int64_t amount) const
    {
        return width() > 0 ? static_cast<double>(amount) / static_cast<double>(width()) : 0;
    }
    const FlameBox& boxOf(CallTree::Node node) const { return rows[places[node].row][places[node].box]; }
    const std::string& labelOf(CallTree::Node node) const { return labels[boxOf(node).label]; }
    /// step/forward/layers.3: the modules around a node and itself if it is one.
    std::string modulePath(CallTree::Node node) const { return table.tree.modulePath(node); }
};

/// O(n log n). Nodes without time are left out.
/// \param filters  applied to the tree before it is inverted
FlameGraph flameGraph(CallTreeTable table, bool isInverted, std::span<const CallFilter> filters = {});
/// Of two runs. A box is as wide as the larger sides of what is at the ends of its stacks.
/// \param isInverted  whether the trees of `difference` are
/// \param filters     that were applied to them
FlameGraph flameGraph(std::shared_ptr<const CallTreeDifference> difference, bool isInverted,
                      std::span<const CallFilter> filters = {});

/// How much of a node A gained in B, from -1 (only A has it) to 1 (only B): (b - a) / max(a, b). None in a graph of
/// one run.
std::optional<double> changeOf(const FlameGraph& graph, CallTree::Node node);

/// The result of a search.
struct FlameMatches {
    std::vector<bool> has; ///< by node
    std::int64_t boxes = 0;
    std::int64_t amount = 0; ///< of the matching boxes; one inside another adds nothing
    std::int64_t a = 0;      ///< the same in each of two runs
    std::int64_t b = 0;
    std::int64_t count = 0; ///< of activities in them
};

/// The boxes with this text in their name or label, in either case. None for an empty text.
FlameMatches findBoxes(const FlameGraph& graph, std::string_view text);

/// Equal calls together.
struct FlameShare {
    CallTree::Node node = CallTree::kRoot; ///< one of them
    std::int64_t amount = 0;               ///< of two runs the drawn width, which neither of them has
    std::int64_t count = 0;
    std::int64_t a = 0; ///< amounts and counts in each of two runs; the counts are of all steps
    std::int64_t b = 0;
    std::int64_t countA = 0;
    std::int64_t countB = 0;
};

/// What took the time of a node: the calls at the ends of its stacks, or of an inverted tree its callers; the most
/// time first. `kRoot` for everything.
std::vector<FlameShare> sharesOf(const FlameGraph& graph, CallTree::Node node);

} // namespace tilescope::query
