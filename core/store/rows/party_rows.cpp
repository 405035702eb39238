#include "core/store/rows/party_rows.h"

#include "core/model/text.h"
#include "core/store/rows/columns.h"
#include "core/store/rows/stored_rows.h"
#include "core/store/rows/string_map.h"

#include <limits>
#include <string>
#include <string_view>

namespace tilescope::store {

namespace {

template <class Tag, class Rep, Rep None> Cell idCell(Id<Tag, Rep, None> id)
{
    return id ? Cell(static_cast<std::int64_t>(id.value)) : Cell();
}

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

/// The values of one row of a run.
class Row {
public:
    Row(SQLite::Statement& row, StoredRows& rows, const RowFrame& frame)
        : row_(row), rows_(rows), frame_(frame)
    {
    }

    std::int64_t number(const char* column) const { return row_.getColumn(column).getInt64(); }
    std::optional<std::int64_t> optional(const char* column) const { return integer(row_, column); }
    std::string string(const char* column) const { return text(row_, column); }
    template <class T> T narrow(const char* column) const { return narrowed<T>(column, number(column)); }
    template <class T> std::optional<T> optionalNarrow(const char* column) const
    {
        const auto value = optional(column);
        return value ? std::optional(narrowed<T>(column, *value)) : std::nullopt;
    }
    template <class IdType> IdType id(const char* column, std::int64_t first = 0) const
    {
        const auto value = optional(column);
        if (!value)
            return IdType::none();
        return IdType{narrowed<decltype(IdType::value)>(column, *value - first)};
    }
    Timestamp start() const
    {
        // Unsigned sums wrap: a damaged time gives a wrong time, not undefined behaviour.
        return timestampAt(static_cast<std::int64_t>(static_cast<std::uint64_t>(number("start")) +
                                                     static_cast<std::uint64_t>(frame_.clockOrigin)));
    }
    template <class Event> void times(Event& event) const
    {
        event.start = start();
        event.end =
            timestampAt(static_cast<std::int64_t>(static_cast<std::uint64_t>(nanosecondsOf(event.start)) +
                                                  static_cast<std::uint64_t>(number("duration"))));
        const auto step = optionalNarrow<std::int32_t>("step");
        event.step = step.value_or(kNoStep);
    }
    StoredRows& rows() const { return rows_; }
    const RowFrame& frame() const { return frame_; }

private:
    template <class T> T narrowed(const char* column, std::int64_t value) const
    {
        if (value < static_cast<std::int64_t>(std::numeric_limits<T>::min()) ||
            value > static_cast<std::int64_t>(std::numeric_limits<T>::max()))
            rows_.damaged(std::string("a column ") + column + " holds " + std::to_string(value));
        return static_cast<T>(value);
    }

