#include "core/trace/cupti/activity_decoder.h"

#include <cstdlib>

namespace tilescope::trace {

namespace {

CopyKind copyKindOf(std::uint8_t kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
        return CopyKind::HostToDevice;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
        return CopyKind::DeviceToHost;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
        return CopyKind::DeviceToDevice;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
        return CopyKind::HostToHost;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
        return CopyKind::PeerToPeer;
    default:
        return CopyKind::Other;
    }
}

std::string_view copyName(CopyKind kind)
{
    switch (kind) {
    case CopyKind::HostToDevice:
        return "Memcpy HtoD";
    case CopyKind::DeviceToHost:
        return "Memcpy DtoH";
    case CopyKind::DeviceToDevice:
        return "Memcpy DtoD";
    case CopyKind::HostToHost:
        return "Memcpy HtoH";
    case CopyKind::PeerToPeer:
        return "Memcpy PtoP";
    default:
        return "Memcpy";
    }
}

std::string_view overheadName(CUpti_ActivityOverheadKind kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
        return "driver compiler";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
        return "CUPTI buffer flush";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
        return "CUPTI instrumentation";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
        return "CUPTI resource";
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
        return "module loading";
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
        return "lazy function loading";
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
        return "command buffer full";
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
        return "activity buffer request";
    case CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT:
        return "unified memory activity init";
    default:
        return "overhead";
    }
}

/// Bytes up to the end of a field.
#define TILESCOPE_UP_TO(record, field) (offsetof(record, field) + sizeof(record::field))

} // namespace

Timestamp ActivityDecoder::timeOf(std::uint64_t nanoseconds) const
{
    // 0: unknown
    return timestampAt(nanoseconds == 0 ? 0 : static_cast<std::int64_t>(nanoseconds) + clockOffset_);
}

/// The common fields of kernels, copies and memsets.
template <class Record>
DeviceEvent ActivityDecoder::deviceEvent(DeviceEventKind kind, const Record& record) const
{
    DeviceEvent event;
    event.kind = kind;
    event.device = DeviceIndex{static_cast<std::int16_t>(record.deviceId)};
    event.stream = StreamId{record.streamId};
    event.correlation = CorrelationId{record.correlationId + correlationBase_};
    event.graphNode = record.graphNodeId;
    event.start = timeOf(record.start);
    event.end = timeOf(record.end);
    return event;
}

ActivityDecoder::Layout::Layout(std::uint32_t version)
    : hasCluster(version >= 18), hasOverheadCall(version >= 21), hasOverheadData(version >= 22)
{
    kernel = hasCluster ? TILESCOPE_UP_TO(CUpti_ActivityKernel10, clusterZ)
                        : TILESCOPE_UP_TO(CUpti_ActivityKernel10, graphNodeId);
    copy = TILESCOPE_UP_TO(CUpti_ActivityMemcpy6, graphNodeId);
    peerCopy = TILESCOPE_UP_TO(CUpti_ActivityMemcpyPtoP4, graphNodeId);
    set = TILESCOPE_UP_TO(CUpti_ActivityMemset4, graphNodeId);
    graph = TILESCOPE_UP_TO(CUpti_ActivityGraphTrace2, streamId);
    overhead = hasOverheadData   ? TILESCOPE_UP_TO(CUpti_ActivityOverhead3, overheadData)
               : hasOverheadCall ? TILESCOPE_UP_TO(CUpti_ActivityOverhead3, correlationId)
                                 : TILESCOPE_UP_TO(CUpti_ActivityOverhead3, end);
}

void ActivityDecoder::begin(std::uint32_t correlationBase)
{
    correlationBase_ = correlationBase;
    clockOffset_ = api_.clockOffset();
    kernelNames_.clear();
    lastKernel_ = nullptr;
}

StringId ActivityDecoder::kernelName(const char* name)
{
    if (!name)
        return strings_.intern("unnamed kernel");
    // The text is compared as well: the address of an unloaded module's kernel may name another one later.
    if (lastKernel_ && name == lastKernel_->first && lastKernel_->second.mangled == name)
        return lastKernel_->second.id;
    const auto known = kernelNames_.try_emplace(name).first;
    if (KernelName& kernel = known->second; !kernel.id || kernel.mangled != name)
        kernel = {.mangled = name, .id = strings_.intern(demangled(name))};
    lastKernel_ = &*known;
    return known->second.id;
}

void ActivityDecoder::decode(const ActivityBuffers::Filled& buffer, Assembler& assembler)
{
    CUpti_Activity* record = nullptr;
    for (;;) {
        const CUptiResult result = api_.nextRecord(buffer.data, buffer.bytes, record);
        if (result == CUPTI_ERROR_MAX_LIMIT_REACHED)
            return;
        if (result != CUPTI_SUCCESS) {
            assembler.losses().add(RecordLoss::UnreadableBuffer, 1, api_.resultName(result));
            return;
        }
        const auto offset = static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(record) - buffer.data);
        decodeRecord(*record, buffer.bytes - offset, assembler);
    }
}

