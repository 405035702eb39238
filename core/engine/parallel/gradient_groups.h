#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace tilescope::engine {

/// Reports during backward when all gradients of a group of parameters are complete. Reports groups in their
/// numerical order, not in the order of completion, so that every rank acts on them in the same order.
///
/// Every parameter gets one gradient per backward. Backward runs on one thread, and the thread that started it waits.
class GradientGroups {
public:
    /// \param ready  called on the thread of backward with the group's number
    GradientGroups(std::vector<std::vector<at::Tensor>> groups, std::function<void(std::size_t)> ready);
    /// Removes its hooks from the parameters.
    ~GradientGroups();
    GradientGroups(const GradientGroups&) = delete;
    GradientGroups& operator=(const GradientGroups&) = delete;

    std::size_t count() const { return groups_.size(); }
    const std::vector<at::Tensor>& group(std::size_t number) const { return groups_[number]; }

    /// Call before each backward.
    void reset();
    /// Call after backward, which must have completed all groups.
    void requireAll() const;
    /// Counts the gradient of a parameter that autograd did not compute.
    void gradientMade(const at::Tensor& parameter);

private:
    class Hook;
    void gradientReady(std::size_t group);

    std::vector<std::vector<at::Tensor>> groups_;
    std::function<void(std::size_t)> ready_;
    std::vector<std::size_t> missing_; ///< by group: number of gradients that backward has not made yet
    std::size_t reported_ = 0;         ///< number of groups reported so far
};

/// Groups of up to `most` bytes (or a single larger parameter), beginning with the last parameter, because
/// backward makes the gradients of late parameters first.
std::vector<std::vector<at::Tensor>> bucketsOf(const std::vector<at::Tensor>& parameters, std::int64_t most);

} // namespace tilescope::engine
