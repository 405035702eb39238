#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace tilescope::trace {

namespace detail {
/// True while a tracer records. The only thing a ScopedRange looks at when tracing is off.
extern std::atomic<bool> recording;
std::uint32_t openRange(std::string_view name, std::string_view component);
void closeRange(std::uint32_t token) noexcept;
} // namespace detail

/// A named stretch of host time: opened here, closed at the end of the scope, in the calling thread.
///
/// Nested ranges form paths (`step/forward/layers.3/attention`); the last component is what NVTX shows, in
/// the domain `tilescope`. Costs one relaxed load while nothing records. Any thread may use it.
class ScopedRange {
public:
    /// \param component  the path's component; must live until the call returns
    explicit ScopedRange(std::string_view component) : ScopedRange(component, component) {}
    /// \param nvtxName   what NVTX shows where it differs from the component: `step_3` for `step`
    ScopedRange(std::string_view component, std::string_view nvtxName)
    {
        if (detail::recording.load(std::memory_order_relaxed))
            token_ = detail::openRange(nvtxName, component);
    }
    ~ScopedRange()
    {
        if (token_ != kOff)
            detail::closeRange(token_);
    }
    ScopedRange(const ScopedRange&) = delete;
    ScopedRange& operator=(const ScopedRange&) = delete;

private:
    static constexpr std::uint32_t kOff = ~0U;
    std::uint32_t token_ = kOff;
};

} // namespace tilescope::trace
