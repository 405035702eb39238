#include "app/record/nvtx_ops.h"

#include "core/model/autograd_op.h"
#include "core/model/nvtx_op.h"
#include "core/trace/host/host_log.h"

#include <atomic>
#include <optional>
#include <vector>

namespace tilescope::record {

namespace {

std::atomic<bool> taking{false};
thread_local std::vector<bool> isOp; ///< of the open ranges of this thread

} // namespace

void takeNvtxOps() noexcept
{
    taking.store(true, std::memory_order_relaxed);
}

bool pushNvtxOp(std::string_view text) noexcept
{
    if (!taking.load(std::memory_order_relaxed))
        return false;
    try {
        const std::optional<NvtxOp> op = parseNvtxOp(text);
        if (!op)
            return false;
        trace::ThreadLog* log = trace::HostLogs::mine();
        if (!log)
            return false;
        isOp.push_back(true);
        log->openOp(withoutEvaluation(op->name), op->sequence,
                    isEvaluation(op->name) ? OpScope::Backward : OpScope::Function,
                    op->shapes.empty() ? trace::kNone : trace::ThreadLog::numberOf(op->shapes));
        return true;
    } catch (...) {
        return false; // no memory: this op is missing
    }
}

void pushOtherRange() noexcept
{
    if (!taking.load(std::memory_order_relaxed))
        return;
    try {
        isOp.push_back(false);
    } catch (...) {
        return; // no memory
    }
}

bool popNvtxOp() noexcept
{
    if (isOp.empty())
        return false;
    const bool was = isOp.back();
    isOp.pop_back();
    if (was)
        if (trace::ThreadLog* log = trace::HostLogs::mineIfAny())
            log->closeOp();
    return was;
}

} // namespace tilescope::record
