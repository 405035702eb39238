#pragma once

#include "core/base/ids.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilescope::store {
class RunReader;
}

namespace tilescope::query {

/// A thread of a run, to choose from.
struct ThreadChoice {
    std::string title;       ///< main 412; of several processes rank 1 main 412
    std::int64_t number = 0; ///< the operating system's; the run's own where that is unknown
    ThreadId thread = {};
    ProcessIndex process = {}; ///< none: the only one
};

/// The threads that ran ops or called CUDA, by process. All named ones of a run whose lanes are not prepared.
std::vector<ThreadChoice> threadChoices(const store::RunReader& reader, RunId run);

} // namespace tilescope::query
