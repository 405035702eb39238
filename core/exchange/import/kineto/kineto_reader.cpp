#include "core/exchange/import/kineto/kineto_reader.h"

#include "core/analysis/work/op_work.h"
#include "core/analysis/work/tensor_shape.h"
#include "core/base/number_text.h"
#include "core/exchange/import/kineto/kineto_values.h"
#include "core/model/autograd_op.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tilescope::exchange {

namespace {

using nlohmann::json;

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
};

Category categoryOf(std::string_view text)
{
    for (const CategoryName& each : kCategoryNames)
        if (each.text == text)
            return each.category;
    return Category::Unknown;
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

/// "thread 1107 (python)" is python.
std::string_view threadName(std::string_view name)
{
    constexpr std::string_view kThread = "thread ";
    const std::size_t open = name.find(" (");
    if (!name.starts_with(kThread) || open == std::string_view::npos || !name.ends_with(')'))
        return name;
    return name.substr(open + 2, name.size() - open - 3);
}

std::string textOf(const json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::int64_t> integerOf(const json& object, const char* key)
{
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_integer() ||
        (found->is_number_unsigned() &&
         found->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())))
        return {};
    return found->get<std::int64_t>();
}

std::optional<std::int32_t> smallOf(const json& object, const char* key)
{
    const auto value = integerOf(object, key);
    if (!value || *value < 0 || *value > std::numeric_limits<std::int32_t>::max())
        return {};
    return static_cast<std::int32_t>(*value);
}

} // namespace

KinetoReader::KinetoReader(TraceBuilder& builder, std::string name)
    : builder_(builder), name_(std::move(name))
{
    clock_ = builder_.addClock({.name = name_, .method = "wall clock"});
}

// Who took part ---------------------------------------------------------------------------------------------

ProcessIndex KinetoReader::mainProcess()
{
    if (!main_)
        main_ = builder_.addProcess({.clock = clock_});
    return main_;
}

ProcessIndex KinetoReader::processOf(std::string_view pid)
{
    const auto found = processes_.find(pid);
    if (found != processes_.end())
        return found->second;
    // Overhead has pid -1. The first process with a number takes what came before it.
    const auto number = unsignedOf(pid);
    if (!number || *number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return mainProcess();
    const bool isFirst = processes_.empty();
    const ProcessIndex process = isFirst ? mainProcess() : builder_.addProcess({.clock = clock_});
    builder_.process(process).pid = static_cast<std::int64_t>(*number);
    processes_.emplace(pid, process);
    return process;
}

ProcessIndex KinetoReader::processOfActivity(std::uint32_t correlation)
{
    if (!laterCallers_.empty()) {
        const auto later = laterCallers_.find(correlation);
        if (later != laterCallers_.end())
            return later->second;
    }
    return firstCaller_ ? firstCaller_ : mainProcess();
}

std::int64_t KinetoReader::nativeThread(std::string_view tid)
{
    if (const auto number = integerOf(tid))
        return *number;
    const auto found = wordThreads_.find(tid);
    if (found != wordThreads_.end())
        return found->second;
    // Below all numbers that Kineto writes.
    const auto number =
        std::numeric_limits<std::int32_t>::min() - static_cast<std::int64_t>(wordThreads_.size());
    wordThreads_.emplace(tid, number);
    return number;
}

ThreadId KinetoReader::threadOf(const KinetoEvent& event)
{
    if (lastThread_ && event.tid == lastTid_ && event.pid == lastPid_)
        return lastThread_;
    lastPid_ = event.pid;
    lastTid_ = event.tid;
    const auto [place, isNew] = threads_.try_emplace({lastPid_, lastTid_});
    if (isNew) {
        const bool isNumber = integerOf(event.tid).has_value();
        place->second =
            builder_.thread(processOf(event.pid), nativeThread(event.tid), isNumber ? "" : event.tid);
    }
    lastThread_ = place->second;
    return lastThread_;
}

DeviceIndex KinetoReader::deviceOf(ProcessIndex process, std::int32_t ordinal)
{
    const auto [place, isNew] = devices_.try_emplace({process.value, ordinal});
    if (isNew) {
        const auto facts = deviceFacts_.find(ordinal);
        place->second = facts == deviceFacts_.end() ? builder_.device(process, ordinal)
                                                    : builder_.addDevice(process, facts->second);
    }
    return place->second;
}

StreamId KinetoReader::streamOf(ProcessIndex process, DeviceIndex device, std::int64_t stream,
                                std::string_view context)
{
    const auto [place, isNew] = streams_.try_emplace({device, stream});
    if (isNew)
        place->second = builder_.stream(process, device, stream, exchange::integerOf(context));
    return place->second;
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
        addInterval(event);
        return;
    case 'i':
    case 'I':
        addInstant(event);
        return;
    case 'M':
        addName(event);
        return;
    case 'C':
        addCounter(event);
        return;
    case 's':
    case 't':
    case 'f':
        // Correlation ids and external ids say the same.
        return;
    default:
        ++notStored_[fmt::format("ph {}", event.phase.substr(0, 1))];
    }
}

