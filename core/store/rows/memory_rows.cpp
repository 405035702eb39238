#include "core/store/rows/memory_rows.h"

#include "core/model/text.h"
#include "core/store/rows/columns.h"
#include "core/store/rows/stored_rows.h"
#include "core/store/rows/string_map.h"

#include <string>
#include <string_view>

namespace tilescope::store {

namespace {

Cell deviceCell(DeviceIndex device)
{
    return device ? Cell(std::int64_t{device.value}) : Cell();
}

std::int64_t timeCell(Timestamp time, const RowFrame& frame)
{
    return nanosecondsOf(time) - frame.clockOrigin;
}

Cell timeCell(const std::optional<Timestamp>& time, const RowFrame& frame)
{
    return time ? Cell(timeCell(*time, frame)) : Cell();
}

std::int64_t addressCell(std::uint64_t address)
{
    return static_cast<std::int64_t>(address);
}

/// The values of rows as the model has them.
class Reader {
public:
    Reader(StoredRows& rows, const RowFrame& frame) : rows_(rows), frame_(frame) {}

    Timestamp time(SQLite::Statement& row, const char* column) const
    {
        return timestampAt(row.getColumn(column).getInt64() + frame_.clockOrigin);
    }
    std::optional<Timestamp> optionalTime(SQLite::Statement& row, const char* column) const
    {
        return integer(row, column) ? std::optional(time(row, column)) : std::nullopt;
    }
    static DeviceIndex device(SQLite::Statement& row)
    {
        const auto value = integer(row, "device");
        return value ? DeviceIndex{static_cast<std::int16_t>(*value)} : DeviceIndex::none();
    }
    static std::uint64_t address(SQLite::Statement& row)
    {
        return static_cast<std::uint64_t>(row.getColumn("address").getInt64());
    }
    MemoryCategory category(SQLite::Statement& row) const
    {
        const std::string word = text(row, "category");
        const auto category = fromWord<MemoryCategory>(word);
        if (!category)
            rows_.damaged("there is no memory category '" + word + "'");
        return *category;
    }

private:
    StoredRows& rows_;
    const RowFrame& frame_;
};

MemoryBlock blockFrom(SQLite::Statement& row, const Reader& read)
{
    return {.time = read.time(row, "start"),
            .device = Reader::device(row),
            .address = Reader::address(row),
            .bytes = row.getColumn("bytes").getInt64(),
            .size = row.getColumn("size").getInt64(),
            .isFree = row.getColumn("free").getInt() != 0,
            .category = read.category(row),
            .name = text(row, "name"),
            .shape = text(row, "shape"),
            .dtype = text(row, "dtype")};
}

MemorySegment segmentFrom(SQLite::Statement& row, const Reader& read)
{
    const auto stream = integer(row, "stream");
    return {.time = read.time(row, "start"),
            .device = Reader::device(row),
            .address = Reader::address(row),
            .bytes = row.getColumn("bytes").getInt64(),
            .stream = stream ? StreamId{static_cast<std::uint32_t>(*stream)} : StreamId::none(),
            .pool = row.getColumn("pool").getUInt(),
            .isLarge = row.getColumn("large").getInt() != 0,
            .isExpandable = integer(row, "expandable").has_value()};
}

MemoryReading readingFrom(SQLite::Statement& row, const Reader& read)
{
    return {.time = read.time(row, "start"),
            .device = Reader::device(row),
            .moment = text(row, "moment"),
            .requested = row.getColumn("requested").getInt64(),
            .allocated = row.getColumn("allocated").getInt64(),
            .reserved = row.getColumn("reserved").getInt64(),
            .deviceUsed = integer(row, "device_used"),
            .deviceTotal = integer(row, "device_total"),
            .process = integer(row, "process")};
}

SavedTensor savedFrom(SQLite::Statement& row, const Reader& read)
{
    return {.path = text(row, "path"),
            .op = text(row, "op"),
            .tensor = text(row, "tensor"),
            .shape = text(row, "shape"),
            .dtype = text(row, "dtype"),
            .bytes = row.getColumn("bytes").getInt64(),
            .address = Reader::address(row),
            .storageBytes = row.getColumn("storage_bytes").getInt64(),
            .sharedWith = integer(row, "shared_with"),
            .category = read.category(row),
            .time = read.time(row, "start"),
            .from = read.optionalTime(row, "made"),
            .to = read.optionalTime(row, "freed")};
}

CodePlace placeFrom(SQLite::Statement& row, StoredRows& rows)
{
    const auto word = [&](const char* column) {
        return std::string(rows.text(row.getColumn(column).getInt64()));
    };
    return {.path = word("path"),
            .file = word("file"),
            .line = row.getColumn("line").getInt64(),
            .function = word("function")};
}

} // namespace

MemoryRows::MemoryRows(SQLite::Database& database, RowLedger& ledger, StringMap& strings)
    : strings_(strings), blocks_(database, ledger, Source::MemoryBlock,
                                 {"id", "run", "start", "device", "address", "bytes", "size", "free",
                                  "category", "name", "shape", "dtype"}),
      segments_(
          database, ledger, Source::MemorySegment,
          {"id", "run", "start", "device", "address", "bytes", "stream", "pool", "large", "expandable"}),
      readings_(database, ledger, Source::MemoryReading,
                {"id", "run", "start", "device", "moment", "requested", "allocated", "reserved",
                 "device_used", "device_total", "process"}),
      saved_(database, ledger, Source::SavedTensor,
             {"id", "run", "number", "start", "path", "op", "tensor", "shape", "dtype", "bytes", "address",
              "storage_bytes", "shared_with", "category", "made", "freed"}),
      places_(database, ledger, Source::CodePlace, {"id", "run", "path", "file", "line", "function"})
{
}

void MemoryRows::insert(const MemoryFacts& facts, const RowFrame& frame)
{
    for (const MemoryBlock& block : facts.blocks)
        blocks_.insert(frame.run, {frame.run, timeCell(block.time, frame), deviceCell(block.device),
                                   addressCell(block.address), block.bytes, block.size,
                                   std::int64_t{block.isFree ? 1 : 0}, wordOf(block.category),
                                   std::string_view(block.name), std::string_view(block.shape),
                                   std::string_view(block.dtype)});
    for (const MemorySegment& segment : facts.segments)
        segments_.insert(frame.run, {frame.run, timeCell(segment.time, frame), deviceCell(segment.device),
                                     addressCell(segment.address), segment.bytes,
                                     segment.stream ? Cell(std::int64_t{segment.stream.value}) : Cell(),
                                     std::int64_t{segment.pool}, std::int64_t{segment.isLarge ? 1 : 0},
                                     segment.isExpandable ? Cell(std::int64_t{1}) : Cell()});
    for (const MemoryReading& reading : facts.readings)
        readings_.insert(frame.run, {frame.run, timeCell(reading.time, frame), deviceCell(reading.device),
                                     std::string_view(reading.moment), reading.requested, reading.allocated,
                                     reading.reserved, cellOf(reading.deviceUsed),
                                     cellOf(reading.deviceTotal), cellOf(reading.process)});
    std::int64_t number = 0;
    for (const SavedTensor& tensor : facts.saved)
        saved_.insert(frame.run,
                      {frame.run, number++, timeCell(tensor.time, frame), std::string_view(tensor.path),
                       std::string_view(tensor.op), std::string_view(tensor.tensor),
                       std::string_view(tensor.shape), std::string_view(tensor.dtype), tensor.bytes,
                       addressCell(tensor.address), tensor.storageBytes, cellOf(tensor.sharedWith),
                       wordOf(tensor.category), timeCell(tensor.from, frame), timeCell(tensor.to, frame)});
    for (const CodePlace& place : facts.places) {
        const std::int64_t path = strings_.intern(place.path);
        const std::int64_t file = strings_.intern(place.file);
        places_.insert(frame.run, {frame.run, path, file, place.line, strings_.intern(place.function)});
    }
}

MemoryFacts readMemory(StoredRows& rows, RunId run)
{
    const RowFrame frame = rows.frameOf(run);
    const Reader read(rows, frame);
    MemoryFacts facts;
    rows.eachRow(run, Source::MemoryBlock,
                 [&](SQLite::Statement& row) { facts.blocks.push_back(blockFrom(row, read)); });
    rows.eachRow(run, Source::MemorySegment,
                 [&](SQLite::Statement& row) { facts.segments.push_back(segmentFrom(row, read)); });
    rows.eachRow(run, Source::MemoryReading,
                 [&](SQLite::Statement& row) { facts.readings.push_back(readingFrom(row, read)); });
    rows.eachRow(run, Source::SavedTensor,
                 [&](SQLite::Statement& row) { facts.saved.push_back(savedFrom(row, read)); });
    rows.eachRow(run, Source::CodePlace,
                 [&](SQLite::Statement& row) { facts.places.push_back(placeFrom(row, rows)); });
    return facts;
}

} // namespace tilescope::store
