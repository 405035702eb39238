#include "core/machine/counter_sampler.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tilescope::machine {

namespace {

constexpr std::chrono::milliseconds kThreadInterval{100};

} // namespace

CounterSampler::CounterSampler(const CounterRequest& request)
    : betweenThreads_(std::max<std::int64_t>(1, kThreadInterval / request.interval))
{
    logs_.emplace_back(hostCounters(request.process));
    if (request.process != 0)
        ofThreads_.emplace(threadCounters(request.process));
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
    if (ofThreads_ && readings_++ % betweenThreads_ == 0)
        ofThreads_->read();
}

std::vector<CounterTrack> CounterSampler::stop()
{
    thread_->end();
    readings_ = 0; // reads all
    read();
    std::vector<CounterTrack> tracks;
    for (CounterLog& log : logs_)
        std::ranges::move(log.take(), std::back_inserter(tracks));
    if (ofThreads_)
        std::ranges::move(ofThreads_->take(), std::back_inserter(tracks));
    return tracks;
}

} // namespace tilescope::machine
