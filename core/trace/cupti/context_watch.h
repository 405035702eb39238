#pragma once

#include <cupti.h>

#include <string_view>

namespace tilescope::trace {

/// Hears of the contexts and modules of the process. Called in callbacks of CUPTI, on the program's threads: no function
/// may throw, nor wait for a mutex that another thread holds while it calls CUPTI.
class ContextWatch {
public:
    virtual ~ContextWatch() = default;

    virtual void contextCreated(CUcontext context) noexcept = 0;
    /// The context is about to be destroyed.
    virtual void contextEnds(CUcontext context) noexcept = 0;
    /// \param cubin  machine code; valid during the call
    virtual void moduleLoaded(CUcontext context, std::string_view cubin) noexcept = 0;
    /// The module is about to be unloaded.
    virtual void moduleEnds(CUcontext context) noexcept = 0;
};

} // namespace tilescope::trace
