#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilescope::trace {

/// What the stand-in for the tracer saw since the last start().
struct TraceNotes {
    std::vector<std::string> paths; ///< ranges, in the order in which they were opened
    std::vector<std::int32_t> steps;
};
TraceNotes& traceNotes();

} // namespace tilescope::trace
