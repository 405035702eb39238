#pragma once

namespace tilescope::record {

/// Functions of this library as objects of the Python that runs in this process: a call takes a tenth of one
/// through ctypes. They open and close ranges of Python objects: of a module while it is called, of an optimizer
/// while it makes its step. Python's C API is found by name in the process; nothing is linked.
///
/// resources/record/sitecustomize.py knows the layout.
struct PythonFunctions {
    void* name = nullptr;   ///< name(object, text): its ranges have this name from now on
    void* forget = nullptr; ///< forget(id): an object with a name has gone
    void* enter = nullptr;  ///< enter(object): opens its range; False if it has no name
    void* leave = nullptr;  ///< leave(object): closes it; False if this thread has more of them open
};

/// Makes the objects, which live as long as the process. The caller holds the interpreter's lock.
/// \return  whether the process has a Python with the functions that are needed
bool makePythonFunctions(PythonFunctions& functions) noexcept;

} // namespace tilescope::record
