#include "core/machine/counter_sampler.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tilescope::machine {

CounterSampler::CounterSampler(const CounterRequest& request)
{
    logs_.emplace_back(hostCounters(request.process));
    for (const int gpu : request.gpus)
        if (auto source = gpuCounters(gpu))
            logs_.emplace_back(std::move(source), DeviceIndex{static_cast<std::int16_t>(gpu)});
    read();
    thread_.emplace("tilescope-count", [this, interval = request.interval, hasBegun = false,
                                        next = RepeatingThread::Clock::now()]() mutable {
        if (std::exchange(hasBegun, true))
            read();
        const auto late = RepeatingThread::Clock::now() - next;
        next += interval * (1 + late / interval);
        return std::optional(next);
    });
}

void CounterSampler::read()
{
    for (CounterLog& log : logs_)
        log.read();
}

std::vector<CounterTrack> CounterSampler::stop()
{
    thread_->end();
    read();
    std::vector<CounterTrack> tracks;
    for (CounterLog& log : logs_)
        std::ranges::move(log.take(), std::back_inserter(tracks));
    return tracks;
}

} // namespace tilescope::machine
