#include "core/exchange/import/rules/activity_order.h"

namespace tilescope::exchange {

ActivityOrder::ActivityOrder(const ForeignTrace& trace) : trace_(trace), streams_(trace.streams.size()) {}

namespace {

/// The External id is of the op; what one launch started at one time on one stream is one activity whichever op it names.
bool areSame(ActivityFacts a, const ActivityFacts& b, bool isLaunchKnown)
{
    if (isLaunchKnown)
        a.externalId = b.externalId;
    return a == b;
}

} // namespace

bool ActivityOrder::isSame(const DeviceRow& a, const DeviceRow& b) const
{
    return a.start == b.start && a.end == b.end && a.stream == b.stream && a.name == b.name &&
           a.correlation == b.correlation && a.kind == b.kind && a.copy == b.copy && a.launch == b.launch &&
           (a.extra == b.extra ||
            areSame(trace_.activityFacts[a.extra], trace_.activityFacts[b.extra], a.correlation != 0));
}

ActivityOrder::Finding ActivityOrder::next(const DeviceRow& row)
{
    Finding finding{.isDuplicate = before_ && isSame(*before_, row)};
    before_ = &row;
    if (finding.isDuplicate) {
        ++duplicates_;
        return finding;
    }
    // The time of a copy may include its wait for the work before it.
    if (row.kind != DeviceEventKind::Kernel || trace_.activityFacts[row.extra].graphNode != 0)
        return finding;
    OfStream& stream = streams_[row.stream];
    if (!stream.longest || row.end >= stream.longest->end) {
        stream = {.longest = &row};
        return finding;
    }
    if (row.correlation != 0 && row.correlation == stream.longest->correlation)
        return finding;
    outlasting_ += stream.isCounted ? 0 : 1;
    stream.isCounted = true;
    finding.isDoubtful = true;
    finding.from = stream.longest->start;
    finding.to = stream.longest->end;
    return finding;
}

} // namespace tilescope::exchange
