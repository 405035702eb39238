#include "core/analysis/time/range_totals.h"

#include "core/analysis/time/path_glob.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tilescope::analysis {

namespace {

constexpr std::size_t kNone = ~std::size_t{0};
constexpr std::int32_t kNeverSeen = kNoStep - 1; // no event has this step

/// The time covered by intervals in start order; each instant counts once.
struct Coverage {
    Nanoseconds length{0};
    Timestamp until = Timestamp::min();

    void add(Timestamp start, Timestamp end)
    {
        const Timestamp from = std::max(start, until);
        if (end > from) {
            length += end - from;
            until = end;
        }
    }
};

struct Node {
    std::string path;
    std::size_t parent = kNone;
    std::vector<std::size_t> children;
    Timestamp first = Timestamp::max();
    std::int64_t ranges = 0;
    Nanoseconds wall{0};
    std::int64_t steps = 0;
    std::int32_t lastStep = kNeverSeen;
    Coverage ops;
    std::vector<std::pair<DeviceIndex, Coverage>> gpus; ///< usually one device
    bool hasOps = false;

    Coverage& gpu(DeviceIndex device)
    {
        for (auto& [known, coverage] : gpus)
            if (known == device)
                return coverage;
        return gpus.emplace_back(device, Coverage{}).second;
    }
    Nanoseconds gpuTime() const
    {
        Nanoseconds sum{0};
        for (const auto& [device, coverage] : gpus)
            sum += coverage.length;
        return sum;
    }
};

} // namespace

class RangeTotals::Tree {
public:
    Tree(const TextOf& textOf, RangeScope scope) : textOf_(textOf), scope_(scope) {}

    /// The node of a path id; kNone if the path is not in the scope.
    std::size_t nodeOf(StringId id)
    {
        if (!id)
            return kNone;
        const auto [entry, isNew] = byId_.try_emplace(id, kNone);
        if (isNew) {
            const std::string_view path =
                scope_ == RangeScope::Recording ? textOf_(id) : fromStepDown(textOf_(id));
            if (scope_ == RangeScope::Recording || path == "step" || path.starts_with("step/"))
                entry->second = nodeAt(path);
        }
        return entry->second;
    }

    /// Calls `visit` for the node and its ancestors.
    template <class Visit> void upwards(std::size_t node, Timestamp start, std::int32_t step, Visit&& visit)
    {
        for (; node != kNone; node = nodes_[node].parent) {
            Node& here = nodes_[node];
            here.first = std::min(here.first, start);
            if (step != here.lastStep) {
                here.lastStep = step;
                ++here.steps;
            }
            visit(here);
        }
    }

    Node& operator[](std::size_t index) { return nodes_[index]; }

    /// A module has no ranges in backward: it counts the calls in forward.
    std::int64_t instancesOf(const Node& node) const
    {
        if (node.ranges > 0)
            return node.ranges;
        const auto twin = byPath_.find(pathInForward(node.path));
        return twin != byPath_.end() && nodes_[twin->second].ranges > 0 ? nodes_[twin->second].ranges
                                                                        : node.steps;
    }

    bool empty() const { return nodes_.empty(); }

    /// Depth first; siblings by first start.
    std::vector<std::size_t> inTreeOrder()
    {
        const auto byStart = [this](std::size_t a, std::size_t b) {
            return nodes_[a].first != nodes_[b].first ? nodes_[a].first < nodes_[b].first : a < b;
        };
        for (Node& node : nodes_)
            std::ranges::sort(node.children, byStart);
        std::ranges::sort(roots_, byStart);
        std::vector<std::size_t> order;
        std::vector<std::size_t> stack(roots_.rbegin(), roots_.rend());
        while (!stack.empty()) {
            const std::size_t index = stack.back();
            stack.pop_back();
            order.push_back(index);
            stack.insert(stack.end(), nodes_[index].children.rbegin(), nodes_[index].children.rend());
        }
        return order;
    }

private:
    std::size_t nodeAt(std::string_view path)
    {
        if (const auto found = byPath_.find(path); found != byPath_.end())
            return found->second;
        const std::size_t slash = path.rfind('/');
        const std::size_t parent = slash == std::string_view::npos ? kNone : nodeAt(path.substr(0, slash));
        const std::size_t index = nodes_.size();
        nodes_.emplace_back();
        nodes_.back().path = path;
        nodes_.back().parent = parent;
        (parent == kNone ? roots_ : nodes_[parent].children).push_back(index);
        byPath_.emplace(path, index);
        return index;
    }