    SQLite::Statement& row_;
    StoredRows& rows_;
    const RowFrame& frame_;
};

ClockDomain clockFrom(const Row& row)
{
    const auto uncertainty = row.optional("uncertainty");
    return {.id = row.id<ClockIndex>("clock"),
            .name = row.string("name"),
            .offset = Nanoseconds(row.number("offset")),
            .uncertainty = uncertainty ? std::optional(Nanoseconds(*uncertainty)) : std::nullopt,
            .method = row.string("method")};
}

TracedProcess processFrom(const Row& row)
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

TracedDevice deviceFrom(const Row& row)
{
    const auto memory = row.optional("memory");
    return {.id = row.id<DeviceIndex>("device"),
            .ordinal = row.narrow<std::int32_t>("ordinal"),
            .uuid = row.string("uuid"),
            .name = row.string("name"),
            .host = row.string("host"),
            .memory = memory ? std::optional(Bytes{*memory}) : std::nullopt,
            .multiprocessors = row.optionalNarrow<std::int32_t>("multiprocessors"),
            .capability = row.string("capability")};
}

TracedStream streamFrom(const Row& row)
{
    return {.device = row.id<DeviceIndex>("device"),
            .id = row.id<StreamId>("stream"),
            .process = row.id<ProcessIndex>("process"),
            .native = row.number("native"),
            .context = row.optional("context"),
            .name = row.string("name")};
}

Collective collectiveFrom(const Row& row)
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

Wait waitFrom(const Row& row)
{
    const std::string word = row.string("kind");
    const auto kind = fromWord<WaitKind>(word);
    if (!kind)
        row.rows().damaged("there is no kind of wait '" + word + "'");
    Wait wait{.kind = *kind,
              .process = row.id<ProcessIndex>("process"),
              .device = row.id<DeviceIndex>("device"),
              .stream = row.id<StreamId>("stream"),
              .waitedFor = row.id<StreamId>("waited_for"),
              .correlation = row.id<CorrelationId>("correlation"),
              .recordCorrelation = row.id<CorrelationId>("record_correlation")};
    row.times(wait);
    return wait;
}

template <class Record, class From>
std::vector<Record> readAll(StoredRows& rows, RunId run, Source source, From&& from)
{
    const RowFrame frame = rows.frameOf(run);
    std::vector<Record> records;
    rows.eachRow(run, source,
                 [&](SQLite::Statement& row) { records.push_back(from(Row(row, rows, frame))); });
    return records;
}

} // namespace

PartyRows::PartyRows(SQLite::Database& database, RowLedger& ledger, StringMap& strings)
    : strings_(strings), clocks_(database, ledger, Source::Clock,
                                 {"id", "run", "clock", "name", "offset", "uncertainty", "method"}),
      processes_(database, ledger, Source::Process,
                 {"id", "run", "process", "pid", "host", "name", "command_line", "rank", "world_size",
                  "started", "clock", "first_correlation"}),
      devices_(database, ledger, Source::Device,
               {"id", "run", "device", "ordinal", "uuid", "name", "host", "memory", "multiprocessors",
                "capability"}),
      streams_(database, ledger, Source::Stream,
               {"id", "run", "device", "stream", "process", "native", "context", "name"}),
      threads_(database, ledger, Source::Thread, {"id", "run", "thread", "name", "process", "native"}),
      collectives_(database, ledger, Source::Collective,
                   {"id",     "run",    "process", "step",        "start", "duration",   "op",
                    "grp",    "ranks",  "dtype",   "sequence",    "bytes", "group_size", "peer",
                    "device", "stream", "thread",  "correlation", "range", "path"}),
      waits_(database, ledger, Source::Wait,
             {"id", "run", "process", "step", "start", "duration", "kind", "device", "stream", "waited_for",
              "correlation", "record_correlation"})
{
}

void PartyRows::insert(const RunParties& parties, const RowFrame& frame)
{
    for (const ClockDomain& clock : parties.clocks)
        clocks_.insert(frame.run,
                       {frame.run, std::int64_t{clock.id.value}, std::string_view(clock.name),
                        std::int64_t{clock.offset.count()},
                        clock.uncertainty ? Cell(std::int64_t{clock.uncertainty->count()}) : Cell(),
                        std::string_view(clock.method)});
    for (const TracedProcess& process : parties.processes)
        processes_.insert(frame.run,
                          {frame.run, std::int64_t{process.id.value}, unless(0, process.pid),
                           std::string_view(process.host), std::string_view(process.name),
                           std::string_view(process.commandLine), numberCell(process.rank),
                           numberCell(process.worldSize), cellOf(process.startedUnixNs),
                           std::int64_t{process.clock.value}, std::int64_t{process.firstCorrelation}});
    for (const TracedDevice& device : parties.devices)
        devices_.insert(frame.run, {frame.run, std::int64_t{device.id.value}, std::int64_t{device.ordinal},
                                    std::string_view(device.uuid), std::string_view(device.name),
                                    std::string_view(device.host), bytesCell(device.memory),
                                    numberCell(device.multiprocessors), std::string_view(device.capability)});
    for (const TracedStream& stream : parties.streams)
        streams_.insert(frame.run, {frame.run, idCell(stream.device), idCell(stream.id),
                                    std::int64_t{stream.process.value}, stream.native, cellOf(stream.context),
                                    std::string_view(stream.name)});
}

void PartyRows::insert(const ThreadName& thread, const RowFrame& frame)
{
    const std::int64_t name = strings_.text(thread.name);
    threads_.insert(frame.run, {frame.run, std::int64_t{thread.thread.value}, unless(kNull, name),
                                idCell(thread.process), unless(-1, thread.native)});
}

void PartyRows::insert(const Collective& collective, const RowFrame& frame)
{
    const auto word = [&](StringId id) { return unless(kNull, strings_.text(id)); };
    collectives_.insert(
        frame.run, {frame.run, idCell(collective.process), unless(kNoStep, collective.step),
                    nanosecondsOf(collective.start) - frame.clockOrigin,
                    std::int64_t{(collective.end - collective.start).count()}, word(collective.op),
                    word(collective.group), word(collective.ranks), word(collective.dtype),
                    unless(-1, collective.sequence), unless(-1, collective.bytes),
                    unless(0, collective.groupSize), unless(-1, collective.peer), idCell(collective.device),
                    idCell(collective.stream), idCell(collective.thread), idCell(collective.correlation),
                    collective.range ? Cell(frame.firstRange + std::int64_t{collective.range.value}) : Cell(),
                    word(collective.path)});
}

void PartyRows::insert(const Wait& wait, const RowFrame& frame)
{
    waits_.insert(frame.run, {frame.run, idCell(wait.process), unless(kNoStep, wait.step),
                              nanosecondsOf(wait.start) - frame.clockOrigin,
                              std::int64_t{(wait.end - wait.start).count()}, wordOf(wait.kind),
                              idCell(wait.device), idCell(wait.stream), idCell(wait.waitedFor),
                              idCell(wait.correlation), idCell(wait.recordCorrelation)});
}

RunParties readParties(StoredRows& rows, RunId run)
{
    return {.clocks = readAll<ClockDomain>(rows, run, Source::Clock, clockFrom),
            .processes = readAll<TracedProcess>(rows, run, Source::Process, processFrom),
            .devices = readAll<TracedDevice>(rows, run, Source::Device, deviceFrom),
            .streams = readAll<TracedStream>(rows, run, Source::Stream, streamFrom)};
}

std::vector<ThreadName> readThreads(StoredRows& rows, RunId run)
{
    return readAll<ThreadName>(rows, run, Source::Thread, [](const Row& row) {
        return ThreadName{.thread = row.id<ThreadId>("thread"),
                          .name = row.id<StringId>("name"),
                          .process = row.id<ProcessIndex>("process"),
                          .native = row.optional("native").value_or(-1)};
    });
}

std::vector<Collective> readCollectives(StoredRows& rows, RunId run)
{
    return readAll<Collective>(rows, run, Source::Collective, collectiveFrom);
}

std::vector<Wait> readWaits(StoredRows& rows, RunId run)
{
    return readAll<Wait>(rows, run, Source::Wait, waitFrom);
}

} // namespace tilescope::store
