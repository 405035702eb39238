#pragma once

namespace tilescope::trace {

/// LibTorch's side of host recording: at::RecordFunction and autograd's numbers. Session thread, while no
/// other thread runs LibTorch code.
class OpRecorder {
public:
    /// Lets HostLogs ask autograd which node a thread evaluates. Idempotent.
    static void installProbe();
    /// Notes ops from now on.
    /// \param shapes  with their arguments (argumentsOf; costly: for one step)
    /// \param views   also views (setViewsObserved), which launch and allocate nothing
    static void enable(bool shapes, bool views);
    /// Ops run at full speed again.
    static void disable();
};

} // namespace tilescope::trace