bool KinetoReader::timesOf(const KinetoEvent& event, Times& times)
{
    const auto start = nanosecondsOfMicroseconds(event.start);
    const auto duration = nanosecondsOfMicroseconds(event.duration);
    if (!start || !duration || *duration >= kLatestNs - *start) {
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
        const auto process = processes_.find(pid);
        const auto ordinal = integerOf(pid);
        if (process != processes_.end())
            track.process = process->second;
        else if (ordinal && *ordinal >= 0)
            for (const auto& [owner, device] : devices_)
                if (owner.second == *ordinal)
                    track.device = device;
        builder_.addCounter(mainProcess(), std::move(track));
    }
}

void KinetoReader::addInterval(const KinetoEvent& event)
{
    const Category category = categoryOf(event.category);
    if (category == Category::Unknown || category == Category::Repeated) {
        constexpr std::size_t kMostName = 40;
        constexpr std::size_t kMostNames = 64;
        const std::string_view name = event.category.substr(0, kMostName);
        const auto found = notStored_.find(name);
        if (found != notStored_.end())
            ++found->second;
        else
            ++notStored_[notStored_.size() < kMostNames ? std::string(name) : "others"];
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
    const ThreadId thread = threadOf(event);
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
        const ProcessIndex process = processOf(event.pid);
        if (!firstCaller_)
            firstCaller_ = process;
        else if (process != firstCaller_ && correlation != 0)
            laterCallers_[correlation] = process;
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
                    .start = times.start,
                    .end = times.end});
    if (!event.collective.empty())
        addHostCollective(event, thread, times);
}

void KinetoReader::addRange(const KinetoEvent& event, ThreadId thread, Times times)
{
    const bool isStep = event.name.starts_with("ProfilerStep");
    builder_.addRange(thread, event.name, times.start, times.end, isStep ? SpanKind::Step : SpanKind::Range);
}