    const TextOf& textOf_;
    const RangeScope scope_;
    std::vector<Node> nodes_;
    std::vector<std::size_t> roots_; ///< only `step`, unless the scope is the recording
    std::map<std::string, std::size_t, std::less<>> byPath_;
    std::unordered_map<StringId, std::size_t> byId_;
};

RangeTotals::RangeTotals(const TextOf& textOf, RangeScope scope)
    : tree_(std::make_unique<Tree>(textOf, scope)), scope_(scope)
{
}
RangeTotals::~RangeTotals() = default;

void RangeTotals::add(const Range& range)
{
    const std::size_t index = covers(range.step) ? tree_->nodeOf(range.path) : kNone;
    if (index == kNone)
        return;
    Node& node = (*tree_)[index];
    node.first = std::min(node.first, range.start);
    node.wall += range.end - range.start;
    ++node.ranges;
}

void RangeTotals::add(const Op& op)
{
    if (covers(op.step))
        tree_->upwards(tree_->nodeOf(op.path), op.start, op.step, [&op](Node& node) {
            node.ops.add(op.start, op.end);
            node.hasOps = true;
        });
}

void RangeTotals::add(const DeviceEvent& event)
{
    hasGpu_ = true;
    if (covers(event.step))
        tree_->upwards(tree_->nodeOf(event.path),
                       event.launched == Timestamp{} ? event.start : event.launched, event.step,
                       [&event](Node& node) { node.gpu(event.device).add(event.start, event.end); });
}

std::vector<RangeTotal> RangeTotals::list()
{
    if (tree_->empty())
        return {};
    std::vector<RangeTotal> totals;
    for (const std::size_t index : tree_->inTreeOrder()) {
        const Node& node = (*tree_)[index];
        RangeTotal total{.path = node.path, .instances = tree_->instancesOf(node)};
        if (node.ranges > 0)
            total.wall = node.wall;
        else if (node.hasOps)
            total.wall = node.ops.length;
        if (hasGpu_)
            total.gpu = node.gpuTime();
        totals.push_back(std::move(total));
    }
    const auto timeOf = [this](const RangeTotal& total) {
        return static_cast<double>((hasGpu_ ? *total.gpu : total.wall.value_or(Nanoseconds{0})).count());
    };
    double whole = 0;
    for (const RangeTotal& total : totals)
        whole += total.path.find('/') == std::string::npos ? timeOf(total) : 0;
    for (RangeTotal& total : totals)
        total.percent = whole > 0 ? 100 * timeOf(total) / whole : 0;
    return totals;
}

std::string pathInForward(std::string_view path)
{
    constexpr std::string_view kBackward = "step/backward/";
    return path.starts_with(kBackward) ? "step/forward/" + std::string(path.substr(kBackward.size())) : "";
}

std::vector<RangeTotal> rangeTotals(std::span<const Range> ranges, std::span<const Op> ops,
                                    std::span<const DeviceEvent> device, const TextOf& textOf,
                                    RangeScope scope)
{
    RangeTotals totals(textOf, scope);
    for (const Range& range : ranges)
        totals.add(range);
    for (const Op& op : ops)
        totals.add(op);
    for (const DeviceEvent& event : device)
        totals.add(event);
    return totals.list();
}

} // namespace tilescope::analysis
