#pragma once

#include <string>
#include <string_view>

namespace tilescope::analysis {

/// Whether a name is mangled by the Itanium C++ ABI (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling):
/// `_ZN2ck16tensor_operation6device…`.
bool isMangled(std::string_view name);

/// The qualified name of a mangled function with its template arguments, without result type and parameters:
/// `ck_tile::kentry<1, Rmsnorm2dFwd<__bf16>>`.
///
/// Some recorders truncate names. A truncated name yields the part that is there, with its brackets closed. A
/// substitution (`S4_`), an expression or anything else that a reader does not need is omitted together with
/// its `::` or comma. Never fails; the result has at most a few thousand characters, whatever the name.
/// abi::__cxa_demangle is not used: it refuses truncated names and, before GCC 13, the type __bf16, and a
/// hostile name makes it exceed time and memory.
/// O(length).
std::string demangled(std::string_view name);

} // namespace tilescope::analysis
