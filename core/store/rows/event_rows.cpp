#include "core/store/rows/event_rows.h"

#include "core/base/error.h"
#include "core/model/text.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <string>

namespace tilescope::store {

namespace {

using Names = std::string_view;

constexpr Names kRange[] = {"id", "run", "step", "start", "duration", "name", "path", "parent", "thread"};
constexpr Names kOp[] = {"id",     "run",   "step",  "start",  "duration", "name",    "path",
                         "shapes", "scope", "range", "parent", "thread",   "sequence"};
constexpr Names kApiCall[] = {"id",   "run",         "step",  "start", "duration", "name",
                              "kind", "correlation", "range", "op",    "thread"};
constexpr Names kKernel[] = {"id",   "run",    "step",   "start",     "duration",    "name",
                             "path", "launch", "device", "stream",    "correlation", "range",
                             "op",   "thread", "queued", "graph_node"};
constexpr Names kCopy[] = {"id",          "run",   "step",      "start",  "duration", "name",
                           "path",        "kind",  "direction", "bytes",  "device",   "stream",
                           "correlation", "range", "op",        "thread", "queued",   "graph_node"};
constexpr Names kAllocation[] = {"id",     "run",     "step",     "start",     "action",
                                 "device", "address", "bytes",    "allocated", "reserved",
                                 "stream", "pool",    "category", "path",      "op"};
constexpr Names kFrame[] = {"id", "run", "step", "start", "duration", "name", "thread"};
/// Columns that kernels and copies share, in this order, from `device` on.
constexpr Names kDevice[] = {"device", "stream", "correlation", "range",
                             "op",     "thread", "queued",      "graph_node"};
static_assert(std::size(kCopy) == kMostColumns);
static_assert(std::ranges::equal(kDevice, std::span(kKernel).last(std::size(kDevice))));
static_assert(std::ranges::equal(kDevice, std::span(kCopy).last(std::size(kDevice))));

/// The index of a column; a name that the table lacks does not compile.
template <std::size_t N> consteval std::size_t of(const Names (&columns)[N], Names name)
{
    const auto* const found = std::ranges::find(columns, name);
    return found == std::end(columns) ? throw "no such column" : static_cast<std::size_t>(found - columns);
}

constexpr int kDuration = of(kRange, "duration"); // in every table of events that last
constexpr EventTable kTables[kEventKinds] = {{"range", kRange, kDuration},
                                             {"op", kOp, kDuration},
                                             {"api_call", kApiCall, kDuration},
                                             {"kernel", kKernel, kDuration, int(of(kKernel, "queued"))},
                                             {"copy", kCopy, kDuration, int(of(kCopy, "queued"))},
                                             {"allocation", kAllocation},
                                             {"frame", kFrame, kDuration}};
static_assert(of(kAllocation, "start") == EventTable::start && of(kRange, "start") == EventTable::start);

template <class Tag, class Rep, Rep None> std::int64_t orNull(Id<Tag, Rep, None> id)
{
    return id ? static_cast<std::int64_t>(id.value) : kNull;
}

template <class Tag, class Rep, Rep None> std::int64_t orNull(Id<Tag, Rep, None> id, std::int64_t first)
{
    return id ? first + static_cast<std::int64_t>(id.value) : kNull;
}

std::int64_t stepOrNull(std::int32_t step)
{
    return step == kNoStep ? kNull : step;
}

/// The columns that all events begin with.
template <class Event> void beginRow(const Event& event, const RowFrame& frame, std::int64_t* row)
{
    row[of(kFrame, "run")] = frame.run;
    row[of(kFrame, "step")] = stepOrNull(event.step);
    row[of(kFrame, "start")] = nanosecondsOf(event.start) - frame.clockOrigin;
    row[of(kFrame, "duration")] = (event.end - event.start).count();
}

[[noreturn]] void damaged(std::string_view what, std::int64_t value)
{
    throw Error{.what = "an event has " + std::string(what) + " " + std::to_string(value) +
                        ", which Tilescope does not write",
                .remedy = "run `tilescope verify` to see what is damaged"};
}

template <class T> T narrowed(std::int64_t value, std::string_view what)
{
    if (value < static_cast<std::int64_t>(std::numeric_limits<T>::min()) ||
        value > static_cast<std::int64_t>(std::numeric_limits<T>::max()))
        damaged(what, value);
    return static_cast<T>(value);
}

template <class IdType> IdType idFrom(std::int64_t value, std::string_view what, std::int64_t first = 0)
{
    if (value == kNull)
        return IdType::none();
    return IdType{narrowed<decltype(IdType::value)>(value - first, what)};
}

std::int32_t stepFrom(std::int64_t value)
{
    return value == kNull ? kNoStep : narrowed<std::int32_t>(value, "step");
}

std::int64_t zeroIfNull(std::int64_t value)
{
    return value == kNull ? 0 : value;
}

template <class E> E enumFrom(WordSet set, std::int64_t id, RowResolver& resolver, std::string_view what)
{
    const int value = resolver.value(set, id);
    if (value < 0)
        damaged(what, id);
    return static_cast<E>(value);
}

template <class E> std::int64_t wordFor(WordSet set, E value, RowInterner& interner)
{
    return interner.word(set, static_cast<std::size_t>(value));
}

template <class E> std::array<std::string_view, kMostWords> wordsByValue()
{
    std::array<std::string_view, kMostWords> words;
    for (const EnumWord<E>& entry : enumWords<E>())
        words.at(static_cast<std::size_t>(entry.value)) = entry.word;
    return words;
}

template <class Event> Event beginRecord(const std::int64_t* row, const RowFrame& frame)
{
    Event event;
    event.step = stepFrom(row[of(kFrame, "step")]);
    // Unsigned sums wrap: a damaged time gives a wrong time, not undefined behaviour.
    const auto start =
        static_cast<std::uint64_t>(row[of(kFrame, "start")]) + static_cast<std::uint64_t>(frame.clockOrigin);
    event.start = timestampAt(static_cast<std::int64_t>(start));
    event.end = timestampAt(
        static_cast<std::int64_t>(start + static_cast<std::uint64_t>(row[of(kFrame, "duration")])));
    return event;
}

} // namespace

ColumnRole roleOf(EventKind kind, std::size_t column)
{
    const std::string_view name = eventTable(kind).columns[column];
    const bool isRange = kind == EventKind::Range;
    const bool isOp = kind == EventKind::Op;
    if (name == "run")
        return ColumnRole::Run;
    if (name == "launch")
        return ColumnRole::Launch;
    if (name == "range" || (isRange && (name == "id" || name == "parent")))
        return ColumnRole::RangeId;
    if (name == "op" || (isOp && (name == "id" || name == "parent")))
        return ColumnRole::OpId;
    if (name == "id")
        return ColumnRole::RowId;
    if (name == "name" && kind == EventKind::Kernel)
        return ColumnRole::KernelName;
    for (const std::string_view text :
         {"name", "path", "shapes", "scope", "kind", "direction", "action", "category"})
        if (name == text)
            return ColumnRole::Text;
    return ColumnRole::Value;
}

std::array<std::string_view, kMostWords> wordsOf(WordSet set)
{
    switch (set) {
    case WordSet::OpScope:
        return wordsByValue<OpScope>();
    case WordSet::ApiKind:
        return wordsByValue<ApiKind>();
    case WordSet::DeviceEventKind:
        return wordsByValue<DeviceEventKind>();
    case WordSet::CopyKind:
        return wordsByValue<CopyKind>();
    case WordSet::AllocAction:
        return wordsByValue<AllocAction>();
    }
    return {};
}

const EventTable& eventTable(EventKind kind)
{
    return kTables[static_cast<std::size_t>(kind)];
}

void toRow(const Range& range, const RowFrame& frame, RowInterner& interner, std::int64_t* row)
{
    row[of(kRange, "id")] = orNull(range.id, frame.firstRange);
    beginRow(range, frame, row);
    row[of(kRange, "name")] = interner.text(range.name);
    row[of(kRange, "path")] = interner.text(range.path);
    row[of(kRange, "parent")] = orNull(range.parent, frame.firstRange);
    row[of(kRange, "thread")] = orNull(range.thread);
}

Range rangeFrom(const std::int64_t* row, const RowFrame& frame, RowResolver&)
{
    auto range = beginRecord<Range>(row, frame);
    range.id = idFrom<RangeId>(row[of(kRange, "id")], "range", frame.firstRange);
    range.name = idFrom<StringId>(row[of(kRange, "name")], "name");
    range.path = idFrom<StringId>(row[of(kRange, "path")], "path");
    range.parent = idFrom<RangeId>(row[of(kRange, "parent")], "parent", frame.firstRange);
    range.thread = idFrom<ThreadId>(row[of(kRange, "thread")], "thread");
    return range;
}

void toRow(const Op& op, const RowFrame& frame, RowInterner& interner, std::int64_t* row)
{
    row[of(kOp, "id")] = orNull(op.id, frame.firstOp);
    beginRow(op, frame, row);
    row[of(kOp, "name")] = interner.text(op.name);
    row[of(kOp, "path")] = interner.text(op.path);
    row[of(kOp, "shapes")] = interner.text(op.shapes);
    row[of(kOp, "scope")] = wordFor(WordSet::OpScope, op.scope, interner);
    row[of(kOp, "range")] = orNull(op.range, frame.firstRange);
    row[of(kOp, "parent")] = orNull(op.parent, frame.firstOp);
    row[of(kOp, "thread")] = orNull(op.thread);
    row[of(kOp, "sequence")] = op.sequence < 0 ? kNull : op.sequence;
}

Op opFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver)
{
    auto op = beginRecord<Op>(row, frame);
    op.id = idFrom<OpId>(row[of(kOp, "id")], "op", frame.firstOp);
    op.name = idFrom<StringId>(row[of(kOp, "name")], "name");
    op.path = idFrom<StringId>(row[of(kOp, "path")], "path");
    op.shapes = idFrom<StringId>(row[of(kOp, "shapes")], "shapes");
    op.scope = enumFrom<OpScope>(WordSet::OpScope, row[of(kOp, "scope")], resolver, "scope");
    op.range = idFrom<RangeId>(row[of(kOp, "range")], "range", frame.firstRange);
    op.parent = idFrom<OpId>(row[of(kOp, "parent")], "parent", frame.firstOp);
    op.thread = idFrom<ThreadId>(row[of(kOp, "thread")], "thread");
    op.sequence = row[of(kOp, "sequence")] == kNull ? -1 : row[of(kOp, "sequence")];
    return op;
}

