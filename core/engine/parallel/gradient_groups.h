#pragma once

#include "core/model/gradient_groups.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace tilescope::engine {

/// Groups of parameters whose gradients autograd reports. Backward runs on one thread, and the thread that started it
/// waits.
class GradientGroups : public tilescope::GradientGroups<at::Tensor> {
public:
    /// \param ready  called on the thread of backward with the group's number
    GradientGroups(std::vector<std::vector<at::Tensor>> groups, std::function<void(std::size_t)> ready);
    /// Removes its hooks from the parameters.
    ~GradientGroups();
    GradientGroups(const GradientGroups&) = delete;
    GradientGroups& operator=(const GradientGroups&) = delete;

    /// Call after backward, which must have completed all groups.
    void requireAll() const;
    /// Counts the gradient of a parameter that autograd did not compute.
    void gradientMade(const at::Tensor& parameter);

private:
    class Hook;
};

} // namespace tilescope::engine
