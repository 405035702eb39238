#include "core/engine/ranks/collective_kernels.h"

#include "core/model/losses.h"

#include <algorithm>
#include <string_view>

namespace tilescope::engine {

namespace {

/// The namespace of kernels/cuda/ranks. These kernels run before and after the copies of a collective, so
/// together they span its whole time.
constexpr std::string_view kOwnKernels = "tilescope::kernels::ranks::";

} // namespace

void CollectiveKernels::consume(TraceBatch&& batch)
{
    for (const DeviceEvent& event : batch.deviceEvents)
        if (event.kind == DeviceEventKind::Kernel && isOfCollective(event.name))
            kernels_[event.launchThread.value].emplace(event.launched, event);
    next_.consume(std::move(batch));
}

bool CollectiveKernels::isOfCollective(StringId name)
{
    const auto [known, isNew] = known_.try_emplace(name.value);
    if (isNew) {
        const std::string_view text = strings_.text(name);
        known->second = text.starts_with("nccl") || text.find(kOwnKernels) != std::string_view::npos;
    }
    return known->second;
}

TraceBatch CollectiveKernels::eventsOf(const std::vector<CollectiveRecord>& records, bool onGpu)
{
    TraceBatch batch;
    std::int64_t unmatched = 0;
    for (const CollectiveRecord& record : records) {
        Collective event{.op = strings_.intern(record.op),
                         .group = strings_.intern(record.group),
                         .ranks = strings_.intern(record.ranks),
                         .dtype = strings_.intern(record.dtype),
                         .sequence = record.sequence,
                         .bytes = record.bytes,
                         .groupSize = record.groupSize,
                         .thread = ThreadId{record.thread},
                         .path = strings_.intern(record.path),
                         .step = record.step,
                         .start = record.start,
                         .end = record.end};
        if (onGpu && !takeKernels(record, event))
            ++unmatched;
        else
            batch.collectives.push_back(event);
    }
    std::ranges::stable_sort(batch.collectives, {}, &Collective::start);
    batch.recordsChecked = static_cast<std::int64_t>(records.size());
    if (unmatched > 0)
        batch.losses.push_back(lossOf(strings_, RecordLoss::CollectivesUnmatched, unmatched));
    return batch;
}

bool CollectiveKernels::takeKernels(const CollectiveRecord& record, Collective& event) const
{
    const auto ofThread = kernels_.find(record.thread);
    if (ofThread == kernels_.end())
        return false;
    const auto first = ofThread->second.lower_bound(record.start);
    const auto last = ofThread->second.upper_bound(record.end);
    if (first == last)
        return false;
    event.device = first->second.device;
    event.stream = first->second.stream;
    event.correlation = first->second.correlation;
    event.range = first->second.range;
    event.start = first->second.start;
    event.end = first->second.end;
    for (auto kernel = first; kernel != last; ++kernel) {
        event.start = std::min(event.start, kernel->second.start);
        event.end = std::max(event.end, kernel->second.end);
    }
    return true;
}

} // namespace tilescope::engine
