#include "core/exchange/import/nsys/nsys_import.h"
#include "core/exchange/import/rules/event_times.h"

#include <algorithm>
#include <array>
#include <map>

namespace tilescope::exchange {

namespace {

void readApiCalls(NsysImport& import)
{
    store::ForeignIntegers rows = import.file.readIntegers(
        "CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "end", "globalTid", "correlationId", "nameId"});
    while (rows.next()) {
        import.progress.step();
        import.builder.countRecord();
        const auto times = intervalOf(rows.integer(0), rows.integer(1), "CUDA calls", import.builder);
        if (!times)
            continue;
        const std::int64_t thread = rows.integerOr(2, 0);
        const std::uint32_t correlation = correlationOf(rows.integer(3));
        std::string_view name = import.file.string(rows.integer(4));
        if (name.empty())
            name = "(unnamed call)";
        import.collectives.addLaunch(thread, correlation, times->start);
        import.builder.addApiCall(import.topology.thread(thread), name, correlation, times->start,
                                  times->end);
    }
}

/// The calls that recorded CUDA events, to find the one that a wait waits for.
class RecordedEvents {
public:
    struct Record {
        std::uint32_t correlation = 0;
        std::int64_t stream = 0;
        std::optional<std::int64_t> context;
    };

    explicit RecordedEvents(NsysImport& import)
    {
        store::ForeignIntegers rows = import.file.readIntegers(
            "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
            {"globalPid", "eventId", "eventSyncId", "correlationId", "streamId", "contextId"});
        while (rows.next()) {
            import.progress.step();
            import.builder.countRecord();
            const std::uint64_t process = processKey(rows.integerOr(0, 0));
            const Record record{correlationOf(rows.integer(3)), rows.integerOr(4, 0), rows.integer(5)};
            if (const std::int64_t id = rows.integerOr(2, 0); id > 0)
                bySyncId_[{process, id}] = record;
            byEvent_[{process, rows.integerOr(1, 0)}][record.correlation] = record;
        }
    }

    /// By the id that connects both, since 2025; in older files the last record of the event before the wait.
    const Record* find(std::uint64_t process, std::int64_t syncId, std::int64_t event,
                       std::uint32_t correlation) const
    {
        if (const auto found = bySyncId_.find({process, syncId}); found != bySyncId_.end())
            return &found->second;
        const auto records = byEvent_.find({process, event});
        if (records == byEvent_.end())
            return nullptr;
        auto next = records->second.lower_bound(correlation);
        return next == records->second.begin() ? nullptr : &(--next)->second;
    }

private:
    using Key = std::pair<std::uint64_t, std::int64_t>;
    std::map<Key, Record> bySyncId_;
    std::map<Key, std::map<std::uint32_t, Record>> byEvent_;
};

constexpr std::int64_t kNone = 0xffffffff; // CUPTI_SYNCHRONIZATION_INVALID_VALUE

/// The kind follows from what takes part. The column syncType does not tell: exports of different years number
/// the kinds differently under the same enumeration.
WaitKind waitKind(bool hasStream, bool hasEvent)
{
    if (hasStream)
        return hasEvent ? WaitKind::StreamWait : WaitKind::Stream;
    return hasEvent ? WaitKind::Event : WaitKind::Context;
}

void readWaits(NsysImport& import)
{
    constexpr std::int64_t kMostDevices = 1024;
    const RecordedEvents events(import);
    store::ForeignIntegers rows = import.file.readIntegers(
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {"start", "end", "deviceId", "contextId", "streamId",
                                                "correlationId", "globalPid", "eventId", "eventSyncId"});
    enum : int { Start, End, Device, Context, Stream, Correlation, Process, Event, SyncId };
    while (rows.next()) {
        import.progress.step();
        import.builder.countRecord();
        const auto times = intervalOf(rows.integer(Start), rows.integer(End), "waits", import.builder);
        if (!times)
            continue;
        const std::int64_t device = rows.integerOr(Device, -1);
        if (device < 0 || device >= kMostDevices) {
            import.builder.addLoss(RecordLoss::SourceUnreadable, 1, "waits");
            continue;
        }
        const std::int64_t streamNumber = rows.integerOr(Stream, kNone);
        const std::int64_t event = rows.integerOr(Event, kNone);
        const std::int64_t process = rows.integerOr(Process, 0);
        const auto ordinal = static_cast<std::int32_t>(device);
        const auto streamOf = [&](std::int64_t stream, std::optional<std::int64_t> context) {
            return stream >= 0 && stream < kNone ? import.topology.stream(process, ordinal, stream, context)
                                                 : StreamId{};
        };
        const std::uint32_t correlation = correlationOf(rows.integer(Correlation));
        Wait wait{.kind = waitKind(streamNumber != kNone, event != kNone),
                  .process = import.topology.process(process),
                  .device = import.topology.device(process, ordinal),
                  .correlation = CorrelationId{correlation},
                  .start = times->start,
                  .end = times->end};
        wait.stream = streamOf(streamNumber, rows.integer(Context));
        if (event != kNone) {
            const auto* record =
                events.find(processKey(process), rows.integerOr(SyncId, 0), event, correlation);
            if (record) {
                wait.recordCorrelation = CorrelationId{record->correlation};
                wait.waitedFor = streamOf(record->stream, record->context);
            }
        }
        import.builder.addWait(wait);
    }
}

void readOverheads(NsysImport& import, std::string_view table)
{
    store::ForeignIntegers rows = import.file.readIntegers(table, {"start", "end", "globalTid", "nameId"});
    while (rows.next()) {
        import.progress.step();
        import.builder.countRecord();
        const auto times = intervalOf(rows.integer(0), rows.integer(1), "overheads", import.builder);
        const auto thread = rows.integer(2);
        if (!times)
            continue;
        if (!thread) {
            import.builder.addLoss(RecordLoss::SourceUnreadable, 1, "overheads without a thread");
            continue;
        }
        std::string_view name = import.file.string(rows.integer(3));
        if (name.empty())
            name = "Overhead of the profiler";
        import.builder.addOverhead(import.topology.thread(*thread), name, times->start, times->end);
    }
}

} // namespace

void readNsysCalls(NsysImport& import)
{
    readApiCalls(import);
    readWaits(import);
    readOverheads(import, "PROFILER_OVERHEAD");
    readOverheads(import, "CUPTI_ACTIVITY_KIND_OVERHEAD");
}

} // namespace tilescope::exchange
