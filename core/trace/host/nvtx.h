#pragma once

namespace tilescope::trace {

/// How ranges reach NVTX, so that what records ranges needs no NVTX header.
struct NvtxHooks {
    void (*push)(const char* name);
    void (*pop)();
};

/// Shows ranges in the NVTX domain `tilescope` from now on, and lets them reach an attached tool (nsys, ncu)
/// even while no tracer records. Idempotent.
void installNvtx();

namespace detail {
void setNvtxHooks(const NvtxHooks& hooks, bool toolListens) noexcept;
} // namespace detail

} // namespace tilescope::trace
