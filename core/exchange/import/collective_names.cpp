#include "core/exchange/import/collective_names.h"

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

constexpr std::array kTypes{Word{"f32", "f32"},    Word{"float", "f32"}, Word{"bf16", "bf16"},
                            Word{"f16", "f16"},    Word{"half", "f16"},  Word{"f64", "f64"},
                            Word{"double", "f64"}, Word{"i8", "i8"},     Word{"int8", "i8"},
                            Word{"u8", "u8"},      Word{"uint8", "u8"},  Word{"i32", "i32"},
                            Word{"int32", "i32"},  Word{"u32", "u32"},   Word{"uint32", "u32"},
                            Word{"i64", "i64"},    Word{"int64", "i64"}, Word{"u64", "u64"},
                            Word{"uint64", "u64"}, Word{"f8e4m3", "f8"}, Word{"f8e5m2", "f8"}};

template <std::size_t N> std::string_view find(const std::array<Word, N>& words, std::string_view text)
{
    const auto* word = std::ranges::find(words, text, &Word::source);
    return word == words.end() ? std::string_view() : word->ours;
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
            found.op = find(kOps, part);
        else if (found.dtype.empty())
            found.dtype = find(kTypes, part);
    }
    return found;
}

std::string_view collectiveOfCall(std::string_view name)
{
    constexpr std::string_view kPrefix = "nccl";
    return name.starts_with(kPrefix) ? find(kOps, name.substr(kPrefix.size())) : std::string_view();
}

} // namespace tilescope::exchange
