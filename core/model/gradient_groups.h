#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tilescope {

/// Reports during backward when all gradients of a group of leaves are complete. Reports groups in their numerical
/// order, not in the order of completion, so that every rank acts on them in the same order.
///
/// Every leaf gets one gradient per backward. core/engine counts gradients of tensors, core/predict those of numbers.
template <class Leaf> class GradientGroups {
public:
    /// \param ready  called with the group's number
    GradientGroups(std::vector<std::vector<Leaf>> groups, std::function<void(std::size_t)> ready)
        : groups_(std::move(groups)), ready_(std::move(ready))
    {
        reset();
    }

    std::size_t count() const { return groups_.size(); }
    const std::vector<Leaf>& group(std::size_t number) const { return groups_[number]; }

    /// Call before each backward.
    void reset()
    {
        missing_.clear();
        for (const std::vector<Leaf>& group : groups_)
            missing_.push_back(group.size());
        reported_ = 0;
    }
    /// Counts the gradient of a leaf of this group.
    void gradientReady(std::size_t group)
    {
        if (missing_[group] == 0)
            throw std::logic_error("a leaf got a second gradient in one backward");
        --missing_[group];
        while (reported_ < groups_.size() && missing_[reported_] == 0)
            ready_(reported_++);
    }
    /// Counts the gradient of the leaf of which `isLeaf` holds.
    /// \return  false if no group waits for it
    template <class IsLeaf> bool gradientReadyOf(const IsLeaf& isLeaf)
    {
        for (std::size_t i = reported_; i < groups_.size(); ++i)
            if (std::ranges::any_of(groups_[i], isLeaf)) {
                gradientReady(i);
                return true;
            }
        return false;
    }
    /// Whether backward has completed all groups.
    bool areComplete() const { return reported_ == groups_.size(); }

private:
    std::vector<std::vector<Leaf>> groups_;
    std::function<void(std::size_t)> ready_;
    std::vector<std::size_t> missing_; ///< by group: number of gradients that backward has not made yet
    std::size_t reported_ = 0;         ///< number of groups reported so far
};

/// Groups of up to `most` bytes (or a single larger leaf), beginning with the last leaf, because backward makes the
/// gradients of late leaves first.
template <class Leaf, class BytesOf>
std::vector<std::vector<Leaf>> bucketsOf(const std::vector<Leaf>& leaves, std::int64_t most,
                                         const BytesOf& bytesOf)
{
    std::vector<std::vector<Leaf>> buckets;
    std::int64_t bytes = 0;
    for (auto leaf = leaves.rbegin(); leaf != leaves.rend(); ++leaf) {
        const auto size = static_cast<std::int64_t>(std::invoke(bytesOf, *leaf));
        if (buckets.empty() || bytes + size > most) {
            buckets.emplace_back();
            bytes = 0;
        }
        buckets.back().push_back(*leaf);
        bytes += size;
    }
    return buckets;
}

} // namespace tilescope
