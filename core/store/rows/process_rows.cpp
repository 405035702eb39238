#include "core/store/rows/process_rows.h"

#include "core/model/text.h"
#include "core/store/rows/run_row.h"
#include "core/store/rows/string_map.h"

#include <string_view>

namespace tilescope::store {

namespace {

/// A count or number whose value `none` is not known.
Cell unless(std::int64_t none, std::int64_t value)
{
    return value == none ? Cell() : Cell(value);
}

Cell bytesCell(const std::optional<Bytes>& value)
{
    return value ? Cell(value->count) : Cell();
}

Cell numberCell(const std::optional<std::int32_t>& value)
{
    return value ? Cell(std::int64_t{*value}) : Cell();
}

ClockDomain clockFrom(const RunRow& row)
{
    return {.id = row.id<ClockIndex>("clock"),
            .name = row.string("name"),
            .offset = Nanoseconds(row.number("offset")),
            .uncertainty = row.optionalOf<Nanoseconds>("uncertainty"),
            .method = row.string("method")};
}

TracedProcess processFrom(const RunRow& row)
{
    return {.id = row.id<ProcessIndex>("process"),
            .pid = row.optional("pid").value_or(0),
            .host = row.string("host"),
            .name = row.string("name"),
            .commandLine = row.string("command_line"),
            .rank = row.optionalNarrow<std::int32_t>("rank"),
            .worldSize = row.optionalNarrow<std::int32_t>("world_size"),
            .startedUnixNs = row.optional("started"),
            .clock = row.id<ClockIndex>("clock"),
            .firstCorrelation = row.narrow<std::uint32_t>("first_correlation")};
}

TracedDevice deviceFrom(const RunRow& row)
{
    return {.id = row.id<DeviceIndex>("device"),
            .ordinal = row.narrow<std::int32_t>("ordinal"),
            .uuid = row.string("uuid"),
            .name = row.string("name"),
            .host = row.string("host"),
            .memory = row.optionalOf<Bytes>("memory"),
            .multiprocessors = row.optionalNarrow<std::int32_t>("multiprocessors"),
            .capability = row.string("capability")};
}

TracedStream streamFrom(const RunRow& row)
{
    return {.device = row.id<DeviceIndex>("device"),
            .id = row.id<StreamId>("stream"),
            .process = row.id<ProcessIndex>("process"),
            .native = row.number("native"),
            .context = row.optional("context"),
            .name = row.string("name")};
}

Collective collectiveFrom(const RunRow& row)
{
    Collective collective{.process = row.id<ProcessIndex>("process"),
                          .op = row.id<StringId>("op"),
                          .group = row.id<StringId>("grp"),
                          .ranks = row.id<StringId>("ranks"),
                          .dtype = row.id<StringId>("dtype"),
                          .sequence = row.optional("sequence").value_or(-1),
                          .bytes = row.optional("bytes").value_or(-1),
                          .groupSize = row.optionalNarrow<std::int32_t>("group_size").value_or(0),
                          .peer = row.optionalNarrow<std::int32_t>("peer").value_or(-1),
                          .device = row.id<DeviceIndex>("device"),
                          .stream = row.id<StreamId>("stream"),
                          .thread = row.id<ThreadId>("thread"),
                          .correlation = row.id<CorrelationId>("correlation"),
                          .range = row.id<RangeId>("range", row.frame().firstRange),
                          .path = row.id<StringId>("path")};
    row.times(collective);
    return collective;
}

Wait waitFrom(const RunRow& row)
{
    Wait wait{.kind = row.word<WaitKind>("kind", "kind of wait"),
              .process = row.id<ProcessIndex>("process"),
              .device = row.id<DeviceIndex>("device"),
              .stream = row.id<StreamId>("stream"),
              .waitedFor = row.id<StreamId>("waited_for"),
              .correlation = row.id<CorrelationId>("correlation"),
              .recordCorrelation = row.id<CorrelationId>("record_correlation")};
    row.times(wait);
    return wait;
}

} // namespace

ProcessRows::ProcessRows(SQLite::Database& database, ChunkWriter& chunks, StringMap& strings)
    : strings_(strings),
      clocks_(database, chunks, "clock", {"id", "run", "clock", "name", "offset", "uncertainty", "method"}),
      processes_(database, chunks, "process",
                 {"id", "run", "process", "pid", "host", "name", "command_line", "rank", "world_size",
                  "started", "clock", "first_correlation"}),
      devices_(database, chunks, "device",
               {"id", "run", "device", "ordinal", "uuid", "name", "host", "memory", "multiprocessors",
                "capability"}),
      streams_(database, chunks, "stream",
               {"id", "run", "device", "stream", "process", "native", "context", "name"}),
      threads_(database, chunks, "thread", {"id", "run", "thread", "name", "process", "native"}),
      collectives_(database, chunks, "collective",
                   {"id",     "run",    "process", "step",        "start", "duration",   "op",
                    "grp",    "ranks",  "dtype",   "sequence",    "bytes", "group_size", "peer",
                    "device", "stream", "thread",  "correlation", "range", "path"}),
      waits_(database, chunks, "wait",
             {"id", "run", "process", "step", "start", "duration", "kind", "device", "stream", "waited_for",
              "correlation", "record_correlation"})
{
}

void ProcessRows::insert(const RunTopology& topology, const RowFrame& frame)
{
    for (const ClockDomain& clock : topology.clocks)
        clocks_.insert(frame.run,
                       {frame.run, std::int64_t{clock.id.value}, std::string_view(clock.name),
                        std::int64_t{clock.offset.count()},
                        clock.uncertainty ? Cell(std::int64_t{clock.uncertainty->count()}) : Cell(),
                        std::string_view(clock.method)});
    for (const TracedProcess& process : topology.processes)
        processes_.insert(frame.run,
                          {frame.run, std::int64_t{process.id.value}, unless(0, process.pid),
                           std::string_view(process.host), std::string_view(process.name),
                           std::string_view(process.commandLine), numberCell(process.rank),
                           numberCell(process.worldSize), cellOf(process.startedUnixNs),
                           std::int64_t{process.clock.value}, std::int64_t{process.firstCorrelation}});
    for (const TracedDevice& device : topology.devices)
        devices_.insert(frame.run, {frame.run, std::int64_t{device.id.value}, std::int64_t{device.ordinal},
                                    std::string_view(device.uuid), std::string_view(device.name),
                                    std::string_view(device.host), bytesCell(device.memory),
                                    numberCell(device.multiprocessors), std::string_view(device.capability)});
    for (const TracedStream& stream : topology.streams)
        streams_.insert(frame.run, {frame.run, cellOfId(stream.device), cellOfId(stream.id),
                                    std::int64_t{stream.process.value}, stream.native, cellOf(stream.context),
                                    std::string_view(stream.name)});
}

void ProcessRows::insert(const ThreadName& thread, const RowFrame& frame)
{
    const std::int64_t name = strings_.text(thread.name);
    threads_.insert(frame.run, {frame.run, std::int64_t{thread.thread.value}, unless(kNull, name),
                                cellOfId(thread.process), unless(-1, thread.native)});
}

void ProcessRows::insert(const Collective& collective, const RowFrame& frame)
{
    const auto word = [&](StringId id) { return unless(kNull, strings_.text(id)); };
    collectives_.insert(
        frame.run,
        {frame.run, cellOfId(collective.process), unless(kNoStep, collective.step),
         nanosecondsOf(collective.start) - frame.clockOrigin,
         std::int64_t{(collective.end - collective.start).count()}, word(collective.op),
         word(collective.group), word(collective.ranks), word(collective.dtype),
         unless(-1, collective.sequence), unless(-1, collective.bytes), unless(0, collective.groupSize),
         unless(-1, collective.peer), cellOfId(collective.device), cellOfId(collective.stream),
         cellOfId(collective.thread), cellOfId(collective.correlation),
         collective.range ? Cell(frame.firstRange + std::int64_t{collective.range.value}) : Cell(),
         word(collective.path)});
}

void ProcessRows::insert(const Wait& wait, const RowFrame& frame)
{
    waits_.insert(frame.run, {frame.run, cellOfId(wait.process), unless(kNoStep, wait.step),
                              nanosecondsOf(wait.start) - frame.clockOrigin,
                              std::int64_t{(wait.end - wait.start).count()}, wordOf(wait.kind),
                              cellOfId(wait.device), cellOfId(wait.stream), cellOfId(wait.waitedFor),
                              cellOfId(wait.correlation), cellOfId(wait.recordCorrelation)});
}

RunTopology readTopology(StoredRows& rows, RunId run)
{
    return {.clocks = readAll<ClockDomain>(rows, run, "clock", clockFrom),
            .processes = readAll<TracedProcess>(rows, run, "process", processFrom),
            .devices = readAll<TracedDevice>(rows, run, "device", deviceFrom),
            .streams = readAll<TracedStream>(rows, run, "stream", streamFrom)};
}

std::vector<ThreadName> readThreads(StoredRows& rows, RunId run)
{
    return readAll<ThreadName>(rows, run, "thread", [](const RunRow& row) {
        return ThreadName{.thread = row.id<ThreadId>("thread"),
                          .name = row.id<StringId>("name"),
                          .process = row.id<ProcessIndex>("process"),
                          .native = row.optional("native").value_or(-1)};
    });
}

std::vector<Collective> readCollectives(StoredRows& rows, RunId run)
{
    return readAll<Collective>(rows, run, "collective", collectiveFrom);
}

std::vector<Wait> readWaits(StoredRows& rows, RunId run)
{
    return readAll<Wait>(rows, run, "wait", waitFrom);
}

} // namespace tilescope::store
