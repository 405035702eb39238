#include "core/store/tracks/track_writer.h"

#include "core/model/events.h"
#include "core/store/tracks/packed_track.h"

#include <algorithm>

namespace tilescope::store {

struct TrackWriter::Track {
    TrackInfo info;
    std::int64_t start = 0; ///< of the first box
    std::int64_t end = 0;   ///< of the last one
    std::vector<Box> boxes; ///< not yet packed
    std::vector<MemoryPoint> points;
    std::int64_t packed = 0; ///< boxes or points before these
};

struct TrackWriter::Lane {
    TrackInfo info;
    BusySpans spans; ///< Busy
    std::vector<std::unique_ptr<Track>> tracks;
};

namespace {

/// The rows of both in start order; of two that start together that of `first`.
template <class UseFirst, class UseSecond>
void merge(SortedRows&& first, SortedRows&& second, const UseFirst& useFirst, const UseSecond& useSecond)
{
    const SortedRows::Row* a = first.next();
    const SortedRows::Row* b = second.next();
    while (a || b)
        if (a && (!b || (*a)[0] <= (*b)[0])) {
            useFirst(*a);
            a = first.next();
        } else {
            useSecond(*b);
            b = second.next();
        }
}

std::int64_t firstOpOf(WritableFile& target, std::int64_t run)
{
    const StatementCache::Loan query = target.query("select first_op from run where id = ?");
    query->bind(1, run);
    return integerOf(*query);
}

/// The times of a row, which count from the run's start, and its step.
template <class Event> Event eventAt(std::int64_t start, std::int64_t duration, std::int64_t step)
{
    Event event;
    event.start = timestampAt(start);
    event.end = timestampAt(start + duration);
    event.step = step == kNull ? kNoStep : static_cast<std::int32_t>(step);
    return event;
}

} // namespace

TrackWriter::TrackWriter(WritableFile& target, std::int64_t run)
    : target_(target), run_(run), stepPath_(target.strings().intern("step")),
      memset_(
          target.strings().word(WordSet::DeviceEventKind, static_cast<std::size_t>(DeviceEventKind::Memset))),
      alloc_(target.strings().word(WordSet::AllocAction, static_cast<std::size_t>(AllocAction::Alloc))),
      firstOp_(firstOpOf(target, run)),
      tracks_(target.database(), target.ledger(), Source::Track,
              {"id", "run", "kind", "device", "stream", "thread", "row", "events", "start", "end"}),
      data_(target.database(), target.ledger(), Source::TrackData,
            {"id", "run", "track", "first", "events", "start", "end", "data"}),
      totals_(target, run)
{
}

TrackWriter::~TrackWriter() = default;

bool TrackWriter::hasEnough(WritableFile& target, std::int64_t run)
{
    const StatementCache::Loan query =
        target.query("select coalesce(sum(rows), 0) from chunk where run = ? and source in "
                     "('range', 'op', 'api_call', 'kernel', 'copy', 'allocation')");
    query->bind(1, run);
    return integerOf(*query) >= kFewestEvents;
}

void TrackWriter::write()
{
    read(EventKind::Range);
    read(EventKind::Op, EventKind::ApiCall);
    read(EventKind::Kernel, EventKind::Copy);
    writeAdded();
}

void TrackWriter::writeAdded()
{
    endDevices();
    readMemory();
    finish();
    totals_.write();
}

// Reading -----------------------------------------------------------------------------------------------------

/// The run's rows are contiguous: its chunks give their ids, so other rows are not read.
std::string TrackWriter::select(Source source, const std::string& columns) const
{
    const std::string table(nameOf(source));
    const std::string chunks = " from chunk where run = ?1 and source = '" + table + "')";
    return "select " + columns + " from " + table + " where run = ?1 and id between (select min(first)" +
           chunks + " and (select max(last)" + chunks + " order by id";
}

SortedRows TrackWriter::rowsOf(EventKind kind) const
{
    std::string columns;
    for (const std::string_view column : trackColumns(kind))
        columns.append(columns.empty() ? "" : ", ").append(column);
    return {target_.database(), select(sourceOf(kind), columns), run_};
}

void TrackWriter::read(EventKind kind)
{
    SortedRows rows = rowsOf(kind);
    while (const SortedRows::Row* row = rows.next()) {
        add(TrackRow{kind, *row});
        writePieces();
    }
}

void TrackWriter::read(EventKind first, EventKind second)
{
    const auto taking = [this](EventKind kind) {
        return [this, kind](const SortedRows::Row& row) {
            add(TrackRow{kind, row});
            writePieces();
        };
    };
    merge(rowsOf(first), rowsOf(second), taking(first), taking(second));
}

void TrackWriter::readMemory()
{
    SortedRows rows(target_.database(),
                    select(Source::Allocation,
                           "start, device, allocated, reserved, action, bytes, category, path, op, step"),
                    run_);
    while (const SortedRows::Row* row = rows.next()) {
        Track& curve = track(lane({.kind = LaneKind::Memory, .device = idOf<DeviceIndex>((*row)[1])}), 0);
        curve.points.push_back({(*row)[0], (*row)[2], (*row)[3]});
        if ((*row)[4] == alloc_)
            addAllocation(*row);
        if (curve.points.size() == kPacked)
            packPointsOf(curve);
        writePieces();
    }
}

// Boxes -------------------------------------------------------------------------------------------------------

void TrackWriter::add(const TrackRow& row)
{
    switch (row.kind) {
    case EventKind::Range:
        return addRange(row.values);
    case EventKind::Op:
        return addOp(row.values);
    case EventKind::ApiCall:
        return addCall(row.values);
    case EventKind::Kernel:
        return addDeviceEvent(row.values, DeviceEventKind::Kernel);
    case EventKind::Copy:
        return addDeviceEvent(row.values,
                              row.values[12] == memset_ ? DeviceEventKind::Memset : DeviceEventKind::Memcpy);
    case EventKind::Allocation:
    case EventKind::Frame:
        return;
    }
}

void TrackWriter::addRange(const SortedRows::Row& row)
{
    const auto [start, duration, path, thread, step, unused1, unused2, unused3, unused4, unused5, unused6,
                unused7, unused8] = row;
    auto range = eventAt<Range>(start, duration, step);
    range.path = idOf<StringId>(path);
    range.thread = idOf<ThreadId>(thread);
    totals_.add(range);
    add(LaneBox::range(range.thread, range.path, start, start + duration));
    if (path == stepPath_ && step != kNull)
        add(LaneBox::step(range.step, start, start + duration));
}

void TrackWriter::addOp(const SortedRows::Row& row)
{
    const auto [start, duration, name, thread, path, step, id, parent, shapes, unused1, unused2, unused3,
                unused4] = row;
    Op op = eventAt<Op>(start, duration, step);
    op.id = opOf(id);
    op.parent = opOf(parent);
    op.name = idOf<StringId>(name);
    op.shapes = idOf<StringId>(shapes);
    op.path = idOf<StringId>(path);
    op.thread = idOf<ThreadId>(thread);
    totals_.add(op);
    add(LaneBox::op(op.thread, op.name, start, start + duration));
}

void TrackWriter::addCall(const SortedRows::Row& row)
{
    const auto [start, duration, name, thread, word, unused1, unused2, unused3, unused4, unused5, unused6,
                unused7, unused8] = row;
    auto call = eventAt<ApiCall>(start, duration, kNull);
    call.kind = callKind(word);
    call.name = idOf<StringId>(name);
    call.thread = idOf<ThreadId>(thread);
    totals_.add(call);
    add(LaneBox::call(call.thread, call.name, call.kind, start, start + duration));
}

void TrackWriter::addAllocation(const SortedRows::Row& row)
{
    const auto [start, device, allocated, reserved, action, bytes, category, path, op, step, unused1, unused2,
                unused3] = row;
    AllocEvent event;
    event.time = timestampAt(start);
    event.device = idOf<DeviceIndex>(device);
    event.bytes = bytes;
    event.category = idOf<StringId>(category);
    event.path = idOf<StringId>(path);
    event.op = opOf(op);
    event.step = step == kNull ? kNoStep : static_cast<std::int32_t>(step);
    totals_.add(event);
}

/// The number in the run of a row's id.
OpId TrackWriter::opOf(std::int64_t id) const
{
    const std::int64_t number = id == kNull ? -1 : id - firstOp_;
    return number >= 0 && number < OpId::none().value ? OpId{static_cast<std::uint32_t>(number)} : OpId{};
}

ApiKind TrackWriter::callKind(std::int64_t word) const
{
    for (const ApiKind kind : {ApiKind::Launch, ApiKind::Synchronize, ApiKind::Wait, ApiKind::Overhead})
        if (word == target_.strings().word(WordSet::ApiKind, static_cast<std::size_t>(kind)))
            return kind;
    return ApiKind::Other;
}

void TrackWriter::addDeviceEvent(const SortedRows::Row& row, DeviceEventKind kind)
{
    const auto [start, duration, name, device, stream, queued, path, step, op, thread, correlation, graphNode,
                unused] = row;
    auto event = eventAt<DeviceEvent>(start, duration, step);
    event.kind = kind;
    event.name = idOf<StringId>(name);
    event.path = idOf<StringId>(path);
    event.device = idOf<DeviceIndex>(device);
    event.stream = idOf<StreamId>(stream);
    event.op = opOf(op);
    event.launchThread = idOf<ThreadId>(thread);
    event.correlation = idOf<CorrelationId>(correlation);
    event.graphNode = graphNode == kNull ? 0 : static_cast<std::uint64_t>(graphNode);
    if (queued != kNull)
        event.launched = timestampAt(start - queued);
    totals_.add(event, queued != kNull);
    const LaneBox box =
        LaneBox::onStream(event.device, event.stream, kind, event.name, start, start + duration);
    add(box);
    lane({.kind = LaneKind::Busy, .device = event.device})
        .spans.add(start, box.end(), queued == kNull ? BusySpans::kUnknown : start - queued,
                   [&](std::int64_t from, std::int64_t to, BusyReason reason) {
                       add(LaneBox::busy(event.device, reason, from, to));
                   });
}

void TrackWriter::endDevices()
{
    for (const auto& [key, lane] : lanes_)
        if (lane->info.kind == LaneKind::Busy)
            lane->spans.finish([&, &lane = lane](std::int64_t from, std::int64_t to, BusyReason reason) {
                add(LaneBox::busy(lane->info.device, reason, from, to));
            });
}

TrackWriter::Lane& TrackWriter::lane(const TrackInfo& info)
{
    const LaneKey key{info.kind, info.device, info.stream, info.thread};
    if (lastLane_ && key == lastKey_)
        return *lastLane_;
    std::unique_ptr<Lane>& lane = lanes_[key];
    if (!lane) {
        lane = std::make_unique<Lane>();
        lane->info = info;
    }
    lastKey_ = key;
    lastLane_ = lane.get();
    return *lane;
}

TrackWriter::Track& TrackWriter::track(Lane& lane, std::size_t row)
{
    while (lane.tracks.size() <= row) {
        auto track = std::make_unique<Track>();
        track->info = lane.info;
        track->info.row = lane.tracks.size();
        lane.tracks.push_back(std::move(track));
    }
    return *lane.tracks[row];
}

void TrackWriter::add(const LaneBox& event)
{
    Lane& own = lane(event.lane);
    Track& row = track(own, rowFor(event.box.start, own.tracks.size(),
                                   [&own](std::size_t i) { return own.tracks[i]->end; }));
    row.end = event.end();
    row.boxes.push_back(event.box);
    if (row.boxes.size() == kPacked)
        pack(row);
}

void TrackWriter::pack(Track& track)
{
    if (track.boxes.empty())
        return;
    const std::vector<Box>& boxes = track.boxes;
    keep(track, static_cast<std::int64_t>(boxes.size()), boxes.front().start, packBoxes(boxes));
    track.boxes.clear();
}

void TrackWriter::packPointsOf(Track& track)
{
    if (track.points.empty())
        return;
    const std::vector<MemoryPoint>& points = track.points;
    track.end = points.back().time;
    keep(track, static_cast<std::int64_t>(points.size()), points.front().time, packPoints(points));
    track.points.clear();
}

void TrackWriter::keep(Track& track, std::int64_t events, std::int64_t start, std::string&& bytes)
{
    if (track.packed == 0)
        track.start = start;
    pieces_.push_back({&track, track.packed, events, start, track.end, std::move(bytes)});
    track.packed += events;
}

// Writing -----------------------------------------------------------------------------------------------------

void TrackWriter::writePieces()
{
    for (const Piece& piece : pieces_) {
        std::int64_t& track = piece.track->info.id;
        if (track == 0)
            track = target_.ledger().takeId(Source::Track);
        data_.insert(run_,
                     {run_, track, piece.first, piece.events, piece.start, piece.end, Blob{piece.bytes}});
    }
    pieces_.clear();
}

void TrackWriter::finish()
{
    std::vector<Track*> tracks;
    for (const auto& [key, lane] : lanes_)
        for (const auto& track : lane->tracks) {
            pack(*track);
            packPointsOf(*track);
            tracks.push_back(track.get());
        }
    writePieces();
    std::ranges::sort(tracks, {}, [](const Track* track) { return track->info.id; });
    for (const Track* track : tracks) {
        const TrackInfo& info = track->info;
        tracks_.insertAs(info.id, run_,
                         {run_, wordOf(info.kind), cellOfId(info.device), cellOfId(info.stream),
                          cellOfId(info.thread), static_cast<std::int64_t>(info.row), track->packed,
                          track->start, track->end});
    }
}

} // namespace tilescope::store
