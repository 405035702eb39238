#include "core/machine/counter_sampler.h"

#include <pthread.h>

#include <algorithm>
#include <iterator>

namespace tilescope::machine {

CounterSampler::CounterSampler(const CounterRequest& request) : interval_(request.interval)
{
    logs_.emplace_back(hostCounters(request.process));
    for (const int gpu : request.gpus)
        if (auto source = gpuCounters(gpu))
            logs_.emplace_back(std::move(source), DeviceIndex{static_cast<std::int16_t>(gpu)});
    read();
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "tilescope-count");
}

CounterSampler::~CounterSampler()
{
    end();
}

void CounterSampler::end()
{
    if (!thread_.joinable())
        return;
    {
        const MutexLock lock(mutex_);
        ended_ = true;
    }
    changed_.notifyAll();
    thread_.join();
}

void CounterSampler::read()
{
    for (CounterLog& log : logs_)
        log.read();
}

void CounterSampler::run()
{
    auto next = std::chrono::steady_clock::now();
    MutexLock lock(mutex_);
    while (!ended_) {
        const auto late = std::chrono::steady_clock::now() - next;
        next += interval_ * (1 + late / interval_);
        if (changed_.waitUntil(lock, next, [this]() REQUIRES(mutex_) { return ended_; }))
            return;
        lock.unlock();
        read();
        lock.lock();
    }
}

std::vector<CounterTrack> CounterSampler::stop()
{
    end();
    read();
    std::vector<CounterTrack> tracks;
    for (CounterLog& log : logs_)
        std::ranges::move(log.take(), std::back_inserter(tracks));
    return tracks;
}

} // namespace tilescope::machine
