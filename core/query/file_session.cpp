#include "core/query/file_session.h"

#include "core/analysis/kernel_families.h"
#include "core/query/timeline_reader.h"
#include "core/store/run_reader.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace tilescope::query {

namespace {

std::vector<std::pair<std::string, std::string>> paramsOf(const std::string& specJson)
{
    std::vector<std::pair<std::string, std::string>> params;
    const auto spec = nlohmann::ordered_json::parse(specJson, nullptr, /*allow_exceptions=*/false);
    if (!spec.is_object())
        return params;
    for (const auto& [key, value] : spec.items())
        params.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
    return params;
}

RunSummary summaryOf(RunRow row)
{
    store::RunRecord& record = row.record;
    RunSummary summary;
    summary.step = row.stepMs();
    summary.phases = std::move(row.phases);
    summary.run = record.run;
    summary.uid = std::move(record.uid);
    summary.name = std::move(record.name);
    summary.workload = std::move(record.workload);
    summary.params = paramsOf(record.specJson);
    summary.startedUnixNs = record.startedUnixNs;
    summary.result = std::move(record.result);
    summary.note = std::move(record.note);
    summary.tag = std::move(record.tag);
    return summary;
}

// An interrupted one may have been called so too early, where its writer was only slow.
bool hasEnded(RunStatus status)
{
    return status != RunStatus::Running && status != RunStatus::Interrupted;
}

// The run in an earlier snapshot, where it and the record tell of one that has ended.
const RunSummary* ended(const FileSnapshot& snapshot, const store::RunRecord& record)
{
    const auto found = std::ranges::lower_bound(snapshot.runs, record.run, {}, &RunSummary::run);
    const bool same = found != snapshot.runs.end() && found->run == record.run && found->uid == record.uid;
    return same && hasEnded(found->result.status) && hasEnded(record.result.status) ? &*found : nullptr;
}

// A kernel as it stands in the timeline, out of those that the window around it holds.
const DeviceEvent* deviceEventAt(const std::vector<DeviceEvent>& events, const Lane& lane, Timestamp start)
{
    for (const DeviceEvent& event : events)
        if (event.start == start && event.stream == lane.stream && event.device == lane.device)
            return &event;
    return nullptr;
}

} // namespace

std::string_view RunSummary::param(std::string_view key) const
{
    for (const auto& [name_, value] : params)
        if (name_ == key)
            return value;
    return {};
}

struct FileSession::State {
    store::RunReader reader;

    std::string text(StringId id) const { return id ? std::string(reader.text(id)) : std::string(); }
    void describeDevice(ItemDetails& details, RunId run, const Lane& lane, Timestamp start) const;
    void describeOp(ItemDetails& details, RunId run, const Lane& lane, Timestamp start) const;
};

FileSession::FileSession(const std::filesystem::path& file) : state_(new State{store::RunReader(file)}) {}

FileSession::~FileSession() = default;

FileSnapshot FileSession::snapshot(const FileSnapshot* before) const
{
    FileSnapshot snapshot;
    snapshot.file = state_->reader.file();
    for (store::RunRecord& record : state_->reader.runs()) {
        // What was measured of a run that has ended stays as it is; what people note about it need not.
        const RunSummary* known = before == nullptr ? nullptr : ended(*before, record);
        if (known == nullptr) {
            snapshot.runs.push_back(summaryOf(std::move(runs(state_->reader, record.run).rows.front())));
            continue;
        }
        snapshot.runs.push_back(*known);
        snapshot.runs.back().result = std::move(record.result);
        snapshot.runs.back().note = std::move(record.note);
        snapshot.runs.back().tag = std::move(record.tag);
    }
    return snapshot;
}

std::shared_ptr<const Timeline> FileSession::timeline(RunId run, const Cancelled& cancelled) const
{
    std::optional<Timeline> read = readTimeline(state_->reader, run, cancelled);
    return read ? std::make_shared<const Timeline>(std::move(*read)) : nullptr;
}

void FileSession::State::describeDevice(ItemDetails& details, RunId run, const Lane& lane,
                                        Timestamp start) const
{
    store::EventWindow window;
    window.run = run;
    window.from = start;
    window.to = start + Nanoseconds(1);
    const std::vector<DeviceEvent> events = reader.deviceEvents(window);
    const DeviceEvent* event = deviceEventAt(events, lane, start);
    if (event == nullptr)
        return;
    details.path = text(event->path);
    details.does = analysis::KernelFamilies::standard().describe(details.name, event->kind).does;
    if (event->launched != Timestamp{})
        details.launchedBefore = (event->start - event->launched).count();
    if (event->correlation)
        details.correlation = event->correlation.value;
    if (event->kind == DeviceEventKind::Kernel)
        details.launch = event->launch;
    else
        details.bytes = Bytes{event->bytes};
    if (!event->op || !event->launchThread)
        return;
    // The op that launched it was open on the launching thread when it was launched.
    window.from = event->launched;
    window.to = event->launched + Nanoseconds(1);
    for (const Op& op : reader.ops(window)) {
        if (op.id != event->op)
            continue;
        details.op = text(op.name);
        details.shapes = text(op.shapes);
    }
}

void FileSession::State::describeOp(ItemDetails& details, RunId run, const Lane& lane, Timestamp start) const
{
    store::EventWindow window;
    window.run = run;
    window.from = start;
    window.to = start + Nanoseconds(1);
    for (const Op& op : reader.ops(window)) {
        if (op.start != start || op.thread != lane.thread || text(op.name) != details.name)
            continue;
        details.path = text(op.path);
        details.shapes = text(op.shapes);
        return;
    }
}

ItemDetails FileSession::details(RunId run, const Timeline& timeline, const TimelineItem& item) const
{
    const Lane& lane = timeline.lanes.at(item.lane);
    const Track& row = lane.rows.at(item.row);
    ItemDetails details;
    const TimelineName& name = timeline.names.at(row.name(item.index));
    details.name = name.text;
    details.label = name.label;
    details.hue = row.hue(item.index);
    details.start = row.start(item.index);
    details.length = row.length(item.index);
    if (item.index > 0)
        details.gapBefore = details.start - row.end(item.index - 1);
    const Timestamp start = timeline.origin + Nanoseconds(details.start);
    if (lane.kind == Lane::Kind::Stream)
        state_->describeDevice(details, run, lane, start);
    else if (lane.kind == Lane::Kind::Thread)
        state_->describeOp(details, run, lane, start);
    else if (lane.kind == Lane::Kind::Ranges)
        details.path = details.name;
    return details;
}

KernelsTable FileSession::kernelGroups(RunId run, Grouping grouping) const
{
    return kernels(state_->reader, {.run = run, .grouping = grouping});
}

LiveMemoryTable FileSession::liveAtPeak(RunId run) const
{
    return liveMemory(state_->reader, {.run = run}, {});
}

const store::RunReader& FileSession::reader() const
{
    return state_->reader;
}

} // namespace tilescope::query
