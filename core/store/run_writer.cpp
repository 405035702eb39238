#include "core/store/run_writer.h"

#include "core/base/error.h"
#include "core/base/this_host.h"
#include "core/model/losses.h"
#include "core/model/text.h"
#include "core/store/file/database.h"
#include "core/store/rows/counter_rows.h"
#include "core/store/rows/host_sample_rows.h"
#include "core/store/rows/kernel_sample_rows.h"
#include "core/store/rows/memory_rows.h"
#include "core/store/rows/process_rows.h"
#include "core/store/rows/row_inserter.h"
#include "core/store/rows/writable_file.h"
#include "core/store/tracks/track_feed.h"
#include "core/store/tracks/track_writer.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <random>
#include <stdexcept>
#include <type_traits>

namespace tilescope::store {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

namespace {

/// Maximum number of events per transaction: what a killed writer can lose, and what SQLite keeps in its log
/// until it may be cleared.
constexpr std::size_t kRowsPerCommit = 200'000;

/// RFC 9562, version 4.
std::string newUuid()
{
    std::random_device random;
    std::array<std::uint32_t, 4> words{};
    for (std::uint32_t& word : words)
        word = random();
    words[1] = (words[1] & 0xffff0fffU) | 0x00004000U;
    words[2] = (words[2] & 0x3fffffffU) | 0x80000000U;
    std::array<char, 37> text{};
    std::snprintf(text.data(), text.size(), "%08x-%04x-%04x-%04x-%04x%08x", words[0], words[1] >> 16,
                  words[1] & 0xffffU, words[2] >> 16, words[2] & 0xffffU, words[3]);
    return text.data();
}

} // namespace

class RunWriter::Impl {
public:
    Impl(const fs::path& path, const StringTable& strings, NewFile newFile) : target(path, strings, newFile)
    {
    }

    void beginRun(const RunHeader& header);
    void reopenRun(RunId run);
    void write(const TraceBatch& batch);
    void endRun(const RunResult& result);
    void commit();
    void seal();
    void requireFreeSpace(Bytes needed) const;

    void requireRun() const
    {
        if (frame.run == 0)
            throw std::logic_error("RunWriter: no run is open");
    }

    /// Runs one member of the writer: an error of SQLite's becomes ours, and after any error nothing more is
    /// written.
    template <class Work> void guarded(Work&& work)
    {
        if (failure)
            throw *failure;
        try {
            translating(target.file(), work);
        } catch (const Error& error) {
            failure = error;
            if (failure->where.empty())
                failure->where = target.file().string();
            target.abandon();
            throw *failure;
        }
    }

    template <class Work> void inTransaction(const Work& work)
    {
        guarded([&] {
            target.begin();
            work();
        });
    }
    template <class Work> void inRun(const Work& work)
    {
        requireRun();
        inTransaction(work);
    }

    WritableFile target;
    RowFrame frame;
    std::string uid;
    std::int64_t eventsOverCap = 0; ///< of the last run
    std::optional<Error> failure;

    RowInserter environment{
        target.database(), target.chunks(), "environment", {"id", "run", "key", "value", "unit"}};
    RowInserter samples{target.database(),
                        target.chunks(),
                        "sample",
                        {"id", "run", "step", "kind", "phase", "wall_ns", "gpu_ns"}};
    RowInserter counters{target.database(),
                         target.chunks(),
                         "counter",
                         {"id", "run", "path", "metric", "value", "unit", "instances", "passes"}};
    RowInserter ceilings{
        target.database(),
        target.chunks(),
        "ceiling",
        {"id", "device", "device_name", "kind", "value", "unit", "n", "spread", "measured", "program"}};
    MemoryRows memory{target.database(), target.chunks(), target.strings()};
    ProcessRows topology{target.database(), target.chunks(), target.strings()};
    CounterRows counterTracks{target.database(), target.chunks(), target.strings()};
    KernelSampleRows kernelSamples{target.database(), target.chunks(), target.strings()};
    HostSampleRows hostSamples{target.database(), target.chunks(), target.strings()};

private:
    template <class Record> void append(EventKind kind, const Record& record)
    {
        if (events_ == eventCap_) {
            ++eventsDropped_;
            ++eventsOverCap;
            return;
        }
        noteReferences(record);
        std::int64_t* row = target.appender(kind).append();
        toRow(record, frame, target.strings(), row);
        if (feed_)
            feed_->add(kind, row);
        ++events_;
        ++rowsSinceCommit_;
    }
    /// A record may refer to a range or op that is never stored: no other run may get its number.
    template <class Record> void noteReferences(const Record& record)
    {
        if constexpr (requires { record.op; })
            if (record.op)
                lastOp_ = std::max(lastOp_, std::int64_t{record.op.value});
        if constexpr (requires { record.range; })
            if (record.range)
                lastRange_ = std::max(lastRange_, std::int64_t{record.range.value});
        if constexpr (requires { record.parent; })
            if (record.parent)
                (std::is_same_v<Record, Op> ? lastOp_ : lastRange_) = std::max(
                    std::is_same_v<Record, Op> ? lastOp_ : lastRange_, std::int64_t{record.parent.value});
    }
    void writeLoss(std::string_view kind, LossSeverity severity, std::int64_t count, std::string_view detail);

