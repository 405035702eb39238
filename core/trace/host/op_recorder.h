#pragma once

namespace tilescope::trace {

/// LibTorch's side of host recording: at::RecordFunction and autograd's numbers. Session thread, while no
/// other thread runs LibTorch code.
class OpRecorder {
public:
    /// Lets HostLogs ask autograd which node a thread evaluates. Idempotent.
    static void installProbe();
    /// Notes every op from now on, with the shapes of its tensors if wanted (costly: for one step).
    static void enable(bool shapes);
    /// Ops run at full speed again.
    static void disable();
};

} // namespace tilescope::trace
