#pragma once

#include <string>
#include <string_view>

namespace tilescope::record {

/// The ranges of Python objects and the phases of a training step in the calling thread: `forward` around an outermost
/// module, `backward`, `optimizer` and `data`.
///
/// The range of an optimizer is suspended while its step evaluates a closure, a module or a backward pass: they are phases
/// of their own, as in a program that calls them before the step. None throws.

/// Opens the range of an object.
/// \param isModule  an outermost one in a step gets a range `forward` around it
void enterRange(const void* object, const std::string& name, bool isModule) noexcept;
/// Closes the range of an object.
/// \return  whether this thread has no more of them open
bool leaveRange(const void* object) noexcept;

/// Opens and closes a phase; `key` identifies the call.
void enterPhase(const void* key, std::string_view name) noexcept;
void leavePhase(const void* key, std::string_view name) noexcept;
/// Whether the calling thread works for a backward pass: its own, or as one of PyTorch's threads that of another thread.
bool isInBackward() noexcept;

/// An optimizer begins its step. Optimizers that another optimizer calls are part of its step.
/// \param hasClosure  its phase begins when it has called the closure
void enterOptimizer(const void* optimizer, bool hasClosure) noexcept;
/// An optimizer has made its step.
/// \return  whether no other optimizer had called it
bool leaveOptimizer(const void* optimizer) noexcept;
/// The step of an optimizer raised an exception: none is open any more.
void abandonOptimizers() noexcept;

/// The step of this thread's optimizer calls its closure.
void enterClosure() noexcept;
void leaveClosure() noexcept;

/// In a forked child: nothing is open, and no module was called.
void forgetPhases() noexcept;

/// Whether this thread still runs an optimizer's step. An exception ends a step without a call of leaveOptimizer().
using IsInStep = bool (*)() noexcept;
void setOptimizerProbe(IsInStep isInStep) noexcept;

/// Whether a module was called in this process.
bool hasSeenModules() noexcept;
/// Whether this thread has had a phase `forward`: threads of the backward pass have none.
bool hasSeenForward() noexcept;

} // namespace tilescope::record