void toRow(const ApiCall& call, const RowFrame& frame, RowInterner& interner, std::int64_t* row)
{
    beginRow(call, frame, row);
    row[of(kApiCall, "name")] = interner.text(call.name);
    row[of(kApiCall, "kind")] = wordFor(WordSet::ApiKind, call.kind, interner);
    row[of(kApiCall, "correlation")] = orNull(call.correlation);
    row[of(kApiCall, "range")] = orNull(call.range, frame.firstRange);
    row[of(kApiCall, "op")] = orNull(call.op, frame.firstOp);
    row[of(kApiCall, "thread")] = orNull(call.thread);
}

ApiCall apiCallFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver)
{
    auto call = beginRecord<ApiCall>(row, frame);
    call.name = idFrom<StringId>(row[of(kApiCall, "name")], "name");
    call.kind = enumFrom<ApiKind>(WordSet::ApiKind, row[of(kApiCall, "kind")], resolver, "kind");
    call.correlation = idFrom<CorrelationId>(row[of(kApiCall, "correlation")], "correlation");
    call.range = idFrom<RangeId>(row[of(kApiCall, "range")], "range", frame.firstRange);
    call.op = idFrom<OpId>(row[of(kApiCall, "op")], "op", frame.firstOp);
    call.thread = idFrom<ThreadId>(row[of(kApiCall, "thread")], "thread");
    return call;
}

