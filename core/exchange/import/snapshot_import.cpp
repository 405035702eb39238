#include "core/exchange/import/snapshot_import.h"

#include "core/analysis/memory/memory_curve.h"
#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/sha256.h"
#include "core/base/version.h"
#include "core/exchange/import/snapshot_stacks.h"
#include "core/exchange/import/snapshot_trace.h"
#include "core/exchange/tables/text.h"
#include "core/model/allocator_rules.h"
#include "core/model/losses.h"
#include "core/model/run_workload.h"
#include "core/model/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <unordered_map>

namespace tilescope::exchange {

namespace {

using Kind = PickleValue::Kind;

constexpr std::int64_t kMostAddressBytes = std::int64_t{1} << 47; // of an address space
constexpr std::int64_t kMostTotal = std::int64_t{1} << 62;
constexpr std::size_t kOrdinalLimit = 1024;

/// Reads one snapshot.
class SnapshotReader {
public:
    SnapshotReader(const PickleDocument& document, StringTable& strings)
        : document_(document), strings_(strings), stacks_(document, strings, imported_.trace.ops),
          seen_(document.containers())
    {
    }

    ImportedSnapshot read(const std::string& name)
    {
        const PickleValue& root = document_.root();
        const auto segments = root.isSequence() ? std::optional(root) : document_.find(root, "segments");
        if (!segments || !segments->isSequence())
            refuse("has no list `segments`, so it is not a memory snapshot", {});
        readSegments(*segments);
        if (const auto traces = document_.find(root, "device_traces"); traces && traces->isSequence())
            readTraces(*traces);
        readSettings(root);
        finish(name);
        return std::move(imported_);
    }

private:
    struct DeviceMemory {
        analysis::MemoryStock after;
        std::vector<AllocEvent> events;
    };

    [[noreturn]] void refuse(const std::string& what, const std::string& where) const
    {
        throw Error{.what = what, .where = document_.file() + (where.empty() ? "" : ", " + where)};
    }

    PickleValue field(const PickleValue& dict, std::string_view key, const std::string& where) const
    {
        const auto value = document_.find(dict, key);
        if (!value)
            refuse(fmt::format("has no `{}`", key), where);
        return *value;
    }

    /// A size in bytes. All together stay in range, so that what adds them up need not look.
    std::int64_t size(const PickleValue& value, std::string_view key, const std::string& where)
    {
        const auto bytes = PickleDocument::integer(value);
        if (!bytes || *bytes < 0 || *bytes > kMostAddressBytes)
            refuse(fmt::format("`{}` is not a size in bytes", key), where);
        if (__builtin_add_overflow(total_, *bytes, &total_) || total_ > kMostTotal)
            refuse("its sizes add up to more than 2^62 bytes", where);
        return *bytes;
    }

    std::int64_t sizeOf(const PickleValue& dict, std::string_view key, const std::string& where)
    {
        return size(field(dict, key, where), key, where);
    }

    /// The size of a failed allocation, which exceeds all others.
    std::int64_t askedFor(const PickleValue& event, const std::string& where) const
    {
        const auto bytes = PickleDocument::integer(field(event, "size", where));
        if (!bytes || *bytes < 0 || *bytes > kMostTotal)
            refuse("`size` is not a size in bytes", where);
        return *bytes;
    }

    std::uint64_t address(const PickleValue& value, std::string_view key, const std::string& where) const
    {
        const auto address = PickleDocument::address(value);
        // Its end must be an address too.
        if (!address || *address > std::numeric_limits<std::uint64_t>::max() / 2)
            refuse(fmt::format("`{}` is not an address", key), where);
        return *address;
    }

    /// A segment, block or event, which PyTorch writes once: a small file that refers to one again and again
    /// would cost as much as a large one.
    void countRow(const PickleValue& row, const std::string& where)
    {
        if (row.kind != Kind::Dict)
            refuse("is not a dict", where);
        if (seen_[row.bits])
            refuse("the file contains it already", where);
        seen_[row.bits] = true;
        ++rows_;
    }

