#pragma once

#include <cstddef>

namespace tilescope::record {

// PyObject* is void* here. A call of a Python function passes the arguments as an array (PEP 590).
using PythonCall = void* (*)(void* function, void* const* arguments, std::size_t count, void* names);
/// The highest bit of `count` is a flag (PY_VECTORCALL_ARGUMENTS_OFFSET); the others are the number of arguments.
inline constexpr std::size_t kCallCountMask = ~(std::size_t{1} << (8 * sizeof(std::size_t) - 1));

/// Lets Python call a Python function through `call`. The function object stays the same. Python 3.11 does so only where
/// C functions call it, or a call passes a tuple of arguments.
/// \param bytes  size of a function object: types.FunctionType.__basicsize__
/// \return  false if the C function was not found in the function object, which is then unchanged
bool replaceCall(void* function, std::size_t bytes, PythonCall call) noexcept;
/// Calls a function as before replaceCall().
void* callReplaced(void* function, void* const* arguments, std::size_t count, void* names);

/// Opens and closes the ranges of modules around Module._call_impl without a hook and without a Python function.
///
/// Replaces the C function through which Python calls _call_impl (PEP 590). The function object stays the same, because
/// torch.compile compares it and reads its code. Global module hooks, the documented way, would disable PyTorch's fast
/// path in every call.
///
/// \param function  Module._call_impl, a Python function; the caller keeps it and the next two alive
/// \param bytes     size of a function object: types.FunctionType.__basicsize__
/// \param nameAll   called with a module that has no name yet: names it and what it contains
/// \param returned  called with the result of an outermost module until it answers True
/// \return  false if the C function was not found in the function object, which is then unchanged
bool watchCalls(void* function, std::size_t bytes, void* nameAll, void* returned) noexcept;
/// Whether a call of it was successful.
bool watchesCalls() noexcept;

} // namespace tilescope::record
