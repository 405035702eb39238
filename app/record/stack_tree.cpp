#include "app/record/stack_tree.h"

#include <algorithm>

namespace tilescope::record {

std::uint32_t StackTree::child(std::uint32_t caller, const Frame& frame)
{
    const Key key{.call = static_cast<std::uint64_t>(frame.name) << 32 | frame.line, .caller = caller};
    if (const auto known = numbers_.find(key); known != numbers_.end())
        return known->second;
    if (numbers_.size() >= most_) {
        ++merged_;
        return caller;
    }
    const auto number = static_cast<std::uint32_t>(numbers_.size());
    numbers_.emplace(key, number);
    new_.emplace_back(caller, frame);
    return number;
}

std::vector<StackRow> StackTree::takeNew(const std::function<std::uint32_t(std::uint32_t)>& stringOf)
{
    std::vector<StackRow> rows;
    rows.reserve(new_.size());
    for (const auto& [caller, frame] : new_)
        rows.push_back({.caller = caller, .name = stringOf(frame.name), .line = frame.line, .unused = 0});
    new_.clear();
    return rows;
}

void ToldStack::apply(StackTree& tree, const trace::HostRecord::StackBody& change)
{
    if (change.kept < calls_.size())
        calls_.resize(change.kept);
    for (std::size_t i = 0; i < std::min<std::size_t>(change.count, trace::HostRecord::StackBody::kMost); ++i)
        calls_.push_back(tree.child(number(), change.frames[i]));
}

} // namespace tilescope::record
