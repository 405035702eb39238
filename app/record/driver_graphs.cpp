#include "app/record/driver_graphs.h"

#include "app/record/find_function.h"

#include <cuda.h>
#include <dlfcn.h>

namespace tilescope::record {

namespace {

// cuda.h names the latest of each.
using GetNodes = CUresult (*)(CUgraph, CUgraphNode*, std::size_t*);
using GetType = CUresult (*)(CUgraphNode, CUgraphNodeType*);
using GetKernel = CUresult (*)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*);
using NameOfFunction = CUresult (*)(const char**, CUfunction);
using NameOfKernel = CUresult (*)(const char**, CUkernel);

/// The functions of the driver that describe graphs; an older driver lacks some.
struct Driver {
    explicit Driver(void* library)
    {
        findFunction(getNodes, "cuGraphGetNodes", library);
        findFunction(getType, "cuGraphNodeGetType", library);
        findFunction(getKernel, "cuGraphKernelNodeGetParams_v2", library);
        findFunction(nameOfFunction, "cuFuncGetName", library);
        findFunction(nameOfKernel, "cuKernelGetName", library);
    }

    /// The name of the kernel of a node; empty if the driver cannot name it.
    std::string kernelOf(CUgraphNode node) const
    {
        CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
        const char* name = nullptr;
        if (!getKernel || getKernel(node, &parameters) != CUDA_SUCCESS)
            return {};
        if (parameters.func && nameOfFunction && nameOfFunction(&name, parameters.func) == CUDA_SUCCESS &&
            name)
            return name;
        if (parameters.kern && nameOfKernel && nameOfKernel(&name, parameters.kern) == CUDA_SUCCESS && name)
            return name;
        return {};
    }

    GetNodes getNodes = nullptr;
    GetType getType = nullptr;
    GetKernel getKernel = nullptr;
    NameOfFunction nameOfFunction = nullptr;
    NameOfKernel nameOfKernel = nullptr;
};

trace::GraphNodeFacts::Kind kindOf(CUgraphNodeType type)
{
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return trace::GraphNodeFacts::Kind::Kernel;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return trace::GraphNodeFacts::Kind::Copy;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return trace::GraphNodeFacts::Kind::Set;
    default:
        return trace::GraphNodeFacts::Kind::Other;
    }
}

} // namespace

std::vector<trace::GraphNodeFacts> nodesOfGraph(CUgraph graph,
                                                const std::function<std::uint64_t(CUgraphNode node)>& idOf)
{
    void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return {};
    const Driver driver(library);
    std::size_t count = 0;
    if (!driver.getNodes || !driver.getType || driver.getNodes(graph, nullptr, &count) != CUDA_SUCCESS)
        return {};
    std::vector<CUgraphNode> found(count);
    if (driver.getNodes(graph, found.data(), &count) != CUDA_SUCCESS)
        return {};
    std::vector<trace::GraphNodeFacts> nodes;
    for (CUgraphNode node : found) {
        CUgraphNodeType type{};
        trace::GraphNodeFacts facts{.id = idOf(node)};
        if (driver.getType(node, &type) == CUDA_SUCCESS)
            facts.kind = kindOf(type);
        if (facts.kind == trace::GraphNodeFacts::Kind::Kernel)
            facts.kernel = driver.kernelOf(node);
        nodes.push_back(std::move(facts));
    }
    return nodes;
}

} // namespace tilescope::record
