#pragma once

#include "core/base/error.h"

namespace tilescope {

/// Returns the exception in flight as an Error. Call it only inside a catch block, at an edge of the program.
///
/// Exceptions of the standard library are translated: an unusable path is a user's mistake (exit 2), a full
/// disk or exhausted memory a failure (exit 3).
Error currentError();

} // namespace tilescope
