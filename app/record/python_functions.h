#pragma once

#include "core/base/mutex.h"

namespace tilescope::record {

/// Functions of this library as objects of the Python that runs in this process: a call takes a tenth of the time of
/// a call through ctypes. They open and close ranges of Python objects, such as a module during its call and an
/// optimizer during its step. The library does not link Python; it finds the functions of Python's C API by name.
///
/// resources/record/_tilescope_recorder.py knows the layout.
struct PythonFunctions {
    /// name(object, text, isModule): its ranges have this name from now on; empty: it has none
    void* name = nullptr;
    void* forget = nullptr; ///< forget(id): the object with this id was destroyed
    void* enter = nullptr;  ///< enter(object): opens its range; False if it has no name
    void* leave = nullptr;  ///< leave(object): closes it; False if this thread has more of them open
    /// watch(function, size, name_all, returned): watchCalls(); False if this Python does not allow it
    void* watch = nullptr;
    void* fact = nullptr; ///< fact(key, value): of the process
    /// hold(category, address, bytes, name, shape, dtype, device): memory that the program holds now
    void* hold = nullptr;
    /// collective(op, group, ranks, dtype, sequence, bytes, size, peer): this thread starts one; its number, 0: not recorded
    void* collective = nullptr;
    void* collected = nullptr; ///< collected(number): the collective ends now, in any thread
    void* frames = nullptr;    ///< frames(): records the calls of Python functions of this thread from now on
    /// prepare_calls(object.__basicsize__): whether the next five can be called
    void* prepareCalls = nullptr;
    void* phase = nullptr; ///< phase(function, name): the function with a range of this name around each call
    /// around(function): the function, before each call of which Recorder::save() is called.
    /// around(function, begin): the function, before each call of which begin() is called.
    /// around(function, begin, end): begin(arguments) returns (token, first); function(first, *arguments) is called, then
    /// end(token, result), whose result is None after an exception
    void* around = nullptr;
    void* beginStep =
        nullptr; ///< begin_step(optimizer, arguments, named): for PyTorch's hook before an optimizer's step
    void* endStep = nullptr;   ///< end_step(optimizer, arguments, named): for the hook after it
    void* ownSteps = nullptr;  ///< own_steps(): from now on the program tells its steps, not its optimizers
    void* watchEnds = nullptr; ///< watchEnds()
    void* hideCalls = nullptr; ///< hideCalls()
    /// check_stacks(minor): whether the stack of this thread is in memory as Python tells it; otherwise notes why not
    void* checkStacks = nullptr;
    void* startStacks = nullptr; ///< start_stacks(): threads that launch have stacks from now on
    void* stopStacks = nullptr;  ///< stop_stacks(): none any more, before the interpreter ends
    /// tasks(function): it tells which greenlet or task runs in this thread; optimizers of several of them train apart
    void* tasks = nullptr;
    const void* plugin = nullptr; ///< PluginInterface, for the plug-in
};

/// Opens the range of a Python object. An outermost one in a step that is a module's call gets a range `forward`
/// around it. Neither throws.
/// \return  false if it has no name
bool enterObject(const void* object) noexcept;
/// Closes the range of a Python object.
/// \return  whether this thread has no more of them open
bool leaveObject(const void* object) noexcept;

/// In a forked child: the open ranges of the thread that forked are the parent's.
void forgetOpenObjects() noexcept;
/// Guards the names of objects. For fork().
Mutex& namesMutex();

/// Makes the objects, which live as long as the process. The caller holds the interpreter's lock.
/// \return  whether the process has a Python with the functions that are needed
bool makePythonFunctions(PythonFunctions& functions) noexcept;

} // namespace tilescope::record
