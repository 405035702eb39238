#pragma once

namespace tilescope::record {

/// Calls a Python function of the recorder with up to two arguments; the interpreter's lock is held. torch.compile, which
/// gets to see all that Python calls while compiled code runs, does not see it.
/// \return  its result; null if an exception is pending
void* callHidden(void* function, void* first = nullptr, void* second = nullptr) noexcept;

/// A function of Python: hide_calls(set_eval_frame) names the function of PyTorch that sets what sees the calls of this
/// thread, None for nothing, and returns what did before.
void* hideCalls(void* self, void* setter) noexcept;

} // namespace tilescope::record
