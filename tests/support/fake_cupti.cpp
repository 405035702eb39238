#include "tests/support/fake_cupti.h"

#include "core/base/units.h"
#include "core/model/api_class.h"

#include <cstring>
#include <stdexcept>

namespace tilescope::trace {

namespace {

/// Sizes of the records of a version, read in the headers of its wheel (nvidia-cuda-cupti, -cu12, -cu11). Version 18
/// is that of 11.8 to 12.1, of which 11.8 has the shorter kernels. Longer ones than this build's are cut to those.
std::size_t sizeOf(CUpti_ActivityKind kind, std::uint32_t version)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
        return version < 18       ? 176
               : version == 18    ? 200
               : version < 130000 ? 208
                                  : sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return version < 26 ? 88 : sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return version < 21 ? 40 : version == 21 ? 48 : sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return sizeof(CUpti_ActivityGraphTrace2);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_MARKER:
        return sizeof(CUpti_ActivityMarker2);
    default:
        return 0;
    }
}

} // namespace

FakeCupti::FakeCupti()
{
    constexpr auto kRuntime = CUPTI_CB_DOMAIN_RUNTIME_API;
    constexpr auto kDriver = CUPTI_CB_DOMAIN_DRIVER_API;
    names_ = {{{kRuntime, 17}, "cudaGetDevice_v3020"},
              {{kRuntime, 10}, "cudaGetLastError_v3020"},
              {{kRuntime, 20}, "cudaMalloc_v3020"},
              {{kRuntime, 41}, "cudaMemcpyAsync_v3020"},
              {{kRuntime, 51}, "cudaMemsetAsync_v3020"},
              {{kRuntime, 135}, "cudaEventRecord_v3020"},
              {{kRuntime, 165}, "cudaDeviceSynchronize_v3020"},
              {{kRuntime, 211}, "cudaLaunchKernel_v7000"},
              {{kRuntime, 212}, "cudaGetDeviceFlags_v7000"},
              {{kRuntime, 311}, "cudaGraphLaunch_v10000"},
              {{kRuntime, 430}, "cudaLaunchKernelExC_v11060"},
              {{kDriver, 277}, "cuMemcpyHtoDAsync_v2"},
              {{kDriver, 307}, "cuLaunchKernel"},
              {{kDriver, CUPTI_DRIVER_TRACE_CBID_cuProfilerStart}, "cuProfilerStart"},
              {{kDriver, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop}, "cuProfilerStop"},
              {{kDriver, 518}, "cuGraphLaunch"},
              {{kDriver, 652}, "cuLaunchKernelEx"}};
}

// --- the program ---

std::uint32_t FakeCupti::call(std::string_view function)
{
    const std::uint32_t correlation = nextCorrelation_++;
    for (const auto& [id, name] : names_) {
        if (functionNameOf(name) != function)
            continue;
        std::uint64_t data = 0;
        callBack(id, CUPTI_API_ENTER, correlation, data);
        // The runtime launches through the driver, within the same call.
        const CUpti_CallbackId driver = function == "cudaLaunchKernel"      ? 307
                                        : function == "cudaLaunchKernelExC" ? 652
                                        : function == "cudaGraphLaunch"     ? 518
                                                                            : 0;
        if (driver != 0) {
            std::uint64_t inner = 0;
            callBack({CUPTI_CB_DOMAIN_DRIVER_API, driver}, CUPTI_API_ENTER, correlation, inner);
            callBack({CUPTI_CB_DOMAIN_DRIVER_API, driver}, CUPTI_API_EXIT, correlation, inner);
        }
        callBack(id, CUPTI_API_EXIT, correlation, data);
        return correlation;
    }
    throw std::invalid_argument("no such CUDA function here: " + std::string(function));
}

