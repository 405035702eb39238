#pragma once

#include "core/analysis/path/recording_view.h"

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tilescope::analysis {

/// The kernels, copies and collectives of a recording as activities, with their order on devices and between ranks.
///
/// A kernel depends on the work before it on its stream. After a recorded wait of its stream, it depends on the
/// work of the other stream before the recorded event; where only the calls were recorded, see inferredWaits(). In a replayed CUDA graph, it depends on the node of the
/// same launch that ended last. If its launch and all these dependencies are more than 10 µs before its start, it
/// also depends on the work that the process ran last on another stream: that wait was not recorded. A collective
/// has an empty activity for the arrival of each rank; its transfer begins when the last rank has arrived.
class DeviceActivities {
public:
    /// \param parts  receives activities and dependencies; kept by the caller
    DeviceActivities(const RecordingView& view, GraphParts& parts);

    /// The activity that a launch starts, by the index of the device event.
    std::uint32_t firstOf(std::size_t event) const { return firsts_[event]; }

    /// The activity with which a device event ends.
    std::uint32_t lastOf(std::size_t event) const { return lasts_[event]; }

    /// A device event by its end.
    struct End {
        Timestamp time{};
        std::uint32_t activity = 0;
        std::size_t event = 0;
    };
    /// The device events of a process, by end.
    const std::vector<End>& endsOf(ProcessIndex process) const;

private:
    struct Arrivals {
        Timestamp ready{};
        std::vector<std::uint32_t> activities;
    };
    void addActivities();
    void findCollectives();
    void findCalls();
    void addStreamOrder();
    void addGraphOrder();
    void addStreamWaits();
    void addInferredOrder();
    ProcessIndex processOf(const DeviceEvent& event) const;
    KernelFamily familyOf(const DeviceEvent& event);

    const RecordingView& view_;
    GraphParts& parts_;
    std::vector<std::size_t> order_;                     ///< events by start
    std::vector<std::uint32_t> firsts_;                  ///< by event
    std::vector<std::uint32_t> lasts_;                   ///< by event
    std::vector<std::int32_t> collectiveOf_;             ///< by event: index into `collectives_`; -1: none
    std::vector<Arrivals> collectives_;                  ///< of matched collectives
    std::unordered_map<std::uint32_t, Timestamp> calls_; ///< by correlation: end of the launch call
    std::vector<Timestamp> causedAt_; ///< by event: its launch, or the latest end of its dependencies
    std::map<ProcessIndex, std::vector<End>> ends_;
    std::unordered_map<StringId, KernelFamily> families_;
};

} // namespace tilescope::analysis
