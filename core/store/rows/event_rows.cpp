#include "core/store/rows/event_rows.h"

#include "core/base/error.h"
#include "core/model/text.h"

#include <limits>
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
static_assert(std::size(kCopy) == kMostColumns);

constexpr EventTable kTables[kEventKinds] = {{"range", kRange, 4},      {"op", kOp, 4},
                                             {"api_call", kApiCall, 4}, {"kernel", kKernel, 4, 14},
                                             {"copy", kCopy, 4, 16},    {"allocation", kAllocation},
                                             {"frame", kFrame, 4}};

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
    row[1] = frame.run;
    row[2] = stepOrNull(event.step);
    row[3] = nanosecondsOf(event.start) - frame.clockOrigin;
    row[4] = (event.end - event.start).count();
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
    event.step = stepFrom(row[2]);
    // Unsigned sums wrap: a damaged time gives a wrong time, not undefined behaviour.
    const auto start = static_cast<std::uint64_t>(row[3]) + static_cast<std::uint64_t>(frame.clockOrigin);
    event.start = timestampAt(static_cast<std::int64_t>(start));
    event.end = timestampAt(static_cast<std::int64_t>(start + static_cast<std::uint64_t>(row[4])));
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
    row[0] = orNull(range.id, frame.firstRange);
    beginRow(range, frame, row);
    row[5] = interner.text(range.name);
    row[6] = interner.text(range.path);
    row[7] = orNull(range.parent, frame.firstRange);
    row[8] = orNull(range.thread);
}

Range rangeFrom(const std::int64_t* row, const RowFrame& frame, RowResolver&)
{
    auto range = beginRecord<Range>(row, frame);
    range.id = idFrom<RangeId>(row[0], "range", frame.firstRange);
    range.name = idFrom<StringId>(row[5], "name");
    range.path = idFrom<StringId>(row[6], "path");
    range.parent = idFrom<RangeId>(row[7], "parent", frame.firstRange);
    range.thread = idFrom<ThreadId>(row[8], "thread");
    return range;
}

void toRow(const Op& op, const RowFrame& frame, RowInterner& interner, std::int64_t* row)
{
    row[0] = orNull(op.id, frame.firstOp);
    beginRow(op, frame, row);
    row[5] = interner.text(op.name);
    row[6] = interner.text(op.path);
    row[7] = interner.text(op.shapes);
    row[8] = wordFor(WordSet::OpScope, op.scope, interner);
    row[9] = orNull(op.range, frame.firstRange);
    row[10] = orNull(op.parent, frame.firstOp);
    row[11] = orNull(op.thread);
    row[12] = op.sequence < 0 ? kNull : op.sequence;
}

Op opFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver)
{
    auto op = beginRecord<Op>(row, frame);
    op.id = idFrom<OpId>(row[0], "op", frame.firstOp);
    op.name = idFrom<StringId>(row[5], "name");
    op.path = idFrom<StringId>(row[6], "path");
    op.shapes = idFrom<StringId>(row[7], "shapes");
    op.scope = enumFrom<OpScope>(WordSet::OpScope, row[8], resolver, "scope");
    op.range = idFrom<RangeId>(row[9], "range", frame.firstRange);
    op.parent = idFrom<OpId>(row[10], "parent", frame.firstOp);
    op.thread = idFrom<ThreadId>(row[11], "thread");
    op.sequence = row[12] == kNull ? -1 : row[12];
    return op;
}

void toRow(const ApiCall& call, const RowFrame& frame, RowInterner& interner, std::int64_t* row)
{
    beginRow(call, frame, row);
    row[5] = interner.text(call.name);
    row[6] = wordFor(WordSet::ApiKind, call.kind, interner);
    row[7] = orNull(call.correlation);
    row[8] = orNull(call.range, frame.firstRange);
    row[9] = orNull(call.op, frame.firstOp);
    row[10] = orNull(call.thread);
}

ApiCall apiCallFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver)
{
    auto call = beginRecord<ApiCall>(row, frame);
    call.name = idFrom<StringId>(row[5], "name");
    call.kind = enumFrom<ApiKind>(WordSet::ApiKind, row[6], resolver, "kind");
    call.correlation = idFrom<CorrelationId>(row[7], "correlation");
    call.range = idFrom<RangeId>(row[8], "range", frame.firstRange);
    call.op = idFrom<OpId>(row[9], "op", frame.firstOp);
    call.thread = idFrom<ThreadId>(row[10], "thread");
    return call;
}

