#include "core/query/timeline/item_links.h"

#include "core/analysis/ranks/matched_collectives.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/selection.h"
#include "core/query/timeline/open_ops.h"
#include "core/store/run_reader.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace tilescope::query {

namespace {

// Finds the box of an event.
std::optional<TimelineItem> boxOf(const Timeline& timeline, std::size_t lane, std::int64_t start,
                                  std::int64_t end, std::string_view name)
{
    const std::vector<Track>& rows = timeline.lanes[lane].rows;
    for (std::size_t r = 0; r < rows.size(); ++r)
        for (std::size_t i = rows[r].firstFrom(start); i < rows[r].size() && rows[r].start(i) == start; ++i)
            if (rows[r].end(i) == end && timeline.names[rows[r].name(i)].text == name)
                return TimelineItem{lane, r, i};
    return {};
}

std::optional<TimelineItem> innermost(const Timeline& timeline, Lane::Kind kind, ThreadId thread,
                                      std::int64_t time)
{
    const std::vector<TimelineItem> open = timeline.openAt(kind, thread, time);
    return open.empty() ? std::nullopt : std::optional(open.back());
}

class Linker {
public:
    Linker(const store::RunReader& reader, RunId run, const Timeline& timeline,
           const std::function<bool()>& cancelled)
        : reader_(reader), run_(run), timeline_(timeline), cancelled_(cancelled)
    {
    }

    ItemLinks ofDevice(const TimelineItem& item) const;
    ItemLinks ofHost(const TimelineItem& item) const;
    void addCollective(ItemLinks& links, const TimelineItem& item) const;

private:
    std::int64_t at(Timestamp time) const { return (time - timeline_.origin).count(); }
    Timestamp timeOf(std::int64_t at) const { return timeline_.origin + Nanoseconds(at); }
    std::optional<TimelineItem> boxOfDevice(const DeviceEvent& event) const;
    std::optional<TimelineItem> boxOfOp(const Op& op) const;
    std::optional<TimelineItem> boxOfCollective(const Collective& record) const;
    void addAutograd(ItemLinks& links, const std::vector<Op>& open) const;
    store::EventWindow stepAround(Timestamp time) const;

