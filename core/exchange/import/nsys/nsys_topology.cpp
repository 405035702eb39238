#include "core/exchange/import/nsys/nsys_topology.h"

#include "core/base/number_text.h"

#include <algorithm>

namespace tilescope::exchange {

namespace {

constexpr std::string_view kSystem = "TARGET_INFO_SYSTEM_ENV";

/// The year 2116. Later ones are damage, and sums with time stamps would overflow.
constexpr std::int64_t kLatestEpoch = std::int64_t{1} << 62;

/// 12060 is CUDA 12.6.
std::string cudaVersionText(const std::string& number)
{
    const auto value = parseNumber<int>(number);
    if (!value || *value < 1000)
        return number;
    return std::to_string(*value / 1000) + "." + std::to_string(*value % 1000 / 10);
}

/// As NVML writes it. Exports leave out the prefix.
std::string uuidText(std::string_view uuid)
{
    const bool prefixed = uuid.empty() || uuid.starts_with("GPU-") || uuid.starts_with("MIG-");
    return (prefixed ? "" : "GPU-") + std::string(uuid);
}

} // namespace

NsysTopology::NsysTopology(const NsysFile& file, TraceBuilder& builder) : file_(file), builder_(builder)
{
    host_ = file_.fact(kSystem, "Hostname");
    readClock();
    readNames();
    readGpus();
}

void NsysTopology::readClock()
{
    auto rows = file_.read("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"});
    if (rows.next()) {
        const auto epoch = rows.integer(0);
        if (epoch && *epoch > 0 && *epoch < kLatestEpoch)
            startedUnixNs_ = epoch;
    }
    clock_ = builder_.addClock({.name = host_,
                                .offset = Nanoseconds(startedUnixNs_.value_or(0)),
                                .method = startedUnixNs_ ? "wall clock" : ""});
}

void NsysTopology::readNames()
{
    auto processes = file_.read("PROCESSES", {"globalPid", "name"});
    while (processes.next())
        if (const auto id = processes.integer(0); id && !processes.text(1).empty())
            processNames_[processKey(*id)] = processes.text(1);

    // A thread may have several names; the one with the highest priority is shown.
    std::unordered_map<std::int64_t, std::int64_t> priorities;
    auto threads = file_.read("ThreadNames", {"nameId", "priority", "globalTid"});
    while (threads.next()) {
        const auto id = threads.integer(2);
        const std::string_view name = file_.string(threads.integer(0));
        if (!id || name.empty())
            continue;
        const std::int64_t priority = threads.integerOr(1, 0);
        const auto [known, first] = priorities.try_emplace(*id, priority);
        if (!first && priority <= known->second)
            continue;
        known->second = priority;
        threadNames_[*id] = name;
    }
}

void NsysTopology::readGpus()
{
    auto rows = file_.read("TARGET_INFO_GPU",
                           {"id", "name", "uuid", "totalMemory", "smCount", "computeMajor", "computeMinor"});
    while (rows.next()) {
        const auto id = rows.integer(0);
        if (!id)
            continue;
        Gpu gpu{.id = *id, .facts = {}};
        gpu.facts.name = rows.text(1);
        gpu.facts.uuid = uuidText(rows.text(2));
        gpu.facts.host = host_;
        if (const auto memory = rows.integer(3); memory && *memory > 0)
            gpu.facts.memory = Bytes{*memory};
        if (const auto count = rows.integer(4); count && *count > 0 && *count < 100'000)
            gpu.facts.multiprocessors = static_cast<std::int32_t>(*count);
        if (const auto major = rows.integer(5), minor = rows.integer(6); major && minor)
            gpu.facts.capability = std::to_string(*major) + "." + std::to_string(*minor);
        gpus_.push_back(std::move(gpu));
    }
    auto ids = file_.read("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"});
    while (ids.next()) {
        const auto gpu = ids.integer(0);
        const auto ordinal = ids.integer(1);
        const auto pid = ids.integer(2);
        if (gpu && ordinal && pid)
            gpuIds_[{*pid, *ordinal}] = *gpu;
    }
}

