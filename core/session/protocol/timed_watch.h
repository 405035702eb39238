#pragma once

#include "core/machine/conditions.h"
#include "core/model/point_observer.h"
#include "core/model/run.h"

#include <optional>
#include <string>
#include <vector>

namespace tilescope::session {

/// Watches the timed steps of a point for disturbances: reads the conditions of the machine before the first
/// and after the last step, never in between. Session thread.
class TimedWatch {
public:
    /// \param gpu  CUDA's index of the point's device; none for a CPU
    explicit TimedWatch(std::optional<int> gpu) : gpu_(gpu) {}

    /// Call before the state begins, while the writer sleeps.
    void state(PointState state);
    void sample(const Sample& sample);

    /// `drift: +2.1 % …`; analysis::flagsOf.
    std::vector<std::string> flags() const;
    /// The conditions of the machine before and after the timed steps.
    std::vector<EnvironmentEntry> environment() const;

private:
    std::optional<int> gpu_;
    std::vector<double> warmup_;
    std::vector<double> timed_;
    std::optional<machine::Conditions> began_;
    std::optional<machine::Conditions> ended_;
};

} // namespace tilescope::session
