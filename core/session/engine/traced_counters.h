#pragma once

#include "core/machine/counter_sampler.h"
#include "core/model/counter_track.h"
#include "core/model/point_observer.h"
#include "core/model/run.h"

#include <chrono>
#include <optional>
#include <vector>

namespace tilescope::session {

/// Reads counters while the steps of a point are traced, never while they are timed. Session thread, except
/// note().
class TracedCounters {
public:
    /// \param gpu       CUDA's index of the point's device; none for a CPU
    /// \param interval  between readings; 0: none are read
    TracedCounters(std::optional<int> gpu, std::chrono::milliseconds interval)
        : gpu_(gpu), interval_(interval)
    {
    }

    /// Call when the state begins.
    void state(PointState state);
    /// Tells it when the trace begins: readings before are not kept. The tracer's thread.
    void note(const TraceBatch& batch);
    /// The counters of the traced steps. Call it once, after the last note().
    std::vector<CounterTrack> take();
    std::vector<EnvironmentEntry> environment() const;

private:
    void finish();

    std::optional<int> gpu_;
    std::chrono::milliseconds interval_;
    std::optional<machine::CounterSampler> sampler_; ///< while steps are traced
    std::vector<CounterTrack> tracks_;
    std::optional<Timestamp> firstEvent_;
};

} // namespace tilescope::session
