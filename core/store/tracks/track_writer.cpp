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

/// Out of a copy's code.
std::int64_t nameOfCopy(std::int64_t code)
{
    return code == kNull ? kNull : code >> 2;
}

/// The rows of both in start order; of two that start together that of `first`.
template <class UseFirst, class UseSecond>
void merge(SortedRows& first, SortedRows& second, const UseFirst& useFirst, const UseSecond& useSecond)
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
    const StatementCache::Loan query =
        target_.query("select coalesce(sum(rows), 0) from chunk where run = ? and source in "
                      "('range', 'op', 'api_call', 'kernel', 'copy', 'allocation')");
    query->bind(1, run_);
    return integerOf(*query);
}

/// The run's rows are contiguous: its chunks give their ids, so other rows are not read.
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
        totals_.addRange(start, duration, path, thread, step);
        add(LaneBox::range(idOf<ThreadId>(thread), idOf<StringId>(path), start, start + duration));
        if (path == stepPath && step != kNull)
            add(LaneBox::step(static_cast<std::int32_t>(step), start, start + duration));
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
    merge(
        ops, calls,
        [this](const SortedRows::Row& row) {
            const auto [start, duration, name, thread, path, step, unused1, unused2] = row;
            totals_.addOp(start, duration, path, step);
            add(LaneBox::op(idOf<ThreadId>(thread), idOf<StringId>(name), start, start + duration));
        },
        [this](const SortedRows::Row& row) {
            const auto [start, duration, name, thread, word, unused1, unused2, unused3] = row;
            const ApiKind kind = callKind(word);
            totals_.addCall(start, duration, thread, kind);
            add(LaneBox::call(idOf<ThreadId>(thread), idOf<StringId>(name), kind, start, start + duration));
        });
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
    const auto addEvent = [this](const SortedRows::Row& row, DeviceEventKind eventKind, std::int64_t name) {
        const auto [start, duration, unused, device, stream, queued, path, step] = row;
        totals_.addDeviceEvent(eventKind, start, duration, name, path, device, stream, step, queued);
        const LaneBox event = LaneBox::onStream(idOf<DeviceIndex>(device), idOf<StreamId>(stream), eventKind,
                                                idOf<StringId>(name), start, start + duration);
        add(event);
        lane({.kind = LaneKind::Busy, .device = event.lane.device})
            .spans.add(start, event.end(), queued == kNull ? BusySpans::kUnknown : start - queued,
                       [&](std::int64_t from, std::int64_t to, BusyReason reason) {
                           add(LaneBox::busy(event.lane.device, reason, from, to));
                       });
    };
    merge(
        kernels, copies, [&](const SortedRows::Row& row) { addEvent(row, DeviceEventKind::Kernel, row[2]); },
        [&](const SortedRows::Row& row) {
            addEvent(row, static_cast<DeviceEventKind>(row[2] & 3), nameOfCopy(row[2]));
        });
    for (const auto& [key, lane] : lanes_)
        if (lane->info.kind == LaneKind::Busy)
            lane->spans.finish([&, &lane = lane](std::int64_t from, std::int64_t to, BusyReason reason) {
                add(LaneBox::busy(lane->info.device, reason, from, to));
            });
}

void TrackWriter::writeMemory()
{
    SortedRows rows(target_.database(), select(Source::Allocation, "start, device, allocated, reserved"),
                    run_);
    while (const SortedRows::Row* row = rows.next()) {
        Track& curve = track(lane({.kind = LaneKind::Memory, .device = idOf<DeviceIndex>((*row)[1])}), 0);
        curve.points.push_back({(*row)[0], (*row)[2], (*row)[3]});
        if (curve.points.size() == kPacked)
            flushPoints(curve);
    }
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
        track->info.id = target_.ledger().takeId(Source::Track);
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