void KinetoReader::addFrame(const KinetoEvent& event, ThreadId thread, Times times)
{
    constexpr std::string_view kModule = "nn.Module: ";
    if (event.name.starts_with(kModule))
        builder_.addRange(thread, event.name.substr(kModule.size()), times.start, times.end,
                          SpanKind::Module);
    else
        builder_.addFrame(thread, event.name, times.start, times.end);
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
    const ProcessIndex process = processOfActivity(correlation);
    const auto ordinal = integerOf(event.device.empty() ? event.pid : event.device);
    constexpr std::int64_t kMostDevices = 1024;
    const bool isDevice = ordinal && *ordinal >= 0 && *ordinal < kMostDevices;
    odd_ += isDevice ? 0 : 1;
    const DeviceIndex device = deviceOf(process, isDevice ? static_cast<std::int32_t>(*ordinal) : 0);
    const auto stream = integerOf(event.stream.empty() ? event.tid : event.stream);
    odd_ += stream ? 0 : 1;
    ForeignActivity activity{.kind = kind,
                             .name = event.name,
                             .device = device,
                             .stream = streamOf(process, device, stream.value_or(0), event.context),
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
    builder_.addActivity(activity);

    if (!event.collective.empty()) {
        const std::string_view op = collectiveWord(event.collective);
        ForeignCollective collective = collectiveOf(event, op);
        const std::string ranks = plainRanks(event.groupRanks);
        collective.ranks = ranks;
        if (!op.empty() && correlation != 0) {
            builder_.addCollective(process, collective, correlation);
            describedKernels_.insert(activity.externalId);
        }
    } else if (activity.externalId != 0 && isCollectiveKernelName(event.name)) {
        collectiveKernels_[activity.externalId] = correlation;
    }
}

void KinetoReader::addWait(const KinetoEvent& event, Times times)
{
    const std::string_view kind = event.syncKind.empty() ? event.name : event.syncKind;
    const auto has = [kind](std::string_view word) { return kind.find(word) != std::string_view::npos; };
    const std::uint32_t correlation = correlationOf(event.correlation);
    const ProcessIndex process = processOfActivity(correlation);
    Wait wait{.kind = has("Stream Wait")                ? WaitKind::StreamWait
                      : has("Stream")                   ? WaitKind::Stream
                      : has("Context") || has("Device") ? WaitKind::Context
                                                        : WaitKind::Event,
              .process = process,
              .correlation = CorrelationId{correlation},
              .recordCorrelation = CorrelationId{correlationOf(event.waitCorrelation)},
              .start = times.start,
              .end = times.end};
    const auto ordinal = integerOf(event.device.empty() ? event.pid : event.device);
    constexpr std::int64_t kMostDevices = 1024;
    if (ordinal && *ordinal >= 0 && *ordinal < kMostDevices) {
        wait.device = deviceOf(process, static_cast<std::int32_t>(*ordinal));
        // A wait that is not of a stream has -1 or 2^32 - 1 here.
        const auto streamNumber = [&](std::string_view text) -> StreamId {
            const auto number = unsignedOf(text);
            if (!number || *number >= std::numeric_limits<std::uint32_t>::max())
                return {};
            return streamOf(process, wait.device, static_cast<std::int64_t>(*number), event.context);
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
    const ThreadId thread = threadOf(event);
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
        allocation.device = deviceOf(processOf(event.pid), static_cast<std::int32_t>(*device));
    if (event.name == "[OutOfMemory]")
        allocation.action = AllocAction::Oom;
    else if (*bytes < 0)
        allocation.action = isGpu ? AllocAction::FreeRequested : AllocAction::FreeCompleted;
    builder_.addAllocation(thread, allocation);
}

void KinetoReader::addName(const KinetoEvent& event)
{
    constexpr std::size_t kMostNames = 100'000;
    const bool isThread = event.name == "thread_name";
    if ((!isThread && event.name != "process_name") || event.argName.empty() || names_.size() >= kMostNames)
        return;
    names_.push_back({std::string(event.pid), isThread ? std::string(event.tid) : std::string(),
                      std::string(event.argName)});
}

// What the file says of itself ------------------------------------------------------------------------------

void KinetoReader::addMember(const std::string& key, const std::string& text)
{
    if (key == "deviceProperties")
        readDevices(text);
    else if (key == "distributedInfo")
        readDistributed(text);
    else if (key == "baseTimeNanoseconds") {
        const auto base = unsignedOf(text.substr(0, text.find_last_not_of(" \n\r\t") + 1));
        if (base && *base < static_cast<std::uint64_t>(kLatestNs))
            builder_.clock(clock_).offset = Nanoseconds(static_cast<std::int64_t>(*base));
        else
            ++odd_;
    } else if (key.ends_with("_version")) {
        readVersion(key, text);
    }
}

void KinetoReader::readDevices(const std::string& text)
{
    const json list = json::parse(text, nullptr, false);
    if (!list.is_array())
        return;
    for (const json& each : list) {
        if (!each.is_object())
            continue;
        const auto ordinal = smallOf(each, "id");
        if (!ordinal)
            continue;
        TracedDevice facts{.ordinal = *ordinal, .name = textOf(each, "name")};
        if (const auto memory = integerOf(each, "totalGlobalMem"))
            facts.memory = Bytes{*memory};
        facts.multiprocessors = smallOf(each, "numSms");
        const auto major = smallOf(each, "computeMajor");
        const auto minor = smallOf(each, "computeMinor");
        if (major && minor)
            facts.capability = fmt::format("{}.{}", *major, *minor);
        deviceFacts_[*ordinal] = std::move(facts);
    }
}

void KinetoReader::readDistributed(const std::string& text)
{
    const json info = json::parse(text, nullptr, false);
    if (!info.is_object())
        return;
    TracedProcess& process = builder_.process(mainProcess());
    process.rank = smallOf(info, "rank");
    process.worldSize = smallOf(info, "world_size");
    if (const std::string version = textOf(info, "nccl_version"); !version.empty())
        builder_.addEnvironment({"nccl", version});
}

void KinetoReader::readVersion(const std::string& key, const std::string& text)
{
    constexpr std::pair<std::string_view, const char*> kNames[] = {
        {"cuda_driver_version", "driver.cuda"},
        {"cuda_runtime_version", "cuda_runtime"},
        {"cupti_version", "cupti"},
        {"hip_driver_version", "hip_driver"},
        {"hip_runtime_version", "hip_runtime"},
        {"roctracer_version", "roctracer"},
        {"rocprofiler-sdk_version", "rocprofiler"},
    };
    const auto* name = std::ranges::find(kNames, key, &std::pair<std::string_view, const char*>::first);
    const json value = json::parse(text, nullptr, false);
    if (name == std::end(kNames) || !value.is_number_unsigned())
        return;
    const auto number = value.get<std::uint64_t>();
    constexpr std::uint64_t kMajor = 1000;
    constexpr std::uint64_t kMinor = 10;
    const bool isCuda = key.starts_with("cuda_");
    builder_.addEnvironment(
        {name->second,
         isCuda ? fmt::format("{}.{}", number / kMajor, number % kMajor / kMinor) : std::to_string(number)});
}

// The end ---------------------------------------------------------------------------------------------------

void KinetoReader::nameThreads()
{
    for (const LaterName& each : names_) {
        const auto process = processes_.find(each.pid);
        if (process == processes_.end())
            continue; // a device: its rows are called streams
        if (each.tid.empty())
            builder_.process(process->second).name = each.name;
        else if (threads_.contains({each.pid, each.tid}))
            builder_.thread(process->second, nativeThread(each.tid), threadName(each.name));
    }
}

void KinetoReader::addHostCollectives()
{
    for (const HostCollective& each : hostCollectives_) {
        if (each.externalId != 0 && describedKernels_.contains(each.externalId))
            continue;
        const auto kernel = collectiveKernels_.find(each.externalId);
        if (each.externalId != 0 && kernel != collectiveKernels_.end() && kernel->second != 0)
            builder_.addCollective(processOfActivity(kernel->second), each.collective, kernel->second);
        else
            builder_.addCollective(each.thread, each.collective, each.start, each.end);
    }
}

void KinetoReader::finish()
{
    nameThreads();
    addHostCollectives();
    addCounters();
    builder_.countRecord(events_);
    for (const auto& [what, count] : notStored_)
        builder_.addLoss(RecordLoss::SourceNotStored, count, what);
    if (untimed_ > 0)
        builder_.addLoss(RecordLoss::SourceUnreadable, untimed_, "time or size");
    if (odd_ > 0)
        builder_.addLoss(RecordLoss::SourceValue, odd_);
}

std::string KinetoReader::rankText() const
{
    if (!main_)
        return {};
    const TracedProcess& process = builder_.process(main_);
    if (!process.rank)
        return {};
    return process.worldSize ? fmt::format("rank {} of {}", *process.rank, *process.worldSize)
                             : fmt::format("rank {}", *process.rank);
}

} // namespace tilescope::exchange
