#pragma once

#include "core/exchange/import/foreign_rows.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace tilescope::exchange {

/// Who launched the device activities of a file that joins several processes.
struct ActivityOwners {
    struct Owned {
        std::uint32_t activity = 0; ///< index of a DeviceRow
        ProcessIndex process;
    };
    std::vector<Owned> activities;
    std::map<std::int32_t, ProcessIndex>
        devices;                          ///< process that most activities of a device belong to, by ordinal
    std::vector<std::uint32_t> ambiguous; ///< activities for which the evidence does not decide
};

/// Rule "processes". Correlation ids of different processes collide, so an activity may have several callers.
///
/// A caller must have made its call before the activity starts. Of several, a flow of the source decides, then the
/// External id, whose op must contain the call, then whose call has launched nothing else, then the process that the other
/// activities of the device belong to.
/// Processes and devices that are then left over are paired in their order if there is one of each, otherwise so and
/// counted as ambiguous. Of processes that share a device, the one that launched last is taken, and counted.
/// O(n log n).
/// \param holder   process that the importer gave the activities to
/// \param callers  processes that may have launched them, `holder` possibly among them
ActivityOwners ownersOf(const ForeignTrace& trace, ProcessIndex holder, std::span<const ProcessIndex> callers,
                        std::span<const ForeignFlow> flows, RuleWork& work);

} // namespace tilescope::exchange
