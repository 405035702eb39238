#include "core/trace/host/path_tree.h"

#include "core/model/step_name.h"

#include <cstring>

namespace tilescope::trace {

std::size_t PathCache::hash(const PathNode* parent, std::string_view component) noexcept
{
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
    std::uint64_t value = (reinterpret_cast<std::uintptr_t>(parent) >> 4) ^ component.size();
    const char* text = component.data();
    std::size_t left = component.size();
    for (; left >= 8; left -= 8, text += 8) {
        std::uint64_t word;
        std::memcpy(&word, text, 8);
        value = (value ^ word) * kOdd;
        value ^= value >> 29;
    }
    std::uint64_t word = 0;
    std::memcpy(&word, text, left);
    value = (value ^ word) * kOdd;
    return value ^ (value >> 32);
}

std::size_t PathTree::KeyHash::operator()(const Key& key) const noexcept
{
    return PathCache::hash(key.parent, key.component);
}

PathTree& PathTree::instance()
{
    static auto* const tree = new PathTree;
    return *tree;
}

PathTree::PathTree(std::size_t most) : most_(most)
{
    nodes_.emplace_back();
    root_ = &nodes_.back();
    PathNode& names = nodes_.emplace_back();
    names.id = 1;
    names_ = &names;
    step_ = childLocked(root_, "step");
    stepForward_ = childLocked(step_, "forward");
    stepBackward_ = childLocked(step_, "backward");
}

const PathNode* PathTree::child(const PathNode* parent, std::string_view component)
{
    const MutexLock lock(mutex_);
    return childLocked(parent, component);
}

const PathNode* PathTree::childLocked(const PathNode* parent, std::string_view component)
{
    if (component == "step" && parent != names_)
        parent = root_;
    if (const auto found = children_.find({parent, component}); found != children_.end())
        return found->second;
    return nodes_.size() < most_ ? addLocked(parent, component) : mergedLocked(parent, component);
}

const PathNode* PathTree::addLocked(const PathNode* parent, std::string_view component)
{
    PathNode& node = nodes_.emplace_back();
    node.id = static_cast<std::uint32_t>(nodes_.size() - 1);
    node.parent = parent;
    node.component = component;
    const bool top = parent == root_ || parent == names_;
    node.path = top ? node.component : parent->path + '/' + node.component;
    children_.emplace(Key{parent, node.component}, &node);
    return &node;
}

const PathNode* PathTree::mergedLocked(const PathNode* parent, std::string_view component)
{
    merged_.fetch_add(1, std::memory_order_relaxed);
    const std::string shared = std::string(withoutNumber(component)) + " …";
    if (const auto found = children_.find({parent, shared}); found != children_.end())
        return found->second;
    return nodes_.size() < most_ + most_ / 8 ? addLocked(parent, shared) : parent;
}

const PathNode* PathTree::backward(const PathNode* forward)
{
    if (const PathNode* known = forward->backwardTwin.load(std::memory_order_acquire))
        return known == root_ ? nullptr : known;
    const MutexLock lock(mutex_);
    const PathNode* twin = backwardLocked(forward);
    // The root represents "none", so that the search happens only once.
    forward->backwardTwin.store(twin ? twin : root_, std::memory_order_release);
    return twin;
}

const PathNode* PathTree::knownBackward(const PathNode* forward) noexcept
{
    const PathNode* known = forward->backwardTwin.load(std::memory_order_acquire);
    return known && !known->isRoot() ? known : nullptr;
}

const PathNode* PathTree::backwardLocked(const PathNode* forward)
{
    if (forward == stepForward_ || forward == stepBackward_)
        return stepBackward_;
    if (!forward->parent)
        return nullptr;
    if (forward->parent == step_)
        return childLocked(stepBackward_, forward->component);
    const PathNode* above = backwardLocked(forward->parent);
    return above ? childLocked(above, forward->component) : nullptr;
}

const PathNode* PathTree::node(std::uint32_t id) const
{
    const MutexLock lock(mutex_);
    return &nodes_.at(id);
}

} // namespace tilescope::trace