    DeviceMemory& device(std::int64_t index, const std::string& where)
    {
        if (index < 0 || static_cast<std::size_t>(index) >= kOrdinalLimit)
            refuse(fmt::format("there is no device {}", index), where);
        return devices_[DeviceIndex{static_cast<std::int16_t>(index)}];
    }

    std::int64_t integerOr(const PickleValue& dict, std::string_view key, std::int64_t otherwise) const
    {
        const auto value = document_.find(dict, key);
        return value ? PickleDocument::integer(*value).value_or(otherwise) : otherwise;
    }

    /// Streams are addresses in a snapshot; here they are counted, the default one is 0.
    StreamId stream(const PickleValue& dict)
    {
        const auto value = document_.find(dict, "stream");
        const std::uint64_t handle = value ? PickleDocument::address(*value).value_or(0) : 0;
        if (handle == 0)
            return StreamId{0};
        return streams_.try_emplace(handle, StreamId{static_cast<std::uint32_t>(streams_.size() + 1)})
            .first->second;
    }

    std::uint32_t pool(const PickleValue& dict) const
    {
        const auto id = document_.find(dict, "segment_pool_id");
        if (!id || !id->isSequence() || document_.items(*id).size() != 2)
            return 0;
        const auto graph = PickleDocument::integer(document_.items(*id)[0]).value_or(0);
        const auto own = PickleDocument::integer(document_.items(*id)[1]).value_or(0);
        return poolNumber(static_cast<std::uint64_t>(graph), static_cast<std::uint64_t>(own));
    }

    void readSegments(const PickleValue& list)
    {
        std::size_t number = 0;
        for (const PickleValue& value : document_.items(list)) {
            const std::string where = fmt::format("segment {}", number++);
            countRow(value, where);
            const std::int64_t index = integerOr(value, "device", 0);
            DeviceMemory& memory = device(index, where);
            MemorySegment segment{.device = DeviceIndex{static_cast<std::int16_t>(index)},
                                  .address = address(field(value, "address", where), "address", where),
                                  .bytes = sizeOf(value, "total_size", where),
                                  .stream = stream(value),
                                  .pool = pool(value)};
            const auto type = document_.find(value, "segment_type");
            segment.isLarge =
                type ? document_.text(*type) != "small" : segment.bytes != AllocatorRules::kSmallSegment;
            if (const auto expandable = document_.find(value, "is_expandable"))
                segment.isExpandable = expandable->kind == Kind::Boolean && expandable->bits != 0;
            readBlocks(memory, segment, field(value, "blocks", where), where);
            memory.after.segments.push_back(segment);
            ++imported_.segments;
            imported_.reserved += Bytes{segment.bytes};
        }
    }

    void readBlocks(DeviceMemory& memory, const MemorySegment& segment, const PickleValue& list,
                    const std::string& where)
    {
        if (!list.isSequence())
            refuse("`blocks` is not a list", where);
        std::uint64_t at = segment.address;
        for (const PickleValue& value : document_.items(list)) {
            countRow(value, where);
            MemoryBlock block{.device = segment.device, .address = at};
            block.size = sizeOf(value, "size", where);
            const std::string_view state = document_.text(field(value, "state", where));
            block.isFree = state == "inactive";
            if (state == "active_allocated")
                readAllocated(block, value, where);
            else if (!block.isFree && state != "active_pending_free" && state != "active_awaiting_free")
                refuse(fmt::format("a block is in the unknown state '{}'", validUtf8(state)), where);
            at += static_cast<std::uint64_t>(block.size);
            memory.after.blocks.push_back(std::move(block));
        }
        if (at != segment.address + static_cast<std::uint64_t>(segment.bytes))
            refuse(fmt::format("its blocks have {} bytes in total, and it has {}", at - segment.address,
                               segment.bytes),
                   where);
    }