namespace {

/// Columns that kernels and copies share, from `device` on; `at` is that column.
void putDeviceColumns(const DeviceEvent& event, const RowFrame& frame, std::int64_t* at)
{
    at[0] = orNull(event.device);
    at[1] = orNull(event.stream);
    at[2] = orNull(event.correlation);
    at[3] = orNull(event.range, frame.firstRange);
    at[4] = orNull(event.op, frame.firstOp);
    at[5] = orNull(event.launchThread);
    at[6] = event.launched == Timestamp{} ? kNull : (event.start - event.launched).count();
    at[7] = event.graphNode == 0 ? kNull : static_cast<std::int64_t>(event.graphNode);
}

void takeDeviceColumns(DeviceEvent& event, const RowFrame& frame, const std::int64_t* at)
{
    event.device = idFrom<DeviceIndex>(at[0], "device");
    event.stream = idFrom<StreamId>(at[1], "stream");
    event.correlation = idFrom<CorrelationId>(at[2], "correlation");
    event.range = idFrom<RangeId>(at[3], "range", frame.firstRange);
    event.op = idFrom<OpId>(at[4], "op", frame.firstOp);
    event.launchThread = idFrom<ThreadId>(at[5], "thread");
    if (at[6] != kNull)
        event.launched = timestampAt(static_cast<std::int64_t>(
            static_cast<std::uint64_t>(nanosecondsOf(event.start)) - static_cast<std::uint64_t>(at[6])));
    event.graphNode = static_cast<std::uint64_t>(zeroIfNull(at[7]));
}

} // namespace

void toRow(const DeviceEvent& event, const RowFrame& frame, RowInterner& interner, std::int64_t* row)
{
    beginRow(event, frame, row);
    row[6] = interner.text(event.path);
    if (event.kind == DeviceEventKind::Kernel) {
        row[5] = interner.kernelName(event.name);
        row[7] = interner.launch(event.launch);
        putDeviceColumns(event, frame, row + 8);
        return;
    }
    row[5] = interner.text(event.name);
    row[7] = wordFor(WordSet::DeviceEventKind, event.kind, interner);
    row[8] = event.copy == CopyKind::None ? kNull : wordFor(WordSet::CopyKind, event.copy, interner);
    row[9] = event.bytes;
    putDeviceColumns(event, frame, row + 10);
}

DeviceEvent kernelFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver)
{
    auto event = beginRecord<DeviceEvent>(row, frame);
    event.kind = DeviceEventKind::Kernel;
    event.name = idFrom<StringId>(row[5], "name");
    event.path = idFrom<StringId>(row[6], "path");
    event.launch = resolver.launch(row[7]);
    takeDeviceColumns(event, frame, row + 8);
    return event;
}

DeviceEvent copyFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver)
{
    auto event = beginRecord<DeviceEvent>(row, frame);
    event.name = idFrom<StringId>(row[5], "name");
    event.path = idFrom<StringId>(row[6], "path");
    event.kind = enumFrom<DeviceEventKind>(WordSet::DeviceEventKind, row[7], resolver, "kind");
    event.copy = row[8] == kNull ? CopyKind::None
                                 : enumFrom<CopyKind>(WordSet::CopyKind, row[8], resolver, "direction");
    event.bytes = row[9];
    takeDeviceColumns(event, frame, row + 10);
    return event;
}

void toRow(const AllocEvent& event, const RowFrame& frame, RowInterner& interner, std::int64_t* row)
{
    row[1] = frame.run;
    row[2] = stepOrNull(event.step);
    row[3] = nanosecondsOf(event.time) - frame.clockOrigin;
    row[4] = wordFor(WordSet::AllocAction, event.action, interner);
    row[5] = orNull(event.device);
    row[6] = static_cast<std::int64_t>(event.address);
    row[7] = event.bytes;
    row[8] = event.allocated;
    row[9] = event.reserved;
    row[10] = orNull(event.stream);
    row[11] = event.pool;
    row[12] = interner.text(event.category);
    row[13] = interner.text(event.path);
    row[14] = orNull(event.op, frame.firstOp);
}

AllocEvent allocationFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver)
{
    AllocEvent event;
    event.step = stepFrom(row[2]);
    event.time = timestampAt(static_cast<std::int64_t>(static_cast<std::uint64_t>(row[3]) +
                                                       static_cast<std::uint64_t>(frame.clockOrigin)));
    event.action = enumFrom<AllocAction>(WordSet::AllocAction, row[4], resolver, "action");
    event.device = idFrom<DeviceIndex>(row[5], "device");
    event.address = static_cast<std::uint64_t>(row[6]);
    event.bytes = row[7];
    event.allocated = row[8];
    event.reserved = row[9];
    event.stream = idFrom<StreamId>(row[10], "stream");
    event.pool = narrowed<std::uint32_t>(row[11], "pool");
    event.category = idFrom<StringId>(row[12], "category");
    event.path = idFrom<StringId>(row[13], "path");
    event.op = idFrom<OpId>(row[14], "op", frame.firstOp);
    return event;
}

void toRow(const Frame& call, const RowFrame& frame, RowInterner& interner, std::int64_t* row)
{
    beginRow(call, frame, row);
    row[5] = interner.text(call.name);
    row[6] = orNull(call.thread);
}

Frame frameFrom(const std::int64_t* row, const RowFrame& frame, RowResolver&)
{
    auto call = beginRecord<Frame>(row, frame);
    call.name = idFrom<StringId>(row[5], "name");
    call.thread = idFrom<ThreadId>(row[6], "thread");
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
