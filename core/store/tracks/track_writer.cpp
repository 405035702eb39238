#include "core/store/tracks/track_writer.h"

#include "core/model/events.h"
#include "core/store/rows/sorted_rows.h"
#include "core/store/tracks/packed_track.h"

#include <algorithm>

namespace tilescope::store {

struct TrackWriter::Track {
    TrackInfo info;
    std::int64_t start = 0; ///< of the first box
    std::int64_t end = 0;
    std::vector<Box> boxes; ///< not yet packed
    std::vector<MemoryPoint> points;
    std::int64_t packed = 0; ///< boxes or points before these
};

struct TrackWriter::Lane {
    TrackInfo info;
    LaneRows rows;
    BusySpans spans; ///< Busy
    std::vector<std::unique_ptr<Track>> tracks;
};

namespace {

template <class IdType> Cell cellOfId(IdType id)
{
    return id ? Cell(static_cast<std::int64_t>(id.value)) : Cell();
}

template <class IdType> IdType idOf(std::int64_t value)
{
    return value == kNull ? IdType::none() : IdType{static_cast<decltype(IdType::value)>(value)};
}

std::uint64_t codeOf(std::int64_t text, std::uint64_t detail)
{
    return BoxCode::of(idOf<StringId>(text).value, detail);
}

CallDetail detailOf(ApiKind kind)
{
    switch (kind) {
    case ApiKind::Synchronize:
    case ApiKind::Wait:
        return CallDetail::Waits;
    case ApiKind::Overhead:
        return CallDetail::Tracing;
    default:
        return CallDetail::Call;
    }
}

/// Out of a copy's code.
std::int64_t nameOfCopy(std::int64_t code)
{
    return code == kNull ? kNull : code >> 2;
}

} // namespace

TrackWriter::TrackWriter(WritableFile& target, std::int64_t run)
    : target_(target), run_(run),
      tracks_(target.database(), target.ledger(), Source::Track,
              {"id", "run", "kind", "device", "stream", "thread", "row", "events", "start", "end"}),
      data_(target.database(), target.ledger(), Source::TrackData,
            {"id", "run", "track", "first", "events", "start", "end", "data"}),
      totals_(target, run)
{
}

TrackWriter::~TrackWriter() = default;

void TrackWriter::write()
{
    if (events() < kFewestEvents)
        return;
    writeRanges();
    writeThreads();
    writeDevices();
    writeMemory();
    finish();
    totals_.write();
}

std::int64_t TrackWriter::events() const
{
    SQLite::Statement query(target_.database(),
                            "select coalesce(sum(rows), 0) from chunk where run = ? and source in "
                            "('range', 'op', 'api_call', 'kernel', 'copy', 'allocation')");
    query.bind(1, run_);
    query.executeStep();
    return query.getColumn(0).getInt64();
}

/// The run's rows lie together: by its chunks they are found without a look at the others.
std::string TrackWriter::select(Source source, const char* columns) const
{
    const std::string table(nameOf(source));
    const std::string chunks = " from chunk where run = ?1 and source = '" + table + "')";
    return "select " + std::string(columns) + " from " + table +
           " where run = ?1 and id between (select min(first)" + chunks + " and (select max(last)" + chunks +
           " order by id";
}

void TrackWriter::writeRanges()
{
    const std::int64_t stepPath = target_.strings().intern("step");
    SortedRows ranges(target_.database(), select(Source::Range, "start, duration, path, thread, step"), run_);
    while (const SortedRows::Row* row = ranges.next()) {
        const auto [start, duration, path, thread, step, unused1, unused2, unused3] = *row;
        totals_.addRange(start, duration, path, step);
        add(lane(LaneKind::Range, thread, kNull), {start, duration, codeOf(path, 0)});
        if (path == stepPath && step != kNull)
            add(lane(LaneKind::Step, kNull, kNull), {start, duration, static_cast<std::uint64_t>(step)});
    }
}

ApiKind TrackWriter::callKind(std::int64_t word) const
{
    for (const ApiKind kind : {ApiKind::Launch, ApiKind::Synchronize, ApiKind::Wait, ApiKind::Overhead})
        if (word == target_.strings().word(WordSet::ApiKind, static_cast<std::size_t>(kind)))
            return kind;
    return ApiKind::Other;
}

/// Ops and calls of a thread share its rows.
void TrackWriter::writeThreads()
{
    SortedRows ops(target_.database(), select(Source::Op, "start, duration, name, thread, path, step"), run_);
    SortedRows calls(target_.database(), select(Source::ApiCall, "start, duration, name, thread, kind"),
                     run_);
    const auto addCall = [this](const SortedRows::Row& row) {
        const ApiKind kind = callKind(row[4]);
        totals_.addCall(row[0], row[1], kind);
        add(lane(LaneKind::Thread, row[3], kNull),
            {row[0], row[1], codeOf(row[2], static_cast<std::uint64_t>(detailOf(kind)))});
    };
    const auto addOp = [this](const SortedRows::Row& row) {
        totals_.addOp(row[0], row[1], row[4], row[5]);
        add(lane(LaneKind::Thread, row[3], kNull), {row[0], row[1], codeOf(row[2], 0)});
    };
    const SortedRows::Row* op = ops.next();
    const SortedRows::Row* call = calls.next();
    while (op || call) {
        const bool isCall = !op || (call && (*call)[0] < (*op)[0]);
        isCall ? addCall(*call) : addOp(*op);
        if (isCall)
            call = calls.next();
        else
            op = ops.next();
    }
}

void TrackWriter::writeDevices()
{
    const std::int64_t memset =
        target_.strings().word(WordSet::DeviceEventKind, static_cast<std::size_t>(DeviceEventKind::Memset));
    SortedRows kernels(target_.database(),
                       select(Source::Kernel, "start, duration, name, device, stream, queued, path, step"),
                       run_);
    const std::string kind = "case kind when " + std::to_string(memset) + " then 2 else 1 end";
    // The kind in the name's low bits, so that eight columns do.
    SortedRows copies(
        target_.database(),
        select(Source::Copy,
               ("start, duration, name * 4 + " + kind + ", device, stream, queued, path, step").c_str()),
        run_);
    const SortedRows::Row* kernel = kernels.next();
    const SortedRows::Row* copy = copies.next();
    while (kernel || copy) {
        const bool isKernel = kernel && (!copy || (*kernel)[0] <= (*copy)[0]);
        const auto [start, duration, name, device, stream, queued, path, step] = isKernel ? *kernel : *copy;
        const std::uint64_t code = isKernel ? codeOf(name, 0) : static_cast<std::uint64_t>(name);
        totals_.addDeviceEvent(static_cast<DeviceEventKind>(BoxCode::detail(code)), start, duration,
                               isKernel ? name : nameOfCopy(name), path, step, queued);
        add(lane(LaneKind::Stream, device, stream), {start, duration, code});
        Lane& busy = lane(LaneKind::Busy, device, kNull);
        busy.spans.add(start, start + duration, queued == kNull ? BusySpans::kUnknown : start - queued,
                       [&](std::int64_t from, std::int64_t to, BusyReason reason) {
                           add(busy, {from, to - from, static_cast<std::uint64_t>(reason)});
                       });
        if (isKernel)
            kernel = kernels.next();
        else
            copy = copies.next();
    }
    for (const auto& [key, lane] : lanes_)
        if (lane->info.kind == LaneKind::Busy)
            lane->spans.finish([&, &lane = lane](std::int64_t from, std::int64_t to, BusyReason reason) {
                add(*lane, {from, to - from, static_cast<std::uint64_t>(reason)});
            });
}

void TrackWriter::writeMemory()
{
    SortedRows rows(target_.database(), select(Source::Allocation, "start, device, allocated, reserved"),
                    run_);
    while (const SortedRows::Row* row = rows.next()) {
        Track& curve = track(lane(LaneKind::Memory, (*row)[1], kNull), 0);
        curve.points.push_back({(*row)[0], (*row)[2], (*row)[3]});
        if (curve.points.size() == kPacked)
            flushPoints(curve);
    }
}

TrackWriter::Lane& TrackWriter::lane(LaneKind kind, std::int64_t owner, std::int64_t stream)
{
    const LaneKey key{kind, owner, stream};
    if (lastLane_ && key == lastKey_)
        return *lastLane_;
    std::unique_ptr<Lane>& lane = lanes_[key];
    if (!lane) {
        lane = std::make_unique<Lane>();
        lane->info.kind = kind;
        if (kind == LaneKind::Range || kind == LaneKind::Thread)
            lane->info.thread = idOf<ThreadId>(owner);
        else
            lane->info.device = idOf<DeviceIndex>(owner);
        lane->info.stream = idOf<StreamId>(stream);
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
        track->info.id = target_.ledger().takeId(Source::Track);
        lane.tracks.push_back(std::move(track));
    }
    return *lane.tracks[row];
}

void TrackWriter::add(Lane& lane, const Box& box)
{
    // Times come from rows: a negative length would be another program's.
    const std::int64_t length = std::max<std::int64_t>(box.length, 0);
    Track& row = track(lane, lane.rows.add(box.start, box.start + length));
    row.boxes.push_back({box.start, length, box.code});
    if (row.boxes.size() == kPacked)
        flush(row);
}

void TrackWriter::flush(Track& track)
{
    if (track.boxes.empty())
        return;
    const std::vector<Box>& boxes = track.boxes;
    const std::int64_t start = boxes.front().start;
    if (track.packed == 0)
        track.start = start;
    track.end = boxes.back().start + boxes.back().length;
    const std::string packed = packBoxes(boxes);
    data_.insert(run_, {run_, track.info.id, track.packed, static_cast<std::int64_t>(boxes.size()), start,
                        track.end, Blob{packed}});
    track.packed += static_cast<std::int64_t>(boxes.size());
    track.boxes.clear();
}

void TrackWriter::flushPoints(Track& track)
{
    if (track.points.empty())
        return;
    const std::vector<MemoryPoint>& points = track.points;
    if (track.packed == 0)
        track.start = points.front().time;
    track.end = points.back().time;
    const std::string packed = packPoints(points);
    data_.insert(run_, {run_, track.info.id, track.packed, static_cast<std::int64_t>(points.size()),
                        points.front().time, track.end, Blob{packed}});
    track.packed += static_cast<std::int64_t>(points.size());
    track.points.clear();
}

void TrackWriter::finish()
{
    std::vector<Track*> tracks;
    for (const auto& [key, lane] : lanes_)
        for (const auto& track : lane->tracks) {
            flush(*track);
            flushPoints(*track);
            tracks.push_back(track.get());
        }
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
