#pragma once

#include "core/base/mutex.h"

namespace tilescope::record {

// The library is an extension module as well: what resources/record/_tilescope_recorder.py calls. A call takes a tenth of the
// time of a call through ctypes. The functions open and close ranges of Python objects, such as a module during its call and
// an optimizer during its step. The library does not link Python; it finds the functions of Python's C API by name.
//
//     start()                     starts the recording of this process; False if there is none
//     tell(message)               takeMessage()
//     plugin()                    address of PluginInterface, for the plug-in
//     name(object, text, is_module)  its ranges have this name from now on; empty: it has none
//     forget(id)                  the object with this id was destroyed
//     enter(object), leave(object)   open and close its range. False if it has no name; if this thread has more of them open
//     watch(function, size, name_all, returned)  watchCalls(); False if this Python does not allow it
//     check_node(node, object.__basicsize__, sequence)  checkNode(); -1: kLatestNode
//     fact(key, value)            of the process
//     hold(category, address, bytes, name, shape, dtype, device)  memory that the program holds now
//     collective(op, group, ranks, dtype, sequence, bytes, size, peer)  this thread starts one; its number, 0: not recorded
//     collected(number)           the collective ends now, in any thread
//     frames()                    records the calls of Python functions of this thread from now on
//     prepare_calls(object.__basicsize__)  whether the next four can be called; raises in a subinterpreter
//     phase(function, name)       the function with a range of this name around each call
//     around(function)            the function, before each call of which Recorder::save() is called
//     around(function, begin)     the function, before each call of which begin(arguments) is called
//     around(function, begin, end)   begin(arguments) returns (token, first); function(first, *arguments) is called, then
//                                 end(token, result), whose result is None after an exception. Without begin, which is None
//                                 then, function(*arguments) is called and, if it returns, end(arguments, result)
//     hidden(function)            the function, whose calls neither profile and trace functions nor torch.compile see
//     step_hooks(size, begin, end)   calls of these two are begin_step() and end_step(), also without a frame of Python
//     begin_step(optimizer, arguments, named), end_step(…)  for PyTorch's hooks before and after an optimizer's step
//     own_steps()                 from now on the program tells its steps, not its optimizers
//     watch_ends(…)               watchEnds()
//     hide_calls(set_eval_frame)  hideCalls()
//     check_stacks(minor)         whether the stack of this thread is in memory as Python tells it; otherwise notes why not
//     start_stacks(), stop_stacks()  threads that launch have stacks from now on; none any more, before the interpreter ends
//     loads(process, iterator, waits, fetch, fetch)  this thread has forked a process that loads data for an iterator:
//                                 its address, and those of the code objects in which the thread waits for data, and in
//                                 which the process loads them
//     tasks(function)             it tells which greenlet or task runs in this thread; optimizers of several train apart

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

/// Makes the extension module. The caller holds the interpreter's lock.
/// \return  null if this Python lacks functions; an exception may be pending
void* makePythonModule() noexcept;

} // namespace tilescope::record
