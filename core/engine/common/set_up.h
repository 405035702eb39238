#pragma once

#include "core/model/set_up_path.h"
#include "core/trace/host/range.h"

#include <optional>
#include <source_location>
#include <string_view>

namespace tilescope::engine {

/// Marks tensors created in this thread during its lifetime as kept by the experiment. If set-up is recorded
/// because it ran out of memory, this attributes the failed request and the other tensors. Session thread;
/// otherwise costs one load.
class Making {
public:
    /// \param name  the name that visitHeld() reports
    Making(MemoryCategory category, std::string_view name,
           std::source_location where = std::source_location::current())
    {
        if (trace::ScopedRange::isHeard())
            range_.emplace(setUpComponent(category, name), where);
    }

private:
    std::optional<trace::ScopedRange> range_;
};

} // namespace tilescope::engine
