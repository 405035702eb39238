#pragma once

#include "core/engine/ranks/collectives.h"
#include "core/model/events.h"
#include "core/model/strings.h"

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace tilescope::engine {

/// Passes on trace batches and remembers their kernels of collectives: those of NCCL and Tilescope's own. Created on
/// the session thread. The tracer's thread calls consume(); the session thread calls the rest after the recording.
class CollectiveKernels final : public TraceSink {
public:
    CollectiveKernels(TraceSink& next, StringTable& strings) : next_(next), strings_(strings) {}

    void consume(TraceBatch&& batch) override;

    /// Converts records to events. A collective with kernels gets their times and place; one on the host keeps its own.
    /// \param onGpu  if true, records without a kernel are left out and counted as lost
    TraceBatch eventsOf(const std::vector<CollectiveRecord>& records, bool onGpu);

private:
    bool isOfCollective(StringId name);
    /// Gives the event the times and place of the kernels that the record's thread launched during it.
    /// \return  false if there are none
    bool takeKernels(const CollectiveRecord& record, Collective& event) const;

    TraceSink& next_;
    StringTable& strings_;
    std::map<std::uint32_t, std::map<Timestamp, DeviceEvent>> kernels_; ///< by thread and launch
    std::unordered_map<std::uint32_t, bool> known_; ///< whether a kernel name is that of a collective
};

} // namespace tilescope::engine
