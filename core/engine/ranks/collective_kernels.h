#pragma once

#include "core/engine/ranks/collectives.h"
#include "core/model/events.h"
#include "core/model/strings.h"

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace tilescope::engine {

/// Passes on trace batches and remembers the kernels of collectives in them: those of NCCL and Tilescope's own. Made on the session thread; the tracer's thread
/// calls consume(), and the session thread the rest once the recording has ended.
class CollectiveKernels final : public TraceSink {
public:
    CollectiveKernels(TraceSink& next, StringTable& strings) : next_(next), strings_(strings) {}

    void consume(TraceBatch&& batch) override;

    /// The collectives of the records as events. One with kernels has their times and place, one on the host its own.
    /// \param onGpu  whether records without a kernel are left out and counted as lost
    TraceBatch eventsOf(const std::vector<CollectiveRecord>& records, bool onGpu);

private:
    bool isOfCollective(StringId name);
    /// Gives the event the times and place of the kernels that the record's thread launched during it.
    /// \return  false if there are none
    bool takeKernels(const CollectiveRecord& record, Collective& event) const;

    TraceSink& next_;
    StringTable& strings_;
    std::map<std::uint32_t, std::map<Timestamp, DeviceEvent>> kernels_; ///< by thread and launch
    std::unordered_map<std::uint32_t, bool> known_; ///< names that are of collectives or not
};

} // namespace tilescope::engine
