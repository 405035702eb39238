#include "core/query/timeline_follower.h"

#include "core/query/timeline_reader.h"

#include <algorithm>

namespace tilescope::query {

namespace {

/// As rows want them: of two that start together the longer, which holds the other, first.
template <class Event> void sort(std::vector<Event>& events)
{
    std::ranges::stable_sort(events, [](const Event& a, const Event& b) {
        return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
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
    for (const AllocEvent& event : batch.allocEvents)
        first = std::min(first, event.time);
    return first;
}

} // namespace

void TimelineFollower::add(TraceBatch batch)
{
    sort(batch.ranges);
    sort(batch.ops);
    sort(batch.apiCalls);
    sort(batch.deviceEvents);
    if (!builder_)
        builder_.emplace(builderFor([this](StringId id) { return reader_->text(id); }, firstOf(batch)));
    builder_->addRanges(batch.ranges);
    builder_->addHost(batch.ops, batch.apiCalls);
    builder_->addDevice(batch.deviceEvents);
    builder_->addAllocations(batch.allocEvents);
    changed_ = true;
}

void TimelineFollower::nameThreads()
{
    const auto threads = reader_->threads(run_);
    for (; namedThreads_ < threads.size(); ++namedThreads_) {
        builder_->nameThread(threads[namedThreads_].thread, reader_->text(threads[namedThreads_].name));
        changed_ = true;
    }
}

std::shared_ptr<const Timeline> TimelineFollower::follow(const std::function<bool()>& cancelled)
{
    for (;;) {
        if (cancelled())
            return nullptr;
        TraceBatch batch = reader_->newEvents(run_, mark_);
        if (batch.empty())
            break;
        add(std::move(batch));
    }
    if (builder_)
        nameThreads();
    if (changed_)
        latest_ = std::make_shared<const Timeline>(builder_ ? builder_->snapshot() : Timeline{});
    changed_ = false;
    return latest_;
}

} // namespace tilescope::query
