#pragma once

#include "core/model/spec.h"

#include <ATen/autocast_mode.h>

#include <optional>

namespace tilescope::engine {

/// The dtype to which autocast converts the factors of products; none if autocast is off.
inline std::optional<at::ScalarType> autocastDtype(Precision precision)
{
    if (precision == Precision::Bf16)
        return at::kBFloat16;
    if (precision == Precision::Fp16)
        return at::kHalf;
    return {};
}

/// The dtype of inputs of attention: no autocast converts them.
inline at::ScalarType inputDtype(Precision precision)
{
    return autocastDtype(precision).value_or(at::kFloat);
}

/// Enables autocast to one dtype on one kind of device for a scope, in this thread. Does nothing without a
/// dtype.
///
/// The cache of converted weights is kept until the outermost scope ends, so that each weight is converted
/// once per forward.
class AutocastScope {
public:
    AutocastScope(at::DeviceType device, std::optional<at::ScalarType> dtype) : device_(device)
    {
        if (!dtype)
            return;
        active_ = true;
        wasEnabled_ = at::autocast::is_autocast_enabled(device);
        previousDtype_ = at::autocast::get_autocast_dtype(device);
        at::autocast::set_autocast_enabled(device, true);
        at::autocast::set_autocast_dtype(device, *dtype);
        at::autocast::increment_nesting();
    }
    ~AutocastScope()
    {
        if (!active_)
            return;
        if (at::autocast::decrement_nesting() == 0)
            at::autocast::clear_cache();
        at::autocast::set_autocast_enabled(device_, wasEnabled_);
        at::autocast::set_autocast_dtype(device_, previousDtype_);
    }
    AutocastScope(const AutocastScope&) = delete;
    AutocastScope& operator=(const AutocastScope&) = delete;

private:
    at::DeviceType device_;
    bool active_ = false;
    bool wasEnabled_ = false;
    at::ScalarType previousDtype_ = at::kFloat;
};

} // namespace tilescope::engine
