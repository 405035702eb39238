#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>
#include <string_view>

namespace tilescope::trace {

namespace detail {
/// Not 0 while ranges are of use to someone: a tracer that records, or a tool that listens to NVTX. The only
/// thing a ScopedRange looks at otherwise.
extern std::atomic<std::uint32_t> rangeListeners;
std::uint32_t openRange(std::string_view component, std::string_view nvtxName, std::source_location where);
void closeRange(std::uint32_t token) noexcept;
} // namespace detail

/// A named interval of host time: from construction to the end of the scope, in the calling thread.
///
/// Nested ranges form paths (`step/forward/layers.3/attention`); the component `step` always starts a new
/// path. NVTX shows the last component in the domain `tilescope`. A path records where in the code it was
/// last opened (CodePlace). Costs one relaxed load while nothing records. Any thread may use it.
class ScopedRange {
public:
    /// \param component  the path's component; must live until the call returns
    /// \param where      the caller's place by default; set only by code that opens ranges for other code
    explicit ScopedRange(std::string_view component,
                         std::source_location where = std::source_location::current())
        : ScopedRange(component, component, where)
    {
    }
    /// \param nvtxName   name in NVTX if it differs from the component: `step_3` for `step`
    ScopedRange(std::string_view component, std::string_view nvtxName,
                std::source_location where = std::source_location::current())
    {
        if (detail::rangeListeners.load(std::memory_order_relaxed))
            token_ = detail::openRange(component, nvtxName, where);
    }
    ~ScopedRange()
    {
        if (token_ != kOff)
            detail::closeRange(token_);
    }
    /// Whether a range that is opened now is of use to someone.
    static bool isHeard() { return detail::rangeListeners.load(std::memory_order_relaxed) != 0; }
    ScopedRange(const ScopedRange&) = delete;
    ScopedRange& operator=(const ScopedRange&) = delete;

private:
    static constexpr std::uint32_t kOff = ~0U;
    std::uint32_t token_ = kOff;
};

} // namespace tilescope::trace
