#include "core/query/timeline/item_details.h"

#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/time/path_glob.h"
#include "core/analysis/work/op_work.h"
#include "core/analysis/work/roofline.h"
#include "core/analysis/work/tensor_shape.h"
#include "core/base/number_text.h"
#include "core/config/schema.h"
#include "core/query/runs/traced_pieces.h"
#include "core/query/runs/work_context.h"
#include "core/query/timeline/open_ops.h"
#include "core/store/run_reader.h"

#include <algorithm>

namespace tilescope::query {

namespace {

constexpr std::string_view kNoShapes = "shapes were not recorded";

class Describer {
public:
    Describer(const store::RunReader& reader, RunId run, const Timeline& timeline)
        : reader_(reader), run_(run), timeline_(timeline)
    {
    }

    void describeDevice(ItemDetails& details, const Lane& lane, Timestamp start) const;
    void describeHost(ItemDetails& details, const Lane& lane, Timestamp start) const;

private:
    std::string text(StringId id) const { return id ? std::string(reader_.text(id)) : std::string(); }
    void place(ItemDetails& details, StringId path) const;
    void addStack(ItemDetails& details, ThreadId thread, Timestamp time) const;
    void addOccupancy(ItemDetails& details, DeviceIndex device) const;
    void addWork(ItemDetails& details, const std::vector<Op>& open, ThreadId thread) const;
    analysis::WorkContext context() const;
    store::EventWindow at(Timestamp time) const
    {
        store::EventWindow window;
        window.run = run_;
        window.from = time;
        window.to = time + Nanoseconds(1);
        return window;
    }

