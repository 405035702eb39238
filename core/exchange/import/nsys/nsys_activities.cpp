#include "core/exchange/import/nsys/nsys_import.h"
#include "core/exchange/import/rules/event_times.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tilescope::exchange {

namespace {

/// The first columns of every table of activities.
enum ActivityColumn : int { Start, End, Device, Context, Stream, Correlation, Process, GraphNode, FirstOwn };

std::uint32_t countOf(const store::ForeignIntegers& rows, int column)
{
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(rows.integerOr(column, 0), 0, std::numeric_limits<std::uint32_t>::max()));
}

/// Fills what all activities have. False if the row cannot be stored; the loss is counted.
bool fillActivity(NsysImport& import, const store::ForeignIntegers& rows, std::string_view what,
                  ForeignActivity& activity)
{
    import.progress.step();
    import.builder.countRecord();
    const auto start = rows.integer(Start);
    const auto end = rows.integer(End);
    const auto times = intervalOf(start, end, what, import.builder);
    if (!times)
        return false;
    constexpr std::int64_t kMostDevices = 1024;
    const auto device = rows.integer(Device);
    if (!device || *device < 0 || *device >= kMostDevices) {
        import.builder.addLoss(RecordLoss::SourceUnreadable, 1, what);
        return false;
    }
    const auto ordinal = static_cast<std::int32_t>(*device);
    const std::int64_t process = rows.integerOr(Process, 0);
    activity.start = times->start;
    activity.end = times->end;
    activity.device = import.topology.device(process, ordinal);
    activity.stream =
        import.topology.stream(process, ordinal, rows.integerOr(Stream, 0), rows.integer(Context));
    activity.correlation = correlationOf(rows.integer(Correlation));
    activity.graphNode = static_cast<std::uint64_t>(rows.integerOr(GraphNode, 0));
    return true;
}

void readKernels(NsysImport& import)
{
    store::ForeignIntegers rows =
        import.file.readIntegers("CUPTI_ACTIVITY_KIND_KERNEL", {"start",
                                                                "end",
                                                                "deviceId",
                                                                "contextId",
                                                                "streamId",
                                                                "correlationId",
                                                                "globalPid",
                                                                "graphNodeId",
                                                                "demangledName",
                                                                "shortName",
                                                                "mangledName",
                                                                "registersPerThread",
                                                                "gridX",
                                                                "gridY",
                                                                "gridZ",
                                                                "blockX",
                                                                "blockY",
                                                                "blockZ",
                                                                "staticSharedMemory",
                                                                "dynamicSharedMemory",
                                                                "localMemoryPerThread",
                                                                "clusterX",
                                                                "clusterY",
                                                                "clusterZ"});
    enum : int {
        Demangled = FirstOwn,
        Short,
        Mangled,
        Registers,
        Grid,
        Block = Grid + 3,
        StaticShared = Block + 3,
        DynamicShared,
        Local,
        Cluster
    };
    while (rows.next()) {
        ForeignActivity kernel;
        if (!fillActivity(import, rows, "kernels", kernel))
            continue;
        for (const int name : {Demangled, Mangled, Short})
            if (kernel.name.empty())
                kernel.name = import.file.string(rows.integer(name));
        if (kernel.name.empty())
            kernel.name = "(unnamed kernel)";
        for (int i = 0; i < 3; ++i) {
            const auto axis = static_cast<std::size_t>(i);
            kernel.launch.grid[axis] = countOf(rows, Grid + i);
            kernel.launch.block[axis] = countOf(rows, Block + i);
            kernel.launch.cluster[axis] = countOf(rows, Cluster + i);
        }
        kernel.launch.registersPerThread = countOf(rows, Registers);
        kernel.launch.staticShared = countOf(rows, StaticShared);
        kernel.launch.dynamicShared = countOf(rows, DynamicShared);
        kernel.launch.localPerThread = countOf(rows, Local);
        import.collectives.addKernel(rows.integerOr(Process, 0), kernel);
        import.builder.addActivity(kernel);
    }
}

struct CopyWords {
    std::string_view symbol; ///< in ENUM_CUDA_MEMCPY_OPER, after CUDA_MEMCPY_KIND_
    std::int64_t number;     ///< in files without that table
    CopyKind kind;
    std::string_view name;
};
constexpr std::array kCopies{
    CopyWords{"HTOD", 1, CopyKind::HostToDevice, "Memcpy HtoD"},
    CopyWords{"DTOH", 2, CopyKind::DeviceToHost, "Memcpy DtoH"},
    CopyWords{"HTOA", 3, CopyKind::HostToDevice, "Memcpy HtoA"},
    CopyWords{"ATOH", 4, CopyKind::DeviceToHost, "Memcpy AtoH"},
    CopyWords{"ATOA", 5, CopyKind::DeviceToDevice, "Memcpy AtoA"},
    CopyWords{"ATOD", 6, CopyKind::DeviceToDevice, "Memcpy AtoD"},
    CopyWords{"DTOA", 7, CopyKind::DeviceToDevice, "Memcpy DtoA"},
    CopyWords{"DTOD", 8, CopyKind::DeviceToDevice, "Memcpy DtoD"},
    CopyWords{"HTOH", 9, CopyKind::HostToHost, "Memcpy HtoH"},
    CopyWords{"PTOP", 10, CopyKind::PeerToPeer, "Memcpy PtoP"},
    CopyWords{"UVM_HTOD", 11, CopyKind::HostToDevice, "Memcpy HtoD (Unified memory)"},
    CopyWords{"UVM_DTOH", 12, CopyKind::DeviceToHost, "Memcpy DtoH (Unified memory)"},
    CopyWords{"UVM_DTOD", 13, CopyKind::DeviceToDevice, "Memcpy DtoD (Unified memory)"},
};

