#include "core/session/engine/traced_counters.h"

#include "core/analysis/stats/counter_figures.h"

#include <algorithm>

namespace tilescope::session {

void TracedCounters::state(PointState state)
{
    finish();
    if (state != PointState::Trace || interval_.count() == 0)
        return;
    machine::CounterRequest request{.interval = interval_};
    if (gpu_)
        request.gpus.push_back(*gpu_);
    sampler_.emplace(request);
}

void TracedCounters::finish()
{
    if (!sampler_)
        return;
    tracks_ = sampler_->stop();
    sampler_.reset();
}

void TracedCounters::note(const TraceBatch& batch)
{
    const auto look = [this](const auto& events) {
        if (!events.empty())
            firstEvent_ = std::min(firstEvent_.value_or(Timestamp::max()), events.front().start);
    };
    look(batch.ranges);
    look(batch.ops);
    look(batch.apiCalls);
    look(batch.deviceEvents);
}

std::vector<CounterTrack> TracedCounters::take()
{
    finish();
    if (firstEvent_)
        for (CounterTrack& track : tracks_)
            track = analysis::clipped(track, *firstEvent_, Timestamp::max());
    std::erase_if(tracks_, [](const CounterTrack& track) { return track.points.empty(); });
    return std::move(tracks_);
}

std::vector<EnvironmentEntry> TracedCounters::environment() const
{
    return {{"counters.interval", std::to_string(interval_.count()), "ms"}};
}

} // namespace tilescope::session
