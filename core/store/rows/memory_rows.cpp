#include "core/store/rows/memory_rows.h"

#include "core/model/text.h"
#include "core/store/rows/run_row.h"
#include "core/store/rows/string_map.h"

#include <string>
#include <string_view>

namespace tilescope::store {

namespace {

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

MemoryBlock blockFrom(const RunRow& row)
{
    return {.time = row.time("start"),
            .device = row.id<DeviceIndex>("device"),
            .address = row.address(),
            .bytes = row.number("bytes"),
            .size = row.number("size"),
            .isFree = row.number("free") != 0,
            .category = row.word<MemoryCategory>("category", "memory category"),
            .name = row.string("name"),
            .shape = row.string("shape"),
            .dtype = row.string("dtype")};
}

MemorySegment segmentFrom(const RunRow& row)
{
    return {.time = row.time("start"),
            .device = row.id<DeviceIndex>("device"),
            .address = row.address(),
            .bytes = row.number("bytes"),
            .stream = row.id<StreamId>("stream"),
            .pool = static_cast<std::uint32_t>(row.number("pool")),
            .isLarge = row.number("large") != 0,
            .isExpandable = row.optional("expandable").has_value()};
}

MemoryReading readingFrom(const RunRow& row)
{
    return {.time = row.time("start"),
            .device = row.id<DeviceIndex>("device"),
            .moment = row.string("moment"),
            .requested = row.number("requested"),
            .allocated = row.number("allocated"),
            .reserved = row.number("reserved"),
            .deviceUsed = row.optional("device_used"),
            .deviceTotal = row.optional("device_total"),
            .process = row.optional("process")};
}

SavedTensor savedFrom(const RunRow& row)
{
    return {.path = row.string("path"),
            .op = row.string("op"),
            .tensor = row.string("tensor"),
            .shape = row.string("shape"),
            .dtype = row.string("dtype"),
            .bytes = row.number("bytes"),
            .address = row.address(),
            .storageBytes = row.number("storage_bytes"),
            .sharedWith = row.optional("shared_with"),
            .category = row.word<MemoryCategory>("category", "memory category"),
            .time = row.time("start"),
            .from = row.optionalTime("made"),
            .to = row.optionalTime("freed")};
}

CodePlace placeFrom(const RunRow& row)
{
    const auto word = [&](const char* column) { return std::string(row.rows().text(row.number(column))); };
    return {
        .path = word("path"), .file = word("file"), .line = row.number("line"), .function = word("function")};
}

} // namespace

MemoryRows::MemoryRows(SQLite::Database& database, ChunkWriter& chunks, StringMap& strings)
    : strings_(strings), blocks_(database, chunks, "memory_block",
                                 {"id", "run", "start", "device", "address", "bytes", "size", "free",
                                  "category", "name", "shape", "dtype"}),
      segments_(
          database, chunks, "memory_segment",
          {"id", "run", "start", "device", "address", "bytes", "stream", "pool", "large", "expandable"}),
      readings_(database, chunks, "memory_reading",
                {"id", "run", "start", "device", "moment", "requested", "allocated", "reserved",
                 "device_used", "device_total", "process"}),
      saved_(database, chunks, "saved_tensor",
             {"id", "run", "number", "start", "path", "op", "tensor", "shape", "dtype", "bytes", "address",
              "storage_bytes", "shared_with", "category", "made", "freed"}),
      places_(database, chunks, "code_place", {"id", "run", "path", "file", "line", "function"})
{
}

void MemoryRows::insert(const MemoryFacts& facts, const RowFrame& frame)
{
    for (const MemoryBlock& block : facts.blocks)
        blocks_.insert(frame.run, {frame.run, timeCell(block.time, frame), cellOfId(block.device),
                                   addressCell(block.address), block.bytes, block.size,
                                   std::int64_t{block.isFree ? 1 : 0}, wordOf(block.category),
                                   std::string_view(block.name), std::string_view(block.shape),
                                   std::string_view(block.dtype)});
    for (const MemorySegment& segment : facts.segments)
        segments_.insert(frame.run, {frame.run, timeCell(segment.time, frame), cellOfId(segment.device),
                                     addressCell(segment.address), segment.bytes, cellOfId(segment.stream),
                                     std::int64_t{segment.pool}, std::int64_t{segment.isLarge ? 1 : 0},
                                     segment.isExpandable ? Cell(std::int64_t{1}) : Cell()});
    for (const MemoryReading& reading : facts.readings)
        readings_.insert(frame.run, {frame.run, timeCell(reading.time, frame), cellOfId(reading.device),
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
    return {.saved = readAll<SavedTensor>(rows, run, "saved_tensor", savedFrom),
            .blocks = readAll<MemoryBlock>(rows, run, "memory_block", blockFrom),
            .segments = readAll<MemorySegment>(rows, run, "memory_segment", segmentFrom),
            .readings = readAll<MemoryReading>(rows, run, "memory_reading", readingFrom),
            .places = readAll<CodePlace>(rows, run, "code_place", placeFrom)};
}

} // namespace tilescope::store
