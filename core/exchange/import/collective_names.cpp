#include "core/exchange/import/collective_names.h"

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

constexpr std::array<std::string_view, 3> kKernelPrefixes{"ncclDevKernel_", "ncclKernel_",
                                                          "ncclSymkDevKernel_"};

} // namespace

bool isCollectiveKernel(std::string_view name)
{
    return std::ranges::any_of(kKernelPrefixes,
                               [&](std::string_view prefix) { return name.starts_with(prefix); });
}

CollectiveName collectiveOfKernel(std::string_view name)
{
    CollectiveName found;
    std::string_view rest = name.substr(0, name.find_first_of("(<"));
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
