#include "ui/jobs/running_jobs.h"

#include <algorithm>
#include <utility>

namespace tilescope::ui {

RunningJobs& RunningJobs::all()
{
    static RunningJobs jobs;
    return jobs;
}

RunningJobs::Running::Running(std::function<void()> stop) : entry_(all().add(std::move(stop))) {}

RunningJobs::Running::~Running()
{
    all().remove(entry_);
}

std::list<RunningJobs::Entry>::iterator RunningJobs::add(std::function<void()> stop)
{
    const MutexLock lock(mutex_);
    const auto entry = entries_.emplace(entries_.end());
    entry->stop = std::move(stop);
    return entry;
}

void RunningJobs::remove(std::list<Entry>::iterator entry)
{
    const MutexLock lock(mutex_);
    entries_.erase(entry);
}

std::optional<RunningJobs::Reading> RunningJobs::reading() const
{
    const auto now = std::chrono::steady_clock::now();
    std::optional<Reading> reading;
    const MutexLock lock(mutex_);
    for (const Entry& entry : entries_)
        if (const std::int64_t events = entry.events; events > 0) {
            if (!reading)
                reading.emplace();
            reading->events += events;
            reading->longest = std::max(
                reading->longest, std::chrono::duration_cast<std::chrono::milliseconds>(now - entry.began));
        }
    return reading;
}

bool RunningJobs::isEmpty() const
{
    const MutexLock lock(mutex_);
    return entries_.empty();
}

void RunningJobs::stopReading()
{
    const MutexLock lock(mutex_);
    for (const Entry& entry : entries_)
        if (entry.events > 0)
            entry.stop();
}

} // namespace tilescope::ui