namespace {

/// Columns that kernels and copies share, from `device` on; `at` is that column.
void putDeviceColumns(const DeviceEvent& event, const RowFrame& frame, std::int64_t* at)
{
    at[of(kDevice, "device")] = orNull(event.device);
    at[of(kDevice, "stream")] = orNull(event.stream);
    at[of(kDevice, "correlation")] = orNull(event.correlation);
    at[of(kDevice, "range")] = orNull(event.range, frame.firstRange);
    at[of(kDevice, "op")] = orNull(event.op, frame.firstOp);
    at[of(kDevice, "thread")] = orNull(event.launchThread);
    at[of(kDevice, "queued")] =
        event.launched == Timestamp{} ? kNull : (event.start - event.launched).count();
    at[of(kDevice, "graph_node")] = event.graphNode == 0 ? kNull : static_cast<std::int64_t>(event.graphNode);
}

void takeDeviceColumns(DeviceEvent& event, const RowFrame& frame, const std::int64_t* at)
{
    event.device = idFrom<DeviceIndex>(at[of(kDevice, "device")], "device");
    event.stream = idFrom<StreamId>(at[of(kDevice, "stream")], "stream");
    event.correlation = idFrom<CorrelationId>(at[of(kDevice, "correlation")], "correlation");
    event.range = idFrom<RangeId>(at[of(kDevice, "range")], "range", frame.firstRange);
    event.op = idFrom<OpId>(at[of(kDevice, "op")], "op", frame.firstOp);
    event.launchThread = idFrom<ThreadId>(at[of(kDevice, "thread")], "thread");
    if (at[of(kDevice, "queued")] != kNull)
        event.launched =
            timestampAt(static_cast<std::int64_t>(static_cast<std::uint64_t>(nanosecondsOf(event.start)) -
                                                  static_cast<std::uint64_t>(at[of(kDevice, "queued")])));
    event.graphNode = static_cast<std::uint64_t>(zeroIfNull(at[of(kDevice, "graph_node")]));
}

} // namespace