void FakeCupti::callBack(const Function& function, CUpti_ApiCallbackSite site, std::uint32_t correlation,
                         std::uint64_t& correlationData)
{
    const std::scoped_lock inside(inside_);
    CUpti_CallbackFunc callback = nullptr;
    void* owner = nullptr;
    {
        const std::scoped_lock lock(mutex_);
        if (!callbacks_.contains(function))
            return;
        callback = callback_;
        owner = owner_;
    }
    CUpti_CallbackData data{};
    data.callbackSite = site;
    data.correlationId = correlation;
    data.correlationData = &correlationData;
    data.context = reinterpret_cast<CUcontext>(0x1000);
    callback(owner, function.first, function.second, &data);
}

void FakeCupti::makeGraphNode(std::uint64_t node)
{
    CUpti_GraphData graph{};
    graph.node = reinterpret_cast<CUgraphNode>(node);
    tellResource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, graph);
}

void FakeCupti::cloneGraphNode(std::uint64_t node, std::uint64_t original)
{
    // CUDA makes the copy before it reports the original.
    makeGraphNode(node);
    CUpti_GraphData graph{};
    graph.node = reinterpret_cast<CUgraphNode>(node);
    graph.originalNode = reinterpret_cast<CUgraphNode>(original);
    tellResource(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, graph);
}

void FakeCupti::makeGraph(std::uint32_t graph, std::vector<GraphNodeFacts> nodes)
{
    {
        const std::scoped_lock lock(mutex_);
        graphs_[graph] = std::move(nodes);
    }
    CUpti_GraphData data{};
    data.graph = reinterpret_cast<CUgraph>(std::uint64_t{graph});
    data.graphExec = reinterpret_cast<CUgraphExec>(std::uint64_t{graph});
    tellResource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, data);
}

void FakeCupti::tellContext(CUpti_CallbackId id, CUcontext context)
{
    CUpti_ResourceData data{};
    data.context = context;
    tellResource(id, data);
}

void FakeCupti::tellModule(CUpti_CallbackId id, CUcontext context, std::string_view cubin)
{
    CUpti_ModuleResourceData module{};
    module.cubinSize = cubin.size();
    module.pCubin = cubin.data();
    CUpti_ResourceData data{};
    data.context = context;
    data.resourceDescriptor = &module;
    tellResource(id, data);
}

void FakeCupti::tellResource(CUpti_CallbackId id, CUpti_GraphData graph)
{
    CUpti_ResourceData data{};
    data.resourceDescriptor = &graph;
    tellResource(id, data);
}

