#include "core/model/topology_index.h"

#include <algorithm>

namespace tilescope {

TopologyIndex::TopologyIndex(RunTopology topology, std::span<const ThreadName> threads)
    : topology_(std::move(topology))
{
    if (!hasSeveral())
        return;
    for (const ThreadName& thread : threads)
        threads_[thread.thread] = thread.process;
    for (const TracedStream& stream : topology_.streams) {
        streams_[{stream.device, stream.id}] = stream.process;
        const auto [place, isNew] = devices_.try_emplace(stream.device, stream.process);
        if (!isNew && place->second != stream.process)
            place->second = ProcessIndex{};
    }
}

ProcessIndex TopologyIndex::of(ThreadId thread) const
{
    const auto found = threads_.find(thread);
    return found == threads_.end() ? ProcessIndex{} : found->second;
}

ProcessIndex TopologyIndex::of(DeviceIndex device, StreamId stream) const
{
    const auto found = streams_.find({device, stream});
    return found == streams_.end() ? ProcessIndex{} : found->second;
}

ProcessIndex TopologyIndex::of(DeviceIndex device) const
{
    const auto found = devices_.find(device);
    return found == devices_.end() ? ProcessIndex{} : found->second;
}

const TracedProcess* TopologyIndex::find(ProcessIndex process) const
{
    if (!process)
        return nullptr;
    // Usually processes are in the order of their numbers, and a run may have thousands.
    const std::vector<TracedProcess>& all = topology_.processes;
    const auto place = static_cast<std::size_t>(process.value);
    if (place < all.size() && all[place].id == process)
        return &all[place];
    const auto found = std::ranges::find(all, process, &TracedProcess::id);
    return found == all.end() ? nullptr : &*found;
}

std::optional<std::int32_t> TopologyIndex::rankOf(ProcessIndex process) const
{
    const TracedProcess* const found = find(process);
    return found ? found->rank : std::nullopt;
}

std::string TopologyIndex::titleOf(ProcessIndex process) const
{
    const TracedProcess* const found = find(process);
    if (!found)
        return {};
    if (found->rank)
        return "rank " + std::to_string(*found->rank);
    return (found->name.empty() ? "process" : found->name) + " " + std::to_string(found->pid);
}

} // namespace tilescope