void toRow(const DeviceEvent& event, const RowFrame& frame, RowInterner& interner, std::int64_t* row)
{
    beginRow(event, frame, row);
    row[of(kKernel, "path")] = interner.text(event.path);
    if (event.kind == DeviceEventKind::Kernel) {
        row[of(kKernel, "name")] = interner.kernelName(event.name);
        row[of(kKernel, "launch")] = interner.launch(event.launch);
        putDeviceColumns(event, frame, row + of(kKernel, "device"));
        return;
    }
    row[of(kCopy, "name")] = interner.text(event.name);
    row[of(kCopy, "kind")] = wordFor(WordSet::DeviceEventKind, event.kind, interner);
    row[of(kCopy, "direction")] =
        event.copy == CopyKind::None ? kNull : wordFor(WordSet::CopyKind, event.copy, interner);
    row[of(kCopy, "bytes")] = event.bytes;
    putDeviceColumns(event, frame, row + of(kCopy, "device"));
}

DeviceEvent kernelFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver)
{
    auto event = beginRecord<DeviceEvent>(row, frame);
    event.kind = DeviceEventKind::Kernel;
    event.name = idFrom<StringId>(row[of(kKernel, "name")], "name");
    event.path = idFrom<StringId>(row[of(kKernel, "path")], "path");
    event.launch = resolver.launch(row[of(kKernel, "launch")]);
    takeDeviceColumns(event, frame, row + of(kKernel, "device"));
    return event;
}

DeviceEvent copyFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver)
{
    auto event = beginRecord<DeviceEvent>(row, frame);
    event.name = idFrom<StringId>(row[of(kCopy, "name")], "name");
    event.path = idFrom<StringId>(row[of(kCopy, "path")], "path");
    event.kind =
        enumFrom<DeviceEventKind>(WordSet::DeviceEventKind, row[of(kCopy, "kind")], resolver, "kind");
    event.copy =
        row[of(kCopy, "direction")] == kNull
            ? CopyKind::None
            : enumFrom<CopyKind>(WordSet::CopyKind, row[of(kCopy, "direction")], resolver, "direction");
    event.bytes = row[of(kCopy, "bytes")];
    takeDeviceColumns(event, frame, row + of(kCopy, "device"));
    return event;
}

