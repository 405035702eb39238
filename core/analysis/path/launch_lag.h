#pragma once

#include "core/model/events.h"

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace tilescope::analysis {

/// What a recording usually needs from a cause to its effect on a device. A part of it may not show them.
struct UsualLags {
    /// From the launch of a kernel until the device begins it, where nothing but the launch held it back.
    std::optional<Nanoseconds> launch = {};
    /// From the end of work until the next one on the device begins, where nothing but that work held it back.
    std::optional<Nanoseconds> gap = {};
};

/// Finds the usual lags of a recording. One thread.
///
/// The shortest gaps between kernels show how fast they follow each other. A kernel that follows later, or that was
/// launched onto an idle device, waited for its launch.
class LaunchLag {
public:
    /// \param event  in start order, of this process
    void add(ProcessIndex process, const DeviceEvent& event);

    UsualLags usual() const;
    std::size_t count() const { return followers_.size(); }

private:
    struct Follower {
        Nanoseconds gap{0}; ///< since the last work of the process
        Nanoseconds lag{0}; ///< since its launch
    };
    std::map<ProcessIndex, Timestamp> ranUntil_;
    std::vector<Follower> followers_;
};

} // namespace tilescope::analysis
