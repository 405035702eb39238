#pragma once

#include "core/base/error.h"

namespace tilescope {

/// The exception that is being handled as an Error; call only inside a catch block, at an edge.
///
/// What the standard library throws is put into words of ours: a path that cannot be used is a mistake of the
/// user's (exit 2), a disk or a memory that is exhausted a failure (exit 3).
Error currentError();

} // namespace tilescope