/// Names copies like PyTorch's profiler: `Memcpy HtoD (Pageable -> Device)`.
class CopyNames {
public:
    explicit CopyNames(const NsysFile& file)
    {
        for (const CopyWords& copy : kCopies)
            kinds_[file.enumerator("ENUM_CUDA_MEMCPY_OPER", "CUDA_MEMCPY_KIND_" + std::string(copy.symbol),
                                   copy.number)] = &copy;
        constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kMemories{
            {{"PAGEABLE", "Pageable"},
             {"PINNED", "Pinned"},
             {"DEVICE", "Device"},
             {"ARRAY", "Array"},
             {"MANAGED", "Managed"}}};
        for (std::size_t i = 0; i < kMemories.size(); ++i)
            memories_[file.enumerator("ENUM_CUDA_MEM_KIND",
                                      "CUDA_MEMOPR_MEMORY_KIND_" + std::string(kMemories[i].first),
                                      static_cast<std::int64_t>(i))] = kMemories[i].second;
    }

    CopyKind kindOf(std::int64_t number) const
    {
        const auto found = kinds_.find(number);
        return found == kinds_.end() ? CopyKind::Other : found->second->kind;
    }
    const std::string& nameOf(std::int64_t number, std::optional<std::int64_t> source,
                              std::optional<std::int64_t> target)
    {
        std::string& name = names_[{number, source.value_or(-1), target.value_or(-1)}];
        if (name.empty()) {
            const auto copy = kinds_.find(number);
            name = copy == kinds_.end() ? "Memcpy" : copy->second->name;
            const std::string_view from = memoryOf(source);
            const std::string_view to = memoryOf(target);
            if (!from.empty() && !to.empty() && !name.ends_with(")"))
                name.append(" (").append(from).append(" -> ").append(to).append(")");
        }
        return name;
    }
    std::string_view memoryOf(std::optional<std::int64_t> number) const
    {
        const auto found = number ? memories_.find(*number) : memories_.end();
        return found == memories_.end() ? std::string_view() : found->second;
    }

private:
    std::map<std::int64_t, const CopyWords*> kinds_;
    std::map<std::int64_t, std::string_view> memories_;
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::string> names_;
};

void readCopies(NsysImport& import, CopyNames& names)
{
    store::ForeignIntegers rows =
        import.file.readIntegers("CUPTI_ACTIVITY_KIND_MEMCPY",
                                 {"start", "end", "deviceId", "contextId", "streamId", "correlationId",
                                  "globalPid", "graphNodeId", "bytes", "copyKind", "srcKind", "dstKind"});
    enum : int { Size = FirstOwn, Kind, Source, Target };
    while (rows.next()) {
        ForeignActivity copy;
        copy.kind = DeviceEventKind::Memcpy;
        if (!fillActivity(import, rows, "copies", copy))
            continue;
        const std::int64_t kind = rows.integerOr(Kind, 0);
        copy.copy = names.kindOf(kind);
        copy.name = names.nameOf(kind, rows.integer(Source), rows.integer(Target));
        copy.bytes = std::max<std::int64_t>(rows.integerOr(Size, 0), 0);
        import.builder.addActivity(copy);
    }
}

void readMemsets(NsysImport& import, const CopyNames& names)
{
    store::ForeignIntegers rows = import.file.readIntegers(
        "CUPTI_ACTIVITY_KIND_MEMSET", {"start", "end", "deviceId", "contextId", "streamId", "correlationId",
                                       "globalPid", "graphNodeId", "bytes", "memKind"});
    enum : int { Size = FirstOwn, Memory };
    while (rows.next()) {
        ForeignActivity memset;
        memset.kind = DeviceEventKind::Memset;
        if (!fillActivity(import, rows, "memsets", memset))
            continue;
        const std::string_view memory = names.memoryOf(rows.integer(Memory));
        const std::string name = memory.empty() ? "Memset" : "Memset (" + std::string(memory) + ")";
        memset.name = name;
        memset.bytes = std::max<std::int64_t>(rows.integerOr(Size, 0), 0);
        import.builder.addActivity(memset);
    }
}

/// Launches of CUDA graphs in the mode that records no kernels of a graph: they occupy the device, so each is
/// an activity of its own.
void readGraphLaunches(NsysImport& import)
{
    store::ForeignIntegers rows = import.file.readIntegers(
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {"start", "end", "deviceId", "contextId", "streamId",
                                            "correlationId", "globalPid", "graphNodeId", "graphId"});
    enum : int { Graph = FirstOwn };
    while (rows.next()) {
        ForeignActivity launch;
        if (!fillActivity(import, rows, "launches of CUDA graphs", launch))
            continue;
        const auto graph = rows.integer(Graph);
        const std::string name = graph ? "CUDA graph " + std::to_string(*graph) : "CUDA graph";
        launch.name = name;
        import.builder.addActivity(launch);
        ++import.graphLaunches;
    }
    if (import.graphLaunches > 0)
        import.builder.addLoss(RecordLoss::GraphLaunchesWhole, import.graphLaunches,
                               "record with `--cuda-graph-trace=node` to see their kernels");
}

} // namespace

void readNsysActivities(NsysImport& import)
{
    readKernels(import);
    CopyNames names(import.file);
    readCopies(import, names);
    readMemsets(import, names);
    readGraphLaunches(import);
}

} // namespace tilescope::exchange
