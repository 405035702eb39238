#pragma once

#include "core/base/ids.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilescope::store {
class RunReader;
}

namespace tilescope::query {

/// A thread of a run, as offered for selection.
struct ThreadChoice {
    std::string title;       ///< "main 412", or "rank 1 main 412" if the run has several processes
    std::int64_t number = 0; ///< the operating system's; if it is unknown, the recording's
    ThreadId thread = {};
    ProcessIndex process = {}; ///< none: the run has only one
};

/// The threads that ran ops or called CUDA, grouped by process. While the lanes of a run are not computed yet: all threads with a name.
std::vector<ThreadChoice> threadChoices(const store::RunReader& reader, RunId run);

} // namespace tilescope::query
