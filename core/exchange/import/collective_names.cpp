#include "core/exchange/import/collective_names.h"

#include "core/analysis/kernels/identifier_words.h"
#include "core/model/element_type.h"

#include <algorithm>
#include <array>

namespace tilescope::exchange {

namespace {

struct Word {
    std::string_view source;
    std::string_view ours;
};

constexpr std::array kOps{Word{"AllReduce", "all_reduce"},
                          Word{"AllGatherV", "all_gather_v"},
                          Word{"AllGather", "all_gather"},
                          Word{"ReduceScatter", "reduce_scatter"},
                          Word{"AllToAllv", "all_to_all"},
                          Word{"AllToAll", "all_to_all"},
                          Word{"AlltoAll", "all_to_all"},
                          Word{"Broadcast", "broadcast"},
                          Word{"Bcast", "broadcast"},
                          Word{"Reduce", "reduce"},
                          Word{"Gather", "gather"},
                          Word{"Scatter", "scatter"},
                          Word{"SendRecv", "send_recv"},
                          Word{"Send", "send"},
                          Word{"Recv", "recv"}};

std::string_view opOf(std::string_view text)
{
    const auto* word = std::ranges::find(kOps, text, &Word::source);
    return word == kOps.end() ? std::string_view() : word->ours;
}

std::string_view typeOf(std::string_view text)
{
    const ElementType* type = findElementType(&ElementType::word, text);
    if (!type)
        type = findElementType(&ElementType::nccl, text);
    return type ? type->word : std::string_view();
}

/// Takes the next part of a name whose parts are separated by underscores.
std::string_view takePart(std::string_view& rest)
{
    const std::size_t end = std::min(rest.find('_'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return part;
}

constexpr std::array<std::string_view, 4> kKernelPrefixes{"ncclDevKernel_", "ncclKernel_",
                                                          "ncclSymkDevKernel_", "mscclKernel_"};

/// Words in the names of other libraries' kernels (PyTorch's symmetric memory, vLLM, SGLang, FlashInfer,
/// TensorRT-LLM, AITER, NVSHMEM), as analysis::IdentifierWords takes them.
constexpr std::array kOpWords{Word{"*allreduce*", "all_reduce"},
                              Word{"crossdevicereduce*", "all_reduce"},
                              Word{"*reducescatter*", "reduce_scatter"},
                              Word{"*allgather*", "all_gather"},
                              Word{"*alltoall*", "all_to_all"},
                              Word{"*all2all*", "all_to_all"},
                              Word{"*moea2a*", "all_to_all"}};

bool isOfNccl(std::string_view name)
{
    return std::ranges::any_of(kKernelPrefixes,
                               [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::string_view functionOf(std::string_view kernel)
{
    return kernel.substr(0, kernel.find_first_of("(<"));
}

/// The op of a kernel that another library than NCCL communicates with; empty if the name has none.
std::string_view opInWords(std::string_view kernel)
{
    const std::string_view function = functionOf(kernel);
    const analysis::IdentifierWords words(function);
    const auto* op =
        std::ranges::find_if(kOpWords, [&](const Word& each) { return words.contain(each.source); });
    if (op != kOpWords.end())
        return op->ours;
    // DeepEP sends tokens to the ranks of their experts and adds up what returns.
    const bool isOfDeepEp = function.find("deep_ep::") != std::string_view::npos;
    return isOfDeepEp && (words.contain("dispatch") || words.contain("combine")) ? "all_to_all"
                                                                                 : std::string_view();
}

} // namespace

bool isCollectiveKernel(std::string_view name)
{
    return isOfNccl(name) || !opInWords(name).empty();
}

bool waitsForAllRanks(std::string_view name)
{
    if (isOfNccl(name))
        return name.find("SendRecv") == std::string_view::npos;
    const std::string_view op = opInWords(name);
    return !op.empty() && op != "all_to_all";
}

CollectiveName collectiveOfKernel(std::string_view name)
{
    if (!isOfNccl(name))
        return {.op = opInWords(name)};
    CollectiveName found;
    std::string_view rest = functionOf(name);
    takePart(rest); // ncclDevKernel
    while (!rest.empty()) {
        const std::string_view part = takePart(rest);
        if (found.op.empty())
            found.op = opOf(part);
        else if (found.dtype.empty())
            found.dtype = typeOf(part);
    }
    return found;
}

std::string_view collectiveOfCall(std::string_view name)
{
    constexpr std::string_view kPrefix = "nccl";
    return name.starts_with(kPrefix) ? opOf(name.substr(kPrefix.size())) : std::string_view();
}

} // namespace tilescope::exchange
