#include "app/record/collective_log.h"

#include "core/base/units.h"

#include <unistd.h>

#include <utility>

namespace tilescope::record {

std::uint64_t CollectiveLog::start(const StartedCollective& collective)
{
    const auto known = [this](std::string_view text) {
        return text.empty() ? kNoString : strings_.intern(text).value;
    };
    const CollectiveRow row{.start = nanosecondsOf(TraceClock::now()),
                            .end = 0,
                            .sequence = collective.sequence,
                            .bytes = collective.bytes,
                            .thread = static_cast<std::uint32_t>(gettid()),
                            .op = known(collective.op),
                            .group = known(collective.group),
                            .ranks = known(collective.ranks),
                            .dtype = known(collective.dtype),
                            .groupSize = collective.groupSize,
                            .peer = collective.peer,
                            .isOfNccl = collective.isOfNccl};
    const MutexLock lock(mutex_);
    open_.emplace(++last_, row);
    return last_;
}

void CollectiveLog::end(std::uint64_t number)
{
    const std::int64_t now = nanosecondsOf(TraceClock::now());
    const MutexLock lock(mutex_);
    auto found = open_.extract(number);
    if (found.empty())
        return;
    found.mapped().end = now;
    ended_.push_back(found.mapped());
}

std::vector<CollectiveRow> CollectiveLog::take()
{
    const MutexLock lock(mutex_);
    return std::exchange(ended_, {});
}

} // namespace tilescope::record
