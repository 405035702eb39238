#include "core/query/timeline/timeline_follower.h"

#include "core/query/timeline/timeline_reader.h"

#include <algorithm>

namespace tilescope::query {

namespace {

/// The order that rows need: by start; of two events with equal start, the longer one first.
template <class Event> void sort(std::vector<Event>& events)
{
    std::ranges::stable_sort(events, [](const Event& a, const Event& b) {
        return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
}

constexpr std::size_t kMostAtOnce = 200'000;

std::size_t eventsOf(const TraceBatch& batch)
{
    return batch.ranges.size() + batch.ops.size() + batch.apiCalls.size() + batch.deviceEvents.size() +
           batch.allocEvents.size() + batch.frames.size();
}

/// Start of the earliest event of a sorted batch.
Timestamp firstOf(const TraceBatch& batch)
{
    Timestamp first = Timestamp::max();
    const auto look = [&first](const auto& events) {
        if (!events.empty())
            first = std::min(first, events.front().start);
    };
    look(batch.ranges);
    look(batch.ops);
    look(batch.apiCalls);
    look(batch.deviceEvents);
    look(batch.frames);
    for (const AllocEvent& event : batch.allocEvents)
        first = std::min(first, event.time);
    return first;
}

} // namespace

/// Adds a limited number of new events and returns their number.
std::size_t TimelineFollower::addNew()
{
    TraceBatch batch = reader_->newEvents(run_, mark_, kMostAtOnce);
    sort(batch.ranges);
    sort(batch.ops);
    sort(batch.apiCalls);
    sort(batch.deviceEvents);
    sort(batch.frames);
    const std::size_t events = eventsOf(batch);
    if (events > 0)
        add(batch);
    if (builder_)
        nameThreads();
    return events;
}

void TimelineFollower::add(const TraceBatch& batch)
{
    if (!builder_)
        builder_.emplace(builderFor([this](StringId id) { return reader_->text(id); }, firstOf(batch)));
    builder_->addRanges(batch.ranges);
    builder_->addFrames(batch.frames);
    builder_->addHost(batch.ops, batch.apiCalls);
    builder_->addDevice(batch.deviceEvents);
    builder_->addAllocations(batch.allocEvents);
    changed_ = true;
}

void TimelineFollower::nameThreads()
{
    const auto threads = reader_->threads(run_);
    if (namedThreads_ < threads.size())
        builder_->setTopology({reader_->topology(run_), threads});
    for (; namedThreads_ < threads.size(); ++namedThreads_) {
        builder_->nameThread(threads[namedThreads_], reader_->text(threads[namedThreads_].name));
        changed_ = true;
    }
}

std::shared_ptr<const Timeline> TimelineFollower::follow(const std::function<bool()>& cancelled)
{
    // Read in batches until one is not full. The next call reads what a fast writer commits meanwhile.
    for (std::size_t events = kMostAtOnce; events >= kMostAtOnce;) {
        if (cancelled())
            return nullptr;
        reader_->atOnce([&] { events = addNew(); });
    }
    if (changed_)
        latest_ = std::make_shared<const Timeline>(builder_ ? builder_->snapshot() : Timeline{});
    changed_ = false;
    return latest_;
}

} // namespace tilescope::query
