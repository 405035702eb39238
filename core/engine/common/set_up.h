#pragma once

#include "core/model/set_up_path.h"
#include "core/trace/host/range.h"

#include <optional>
#include <source_location>
#include <string_view>

namespace tilescope::engine {

/// While it lives, the tensor that is being made in this thread is one that the experiment will hold. Where
/// set-up is recorded because it ran out of memory, that tells who asked and who has the rest. Session
/// thread; costs one load otherwise.
class Making {
public:
    /// \param name  as visitHeld() tells it
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
