#pragma once

namespace tilescope::record {

/// Calls Python functions of the recorder so that neither the program's profile and trace functions (cProfile, coverage,
/// sys.settrace, sys.monitoring) nor torch.compile see them and what they call. The interpreter's lock is held.

/// \return  its result; null if an exception is pending
void* callHidden(void* function, void* first = nullptr, void* second = nullptr) noexcept;
/// \param tuple  the arguments
/// \param named  a dict, or null
void* callHiddenWith(void* function, void* tuple, void* named) noexcept;

/// A function of Python: hide_calls(set_eval_frame) names the function of PyTorch that sets what sees the calls of this
/// thread, None for nothing, and returns what did before.
void* hideCalls(void* self, void* setter) noexcept;

} // namespace tilescope::record
