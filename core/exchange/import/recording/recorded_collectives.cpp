#include "core/exchange/import/recording/recorded_collectives.h"

#include "core/exchange/import/collective_names.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tilescope::exchange {

void RecordedCollectives::addCall(const record::CollectiveRow& row, const Text& text)
{
    const std::string_view op = row.isOfNccl != 0 ? collectiveOfCall(text(row.op)) : text(row.op);
    if (!op.empty())
        calls_.push_back({row, std::string(op), std::string(text(row.group)), std::string(text(row.ranks)),
                          std::string(text(row.dtype))});
}

void RecordedCollectives::addKernel(const record::ActivityRow& row, std::string_view name)
{
    if (!isCollectiveKernel(name) || row.correlation == 0)
        return;
    const CollectiveName found = collectiveOfKernel(name);
    kernels_.push_back({.thread = row.launchThread,
                        .correlation = row.correlation,
                        .op = std::string(found.op),
                        .dtype = std::string(found.dtype),
                        .launched = timestampAt(row.launched)});
}

/// A framework's collective calls NCCL: the two are one, of which NCCL knows the bytes of the message for certain.
void RecordedCollectives::mergeCallsOfNccl()
{
    std::ranges::stable_sort(calls_, {}, [](const Call& call) {
        return std::tuple(call.row.thread, call.row.start, -call.row.end);
    });
    std::vector<Call> kept;
    std::map<std::uint32_t, std::size_t> outer; // the latest call of the framework in a thread
    for (Call& call : calls_) {
        const auto around = outer.find(call.row.thread);
        if (call.row.isOfNccl != 0 && around != outer.end() &&
            kept[around->second].row.end >= call.row.start) {
            if (kept[around->second].row.bytes < 0)
                kept[around->second].row.bytes = call.row.bytes;
            continue;
        }
        if (call.row.isOfNccl == 0)
            outer[call.row.thread] = kept.size();
        kept.push_back(std::move(call));
    }
    calls_ = std::move(kept);
}

ForeignCollective RecordedCollectives::described(const Call& call)
{
    return {.op = call.op,
            .group = call.group,
            .ranks = call.ranks,
            .dtype = call.dtype,
            .sequence = call.row.sequence,
            .bytes = call.row.bytes,
            .groupSize = call.row.groupSize,
            .peer = call.row.peer};
}

void RecordedCollectives::addTo(TraceBuilder& builder, ProcessIndex process)
{
    mergeCallsOfNccl();
    CollectiveCalls ofThreads;
    for (std::size_t i = 0; i < calls_.size(); ++i)
        ofThreads.add(calls_[i].row.thread, calls_[i].op, timestampAt(calls_[i].row.start),
                      timestampAt(calls_[i].row.end), i);
    std::ranges::stable_sort(kernels_, {}, &Kernel::launched);
    for (const Kernel& kernel : kernels_) {
        const auto index = ofThreads.take(kernel.thread, kernel.op, kernel.launched);
        ForeignCollective collective = index ? described(calls_[*index]) : ForeignCollective{.op = kernel.op};
        if (collective.op.empty())
            collective.op = "collective";
        if (collective.dtype.empty())
            collective.dtype = kernel.dtype;
        builder.addCollective(process, collective, kernel.correlation);
    }
    for (const std::size_t index : ofThreads.rest()) {
        const Call& call = calls_[index];
        builder.addCollective(builder.thread(process, call.row.thread), described(call),
                              timestampAt(call.row.start), timestampAt(call.row.end));
    }
}

} // namespace tilescope::exchange