void ActivityDecoder::decodeRecord(const CUpti_Activity& record, std::size_t room, Assembler& assembler)
{
    const auto as = [&]<class Record>(void (ActivityDecoder::*handle)(const Record&, Assembler&),
                                      std::size_t bytes) {
        if (room >= bytes) {
            (this->*handle)(reinterpret_cast<const Record&>(record), assembler);
        } else {
            assembler.losses().add(RecordLoss::TruncatedRecord);
        }
    };
    switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return as(&ActivityDecoder::kernel, layout_.kernel);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return as(&ActivityDecoder::copy, layout_.copy);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return as(&ActivityDecoder::peerCopy, layout_.peerCopy);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return as(&ActivityDecoder::set, layout_.set);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return as(&ActivityDecoder::graph, layout_.graph);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return as(&ActivityDecoder::overhead, layout_.overhead);
    default:
        assembler.losses().add(RecordLoss::UnknownKind, 1,
                               "the first of kind " + std::to_string(static_cast<int>(record.kind)));
    }
}

void ActivityDecoder::kernel(const CUpti_ActivityKernel10& record, Assembler& assembler)
{
    DeviceEvent event = deviceEvent(DeviceEventKind::Kernel, record);
    event.name = kernelName(record.name);
    const auto size = [](std::int32_t x, std::int32_t y, std::int32_t z) {
        return std::array{static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y),
                          static_cast<std::uint32_t>(z)};
    };
    event.launch = {.grid = size(record.gridX, record.gridY, record.gridZ),
                    .block = size(record.blockX, record.blockY, record.blockZ),
                    .cluster = layout_.hasCluster
                                   ? std::array{record.clusterX, record.clusterY, record.clusterZ}
                                   : decltype(LaunchConfig::cluster){},
                    .registersPerThread = record.registersPerThread,
                    .staticShared = static_cast<std::uint32_t>(record.staticSharedMemory),
                    .dynamicShared = static_cast<std::uint32_t>(record.dynamicSharedMemory),
                    .localPerThread = record.localMemoryPerThread};
    assembler.addActivity(event);
}

void ActivityDecoder::copy(const CUpti_ActivityMemcpy6& record, Assembler& assembler)
{
    DeviceEvent event = deviceEvent(DeviceEventKind::Memcpy, record);
    event.copy = copyKindOf(record.copyKind);
    event.name = strings_.intern(copyName(event.copy));
    event.bytes = static_cast<std::int64_t>(record.bytes);
    assembler.addActivity(event);
}

void ActivityDecoder::peerCopy(const CUpti_ActivityMemcpyPtoP4& record, Assembler& assembler)
{
    DeviceEvent event = deviceEvent(DeviceEventKind::Memcpy, record);
    event.copy = CopyKind::PeerToPeer;
    event.name = strings_.intern(copyName(event.copy));
    event.bytes = static_cast<std::int64_t>(record.bytes);
    assembler.addActivity(event);
}

void ActivityDecoder::set(const CUpti_ActivityMemset4& record, Assembler& assembler)
{
    DeviceEvent event = deviceEvent(DeviceEventKind::Memset, record);
    event.name = strings_.intern("Memset");
    event.bytes = static_cast<std::int64_t>(record.bytes);
    assembler.addActivity(event);
}

void ActivityDecoder::graph(const CUpti_ActivityGraphTrace2& record, Assembler& assembler)
{
    const auto known = graphs_.find(record.graphId);
    DeviceEvent event{.name = known != graphs_.end()
                                  ? known->second.name
                                  : strings_.intern("CUDA graph " + std::to_string(record.graphId)),
                      .device = DeviceIndex{static_cast<std::int16_t>(record.deviceId)},
                      .stream = StreamId{record.streamId},
                      .correlation = CorrelationId{record.correlationId + correlationBase_},
                      .start = timeOf(record.start),
                      .end = timeOf(record.end)};
    if (known != graphs_.end())
        event.path = known->second.path;
    assembler.addReplay(event);
}

void ActivityDecoder::overhead(const CUpti_ActivityOverhead3& record, Assembler& assembler)
{
    // CUPTI leaves it to the reader to free what some kinds point to.
    if (layout_.hasOverheadData)
        std::free(record.overheadData);
    ApiCall call{.name = strings_.intern(overheadName(record.overheadKind)),
                 .correlation = CorrelationId{layout_.hasOverheadCall && record.correlationId != 0
                                                  ? record.correlationId + correlationBase_
                                                  : 0},
                 .kind = ApiKind::Overhead,
                 .start = timeOf(record.start),
                 .end = timeOf(record.end)};
    if (record.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD)
        call.thread = ThreadId{record.objectId.pt.threadId};
    assembler.addCallActivity(call);
}

} // namespace tilescope::trace