    const store::RunReader& reader_;
    const RunId run_;
    const Timeline& timeline_;
    const std::function<bool()>& cancelled_;
};

std::optional<TimelineItem> Linker::boxOfDevice(const DeviceEvent& event) const
{
    for (std::size_t l = 0; l < timeline_.lanes.size(); ++l) {
        const Lane& lane = timeline_.lanes[l];
        if (lane.kind == Lane::Kind::Stream && lane.stream == event.stream && lane.device == event.device)
            return boxOf(timeline_, l, at(event.start), at(event.end), reader_.text(event.name));
    }
    return {};
}

std::optional<TimelineItem> Linker::boxOfOp(const Op& op) const
{
    for (std::size_t l = 0; l < timeline_.lanes.size(); ++l)
        if (timeline_.lanes[l].kind == Lane::Kind::Thread && timeline_.lanes[l].thread == op.thread)
            return boxOf(timeline_, l, at(op.start), at(op.end), reader_.text(op.name));
    return {};
}

// Records of collectives have other names than their boxes.
std::optional<TimelineItem> Linker::boxOfCollective(const Collective& record) const
{
    const bool onDevice = bool(record.device);
    const std::int64_t start = at(record.start);
    for (std::size_t l = 0; l < timeline_.lanes.size(); ++l) {
        const Lane& lane = timeline_.lanes[l];
        const bool isLane = onDevice ? lane.kind == Lane::Kind::Stream && lane.stream == record.stream &&
                                           lane.device == record.device
                                     : lane.kind == Lane::Kind::Thread && lane.thread == record.thread;
        for (std::size_t r = 0; isLane && r < lane.rows.size(); ++r) {
            const Track& row = lane.rows[r];
            for (std::size_t i = row.firstFrom(start); i < row.size() && row.start(i) == start; ++i)
                if (row.end(i) == at(record.end))
                    return TimelineItem{l, r, i};
        }
    }
    return {};
}

void Linker::addCollective(ItemLinks& links, const TimelineItem& item) const
{
    const Lane& lane = timeline_.lanes[item.lane];
    const Track& row = lane.rows[item.row];
    if (lane.kind == Lane::Kind::Stream && row.hue(item.index) != Hue::Collective)
        return;
    const ProcessFilter filter(reader_, run_, {});
    if (!filter.topology().hasSeveral())
        return;
    std::vector<Collective> records = reader_.collectives(run_);
    const auto own = std::ranges::find_if(records, [&](const Collective& record) {
        return at(record.start) == row.start(item.index) && boxOfCollective(record) == item;
    });
    if (own == records.end() || cancelled_())
        return;
    const Collective self = *own;
    std::erase_if(records, [&](const Collective& record) {
        return record.group != self.group || record.ranks != self.ranks || record.op != self.op ||
               record.sequence != self.sequence;
    });
    for (const analysis::MatchedCollective& matched :
         analysis::matchCollectives(records, {}, filter.topology(), textsOf(reader_))) {
        if (matched.parts.size() < 2 ||
            std::ranges::none_of(matched.parts, [&](const analysis::CollectivePart& part) {
                return records[part.record] == self;
            }))
            continue;
        for (const analysis::CollectivePart& part : matched.parts)
            if (const auto box = boxOfCollective(records[part.record]))
                links.collective.push_back(*box);
    }
    if (links.collective.size() < 2)
        links.collective.clear();
}

// The step on the host that contains a moment, or the whole run.
store::EventWindow Linker::stepAround(Timestamp time) const
{
    store::EventWindow window;
    window.run = run_;
    for (const TimelineStep& step : timeline_.steps) {
        if (step.hostStart > at(time) || step.hostEnd <= at(time))
            continue;
        window.from = timeOf(step.hostStart);
        window.to = timeOf(step.hostEnd);
    }
    return window;
}

// Autograd numbers its nodes in order of creation; an op has the number of the next node of its thread. Of
// the ops with a number, the last to begin created the node.
void Linker::addAutograd(ItemLinks& links, const std::vector<Op>& open) const
{
    const auto node = std::find_if(open.rbegin(), open.rend(), [](const Op& op) {
        return op.scope == OpScope::Backward && op.sequence >= 0;
    });
    const bool isBackward = node != open.rend();
    std::map<std::int64_t, std::optional<Op>> makers; // by sequence number
    if (isBackward)
        makers[node->sequence];
    else
        for (const Op& op : open)
            if (op.sequence >= 0)
                makers[op.sequence];
    if (makers.empty())
        return;
    std::vector<Op> nodes;
    std::size_t seen = 0;
    reader_.eachOp(stepAround(open.front().start), [&](const Op& op) {
        if (++seen % 4096 == 0 && cancelled_())
            return false;
        const auto maker = makers.find(op.sequence);
        if (maker == makers.end())
            return true;
        if (op.scope == OpScope::Backward)
            nodes.push_back(op);
        else if ((!isBackward || op.start < node->start) &&
                 (!maker->second || maker->second->start <= op.start))
            maker->second = op;
        return true;
    });
    if (cancelled_())
        return;
    if (isBackward) {
        if (const std::optional<Op>& maker = makers.begin()->second)
            links.forward = boxOfOp(*maker);
        return;
    }
    std::sort(nodes.begin(), nodes.end(), [](const Op& a, const Op& b) { return a.start < b.start; });
    for (const Op& op : nodes) {
        const std::optional<Op>& maker = makers[op.sequence];
        const bool madeHere = maker && std::any_of(open.begin(), open.end(),
                                                   [&](const Op& one) { return one.id == maker->id; });
        if (!madeHere || links.backward.size() == ItemLinks::kMost)
            continue;
        if (const auto box = boxOfOp(op))
            links.backward.push_back(*box);
    }
}

ItemLinks Linker::ofDevice(const TimelineItem& item) const
{
    ItemLinks links;
    const Lane& lane = timeline_.lanes[item.lane];
    const Track& row = lane.rows[item.row];
    store::EventWindow window;
    window.run = run_;
    window.from = timeOf(row.start(item.index));
    window.to = window.from + Nanoseconds(1);
    for (const DeviceEvent& event : reader_.deviceEvents(window)) {
        if (boxOfDevice(event) != item || event.launched == Timestamp{} || !event.launchThread)
            continue;
        links.launch = hostBoxAt(timeline_, event.launchThread, at(event.launched));
        links.frame = innermost(timeline_, Lane::Kind::Frames, event.launchThread, at(event.launched));
        addAutograd(links, openOps(reader_, run_, event.launchThread, event.launched));
        break;
    }
    return links;
}

ItemLinks Linker::ofHost(const TimelineItem& item) const
{
    ItemLinks links;
    const Lane& lane = timeline_.lanes[item.lane];
    const Track& row = lane.rows[item.row];
    const Timestamp from = timeOf(row.start(item.index));
    const Timestamp to = timeOf(row.end(item.index));
    links.frame = innermost(timeline_, Lane::Kind::Frames, lane.thread, row.start(item.index));
    eachLaunched(reader_, run_, lane.thread, from, std::max(to, from + Nanoseconds(1)),
                 [&](const DeviceEvent& event) {
                     if (const auto box = boxOfDevice(event))
                         links.launched.push_back(*box);
                     return links.launched.size() < ItemLinks::kMost && !cancelled_();
                 });
    std::vector<Op> open = openOps(reader_, run_, lane.thread, from);
    // Keep only ops that contain the box. Ops that begin within it are not open yet.
    std::erase_if(open, [&](const Op& op) { return op.end < to; });
    addAutograd(links, open);
    return links;
}

} // namespace

