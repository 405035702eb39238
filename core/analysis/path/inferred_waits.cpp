#include "core/analysis/path/inferred_waits.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace tilescope::analysis {

namespace {

/// A launch, or a call about an event, of a thread.
struct Instant {
    enum class Kind : std::uint8_t { Launch, Record, Wait };

    Timestamp time{};
    Kind kind = Kind::Launch;
    ThreadId thread = {};
    std::size_t event = 0; ///< of a launch: index of the device event
};

/// An event that was recorded after work on a stream.
struct RecordedWork {
    std::pair<DeviceIndex, StreamId> stream;
    std::size_t event = 0; ///< the last work before
};

class WaitInference {
public:
    explicit WaitInference(const RecordingView& view) : view_(view) {}

    std::vector<InferredWait> infer()
    {
        readCalls();
        if (!hasWaits_)
            return {};
        for (std::size_t i = 0; i < view_.device.size(); ++i)
            if (const DeviceEvent& event = view_.device[i];
                event.launchThread && event.launched != Timestamp{})
                processes_[view_.topology.of(event.launchThread)].push_back(
                    {event.launched, Instant::Kind::Launch, event.launchThread, i});
        for (auto& [process, instants] : processes_)
            inferOf(instants);
        return std::move(waits_);
    }

private:
    void readCalls()
    {
        std::unordered_map<StringId, std::optional<Instant::Kind>> kinds;
        for (const ApiCall& call : view_.calls) {
            const auto [kind, isNew] = kinds.try_emplace(call.name);
            if (isNew) {
                const std::string_view name = view_.textOf(call.name);
                if (name.find("StreamWaitEvent") != std::string_view::npos)
                    kind->second = Instant::Kind::Wait;
                else if (name.find("EventRecord") != std::string_view::npos)
                    kind->second = Instant::Kind::Record;
            }
            if (!kind->second)
                continue;
            hasWaits_ = hasWaits_ || kind->second == Instant::Kind::Wait;
            processes_[view_.topology.of(call.thread)].push_back({call.start, *kind->second, call.thread});
        }
    }

    std::pair<DeviceIndex, StreamId> streamOf(std::size_t event) const
    {
        return {view_.device[event].device, view_.device[event].stream};
    }

    /// The waits of a thread before its next launch, and what they may be for.
    struct OpenWait {
        std::size_t at = 0; ///< launches of the process before it
        std::vector<RecordedWork> records;
    };

    /// Numbers of a process's launches, in order.
    using LaunchesByStream = std::map<std::pair<DeviceIndex, StreamId>, std::vector<std::size_t>>;

    void inferOf(std::vector<Instant>& instants)
    {
        std::ranges::stable_sort(instants, {},
                                 [](const Instant& each) { return std::pair(each.time, each.kind); });
        std::vector<RecordedWork> records;                  // the last one of each stream
        std::unordered_map<ThreadId, std::size_t> launches; // the last one of each thread
        std::unordered_map<ThreadId, std::vector<OpenWait>> open;
        std::vector<std::size_t> launched; // all so far, in order
        LaunchesByStream byStream;
        for (const Instant& each : instants) {
            if (each.kind == Instant::Kind::Record) {
                const auto last = launches.find(each.thread);
                if (last == launches.end())
                    continue;
                const auto stream = streamOf(last->second);
                std::erase_if(records, [&](const RecordedWork& work) { return work.stream == stream; });
                records.push_back({stream, last->second});
            } else if (each.kind == Instant::Kind::Wait) {
                open[each.thread].push_back({launched.size(), records});
            } else {
                std::vector<std::size_t>& ofStream = byStream[streamOf(each.event)];
                ofStream.push_back(launched.size());
                launched.push_back(each.event);
                // Another thread may have launched onto the stream since the wait.
                for (const OpenWait& wait : std::exchange(open[each.thread], {}))
                    addWait(wait.records, launched[*std::ranges::lower_bound(ofStream, wait.at)]);
                launches[each.thread] = each.event;
            }
        }
        // Threads that launch nothing more.
        for (const auto& [thread, waits] : open)
            for (const OpenWait& wait : waits)
                if (wait.at < launched.size())
                    addWait(wait.records, launched[wait.at]);
    }

    void addWait(const std::vector<RecordedWork>& records, std::size_t to)
    {
        for (auto work = records.rbegin(); work != records.rend(); ++work) {
            if (work->stream == streamOf(to))
                continue;
            if (view_.device[work->event].end <= view_.device[to].start)
                waits_.push_back({work->event, to});
            return;
        }
    }

    const RecordingView& view_;
    std::map<ProcessIndex, std::vector<Instant>> processes_;
    std::vector<InferredWait> waits_;
    bool hasWaits_ = false;
};

} // namespace

std::vector<InferredWait> inferredWaits(const RecordingView& view)
{
    const bool isRecorded =
        std::ranges::any_of(view.waits, [](const Wait& wait) { return wait.kind == WaitKind::StreamWait; });
    return isRecorded ? std::vector<InferredWait>() : WaitInference(view).infer();
}

} // namespace tilescope::analysis