    void readAllocated(MemoryBlock& block, const PickleValue& value, const std::string& where)
    {
        block.bytes = block.size;
        auto frames = document_.find(value, "frames");
        if (const auto history = document_.find(value, "history");
            history && history->isSequence() && !document_.items(*history).empty()) {
            // As PyTorch 2.0 has it: who had the memory, the last first.
            const PickleValue& last = document_.items(*history).front();
            block.bytes = sizeOf(last, "real_size", where);
            frames = frames ? frames : document_.find(last, "frames");
        }
        if (const auto requested = document_.find(value, "requested_size"))
            block.bytes = size(*requested, "requested_size", where);
        ++imported_.blocks;
        imported_.allocated += Bytes{block.bytes};
        if (!frames)
            return;
        const SnapshotStacks::Stack& stack = stacks_.of(*frames);
        block.category = stack.category.value_or(MemoryCategory::Unattributed);
        block.name = stack.category ? stack.holder : std::string(strings_.text(stack.path));
    }

    void readTraces(const PickleValue& list)
    {
        std::int64_t index = 0;
        for (const PickleValue& trace : document_.items(list)) {
            if (!trace.isSequence())
                refuse("an entry of `device_traces` is not a list", {});
            if (!document_.items(trace).empty())
                readTrace(device(index, "device_traces"), trace, index);
            ++index;
        }
    }

    void readTrace(DeviceMemory& memory, const PickleValue& trace, std::int64_t index)
    {
        std::int64_t number = 0;
        for (const PickleValue& value : document_.items(trace)) {
            const std::string where = fmt::format("device {}, event {}", index, number++);
            countRow(value, where);
            const std::string_view word = document_.text(field(value, "action", where));
            const auto action = fromWord<AllocAction>(word);
            if (!action) {
                ++unknownActions_;
                continue;
            }
            AllocEvent event;
            event.action = *action;
            event.device = DeviceIndex{static_cast<std::int16_t>(index)};
            const bool failed = event.action == AllocAction::Oom;
            event.bytes = failed ? askedFor(value, where) : sizeOf(value, "size", where);
            const std::string_view key = failed ? "device_free" : "addr";
            event.address = address(field(value, key, where), key, where);
            event.stream = stream(value);
            event.time = timeOf(value, memory);
            if (const auto metadata = document_.find(value, "user_metadata"))
                if (const std::string_view told = document_.text(*metadata); fromWord<MemoryCategory>(told))
                    event.category = strings_.intern(told);
            if (const auto frames = document_.find(value, "frames")) {
                const SnapshotStacks::Stack& stack = stacks_.of(*frames);
                event.path = stack.path;
                event.op = stack.op;
            }
            memory.events.push_back(event);
        }
    }

    /// Snapshots count microseconds: those of one follow each other by a nanosecond, so that order is kept.
    Timestamp timeOf(const PickleValue& value, const DeviceMemory& memory)
    {
        constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max() / 1100;
        const auto found = document_.find(value, "time_us");
        const auto us = found ? PickleDocument::integer(*found) : std::nullopt;
        const bool isKnown = us && *us >= 0 && *us < kLatest;
        timed_ = timed_ && isKnown;
        const Timestamp least =
            memory.events.empty() ? Timestamp::min() : memory.events.back().time + Nanoseconds(1);
        const Timestamp told = timestampAt(isKnown ? *us * 1000 : 0);
        if (isKnown && told + Nanoseconds(1000) < least)
            ++turnedBack_;
        return std::max(told, least);
    }

    /// How the allocator was set, from 2.3.
    void readSettings(const PickleValue& root)
    {
        const auto settings = document_.find(root, "allocator_settings");
        const auto overflowed = settings ? document_.find(*settings, "trace_alloc_overflowed") : std::nullopt;
        isOverflowed_ = overflowed && overflowed->kind == Kind::Boolean && overflowed->bits != 0;
        const auto most = settings ? document_.find(*settings, "trace_alloc_max_entries") : std::nullopt;
        mostEvents_ = most ? PickleDocument::integer(*most).value_or(0) : 0;
        const auto told = settings ? document_.find(*settings, "PYTORCH_CUDA_ALLOC_CONF") : std::nullopt;
        constexpr std::size_t kMost = 1000;
        if (told && !document_.text(*told).empty())
            imported_.environment.push_back(
                {"env.PYTORCH_CUDA_ALLOC_CONF", validUtf8(document_.text(*told).substr(0, kMost))});
    }

