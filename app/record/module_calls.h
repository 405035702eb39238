#pragma once

#include <cstddef>

namespace tilescope::record {

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