std::optional<TimelineItem> hostBoxAt(const Timeline& timeline, ThreadId thread, std::int64_t time)
{
    return innermost(timeline, Lane::Kind::Thread, thread, time);
}

ItemLinks linksOf(const store::RunReader& reader, RunId run, const Timeline& timeline,
                  const TimelineItem& item, const std::function<bool()>& cancelled)
{
    const Linker linker(reader, run, timeline, cancelled);
    switch (timeline.lanes.at(item.lane).kind) {
    case Lane::Kind::Stream: {
        ItemLinks links = linker.ofDevice(item);
        linker.addCollective(links, item);
        return links;
    }
    case Lane::Kind::Thread: {
        ItemLinks links = linker.ofHost(item);
        linker.addCollective(links, item);
        return links;
    }
    default:
        return {};
    }
}

std::vector<LaunchLink> launchesWithin(const store::RunReader& reader, RunId run, const Timeline& timeline,
                                       std::int64_t from, std::int64_t to, std::size_t most,
                                       const std::function<bool()>& cancelled)
{
    std::size_t there = 0;
    for (const Lane& lane : timeline.lanes) {
        if (lane.kind != Lane::Kind::Stream)
            continue;
        for (const Track& row : lane.rows) {
            const auto [first, last] = row.overlapping(from, to);
            there += last - first;
        }
    }
    if (there > most)
        return {};
    store::EventWindow window;
    window.run = run;
    window.from = timeline.origin + Nanoseconds(from);
    window.to = timeline.origin + Nanoseconds(to);
    std::vector<LaunchLink> links;
    for (const DeviceEvent& event : reader.deviceEvents(window)) {
        if (cancelled())
            return {};
        if (event.launched == Timestamp{} || !event.launchThread)
            continue;
        const auto host = hostBoxAt(timeline, event.launchThread, (event.launched - timeline.origin).count());
        for (std::size_t l = 0; host && l < timeline.lanes.size(); ++l) {
            const Lane& lane = timeline.lanes[l];
            if (lane.kind != Lane::Kind::Stream || lane.stream != event.stream || lane.device != event.device)
                continue;
            if (const auto device = boxOf(timeline, l, (event.start - timeline.origin).count(),
                                          (event.end - timeline.origin).count(), reader.text(event.name)))
                links.push_back({*host, *device});
        }
    }
    return links;
}

bool eachInstance(const Timeline& timeline, std::string_view name,
                  const std::function<void(const TimelineItem&)>& take,
                  const std::function<bool()>& cancelled)
{
    std::vector<bool> wanted(timeline.names.size());
    for (std::size_t i = 0; i < timeline.names.size(); ++i)
        wanted[i] = timeline.names[i].text == name;
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end())
        return true;
    for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
        if (timeline.lanes[l].kind != Lane::Kind::Stream)
            continue;
        const std::vector<Track>& rows = timeline.lanes[l].rows;
        for (std::size_t r = 0; r < rows.size(); ++r)
            for (std::size_t i = 0; i < rows[r].size(); ++i) {
                if (i % 65'536 == 0 && cancelled())
                    return false;
                if (wanted[rows[r].name(i)])
                    take({l, r, i});
            }
    }
    return true;
}

} // namespace tilescope::query