    void finish(const std::string& name);
    void finishDevice(DeviceIndex index, DeviceMemory& memory);
    void addLosses();
    void noteEnd(const AllocEvent& last);

    const PickleDocument& document_;
    StringTable& strings_;
    ImportedSnapshot imported_;
    SnapshotStacks stacks_;
    std::map<DeviceIndex, DeviceMemory> devices_;
    std::unordered_map<std::uint64_t, StreamId> streams_;
    std::int64_t total_ = 0;
    std::vector<bool> seen_; ///< containers that are segments, blocks and events
    std::int64_t rows_ = 0;  ///< how many
    std::int64_t unknownActions_ = 0;
    std::int64_t inconsistent_ = 0;
    std::int64_t skippedRequests_ = 0;
    std::int64_t skippedCompletions_ = 0;
    std::int64_t unfollowed_ = 0;
    std::int64_t turnedBack_ = 0; ///< times before that of the event before
    bool isOverflowed_ = false;   ///< the allocator's trace reached its maximum length
    std::int64_t mostEvents_ = 0; ///< this length; 0: unknown
    bool timed_ = true;           ///< all events have a time
    Timestamp latest_{};          ///< of all devices' events
};

/// Adds allocated bytes to the events of a device, and its state before them.
void SnapshotReader::finishDevice(DeviceIndex index, DeviceMemory& memory)
{
    const SkippedActions skipped = addSkipped(memory.events, memory.after);
    skippedRequests_ += skipped.requests;
    skippedCompletions_ += skipped.completions;
    if (skipped.lacksAllocations) {
        unfollowed_ += static_cast<std::int64_t>(memory.events.size());
        memory.events.clear();
    }
    if (memory.events.empty()) {
        // What there is was seen at some moment: the only one.
        AllocEvent event;
        event.time = latest_;
        event.action = AllocAction::Snapshot;
        event.device = index;
        memory.events.push_back(event);
    }
    analysis::MemoryStock before = countThrough(memory.events, memory.after);
    inconsistent_ += before.inconsistent;
    MemoryReading reading{.time = memory.events.back().time, .device = index, .moment = "snapshot"};
    for (const MemoryBlock& block : memory.after.blocks) {
        reading.requested += block.bytes;
        reading.allocated += block.isFree || block.bytes == 0 ? 0 : block.size;
    }
    for (const MemorySegment& segment : memory.after.segments)
        reading.reserved += segment.bytes;
    imported_.facts.readings.push_back(reading);
    std::ranges::move(before.blocks, std::back_inserter(imported_.facts.blocks));
    std::ranges::move(before.segments, std::back_inserter(imported_.facts.segments));
    std::ranges::move(memory.events, std::back_inserter(imported_.trace.allocEvents));
}

void SnapshotReader::addLosses()
{
    const auto add = [&](RecordLoss kind, std::int64_t count) {
        if (count > 0)
            imported_.trace.losses.push_back(lossOf(strings_, kind, count));
    };
    add(RecordLoss::SnapshotAction, unknownActions_);
    add(RecordLoss::SnapshotNotFollowed, unfollowed_);
    add(RecordLoss::SnapshotRequestsSkipped, skippedRequests_);
    add(RecordLoss::SnapshotCompletionsSkipped, skippedCompletions_);
    add(RecordLoss::SnapshotOrder, inconsistent_);
    add(RecordLoss::SnapshotTurnedBack, turnedBack_);
    if (isOverflowed_)
        imported_.trace.losses.push_back(
            lossOf(strings_, RecordLoss::SnapshotOverflow, 1,
                   mostEvents_ > 0 ? fmt::format("max_entries was {}", mostEvents_) : std::string()));
    if (!timed_)
        add(RecordLoss::SnapshotUntimed, static_cast<std::int64_t>(imported_.trace.allocEvents.size()));
}

/// A trace that ends with a failed allocation is of a run that ran out of memory.
void SnapshotReader::noteEnd(const AllocEvent& last)
{
    RunResult& result = imported_.result;
    if (last.action != AllocAction::Oom)
        return;
    result.status = RunStatus::Oom;
    result.reason = "the snapshot ends with an allocation that failed";
    result.oom = OomInfo{.requested = Bytes{last.bytes},
                         .allocated = Bytes{last.allocated},
                         .reserved = Bytes{last.reserved},
                         .phase = "snapshot"};
}

void SnapshotReader::finish(const std::string& name)
{
    for (const auto& [index, memory] : devices_)
        if (!memory.events.empty())
            latest_ = std::max(latest_, memory.events.back().time);
    for (auto& [index, memory] : devices_)
        finishDevice(index, memory);
    if (imported_.trace.allocEvents.empty())
        refuse("is a memory snapshot without any segment or event", {});
    imported_.facts.places = stacks_.places();
    std::vector<AllocEvent>& events = imported_.trace.allocEvents;
    std::ranges::stable_sort(events, {}, &AllocEvent::time);
    const Timestamp origin = events.front().time;
    for (Op& op : imported_.trace.ops)
        op.start = op.end = origin;
    addLosses();
    imported_.trace.recordsChecked = rows_;
    const DeviceIndex main = *analysis::mainMemoryDevice(events);
    RunResult& result = imported_.result;
    result.device = "cuda:" + std::to_string(main.value);
    result.peakAllocated = analysis::memoryPeak(events, main)->allocated;
    result.peakReserved = Bytes{};
    const AllocEvent* lastAsked = nullptr;
    for (const AllocEvent& event : events) {
        if (event.device == main)
            result.peakReserved = std::max(*result.peakReserved, Bytes{event.reserved});
        if (event.action == AllocAction::Alloc || event.action == AllocAction::Oom)
            lastAsked = &event;
    }
    if (lastAsked)
        noteEnd(*lastAsked);
    result.duration = events.back().time - origin;
    imported_.header.name = name;
    imported_.header.workload = kSnapshotWorkload.name;
    imported_.header.specJson =
        fmt::format(R"({{"workload":"{}","file":{}}})", kSnapshotWorkload.name, jsonString(name));
    imported_.header.program = programBanner();
    imported_.header.clockOrigin = origin;
    imported_.header.startedUnixNs = std::max<std::int64_t>(nanosecondsOf(origin), 0);
    imported_.environment.push_back({"snapshot.file", name});
    imported_.environment.push_back({"snapshot.segments", std::to_string(imported_.segments)});
}

} // namespace

ImportedSnapshot importSnapshot(const PickleDocument& document, const std::string& name, StringTable& strings)
{
    return SnapshotReader(document, strings).read(name);
}

ImportedSnapshot readSnapshotFile(const std::filesystem::path& file, StringTable& strings)
{
    std::string bytes = readInputFile(file, kLargestSnapshot, "snapshot");
    const std::string hash = sha256(bytes);
    constexpr std::size_t kMostName = 80;
    ImportedSnapshot snapshot =
        importSnapshot(PickleDocument(std::move(bytes), file.filename().string()),
                       validUtf8(file.filename().string().substr(0, kMostName)), strings);
    snapshot.header.specHash = hash;
    return snapshot;
}

RunId importSnapshotFile(const std::filesystem::path& file, const std::filesystem::path& output,
                         ImportedSnapshot* imported)
{
    StringTable strings;
    ImportedSnapshot snapshot = readSnapshotFile(file, strings);
    store::RunWriter writer(output, strings);
    const RunId run = writer.beginRun(snapshot.header);
    writer.writeEnvironment(snapshot.environment);
    writer.write(snapshot.trace);
    writer.writeMemory(snapshot.facts);
    writer.endRun(snapshot.result);
    if (imported)
        *imported = std::move(snapshot);
    return run;
}

} // namespace tilescope::exchange
