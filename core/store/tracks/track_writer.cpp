#include "core/store/tracks/track_writer.h"

#include "core/model/events.h"
#include "core/store/rows/sorted_rows.h"
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

/// \return  with a clock origin of 0, so that times count from the run's start
RowFrame frameOf(WritableFile& target, std::int64_t run)
{
    const StatementCache::Handle query = target.query("select first_range, first_op from run where id = ?");
    query->bind(1, run);
    query->executeStep();
    return {
        .run = run, .firstRange = query->getColumn(0).getInt64(), .firstOp = query->getColumn(1).getInt64()};
}

} // namespace

TrackWriter::TrackWriter(WritableFile& target, std::int64_t run)
    : target_(target), run_(run), stepPath_(idOf<StringId>(target.strings().intern("step"))),
      frame_(frameOf(target, run)),
      tracks_(target.database(), target.chunks(), "track",
              {"id", "run", "kind", "device", "stream", "thread", "row", "events", "start", "end"}),
      data_(target.database(), target.chunks(), "track_data",
            {"id", "run", "track", "first", "events", "start", "end", "data"}),
      totals_(target, run)
{
}

TrackWriter::~TrackWriter() = default;

bool TrackWriter::hasEnough(WritableFile& target, std::int64_t run)
{
    const StatementCache::Handle query =
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

void TrackWriter::take(const EventRow& row)
{
    add(row);
    writePieces();
}

void TrackWriter::read(EventKind kind)
{
    SortedRows rows(target_.database(), kind, run_);
    while (const EventRow* row = rows.next())
        take(*row);
}

/// Takes the rows of both in start order; of two that start together that of `first`.
void TrackWriter::read(EventKind first, EventKind second)
{
    SortedRows firstRows(target_.database(), first, run_);
    SortedRows secondRows(target_.database(), second, run_);
    const EventRow* a = firstRows.next();
    const EventRow* b = secondRows.next();
    while (a || b)
        if (a && (!b || a->start() <= b->start())) {
            take(*a);
            a = firstRows.next();
        } else {
            take(*b);
            b = secondRows.next();
        }
}

void TrackWriter::readMemory()
{
    SortedRows rows(target_.database(), EventKind::Allocation, run_);
    while (const EventRow* row = rows.next()) {
        const AllocEvent event = allocationFrom(row->values.data(), frame_, *this);
        Track& curve = track(lane({.kind = LaneKind::Memory, .device = event.device}), 0);
        curve.points.push_back({row->start(), event.allocated, event.reserved});
        if (event.action == AllocAction::Alloc)
            totals_.add(event);
        if (curve.points.size() == kPacked)
            packPointsOf(curve);
        writePieces();
    }
}

const LaunchConfig& TrackWriter::launch(std::int64_t /*id*/)
{
    static constexpr LaunchConfig kNone;
    return kNone;
}

int TrackWriter::value(WordSet set, std::int64_t id)
{
    if (id == kNull) // a column that SortedRows does not read
        return 0;
    for (std::size_t value = 0; value < kMostWords; ++value)
        if (target_.strings().word(set, value) == id)
            return static_cast<int>(value);
    return -1;
}

// Boxes -------------------------------------------------------------------------------------------------------

void TrackWriter::add(const EventRow& row)
{
    const std::int64_t* values = row.values.data();
    switch (row.kind) {
    case EventKind::Range: {
        const Range range = rangeFrom(values, frame_, *this);
        totals_.add(range);
        add(LaneBox::range(range.thread, range.path, nanosecondsOf(range.start), nanosecondsOf(range.end)));
        if (range.path == stepPath_ && range.step != kNoStep)
            add(LaneBox::step(range.step, nanosecondsOf(range.start), nanosecondsOf(range.end)));
        return;
    }
    case EventKind::Op: {
        const Op op = opFrom(values, frame_, *this);
        totals_.add(op);
        return add(LaneBox::op(op.thread, op.name, nanosecondsOf(op.start), nanosecondsOf(op.end)));
    }
    case EventKind::ApiCall: {
        const ApiCall call = apiCallFrom(values, frame_, *this);
        totals_.add(call);
        return add(LaneBox::call(call.thread, call.name, call.kind, nanosecondsOf(call.start),
                                 nanosecondsOf(call.end)));
    }
    case EventKind::Kernel:
    case EventKind::Copy: {
        const auto queued = static_cast<std::size_t>(eventTable(row.kind).queued);
        return add(row.kind == EventKind::Kernel ? kernelFrom(values, frame_, *this)
                                                 : copyFrom(values, frame_, *this),
                   row.values[queued] != kNull);
    }
    case EventKind::Allocation:
    case EventKind::Frame:
        return;
    }
}

void TrackWriter::add(const DeviceEvent& event, bool isLaunched)
{
    totals_.add(event, isLaunched);
    const LaneBox box = LaneBox::onStream(event.device, event.stream, event.kind, event.name,
                                          nanosecondsOf(event.start), nanosecondsOf(event.end));
    add(box);
    lane({.kind = LaneKind::Busy, .device = event.device})
        .spans.add(box.box.start, box.end(), isLaunched ? nanosecondsOf(event.launched) : BusySpans::kUnknown,
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
            track = target_.chunks().table("track").takeId();
        data_.insert(run_,
                     {run_, track, piece.first, piece.events, piece.start, piece.end, Blob{piece.bytes}});
    }
    pieces_.clear();
}

std::vector<TrackWriter::Track*> TrackWriter::allTracks() const
{
    std::vector<Track*> tracks;
    for (const auto& [key, lane] : lanes_)
        for (const auto& track : lane->tracks)
            tracks.push_back(track.get());
    return tracks;
}

void TrackWriter::finish()
{
    std::vector<Track*> tracks = allTracks();
    std::int64_t boxes = 0;
    bool isWritten = false;
    for (const Track* track : tracks) {
        boxes += track->packed + std::ssize(track->boxes) + std::ssize(track->points);
        isWritten = isWritten || track->info.id != 0;
    }
    if (!isWritten && boxes < kFewestPerTrack * std::ssize(tracks))
        return pieces_.clear();
    for (Track* track : tracks) {
        pack(*track);
        packPointsOf(*track);
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
