#pragma once

#include <cstddef>

namespace tilescope::record {

/// Opens and closes the ranges of modules around Module._call_impl without a hook and without a Python function.
///
/// The function stays the object that PyTorch knows, so that torch.compile, which compares it and reads its code,
/// works as before; what changes is the C function by which Python calls it (PEP 590). Hooks of all modules, the
/// documented way, make PyTorch leave the short way through every call.
///
/// \param function  Module._call_impl, a Python function; the caller keeps it and the next two alive
/// \param bytes     size of a function object: types.FunctionType.__basicsize__
/// \param nameAll   called with a module that has no name yet: names it and what it contains
/// \param returned  called with the result of an outermost module until it answers True
/// \return  false where this Python keeps the function elsewhere: then nothing has changed
bool watchCalls(void* function, std::size_t bytes, void* nameAll, void* returned) noexcept;

} // namespace tilescope::record