void FakeCupti::tellResource(CUpti_CallbackId id, const CUpti_ResourceData& data)
{
    const std::scoped_lock inside(inside_);
    CUpti_CallbackFunc callback = nullptr;
    void* owner = nullptr;
    {
        const std::scoped_lock lock(mutex_);
        if (!callbacks_.contains({CUPTI_CB_DOMAIN_RESOURCE, id}))
            return;
        callback = callback_;
        owner = owner_;
    }
    callback(owner, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

// --- the device ---

FakeCupti::Times FakeCupti::soon()
{
    const std::scoped_lock lock(mutex_);
    const auto now = clock_ ? clock_() : static_cast<std::uint64_t>(nanosecondsOf(TraceClock::now()));
    const std::uint64_t start = std::max(now, lastEnd_);
    lastEnd_ = start + 1000;
    return {start, lastEnd_};
}

CUpti_ActivityKernel10 FakeCupti::kernelRecord(std::uint32_t correlation, const char* name, Times times)
{
    CUpti_ActivityKernel10 record{};
    record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    record.correlationId = correlation;
    record.name = name;
    record.start = times.start;
    record.end = times.end;
    record.streamId = 7;
    record.gridX = 4;
    record.gridY = record.gridZ = record.blockY = record.blockZ = 1;
    record.blockX = 128;
    record.registersPerThread = 32;
    return record;
}

void FakeCupti::kernel(std::uint32_t correlation, const char* name)
{
    kernel(correlation, name, soon());
}

void FakeCupti::kernel(std::uint32_t correlation, const char* name, Times times)
{
    record(kernelRecord(correlation, name, times));
}

void FakeCupti::copy(std::uint32_t correlation, std::uint64_t bytes, CUpti_ActivityMemcpyKind kind)
{
    const Times times = soon();
    CUpti_ActivityMemcpy6 copy{};
    copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    copy.copyKind = static_cast<std::uint8_t>(kind);
    copy.bytes = bytes;
    copy.correlationId = correlation;
    copy.start = times.start;
    copy.end = times.end;
    record(copy);
}

void FakeCupti::set(std::uint32_t correlation, std::uint64_t bytes)
{
    const Times times = soon();
    CUpti_ActivityMemset4 set{};
    set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    set.bytes = bytes;
    set.correlationId = correlation;
    set.start = times.start;
    set.end = times.end;
    record(set);
}

void FakeCupti::replay(std::uint32_t correlation, std::uint32_t graph)
{
    const Times times = soon();
    CUpti_ActivityGraphTrace2 replay{};
    replay.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    replay.correlationId = correlation;
    replay.graphId = graph;
    replay.streamId = 7;
    replay.start = times.start;
    replay.end = times.end;
    record(replay);
}

void FakeCupti::write(const void* record, std::size_t bytes)
{
    const std::scoped_lock lock(mutex_);
    const auto kind = static_cast<const CUpti_Activity*>(record)->kind;
    if (const std::size_t known = sizeOf(kind, versionNumber); known != 0)
        bytes = known;
    if (!activities_.contains(kind) && sizeOf(kind, versionNumber) != 0 && kind != CUPTI_ACTIVITY_KIND_MARKER)
        return;
    if (buffer_.data && buffer_.bytes - buffer_.used < bytes)
        complete(buffer_, buffer_.used);
    if (!buffer_.data) {
        std::size_t most = 0;
        request_(&buffer_.data, &buffer_.bytes, &most);
        buffer_.used = 0;
    }
    if (!buffer_.data) {
        nullBuffers_ += versionNumber < 27 ? 1 : 0;
        ++dropped_;
        return;
    }
    std::memcpy(buffer_.data + buffer_.used, record, bytes);
    buffer_.used += bytes;
}

void FakeCupti::complete(Buffer& buffer, std::size_t bytes)
{
    if (buffer.data)
        complete_(reinterpret_cast<CUcontext>(0x1000), 0, buffer.data, buffer.bytes, bytes);
    buffer = {};
}

void FakeCupti::completeBuffer(std::size_t bytes)
{
    const std::scoped_lock lock(mutex_);
    complete(buffer_, std::min(bytes, buffer_.used));
}

void FakeCupti::dropOne()
{
    const std::scoped_lock lock(mutex_);
    ++dropped_;
}

void FakeCupti::holdBuffer()
{
    const std::scoped_lock lock(mutex_);
    held_ = std::exchange(buffer_, {});
}

void FakeCupti::completeHeld()
{
    const std::scoped_lock lock(mutex_);
    complete(held_, held_.used);
}

// --- test controls ---

std::size_t FakeCupti::enabledCallbacks() const
{
    const std::scoped_lock lock(mutex_);
    return callbacks_.size();
}

std::set<CUpti_ActivityKind> FakeCupti::enabledActivities() const
{
    const std::scoped_lock lock(mutex_);
    return activities_;
}

bool FakeCupti::subscribed() const
{
    const std::scoped_lock lock(mutex_);
    return callback_ != nullptr;
}

// --- CuptiApi ---

CUptiResult FakeCupti::setAttribute(CUpti_ActivityAttribute /*attribute*/, std::size_t /*value*/)
{
    return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::subscribe(CUpti_SubscriberHandle& subscriber, CUpti_CallbackFunc callback, void* owner,
                                 std::string& rival)
{
    const std::scoped_lock inside(inside_);
    const std::scoped_lock lock(mutex_);
    rival = rivalName;
    if (subscribeResult != CUPTI_SUCCESS)
        return subscribeResult;
    if (callback_)
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    callback_ = callback;
    owner_ = owner;
    subscriber = reinterpret_cast<CUpti_SubscriberHandle>(this);
    return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::unsubscribe(CUpti_SubscriberHandle /*subscriber*/)
{
    const std::scoped_lock inside(inside_);
    const std::scoped_lock lock(mutex_);
    callback_ = nullptr;
    callbacks_.clear();
    return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::enableCallback(bool enable, CUpti_SubscriberHandle /*subscriber*/,
                                      CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    const std::scoped_lock inside(inside_);
    const std::scoped_lock lock(mutex_);
    const auto known = names_.find({domain, id});
    if (!callback_ || (known != names_.end() && known->second == missingFunction))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (enable)
        callbacks_.emplace(domain, id);
    else
        callbacks_.erase({domain, id});
    return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::callbackName(CUpti_CallbackDomain domain, CUpti_CallbackId id, const char*& name)
{
    const auto found = names_.find({domain, id});
    if (found == names_.end())
        return CUPTI_ERROR_INVALID_PARAMETER;
    name = found->second;
    return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::registerTimestamps(CUpti_TimestampCallbackFunc now)
{
    const std::scoped_lock lock(mutex_);
    clock_ = now;
    return activities_.empty() ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

CUptiResult FakeCupti::registerBuffers(CUpti_BuffersCallbackRequestFunc request,
                                       CUpti_BuffersCallbackCompleteFunc completed)
{
    const std::scoped_lock lock(mutex_);
    request_ = request;
    complete_ = completed;
    return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::enableActivity(bool enable, CUpti_ActivityKind kind)
{
    const std::scoped_lock inside(inside_);
    const std::scoped_lock lock(mutex_);
    if (activityResult != CUPTI_SUCCESS)
        return activityResult;
    if (enable)
        activities_.insert(kind);
    else
        activities_.erase(kind);
    return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::flush(bool /*forced*/)
{
    const std::scoped_lock inside(inside_);
    const std::scoped_lock lock(mutex_);
    complete(buffer_, buffer_.used);
    complete(held_, held_.used);
    return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::dropped(CUcontext /*context*/, std::uint32_t /*stream*/, std::size_t& count)
{
    const std::scoped_lock lock(mutex_);
    count = std::exchange(dropped_, 0);
    return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::nextRecord(std::uint8_t* buffer, std::size_t bytes, CUpti_Activity*& record)
{
    std::size_t offset = 0;
    if (record) {
        const std::size_t size = sizeOf(record->kind, versionNumber);
        if (size == 0)
            return CUPTI_ERROR_INVALID_KIND;
        offset = static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(record) - buffer) + size;
    }
    if (offset >= bytes)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    record = reinterpret_cast<CUpti_Activity*>(buffer + offset);
    return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::graphNodeId(CUgraphNode node, std::uint64_t& id)
{
    id = reinterpret_cast<std::uint64_t>(node);
    return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::graphExecId(CUgraphExec graph, std::uint32_t& id)
{
    id = static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(graph));
    return CUPTI_SUCCESS;
}

std::vector<GraphNodeFacts> FakeCupti::nodesOf(CUgraph graph)
{
    const std::scoped_lock lock(mutex_);
    return graphs_[reinterpret_cast<std::uint64_t>(graph)];
}

CUptiResult FakeCupti::streamId(CUcontext /*context*/, CUstream stream, std::uint32_t& id)
{
    id = 7 + static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(stream));
    return CUPTI_SUCCESS;
}

std::string FakeCupti::resultName(CUptiResult result)
{
    return "CUPTI_RESULT_" + std::to_string(static_cast<int>(result));
}

CUptiResult FakeCupti::finalize()
{
    ++finalized_;
    nextCorrelation_ = 1;
    const std::scoped_lock lock(mutex_);
    callback_ = nullptr;
    callbacks_.clear();
    activities_.clear();
    return CUPTI_SUCCESS;
}

} // namespace tilescope::trace
