#pragma once

#include "core/exchange/import/foreign_rows.h"
#include "core/exchange/import/path_maker.h"
#include "core/exchange/import/run_steps.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tilescope::exchange {

/// Connects the collectives of a foreign trace to their kernels.
class CollectiveMatcher {
public:
    /// \param trace  on one time axis; must outlive the object
    explicit CollectiveMatcher(ForeignTrace& trace);

    /// Gives a collective the times and the place of its kernel.
    /// \param native  correlation id of the kernel in its process
    void complete(ProcessIndex process, std::uint32_t native, const DeviceEvent& kernel);
    /// The collectives in start order, with their numbers within the group. Those whose kernel is missing are
    /// counted as a loss. Call it once, after all kernels.
    std::vector<Collective> finish(const RunSteps& steps, PathMaker& paths);

private:
    ForeignTrace& trace_;
    /// Collectives of one launch, in the order of adding: that of a CUDA graph may run several.
    struct OfLaunch {
        std::vector<std::size_t> indices = {};
        std::size_t next = 0;
    };

    std::unordered_map<std::uint64_t, OfLaunch> launches_; ///< by process and correlation
};

} // namespace tilescope::exchange
