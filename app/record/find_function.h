#pragma once

#include <dlfcn.h>

namespace tilescope::record {

/// Finds a function by its name in the libraries that the process has loaded: the recorder does not link the libraries
/// whose functions it calls.
/// \param function  receives the function; null if there is none
/// \param library   from dlopen(); by default all libraries with global symbols, such as Python's
/// \return          whether it was found
template <class Function>
bool findFunction(Function& function, const char* name, void* library = RTLD_DEFAULT)
{
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

} // namespace tilescope::record
