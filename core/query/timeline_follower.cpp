#include "core/query/timeline_follower.h"

#include "core/base/error.h"
#include "core/query/timeline_reader.h"

#include <algorithm>

namespace tilescope::query {

namespace {

Timestamp startOf(const store::RunReader& reader, RunId run)
{
    const auto record = reader.run(run);
    if (!record)
        throw Error{.what = "no run " + std::to_string(run.value), .where = reader.file().string()};
    return record->clockOrigin;
}

/// As rows want them: of two that start together the longer, which holds the other, first.
template <class Event> void sort(std::vector<Event>& events)
{
    std::ranges::stable_sort(events, [](const Event& a, const Event& b) {
        return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
}

} // namespace

TimelineFollower::TimelineFollower(const store::RunReader& reader, RunId run)
    : reader_(reader), run_(run), builder_(builderFor(reader, run, startOf(reader, run)))
{
}

std::shared_ptr<const Timeline> TimelineFollower::follow(const std::function<bool()>& cancelled)
{
    for (;;) {
        if (cancelled())
            return nullptr;
        TraceBatch batch = reader_.newEvents(run_, mark_);
        if (batch.empty())
            break;
        changed_ = true;
        sort(batch.ranges);
        sort(batch.ops);
        sort(batch.apiCalls);
        sort(batch.deviceEvents);
        builder_.addRanges(batch.ranges);
        builder_.addHost(batch.ops, batch.apiCalls);
        builder_.addDevice(batch.deviceEvents);
        builder_.addAllocations(batch.allocEvents);
    }
    const auto threads = reader_.threads(run_);
    for (; namedThreads_ < threads.size(); ++namedThreads_) {
        builder_.nameThread(threads[namedThreads_].thread, reader_.text(threads[namedThreads_].name));
        changed_ = true;
    }
    if (changed_)
        latest_ = std::make_shared<const Timeline>(builder_.snapshot());
    changed_ = false;
    return latest_;
}

} // namespace tilescope::query
