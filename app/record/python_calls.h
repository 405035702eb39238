#pragma once

#include <cstddef>

namespace tilescope::record {

/// Callables in place of functions of the program: they do something before and after each call and behave as the
/// function otherwise. A call adds no frame to tracebacks and stacks; attributes, representation, signature, pickles and
/// `isinstance` are those of the function.
///
/// The functions are called with the interpreter's lock; none throws.
///
/// \param headerBytes  object.__basicsize__ of this Python
/// \return  whether this Python has what is needed
bool prepareWatchedCalls(std::size_t headerBytes) noexcept;

// Functions of Python; see python_functions.h.
void* watchedPhase(void* self, void* tuple) noexcept;
void* watchedCall(void* self, void* tuple) noexcept;
void* hiddenCall(void* self, void* function) noexcept;
void* stepHooks(void* self, void* tuple) noexcept;
void* beginOptimizerStep(void* self, void* tuple) noexcept;
void* endOptimizerStep(void* self, void* tuple) noexcept;
void* askForTasks(void* self, void* function) noexcept;
void* leaveStepsToProgram(void* self, void* none) noexcept;

} // namespace tilescope::record
