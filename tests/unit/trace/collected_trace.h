#pragma once

#include "core/model/events.h"

#include <algorithm>
#include <stdexcept>

namespace tilescope::trace {

/// Keeps everything that a tracer delivers, and checks the order of each batch.
class CollectedTrace : public TraceSink {
public:
    void consume(TraceBatch&& batch) override
    {
        requireOrder(batch.ranges);
        requireOrder(batch.ops);
        requireOrder(batch.apiCalls);
        requireOrder(batch.deviceEvents);
        append(all.ranges, batch.ranges);
        append(all.ops, batch.ops);
        append(all.apiCalls, batch.apiCalls);
        append(all.deviceEvents, batch.deviceEvents);
        append(all.allocEvents, batch.allocEvents);
        append(all.threads, batch.threads);
        append(all.losses, batch.losses);
        all.recordsChecked += batch.recordsChecked;
        ++batches;
    }

    TraceBatch all;
    int batches = 0;

private:
    template <class Event> static void append(std::vector<Event>& to, const std::vector<Event>& from)
    {
        to.insert(to.end(), from.begin(), from.end());
    }
    template <class Event> static void requireOrder(const std::vector<Event>& events)
    {
        if (!std::ranges::is_sorted(events, {}, &Event::start))
            throw std::logic_error("a batch is not in start order");
    }
};

} // namespace tilescope::trace
