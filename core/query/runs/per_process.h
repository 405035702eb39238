#pragma once

#include "core/model/events.h"
#include "core/query/runs/process_filter.h"

#include <algorithm>
#include <cstddef>
#include <list>
#include <map>
#include <utility>
#include <vector>

namespace tilescope::query {

/// Objects that each take the events of one process of a run, so that the run is read once for all of them.
///
/// An object has a member `filter()`, its ProcessFilter. An event is passed to those of its process and to those of all
/// processes, which may still refuse it by its device. Cost per event: that of TopologyIndex::of().
template <class Each> class PerProcess {
public:
    template <class... Arguments> Each& emplace(Arguments&&... arguments)
    {
        Each& each = list_.emplace_back(std::forward<Arguments>(arguments)...);
        topology_ = &each.filter().topology();
        if (const ProcessIndex process = each.filter().process(); process && topology_->hasSeveral()) {
            const auto number = static_cast<std::size_t>(process.value);
            ofProcess_.resize(std::max(ofProcess_.size(), number + 1));
            ofProcess_[number].push_back(&each);
        } else {
            ofAll_.push_back(&each);
        }
        return each;
    }

    std::list<Each>& list() { return list_; }

    template <class Take> void forThose(ThreadId thread, Take&& take)
    {
        if (!ofProcess_.empty() && thread != lastThread_) {
            lastThread_ = thread;
            lastProcess_ = topology_->of(thread);
        }
        pass(lastProcess_, take);
    }
    template <class Take> void forThose(const DeviceEvent& event, Take&& take)
    {
        pass(ofProcess_.empty() ? ProcessIndex{} : topology_->of(event.device, event.stream), take);
    }
    /// What belongs to a device as a whole may belong to several processes.
    template <class Take> void forThose(DeviceIndex device, Take&& take)
    {
        for (Each* const each : usersOf(device))
            take(*each);
    }

private:
    template <class Take> void pass(ProcessIndex process, Take& take)
    {
        for (Each* const each : ofAll_)
            take(*each);
        if (process && static_cast<std::size_t>(process.value) < ofProcess_.size())
            for (Each* const each : ofProcess_[static_cast<std::size_t>(process.value)])
                take(*each);
    }

    const std::vector<Each*>& usersOf(DeviceIndex device)
    {
        const auto [known, isNew] = users_.try_emplace(device);
        if (!isNew || !topology_)
            return known->second;
        std::vector<Each*>& users = known->second;
        const auto add = [&](Each* each) {
            if (std::ranges::find(users, each) == users.end() && each->filter().hasDevice(device))
                users.push_back(each);
        };
        std::ranges::for_each(ofAll_, add);
        for (const TracedStream& stream : topology_->topology().streams)
            if (stream.device == device && stream.process &&
                static_cast<std::size_t>(stream.process.value) < ofProcess_.size())
                std::ranges::for_each(ofProcess_[static_cast<std::size_t>(stream.process.value)], add);
        return known->second;
    }

    std::list<Each> list_;
    const TopologyIndex* topology_ = nullptr; ///< of any object: they are of one run
    /// Consecutive events are likely to be of one thread.
    ThreadId lastThread_ = {};
    ProcessIndex lastProcess_ = {};
    std::vector<Each*> ofAll_;
    std::vector<std::vector<Each*>> ofProcess_; ///< by ProcessIndex
    std::map<DeviceIndex, std::vector<Each*>> users_;
};

} // namespace tilescope::query