void toRow(const AllocEvent& event, const RowFrame& frame, RowInterner& interner, std::int64_t* row)
{
    row[of(kAllocation, "run")] = frame.run;
    row[of(kAllocation, "step")] = stepOrNull(event.step);
    row[of(kAllocation, "start")] = nanosecondsOf(event.time) - frame.clockOrigin;
    row[of(kAllocation, "action")] = wordFor(WordSet::AllocAction, event.action, interner);
    row[of(kAllocation, "device")] = orNull(event.device);
    row[of(kAllocation, "address")] = static_cast<std::int64_t>(event.address);
    row[of(kAllocation, "bytes")] = event.bytes;
    row[of(kAllocation, "allocated")] = event.allocated;
    row[of(kAllocation, "reserved")] = event.reserved;
    row[of(kAllocation, "stream")] = orNull(event.stream);
    row[of(kAllocation, "pool")] = event.pool;
    row[of(kAllocation, "category")] = interner.text(event.category);
    row[of(kAllocation, "path")] = interner.text(event.path);
    row[of(kAllocation, "op")] = orNull(event.op, frame.firstOp);
}

AllocEvent allocationFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver)
{
    AllocEvent event;
    event.step = stepFrom(row[of(kAllocation, "step")]);
    event.time =
        timestampAt(static_cast<std::int64_t>(static_cast<std::uint64_t>(row[of(kAllocation, "start")]) +
                                              static_cast<std::uint64_t>(frame.clockOrigin)));
    event.action =
        enumFrom<AllocAction>(WordSet::AllocAction, row[of(kAllocation, "action")], resolver, "action");
    event.device = idFrom<DeviceIndex>(row[of(kAllocation, "device")], "device");
    event.address = static_cast<std::uint64_t>(row[of(kAllocation, "address")]);
    event.bytes = row[of(kAllocation, "bytes")];
    event.allocated = row[of(kAllocation, "allocated")];
    event.reserved = row[of(kAllocation, "reserved")];
    event.stream = idFrom<StreamId>(row[of(kAllocation, "stream")], "stream");
    event.pool = narrowed<std::uint32_t>(row[of(kAllocation, "pool")], "pool");
    event.category = idFrom<StringId>(row[of(kAllocation, "category")], "category");
    event.path = idFrom<StringId>(row[of(kAllocation, "path")], "path");
    event.op = idFrom<OpId>(row[of(kAllocation, "op")], "op", frame.firstOp);
    return event;
}

void toRow(const Frame& call, const RowFrame& frame, RowInterner& interner, std::int64_t* row)
{
    beginRow(call, frame, row);
    row[of(kFrame, "name")] = interner.text(call.name);
    row[of(kFrame, "thread")] = orNull(call.thread);
}

Frame frameFrom(const std::int64_t* row, const RowFrame& frame, RowResolver&)
{
    auto call = beginRecord<Frame>(row, frame);
    call.name = idFrom<StringId>(row[of(kFrame, "name")], "name");
    call.thread = idFrom<ThreadId>(row[of(kFrame, "thread")], "thread");
    return call;
}

std::string_view shortKernelName(std::string_view demangled)
{
    // The name ends outside any brackets, where template arguments or parameters begin. It begins after the
    // last space or colon outside brackets before that. Brackets of "(anonymous namespace)" and of a return
    // type's template arguments belong to the text before the name.
    int depth = 0;
    std::size_t begin = 0;
    std::size_t end = std::string_view::npos;
    for (std::size_t i = 0; i < demangled.size(); ++i) {
        const char c = demangled[i];
        if (c == '<' || c == '(') {
            if (depth++ == 0 && i > begin && end == std::string_view::npos)
                end = i;
        } else if (c == '>' || c == ')') {
            --depth;
        } else if (depth == 0 && (c == ' ' || c == ':')) {
            // Text after a parameter list is not a name ("const", "[clone .1]").
            if (c == ' ' && end != std::string_view::npos && demangled[i - 1] == ')')
                break;
            begin = i + 1;
            end = std::string_view::npos;
        }
    }
    const std::string_view name = demangled.substr(begin, end == std::string_view::npos ? end : end - begin);
    return name.empty() ? demangled : name;
}

} // namespace tilescope::store