    RowInserter runs_{target.database(),
                      target.chunks(),
                      "run",
                      {"id", "uid", "name", "workload", "spec", "spec_hash", "point", "program", "host",
                       "pid", "status", "started", "clock_origin", "first_range", "first_op"}};
    RowInserter losses_{
        target.database(), target.chunks(), "loss", {"id", "run", "kind", "severity", "count", "detail"}};
    std::optional<TrackFeed> feed_; ///< of a run whose events arrive in order
    std::size_t rowsSinceCommit_ = 0;
    std::int64_t lastOp_ = -1; ///< highest numbers that the open run's records refer to
    std::int64_t lastRange_ = -1;
    std::int64_t eventCap_ = 0;
    std::int64_t recordsChecked_ = 0; ///< since the last commit
    std::int64_t events_ = 0;         ///< of the open run, stored
    std::int64_t eventsDropped_ = 0;  ///< over the cap and not yet reported
};

void RunWriter::Impl::beginRun(const RunHeader& header)
{
    target.begin();
    eventCap_ = header.eventCap;
    events_ = 0;
    eventsOverCap = 0;
    lastOp_ = -1;
    lastRange_ = -1;
    uid = newUuid();
    frame.firstRange = target.chunks().table("range").nextId();
    frame.firstOp = target.chunks().table("op").nextId();
    frame.clockOrigin = nanosecondsOf(header.clockOrigin.value_or(TraceClock::now()));
    const std::string host = hostName();
    frame.run = target.chunks().table("run").nextId();
    runs_.insert(frame.run, {uid, header.name, header.workload, header.specJson, header.specHash,
                             cellOf(header.point), header.program, host, static_cast<std::int64_t>(getpid()),
                             "running"sv, header.startedUnixNs.value_or(unixNs()), frame.clockOrigin,
                             frame.firstRange, frame.firstOp});
    target.updateRunChecksum(frame.run);
    feed_.reset();
    if (header.isInOrder)
        feed_.emplace(target, frame.run);
    commit();
}

void RunWriter::Impl::reopenRun(RunId run)
{
    target.begin();
    feed_.reset();
    lastOp_ = -1;
    lastRange_ = -1;
    SQLite::Statement query(target.database(), "select uid, clock_origin, first_range, first_op from run "
                                               "where id = ? and status = 'interrupted'");
    query.bind(1, run.value);
    if (!query.executeStep())
        throw Error{.what = "has no interrupted run " + std::to_string(run.value),
                    .where = target.file().string()};
    uid = query.getColumn(0).getString();
    frame = {.run = run.value,
             .clockOrigin = query.getColumn(1).getInt64(),
             .firstRange = query.getColumn(2).getInt64(),
             .firstOp = query.getColumn(3).getInt64()};
}

void RunWriter::Impl::writeLoss(std::string_view kind, LossSeverity severity, std::int64_t count,
                                std::string_view detail)
{
    losses_.insert(frame.run, {frame.run, kind, wordOf(severity), count, detail});
}

void RunWriter::Impl::write(const TraceBatch& batch)
{
    for (const Range& range : batch.ranges)
        append(EventKind::Range, range);
    for (const Op& op : batch.ops)
        append(EventKind::Op, op);
    for (const ApiCall& call : batch.apiCalls)
        append(EventKind::ApiCall, call);
    for (const DeviceEvent& event : batch.deviceEvents)
        append(kindOf(event), event);
    for (const AllocEvent& event : batch.allocEvents)
        append(EventKind::Allocation, event);
    for (const Frame& call : batch.frames)
        append(EventKind::Frame, call);
    if (feed_)
        feed_->endBatch();
    for (const Collective& collective : batch.collectives)
        topology.insert(collective, frame);
    for (const Wait& wait : batch.waits)
        topology.insert(wait, frame);
    for (const ThreadName& thread : batch.threads)
        topology.insert(thread, frame);
    for (const Loss& loss : batch.losses)
        writeLoss(target.strings().textOf(loss.kind), loss.severity, loss.count,
                  target.strings().textOf(loss.detail));
    recordsChecked_ += batch.recordsChecked;
    if (rowsSinceCommit_ >= kRowsPerCommit)
        commit();
}

void RunWriter::Impl::commit()
{
    target.begin();
    if (recordsChecked_ > 0) {
        SQLite::Statement update(target.database(),
                                 "update run set records_checked = records_checked + ? where id = ?");
        update.bind(1, recordsChecked_);
        update.bind(2, frame.run);
        update.exec();
        target.updateRunChecksum(frame.run);
    }
    if (eventsDropped_ > 0)
        writeLoss(infoOf(RecordLoss::EventCap).name, infoOf(RecordLoss::EventCap).severity, eventsDropped_,
                  lossDetail(RecordLoss::EventCap, "cap: " + std::to_string(eventCap_)));
    if (frame.run != 0) {
        target.chunks().table("op").reserve(frame.firstOp + lastOp_);
        target.chunks().table("range").reserve(frame.firstRange + lastRange_);
    }
    target.commit();
    recordsChecked_ = 0;
    eventsDropped_ = 0;
    rowsSinceCommit_ = 0;
}

void RunWriter::Impl::requireFreeSpace(Bytes needed) const
{
    std::error_code error;
    const fs::space_info space = fs::space(fs::absolute(target.file()).parent_path(), error);
    if (!error && space.available < static_cast<std::uintmax_t>(needed.count))
        throw Error{.what = "its disk has only " + std::to_string(space.available >> 20) +
                            " MiB free, and a run may need " + std::to_string(needed.count >> 20),
                    .where = target.file().string(),
                    .remedy = "free some space, or name a file on another disk",
                    .kind = ErrorKind::Failure};
}

namespace {

/// A JSON list; numbers that JSON lacks become null.
std::string lossText(const std::vector<std::optional<double>>& losses)
{
    nlohmann::json list = nlohmann::json::array();
    for (const std::optional<double>& loss : losses)
        list.push_back(loss && std::isfinite(*loss) ? nlohmann::json(*loss) : nlohmann::json());
    return list.dump();
}

} // namespace

void RunWriter::Impl::endRun(const RunResult& result)
{
    target.begin();
    target.flush();
    if (feed_)
        feed_->write();
    else if (TrackWriter::hasEnough(target, frame.run))
        TrackWriter(target, frame.run).write();
    feed_.reset();
    SQLite::Statement update(
        target.database(),
        "update run set status = ?, reason = ?, device = ?, parameters = ?, before_backward = ?, "
        "peak_allocated = ?, peak_reserved = ?, trace_overhead = ?, loss = ?, oom_requested = ?, "
        "oom_allocated = ?, oom_reserved = ?, oom_phase = ?, flags = ?, duration = ?, clock_offset_start = "
        "?, "
        "clock_offset_end = ? where id = ?");
    const auto bytes = [](const std::optional<Bytes>& value) {
        return value ? std::optional<std::int64_t>(value->count) : std::nullopt;
    };
    const auto bind = [&update](int position, const auto& value) {
        if (value)
            update.bind(position, *value);
        else
            update.bind(position);
    };
    const OomInfo oom = result.oom.value_or(OomInfo{});
    update.bind(1, wordOf(result.status).data());
    update.bind(2, result.reason);
    update.bind(3, result.device);
    bind(4, result.parameters);
    bind(5, bytes(result.beforeBackward));
    bind(6, bytes(result.peakAllocated));
    bind(7, bytes(result.peakReserved));
    bind(8, result.traceOverhead);
    bind(9, result.losses.empty() ? std::nullopt : std::optional(lossText(result.losses)));
    bind(10, bytes(oom.requested));
    bind(11, bytes(oom.allocated));
    bind(12, bytes(oom.reserved));
    bind(13, result.oom ? std::optional(oom.phase) : std::nullopt);
    update.bind(14, nlohmann::json(result.flags).dump());
    update.bind(15, static_cast<std::int64_t>(result.duration.count()));
    const auto nanoseconds = [](const std::optional<Nanoseconds>& value) {
        return value ? std::optional<std::int64_t>(value->count()) : std::nullopt;
    };
    bind(16, nanoseconds(result.clockOffsetStart));
    bind(17, nanoseconds(result.clockOffsetEnd));
    update.bind(18, frame.run);
    update.exec();
    target.updateRunChecksum(frame.run);
    commit();
    frame = {};
    uid.clear();
}

/// Marks a run that was not ended as interrupted, then seals the file.
void RunWriter::Impl::seal()
{
    if (frame.run != 0) {
        RunResult result;
        result.status = RunStatus::Interrupted;
        result.reason = "the program ended before the run did";
        endRun(result);
    }
    target.seal();
}

RunWriter::RunWriter(const fs::path& file, const StringTable& strings, NewFile newFile)
    : impl_(translating(file, [&] { return std::make_unique<Impl>(file, strings, newFile); }))
{
}

RunWriter::~RunWriter()
{
    // After a failure, committed data is in the file and its log; the next writer seals it.
    if (impl_->failure || impl_->target.isSealed() || impl_->target.isDraft())
        return;
    try {
        impl_->guarded([this] { impl_->seal(); });
    } catch (...) {
        warn(currentExceptionSentence());
    }
}

RunId RunWriter::beginRun(const RunHeader& header)
{
    impl_->requireFreeSpace(header.freeBytesNeeded);
    impl_->guarded([&] { impl_->beginRun(header); });
    return run();
}

void RunWriter::reopenRun(RunId run)
{
    impl_->guarded([&] { impl_->reopenRun(run); });
}

void RunWriter::writeEnvironment(std::span<const EnvironmentEntry> entries)
{
    impl_->inRun([&] {
        for (const EnvironmentEntry& entry : entries)
            impl_->environment.insert(impl_->frame.run,
                                      {impl_->frame.run, entry.key, entry.value, entry.unit});
    });
}

void RunWriter::writeSamples(std::span<const Sample> samples)
{
    impl_->inRun([&] {
        for (const Sample& sample : samples)
            impl_->samples.insert(impl_->frame.run,
                                  {impl_->frame.run, std::int64_t{sample.step}, wordOf(sample.kind),
                                   wordOf(sample.phase), std::int64_t{sample.wall.count()},
                                   sample.gpu ? Cell(std::int64_t{sample.gpu->count()}) : Cell()});
    });
}

void RunWriter::writeCounters(std::span<const CounterValue> counters)
{
    impl_->inRun([&] {
        for (const CounterValue& counter : counters)
            impl_->counters.insert(impl_->frame.run,
                                   {impl_->frame.run, counter.path, counter.metric, counter.value,
                                    counter.unit, counter.instances, counter.passes});
    });
}

void RunWriter::writeCounterTracks(std::span<const CounterTrack> tracks)
{
    impl_->inRun([&] {
        for (const CounterTrack& track : tracks)
            impl_->counterTracks.insert(track, impl_->frame);
    });
}

void RunWriter::writeHostSamples(std::span<const HostSamples> samples)
{
    impl_->inRun([&] {
        for (const HostSamples& each : samples)
            impl_->hostSamples.insert(each, impl_->frame);
    });
}

void RunWriter::writeKernelSamples(const KernelSamples& samples)
{
    impl_->inRun([&] { impl_->kernelSamples.insert(samples, impl_->frame); });
}

void RunWriter::writeCeilings(std::span<const Ceiling> ceilings)
{
    impl_->inTransaction([&] {
        for (const Ceiling& ceiling : ceilings)
            impl_->ceilings.insert({}, {ceiling.device, ceiling.deviceName, ceiling.kind, ceiling.value,
                                        ceiling.unit, ceiling.n, ceiling.spread, ceiling.measuredUnixNs,
                                        ceiling.program});
    });
}

void RunWriter::writeMemory(const MemoryFacts& facts)
{
    impl_->inRun([&] { impl_->memory.insert(facts, impl_->frame); });
}

void RunWriter::writeTopology(const RunTopology& topology)
{
    impl_->inRun([&] { impl_->topology.insert(topology, impl_->frame); });
}

void RunWriter::write(const TraceBatch& batch)
{
    impl_->inRun([&] { impl_->write(batch); });
}

void RunWriter::commit()
{
    impl_->guarded([&] { impl_->commit(); });
}

void RunWriter::endRun(const RunResult& result)
{
    impl_->inRun([&] { impl_->endRun(result); });
}

void RunWriter::seal()
{
    if (impl_->frame.run != 0)
        throw std::logic_error("RunWriter: a run is open");
    impl_->guarded([&] { impl_->seal(); });
}

std::int64_t RunWriter::eventsOverCap() const
{
    return impl_->eventsOverCap;
}

std::string RunWriter::uid() const
{
    return impl_->uid;
}

std::int64_t RunWriter::pagesLookedAt() const
{
    return impl_->target.pagesLookedAt();
}

RunId RunWriter::run() const
{
    return impl_->frame.run == 0 ? RunId::none() : RunId{impl_->frame.run};
}

} // namespace tilescope::store
