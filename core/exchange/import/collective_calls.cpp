#include "core/exchange/import/collective_calls.h"

#include <algorithm>

namespace tilescope::exchange {

namespace {

/// Whether NCCL's kernel of this op may do the work of a call outside of the call, at the end of its group.
bool mayDo(std::string_view kernel, std::string_view call)
{
    // The generic kernel has no op; exchanges of several kinds are sends and receives.
    const bool isExchange =
        call == "send" || call == "recv" || call == "all_to_all" || call == "gather" || call == "scatter";
    return kernel.empty() || kernel == call || (kernel == "send_recv" && isExchange);
}

} // namespace

std::optional<std::size_t> CollectiveCalls::take(std::int64_t thread, std::string_view op, Timestamp launched)
{
    if (!sorted_) {
        for (auto& [number, calls] : calls_)
            std::ranges::stable_sort(calls, {}, &Call::start);
        sorted_ = true;
    }
    const auto found = calls_.find(thread);
    if (found == calls_.end())
        return {};
    std::vector<Call>& calls = found->second;
    // The last call that began before the launch and has no kernel yet.
    auto call = std::ranges::upper_bound(calls, launched, {}, &Call::start);
    constexpr int kMostInGroup = 1024;
    for (int i = 0; i < kMostInGroup && call != calls.begin(); ++i) {
        --call;
        // Within the call, whatever the kernel is called: a barrier is an all_reduce.
        if (!call->taken && (launched <= call->end || mayDo(op, call->op))) {
            call->taken = true;
            return call->index;
        }
    }
    return {};
}

std::vector<std::size_t> CollectiveCalls::rest() const
{
    std::vector<std::size_t> indices;
    for (const auto& [number, calls] : calls_)
        for (const Call& call : calls)
            if (!call.taken)
                indices.push_back(call.index);
    return indices;
}

} // namespace tilescope::exchange
