#pragma once

#include "core/predict/graph.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace tilescope::predict {

/// Reports during backward when all gradients of a group of leaves are complete, in the order of the groups: the
/// counterpart of engine::GradientGroups.
class GradientGroups {
public:
    /// \param groups  leaves by group; other leaves are ignored
    /// \param ready   called with the number of the group
    GradientGroups(std::vector<std::vector<std::int32_t>> groups, std::function<void(std::size_t)> ready);

    /// Call before each backward.
    void reset();
    void gradientReady(std::int32_t leaf);

    const std::vector<std::int32_t>& group(std::size_t number) const { return groups_[number]; }

private:
    std::vector<std::vector<std::int32_t>> groups_;
    std::function<void(std::size_t)> ready_;
    std::vector<std::size_t> groupOf_; ///< by leaf
    std::vector<std::size_t> missing_; ///< gradients per group that backward has not made
    std::size_t reported_ = 0;         ///< groups before this one were reported
};

/// Groups of leaves of up to `most` bytes, or a single larger leaf, from the last leaf on, like engine::bucketsOf().
/// \param bytes  size of each leaf
std::vector<std::vector<std::int32_t>> bucketsOf(const std::vector<std::int64_t>& bytes, std::int64_t most);

} // namespace tilescope::predict