    const store::RunReader& reader_;
    const RunId run_;
    const Timeline& timeline_;
};

std::string environmentOf(const std::vector<EnvironmentEntry>& environment, const std::string& key)
{
    for (const EnvironmentEntry& entry : environment)
        if (entry.key == key)
            return entry.value;
    return {};
}

void Describer::place(ItemDetails& details, StringId path) const
{
    details.path = text(path);
    details.module = std::string(analysis::moduleOf(analysis::fromStepDown(details.path)));
}

void Describer::addStack(ItemDetails& details, ThreadId thread, Timestamp time) const
{
    const auto open = timeline_.openAt(Lane::Kind::Frames, thread, (time - timeline_.origin).count());
    for (auto item = open.rbegin(); item != open.rend(); ++item) {
        const Track& row = timeline_.lanes[item->lane].rows[item->row];
        details.stack.push_back(timeline_.names[row.name(item->index)].text);
    }
}

void Describer::addOccupancy(ItemDetails& details, DeviceIndex device) const
{
    const std::vector<EnvironmentEntry> environment = reader_.environment(run_);
    const std::string gpu = "gpu." + std::to_string(device ? device.value : 0) + ".";
    const std::string capability = environmentOf(environment, gpu + "compute_capability");
    const auto limits = analysis::multiprocessorLimits(capability);
    if (!limits) {
        details.noOccupancy = capability.empty()
                                  ? "the device's compute capability was not recorded"
                                  : "the limits of compute capability " + capability + " are unknown";
        return;
    }
    details.occupancy = analysis::occupancyOf(*details.launch, *limits);
    if (!details.occupancy) {
        details.noOccupancy = "the launch was not recorded in full";
        return;
    }
    const auto multiprocessors = parseNumber<int>(environmentOf(environment, gpu + "multiprocessors"));
    if (multiprocessors && *multiprocessors > 0)
        details.waves = analysis::wavesOf(*details.launch, *details.occupancy, *multiprocessors);
}

analysis::WorkContext Describer::context() const
{
    std::string why;
    const auto record = reader_.run(run_);
    const auto spec = record ? config::specOf(record->specJson, &why) : std::nullopt;
    return workContextOf(spec);
}

// The work of the outermost op with a rule, divided by the time of everything that it launched.
void Describer::addWork(ItemDetails& details, const std::vector<Op>& open, ThreadId thread) const
{
    Achieved& achieved = details.achieved;
    const auto worker = std::find_if(open.begin(), open.end(), [this](const Op& op) {
        const auto rule = analysis::ruleOf(reader_.text(op.name));
        return rule && rule->moves;
    });
    if (worker == open.end()) {
        achieved.why = open.empty() ? "the op that launched it is unknown"
                                    : "no rule for the work of " + text(open.back().name);
        return;
    }
    if (!worker->shapes) {
        achieved.why = kNoShapes;
        return;
    }
    achieved.op = text(worker->name);
    const auto work = analysis::workOfOp(achieved.op, reader_.text(worker->shapes), context());
    if (!work) {
        achieved.why = "the rule of " + achieved.op + " does not fit its shapes";
        return;
    }
    Nanoseconds time{0};
    eachLaunched(reader_, run_, thread, worker->start, worker->end, [&](const DeviceEvent& event) {
        time += event.end - event.start;
        ++achieved.kernels;
        return true;
    });
    // On a CPU the op itself does the work.
    if (achieved.kernels == 0)
        time = worker->end - worker->start;
    achieved.flops = analysis::flopsPerSecond(*work, time);
    achieved.bytes = analysis::bytesPerSecond(*work, time);
    if (!achieved.flops && !achieved.bytes)
        achieved.why = "its time is too short to measure";
}

void Describer::describeDevice(ItemDetails& details, const Lane& lane, Timestamp start) const
{
    const std::vector<DeviceEvent> events = reader_.deviceEvents(at(start));
    const auto event = std::find_if(events.begin(), events.end(), [&](const DeviceEvent& one) {
        return one.start == start && one.stream == lane.stream && one.device == lane.device &&
               text(one.name) == details.name;
    });
    if (event == events.end())
        return;
    place(details, event->path);
    details.does = analysis::KernelFamilies::standard().describe(details.name, event->kind).does;
    const bool launchKnown = event->launched != Timestamp{};
    if (launchKnown)
        details.launchedBefore = (event->start - event->launched).count();
    if (event->correlation)
        details.correlation = event->correlation.value;
    std::vector<Op> open;
    if (launchKnown && event->launchThread) {
        open = openOps(reader_, run_, event->launchThread, event->launched);
        addStack(details, event->launchThread, event->launched);
    }
    for (const Op& op : open) {
        if (op.id != event->op)
            continue;
        details.op = text(op.name);
        details.shapes = analysis::tensorsText(text(op.shapes));
    }
    if (event->kind == DeviceEventKind::Kernel) {
        details.launch = event->launch;
        addOccupancy(details, event->device);
        addWork(details, open, event->launchThread);
        return;
    }
    details.bytes = Bytes{event->bytes};
    if (details.length > 0)
        details.achieved.bytes = double(event->bytes) * 1e9 / double(details.length);
}

void Describer::describeHost(ItemDetails& details, const Lane& lane, Timestamp start) const
{
    addStack(details, lane.thread, start);
    const std::vector<Op> open = openOps(reader_, run_, lane.thread, start);
    for (std::size_t i = 0; i < open.size(); ++i) {
        if (open[i].start != start || text(open[i].name) != details.name)
            continue;
        place(details, open[i].path);
        details.shapes = analysis::tensorsText(text(open[i].shapes));
        addWork(details, {open[i]}, lane.thread);
        return;
    }
    for (const ApiCall& call : reader_.apiCalls(at(start))) {
        if (call.start != start || call.thread != lane.thread || text(call.name) != details.name)
            continue;
        if (call.correlation)
            details.correlation = call.correlation.value;
        if (!open.empty()) {
            details.op = text(open.back().name);
            details.shapes = analysis::tensorsText(text(open.back().shapes));
            place(details, open.back().path);
        }
        details.achieved.why = "a CUDA call computes nothing itself";
        return;
    }
}

} // namespace

ItemDetails describeItem(const store::RunReader& reader, RunId run, const Timeline& timeline,
                         const TimelineItem& item)
{
    const Lane& lane = timeline.lanes.at(item.lane);
    const Track& row = lane.rows.at(item.row);
    ItemDetails details;
    const TimelineName& name = timeline.names.at(row.name(item.index));
    details.name = name.text;
    details.label = name.label;
    details.lane = lane.kind;
    details.hue = row.hue(item.index);
    details.start = row.start(item.index);
    details.length = row.length(item.index);
    if (item.index > 0 && lane.kind != Lane::Kind::Busy)
        details.gapBefore = details.start - row.end(item.index - 1);
    const Timestamp start = timeline.origin + Nanoseconds(details.start);
    const Describer describer(reader, run, timeline);
    if (lane.kind == Lane::Kind::Stream)
        describer.describeDevice(details, lane, start);
    else if (lane.kind == Lane::Kind::Thread)
        describer.describeHost(details, lane, start);
    else if (lane.kind == Lane::Kind::Ranges) {
        details.path = details.name;
        details.module = std::string(analysis::moduleOf(analysis::fromStepDown(details.path)));
    }
    return details;
}

} // namespace tilescope::query