const NsysTopology::Gpu* NsysTopology::gpuOf(std::uint64_t process, std::int32_t ordinal) const
{
    const auto mapped = gpuIds_.find({pidOf(process), ordinal});
    const std::int64_t id = mapped == gpuIds_.end() ? ordinal : mapped->second;
    const auto found = std::ranges::find(gpus_, id, &Gpu::id);
    return found == gpus_.end() ? nullptr : &*found;
}

ProcessIndex NsysTopology::process(std::int64_t globalId)
{
    const std::uint64_t key = processKey(globalId);
    if (const auto known = processes_.find(key); known != processes_.end())
        return known->second;
    TracedProcess process{.pid = pidOf(key), .host = host_, .startedUnixNs = startedUnixNs_, .clock = clock_};
    if (const auto name = processNames_.find(key); name != processNames_.end())
        process.name = name->second;
    return processes_[key] = builder_.addProcess(std::move(process));
}

ThreadId NsysTopology::thread(std::int64_t globalTid)
{
    if (const auto known = threads_.find(globalTid); known != threads_.end())
        return known->second;
    const auto name = threadNames_.find(globalTid);
    const std::string_view text = name == threadNames_.end() ? std::string_view() : name->second;
    return threads_[globalTid] = builder_.thread(process(globalTid), tidOf(globalTid), text);
}

DeviceIndex NsysTopology::device(std::int64_t globalPid, std::int32_t ordinal)
{
    const std::uint64_t key = processKey(globalPid);
    if (const auto known = devices_.find({key, ordinal}); known != devices_.end())
        return known->second;
    TracedDevice facts;
    if (const Gpu* gpu = gpuOf(key, ordinal))
        facts = gpu->facts;
    facts.ordinal = ordinal;
    facts.host = host_;
    return devices_[{key, ordinal}] = builder_.addDevice(process(globalPid), std::move(facts));
}

std::size_t NsysTopology::HashOfStream::operator()(const StreamKey& key) const noexcept
{
    std::uint64_t hash = key.process;
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(key.stream), static_cast<std::uint64_t>(key.context),
          static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.device))})
        hash = (hash ^ part) * 0x9e3779b97f4a7c15ULL;
    return hash ^ (hash >> 32);
}

StreamId NsysTopology::stream(std::int64_t globalPid, std::int32_t ordinal, std::int64_t stream,
                              std::optional<std::int64_t> context)
{
    const StreamKey key{.process = processKey(globalPid),
                        .stream = stream,
                        .context = context.value_or(-1),
                        .device = ordinal};
    if (const auto known = streams_.find(key); known != streams_.end())
        return known->second;
    return streams_[key] = builder_.stream(process(globalPid), device(globalPid, ordinal), stream, context);
}

void NsysTopology::addEnvironment()
{
    const auto add = [&](std::string_view key, std::string value) {
        if (!value.empty())
            builder_.addEnvironment({.key = std::string(key), .value = std::move(value)});
    };
    const auto exported = [&](std::string_view name) {
        std::string value = file_.fact("META_DATA_EXPORT", name);
        return value.empty() ? file_.fact("EXPORT_META_DATA", name) : value;
    };
    add("nsys", exported("EXPORT_PRODUCT_VERSION"));
    add("nsys.schema", exported("EXPORT_SCHEMA_VERSION"));
    add("driver", file_.fact(kSystem, "NvDriverVersion"));
    add("cuda.driver", cudaVersionText(file_.fact(kSystem, "CudaDriverVersion")));
    add("host", host_);
    add("os", file_.fact(kSystem, "OsDescription"));
    add("kernel", file_.fact(kSystem, "SoftwareReleaseVersion"));
    if (const std::string cpu = file_.fact(kSystem, "CpuDescription"); cpu != "unknown")
        add("cpu.model", cpu);
    add("nsys.cuda_graphs", file_.fact("META_DATA_CAPTURE", "PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE"));
}

} // namespace tilescope::exchange
