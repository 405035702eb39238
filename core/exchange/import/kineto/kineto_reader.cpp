#include "core/exchange/import/kineto/kineto_reader.h"

#include "core/analysis/work/op_work.h"
#include "core/analysis/work/tensor_shape.h"
#include "core/base/number_text.h"
#include "core/exchange/import/collective_names.h"
#include "core/exchange/import/kineto/kineto_file_facts.h"
#include "core/exchange/import/kineto/kineto_values.h"
#include "core/model/autograd_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <utility>

namespace tilescope::exchange {

namespace {

enum class Category : std::uint8_t {
    Unknown,
    Op,
    Annotation,
    RuntimeCall,
    Kernel,
    Copy,
    Set,
    PythonFunction,
    Overhead,
    Sync,
    Collective,
    Repeated,
};

struct CategoryName {
    std::string_view text;
    Category category;
};

// Libkineto's ActivityType.h; Kernel, Runtime and Memcpy are those of 2021. gpu_user_annotation and Trace
// repeat the times of annotations and of the whole recording.
constexpr CategoryName kCategoryNames[] = {
    {"cpu_op", Category::Op},
    {"python_function", Category::PythonFunction},
    {"kernel", Category::Kernel},
    {"cuda_runtime", Category::RuntimeCall},
    {"cuda_driver", Category::RuntimeCall},
    {"gpu_memcpy", Category::Copy},
    {"gpu_memset", Category::Set},
    {"user_annotation", Category::Annotation},
    {"gpu_user_annotation", Category::Repeated},
    {"cuda_sync", Category::Sync},
    {"overhead", Category::Overhead},
    {"Operator", Category::Op},
    {"Kernel", Category::Kernel},
    {"Runtime", Category::RuntimeCall},
    {"Memcpy", Category::Copy},
    {"Memset", Category::Set},
    {"hip_runtime", Category::RuntimeCall},
    {"hip_driver", Category::RuntimeCall},
    {"collective_comm", Category::Collective},
    {"collective", Category::Collective},
    {"Trace", Category::Repeated},
    {"", Category::Annotation},
    {"mtia_ccp_events", Category::Kernel},
    {"hpu_op", Category::Kernel},
    {"scope", Category::Annotation}, // of Proton
};

/// The category of one name, in any case of letters.
Category categoryOfName(std::string_view text)
{
    for (const CategoryName& each : kCategoryNames)
        if (each.text == text)
            return each.category;
    // xpu_runtime, mtia_runtime, privateuse1_driver, …
    if (text.ends_with("_runtime") || text.ends_with("_driver"))
        return Category::RuntimeCall;
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    for (const CategoryName& each : kCategoryNames)
        if (std::ranges::equal(each.text, text, {}, lower, lower))
            return each.category;
    return Category::Unknown;
}

/// The format allows several names, separated by commas: the first one that is known.
Category categoryOf(std::string_view text)
{
    Category category = categoryOfName(text);
    while (category == Category::Unknown && text.find(',') != std::string_view::npos) {
        const std::string_view first = text.substr(0, text.find(','));
        if (!first.empty())
            category = categoryOfName(first);
        text.remove_prefix(first.size() + 1);
        if (category == Category::Unknown && !text.empty() && text.find(',') == std::string_view::npos)
            category = categoryOfName(text);
    }
    return category;
}

/// Whether an event of an unknown category is of a device, whose time is missing without it: by its category, or because
/// only work of devices has a stream and the id of its launch.
bool isOfDevice(const KinetoEvent& event)
{
    constexpr std::string_view kPrefixes[] = {"xpu_", "mtia_", "hpu_", "privateuse1_", "npu", "tpu", "glow_"};
    const std::string_view category = event.category;
    return std::ranges::any_of(kPrefixes,
                               [&](std::string_view prefix) { return category.starts_with(prefix); }) ||
           category.ends_with("_kernel") || (!event.stream.empty() && !event.correlation.empty());
}

/// Whether an event is a scope within a kernel, as Proton's instrumentation writes them: by process `add_kernel Core0 CTA3`
/// and warp, or by call path. Its category is the name of the kernel.
bool isWithinKernel(const KinetoEvent& event)
{
    const auto has = [&](std::string_view part) { return event.pid.find(part) != std::string_view::npos; };
    return (has(" Core") && has(" CTA") && event.tid.starts_with("warp ")) || event.pid == "Kernel Call Path";
}

/// Undoes the escapes that a path of Windows with single backslashes seems to have: `C:\new` is a line break and `ew`.
std::string_view repairedPath(std::string_view name, std::string& text)
{
    constexpr std::string_view kControls = "\b\f\n\r\t";
    constexpr std::string_view kLetters = "bfnrt";
    constexpr std::size_t kDrive = 2; // C:
    if (name.size() <= kDrive || name[1] != ':' || name.find_first_of(kControls) == std::string_view::npos ||
        std::isalpha(static_cast<unsigned char>(name[0])) == 0)
        return name;
    text.clear();
    for (const char c : name)
        if (const std::size_t at = kControls.find(c); at != std::string_view::npos)
            text.append(1, '\\').append(1, kLetters[at]);
        else
            text += c;
    return text;
}

CopyKind copyKindOf(std::string_view name)
{
    const auto has = [name](std::string_view word) { return name.find(word) != std::string_view::npos; };
    if (has("HtoD") || has("HostToDevice"))
        return CopyKind::HostToDevice;
    if (has("DtoH") || has("DeviceToHost"))
        return CopyKind::DeviceToHost;
    if (has("DtoD") || has("DeviceToDevice"))
        return CopyKind::DeviceToDevice;
    if (has("HtoH") || has("HostToHost"))
        return CopyKind::HostToHost;
    return has("PtoP") || has("PeerToPeer") ? CopyKind::PeerToPeer : CopyKind::Other;
}

bool isCollectiveKernelName(std::string_view name)
{
    return name.starts_with("nccl") || name.starts_with("rccl") || name.starts_with("mscclKernel");
}

/// `[0, 1]` as `0,1`.
std::string plainRanks(std::string_view ranks)
{
    std::string plain;
    for (const char c : ranks)
        if (c != '[' && c != ']' && c != ' ')
            plain += c;
    return plain;
}

} // namespace

KinetoReader::KinetoReader(TraceBuilder& builder, const std::string& name)
    : builder_(builder), topology_(builder, name)
{
}

void KinetoReader::addMember(const std::string& key, const std::string& text)
{
    odd_ += addFileMember(builder_, topology_, key, text) ? 0 : 1;
}

std::uint32_t KinetoReader::correlationOf(std::string_view text)
{
    const std::uint64_t number = numberOf(text);
    if (number <= std::numeric_limits<std::uint32_t>::max())
        return static_cast<std::uint32_t>(number);
    ++odd_;
    return 0;
}

/// An absent number is 0, and so is one that is not known: CUPTI writes -1 for it.
std::uint64_t KinetoReader::numberOf(std::string_view text)
{
    if (text.empty() || text == "-1")
        return 0;
    const auto number = unsignedOf(text);
    odd_ += number ? 0 : 1;
    return number.value_or(0);
}

/// The same text with the life time of the builder.
std::string_view KinetoReader::kept(std::string_view text)
{
    return text.empty() ? text : builder_.strings().text(builder_.strings().intern(text));
}

// Events ----------------------------------------------------------------------------------------------------

void KinetoReader::addEvent(const KinetoEvent& event)
{
    ++events_;
    switch (event.phase.size() == 1 ? event.phase.front() : '\0') {
    case 'X':
        ++intervals_;
        addInterval(event);
        return;
    case 'i':
    case 'I':
        addInstant(event);
        return;
    case 'M':
        topology_.addName(event);
        return;
    case 'C':
        addCounter(event);
        return;
    case 's':
    case 't':
    case 'f':
        // Correlation ids and external ids say the same.
        return;
    case 'B':
    case 'E':
        ++beginsAndEnds_;
        return;
    default:
        ++notStored_[fmt::format("ph {}", event.phase.substr(0, 1))];
    }
}

bool KinetoReader::timesOf(const KinetoEvent& event, Times& times)
{
    const auto start = nanosecondsOfMicroseconds(event.start);
    const auto duration = nanosecondsOfMicroseconds(event.duration);
    if (!start || !duration) {
        ++untimed_;
        return false;
    }
    times = {timestampAt(*start), timestampAt(*start + *duration)};
    return true;
}

void KinetoReader::addCounter(const KinetoEvent& event)
{
    constexpr std::size_t kMostCounters = 4096;
    constexpr double kMost = 4e15; // so that differences of thousandths fit 64 bits
    const auto time = nanosecondsOfMicroseconds(event.start);
    const auto value = parseNumber<double>(event.counterValue);
    if (!time || !value || counters_.size() >= kMostCounters) {
        ++notStored_["ph C"];
        return;
    }
    CounterTrack& track =
        counters_[{std::string(event.pid), std::string(event.name), std::string(event.counter)}];
    track.points.push_back(
        {timestampAt(*time),
         static_cast<std::int64_t>(std::llround(std::clamp(*value, -kMost, kMost) * kPartsOfCounterUnit))});
}

/// Counters of a GPU are in the process that has its number.
void KinetoReader::addCounters()
{
    constexpr std::string_view kUnits[] = {"Hz", "W", "°C", "%", "B", "B/s"};
    for (auto& [key, track] : counters_) {
        const auto& [pid, name, member] = key;
        const bool isUnit = std::ranges::find(kUnits, member) != std::end(kUnits);
        track.name = isUnit || member == "value" || member.empty() ? name : name + " " + member;
        track.unit = isUnit ? member : "";
        track.end = Timestamp::max(); // the last value holds until the end
        const auto ordinal = integerOf(pid);
        if (const ProcessIndex process = topology_.knownProcess(pid))
            track.process = process;
        else if (ordinal && *ordinal >= 0)
            track.device = topology_.knownDevice(*ordinal);
        builder_.addCounter(topology_.mainProcess(), std::move(track));
    }
}

void KinetoReader::addInterval(const KinetoEvent& event)
{
    if (isWithinKernel(event)) {
        ++withinKernels_;
        return;
    }
    const Category category = categoryOf(event.category);
    if (category == Category::Unknown || category == Category::Repeated) {
        constexpr std::size_t kMostName = 40;
        constexpr std::size_t kMostNames = 64;
        const std::string_view name = event.category.substr(0, kMostName);
        auto& counts = isOfDevice(event) ? notRead_ : notStored_;
        const auto found = counts.find(name);
        if (found != counts.end())
            ++found->second;
        else
            ++counts[counts.size() < kMostNames ? std::string(name) : "others"];
        return;
    }
    Times times;
    if (!timesOf(event, times))
        return;
    switch (category) {
    case Category::Kernel:
        addActivity(event, DeviceEventKind::Kernel, times);
        return;
    case Category::Copy:
        addActivity(event, DeviceEventKind::Memcpy, times);
        return;
    case Category::Set:
        addActivity(event, DeviceEventKind::Memset, times);
        return;
    case Category::Sync:
        addWait(event, times);
        return;
    default:
        addHostInterval(event, times);
    }
}

void KinetoReader::addHostInterval(const KinetoEvent& event, Times times)
{
    const ThreadId thread = topology_.threadOf(event);
    switch (categoryOf(event.category)) {
    case Category::Op:
        addOp(event, thread, times);
        return;
    case Category::PythonFunction:
        addFrame(event, thread, times);
        return;
    case Category::Overhead:
        builder_.addOverhead(thread, event.name, times.start, times.end);
        return;
    case Category::Collective:
        addHostCollective(event, thread, times);
        return;
    case Category::RuntimeCall: {
        const std::uint32_t correlation = correlationOf(event.correlation);
        topology_.addCaller(topology_.processOf(event.pid));
        builder_.addApiCall(thread, event.name, correlation, times.start, times.end);
        return;
    }
    default:
        addRange(event, thread, times);
    }
}

void KinetoReader::addOp(const KinetoEvent& event, ThreadId thread, Times times)
{
    // The arguments of other ops matter to no rule.
    const auto rule = event.inputValues.empty() ? std::nullopt : analysis::ruleOf(event.name);
    if (rule && rule->moves)
        argumentsOf(event.inputDims, event.inputTypes, event.inputStrides, event.inputValues, shapes_);
    else
        shapesOf(event.inputDims, event.inputTypes, shapes_);
    const auto sequence = integerOf(event.sequence);
    builder_.addOp({.thread = thread,
                    .name = event.name,
                    .shapes = shapes_,
                    .sequence = sequence && *sequence >= 0 ? *sequence : -1,
                    .isBackward = isEvaluation(event.name) || numberOf(event.forwardThread) > 0,
                    .externalId = numberOf(event.externalId),
                    .order = event.eventIndex.empty() ? 0 : numberOf(event.eventIndex) + 1,
                    .start = times.start,
                    .end = times.end});
    if (!event.collective.empty())
        addHostCollective(event, thread, times);
}

void KinetoReader::addRange(const KinetoEvent& event, ThreadId thread, Times times)
{
    if (event.category.empty())
        topology_.addBare(event.pid);
    const bool isStep = event.name.starts_with("ProfilerStep");
    builder_.addRange(thread, repairedPath(event.name, path_), times.start, times.end,
                      isStep ? SpanKind::Step : SpanKind::Range);
}

void KinetoReader::addFrame(const KinetoEvent& event, ThreadId thread, Times times)
{
    constexpr std::string_view kModule = "nn.Module: ";
    if (event.name.starts_with(kModule))
        builder_.addRange(thread, event.name.substr(kModule.size()), times.start, times.end,
                          SpanKind::Module);
    else
        builder_.addFrame(thread, repairedPath(event.name, path_), times.start, times.end);
}

ForeignCollective KinetoReader::collectiveOf(const KinetoEvent& event, std::string_view op)
{
    const auto sent = unsignedOf(event.inElements);
    const auto received = unsignedOf(event.outElements);
    const std::string_view dtype = dtypeWord(event.dtype);
    ForeignCollective collective{.op = op, .group = event.groupName, .dtype = dtype};
    const auto small = [](std::string_view text, std::int32_t missing) {
        const auto number = unsignedOf(text);
        return number && *number <= std::numeric_limits<std::int32_t>::max()
                   ? static_cast<std::int32_t>(*number)
                   : missing;
    };
    collective.groupSize = small(event.groupSize, 0);
    collective.peer = small(op == "recv" ? event.sourceRank : event.destinationRank, -1);
    collective.sequence = small(event.collectiveSequence, -1);
    const int element = dtype.empty() ? 0 : analysis::elementBytesOf(dtype);
    constexpr std::uint64_t kMostElements = std::uint64_t{1} << 58;
    // What a rank contributes; a receiver contributes nothing.
    const auto elements = op == "recv" ? received : sent;
    if (element > 0 && elements && *elements < kMostElements)
        collective.bytes = static_cast<std::int64_t>(*elements) * element;
    return collective;
}

void KinetoReader::addHostCollective(const KinetoEvent& event, ThreadId thread, Times times)
{
    const std::string_view op = collectiveWord(event.collective.empty() ? event.name : event.collective);
    if (op.empty())
        return;
    ForeignCollective collective = collectiveOf(event, kept(op));
    collective.group = kept(event.groupName);
    collective.ranks = kept(plainRanks(event.groupRanks));
    hostCollectives_.push_back({.collective = collective,
                                .thread = thread,
                                .externalId = numberOf(event.externalId),
                                .start = times.start,
                                .end = times.end});
}

void KinetoReader::addActivity(const KinetoEvent& event, DeviceEventKind kind, Times times)
{
    const std::uint32_t correlation = correlationOf(event.correlation);
    const ProcessIndex process = topology_.holderOf(event.pid);
    const auto ordinal = event.device.empty() ? partsOfPid(event.pid).number : integerOf(event.device);
    constexpr std::int64_t kMostDevices = 1024;
    const bool isDevice = ordinal && *ordinal >= 0 && *ordinal < kMostDevices;
    odd_ += isDevice ? 0 : 1;
    const DeviceIndex device =
        topology_.deviceOf(process, isDevice ? static_cast<std::int32_t>(*ordinal) : 0);
    const auto stream = integerOf(event.stream.empty() ? event.tid : event.stream);
    odd_ += stream ? 0 : 1;
    ForeignActivity activity{.kind = kind,
                             .name = event.name,
                             .device = device,
                             .stream = topology_.streamOf(process, device, stream.value_or(0), event.context),
                             .correlation = correlation,
                             .externalId = numberOf(event.externalId),
                             .graphNode = numberOf(event.graphNode),
                             .start = times.start,
                             .end = times.end};
    if (kind == DeviceEventKind::Kernel) {
        const auto small = [this](std::string_view text) {
            return static_cast<std::uint32_t>(
                std::min<std::uint64_t>(numberOf(text), std::numeric_limits<std::uint32_t>::max()));
        };
        activity.launch.grid = sizesOf(event.grid);
        activity.launch.block = sizesOf(event.block);
        activity.launch.registersPerThread = small(event.registers);
        // Kineto writes the sum of static and dynamic shared memory.
        activity.launch.dynamicShared = small(event.sharedMemory);
    } else {
        activity.copy = kind == DeviceEventKind::Memcpy ? copyKindOf(event.name) : CopyKind::None;
        activity.bytes = static_cast<std::int64_t>(
            std::min<std::uint64_t>(numberOf(event.bytes), std::numeric_limits<std::int64_t>::max()));
    }
    if (const auto number = builder_.addActivity(activity); number && correlation != 0)
        addKernelCollective(event, *number, correlation, activity.externalId);
}

void KinetoReader::addKernelCollective(const KinetoEvent& event, std::uint32_t activity,
                                       std::uint32_t correlation, std::uint64_t externalId)
{
    if (event.collective.empty()) {
        if (!isCollectiveKernelName(event.name))
            return;
        const CollectiveName name = collectiveOfKernel(event.name);
        namedKernels_.push_back(
            {.collective = {.op = name.op.empty() ? "collective" : name.op, .dtype = name.dtype},
             .activity = activity,
             .correlation = correlation});
        if (externalId != 0)
            collectiveKernels_[externalId] = {activity, correlation};
        return;
    }
    const std::string_view op = collectiveWord(event.collective);
    if (op.empty())
        return;
    ForeignCollective collective = collectiveOf(event, kept(op));
    collective.group = kept(event.groupName);
    collective.ranks = kept(plainRanks(event.groupRanks));
    describedCollectives_.push_back(
        {.collective = collective, .activity = activity, .correlation = correlation});
    describedKernels_.insert(externalId);
}

void KinetoReader::addWait(const KinetoEvent& event, Times times)
{
    const std::string_view kind = event.syncKind.empty() ? event.name : event.syncKind;
    const auto has = [kind](std::string_view word) { return kind.find(word) != std::string_view::npos; };
    const std::uint32_t correlation = correlationOf(event.correlation);
    const ProcessIndex process = topology_.holderOf(event.pid);
    Wait wait{.kind = has("Stream Wait")                ? WaitKind::StreamWait
                      : has("Stream")                   ? WaitKind::Stream
                      : has("Context") || has("Device") ? WaitKind::Context
                                                        : WaitKind::Event,
              .process = process,
              .correlation = CorrelationId{correlation},
              .recordCorrelation = CorrelationId{correlationOf(event.waitCorrelation)},
              .start = times.start,
              .end = times.end};
    const auto ordinal = event.device.empty() ? partsOfPid(event.pid).number : integerOf(event.device);
    constexpr std::int64_t kMostDevices = 1024;
    if (ordinal && *ordinal >= 0 && *ordinal < kMostDevices) {
        wait.device = topology_.deviceOf(process, static_cast<std::int32_t>(*ordinal));
        // A wait that is not of a stream has -1 or 2^32 - 1 here.
        const auto streamNumber = [&](std::string_view text) -> StreamId {
            const auto number = unsignedOf(text);
            if (!number || *number >= std::numeric_limits<std::uint32_t>::max())
                return {};
            return topology_.streamOf(process, wait.device, static_cast<std::int64_t>(*number),
                                      event.context);
        };
        wait.stream = streamNumber(event.stream);
        wait.waitedFor = streamNumber(event.waitStream);
    }
    builder_.addWait(wait);
}

void KinetoReader::addInstant(const KinetoEvent& event)
{
    if (event.name != "[memory]" && event.name != "[OutOfMemory]") {
        const bool isKnown = event.name.starts_with("Iteration Start") || event.name == "Record Window End";
        if (!isKnown)
            ++notStored_["instants"];
        return;
    }
    const auto time = nanosecondsOfMicroseconds(event.start);
    const auto bytes = integerOf(event.bytes);
    if (!time || !bytes || *bytes == std::numeric_limits<std::int64_t>::min()) {
        ++untimed_;
        return;
    }
    const ThreadId thread = topology_.threadOf(event);
    AllocEvent allocation{.time = timestampAt(*time),
                          .address = numberOf(event.address),
                          .bytes = *bytes < 0 ? -*bytes : *bytes,
                          .allocated = integerOf(event.totalAllocated).value_or(0),
                          .reserved = integerOf(event.totalReserved).value_or(0)};
    // c10::DeviceType: 0 is the CPU.
    const auto device = integerOf(event.deviceId);
    constexpr std::int64_t kMostDevices = 1024;
    const bool isGpu = numberOf(event.deviceType) != 0 && device && *device >= 0 && *device < kMostDevices;
    if (isGpu)
        allocation.device =
            topology_.deviceOf(topology_.processOf(event.pid), static_cast<std::int32_t>(*device));
    if (event.name == "[OutOfMemory]")
        allocation.action = AllocAction::Oom;
    else if (*bytes < 0)
        allocation.action = isGpu ? AllocAction::FreeRequested : AllocAction::FreeCompleted;
    builder_.addAllocation(thread, allocation);
}

// The end ---------------------------------------------------------------------------------------------------

void KinetoReader::addCollectives()
{
    const auto add = [this](const KernelCollective& each) {
        builder_.addCollective(builder_.processOfActivity(each.activity), each.collective, each.correlation);
    };
    std::ranges::for_each(describedCollectives_, add);
    // Traces before 2023 describe no collective: the names of the kernels do.
    if (describedCollectives_.empty() && hostCollectives_.empty())
        std::ranges::for_each(namedKernels_, add);
    for (const HostCollective& each : hostCollectives_) {
        if (each.externalId != 0 && describedKernels_.contains(each.externalId))
            continue;
        const auto kernel = collectiveKernels_.find(each.externalId);
        if (each.externalId != 0 && kernel != collectiveKernels_.end())
            builder_.addCollective(builder_.processOfActivity(kernel->second.first), each.collective,
                                   kernel->second.second);
        else
            builder_.addCollective(each.thread, each.collective, each.start, each.end);
    }
}

void KinetoReader::finish()
{
    topology_.finish();
    if (!topology_.wantsFlows())
        finishRecords();
}

void KinetoReader::finishFlows()
{
    topology_.finishFlows();
    if (const std::int64_t ambiguous = topology_.ambiguous(); ambiguous > 0)
        builder_.addLoss(RecordLoss::CallerAmbiguous, ambiguous);
    finishRecords();
}

void KinetoReader::finishRecords()
{
    addCollectives();
    addCounters();
    builder_.countRecord(events_);
    for (const auto& [what, count] : notStored_)
        builder_.addLoss(RecordLoss::SourceNotStored, count, what);
    for (const auto& [what, count] : notRead_)
        builder_.addLoss(RecordLoss::DeviceNotRead, count, what);
    if (withinKernels_ > 0)
        builder_.addLoss(RecordLoss::DeviceNotRead, withinKernels_, "scopes within kernels, by Proton");
    if (beginsAndEnds_ > 0)
        builder_.addLoss(RecordLoss::BeginEndEvents, beginsAndEnds_);
    if (untimed_ > 0)
        builder_.addLoss(RecordLoss::SourceUnreadable, untimed_, "time or size");
    if (odd_ > 0)
        builder_.addLoss(RecordLoss::SourceValue, odd_);
}

} // namespace tilescope::exchange
