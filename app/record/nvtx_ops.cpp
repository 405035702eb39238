#include "app/record/nvtx_ops.h"

#include "core/trace/host/host_log.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <vector>

namespace tilescope::record {

namespace {

std::atomic<bool> taking{false};
thread_local std::vector<bool> isOp; ///< of the open ranges of this thread

/// What autograd names the op in which it evaluates a backward node, before the node's own name.
constexpr std::string_view kEvaluation = "autograd::engine::evaluate_function: ";

/// What follows `key` up to `end`; empty if the text lacks it.
std::string_view valueOf(std::string_view text, std::string_view key, std::string_view end)
{
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos)
        return {};
    text.remove_prefix(at + key.size());
    return text.substr(0, text.find(end));
}

/// "[8] [4, 8]" of "[8], [4, 8]"; lists of lists stay as they are.
std::string shapesOf(std::string_view sizes)
{
    std::string shapes;
    int depth = 0;
    for (const char c : sizes) {
        depth += c == '[' ? 1 : c == ']' ? -1 : 0;
        if (c == ',' && depth == 0)
            continue;
        shapes += c;
    }
    return shapes;
}

} // namespace

bool readNvtxOp(std::string_view text, NvtxOp& op)
{
    // Every range of PyTorch has at least one of the two.
    const std::size_t end = std::min(text.find(", seq = "), text.find(", op_id = "));
    if (end == std::string_view::npos)
        return false;
    op.name = text.substr(0, end);
    op.isBackward = op.name.starts_with(kEvaluation);
    if (op.isBackward)
        op.name.remove_prefix(kEvaluation.size());
    const std::string_view sequence = valueOf(text, ", seq = ", ",");
    op.sequence = -1;
    std::from_chars(sequence.data(), sequence.data() + sequence.size(), op.sequence);
    op.shapes = shapesOf(valueOf(text, ", sizes = [", "], input_op_ids"));
    // Where nothing follows, the list's own bracket is still there.
    if (!op.shapes.empty() && text.find("], input_op_ids") == std::string_view::npos &&
        op.shapes.ends_with(']'))
        op.shapes.pop_back();
    return true;
}

void takeNvtxOps() noexcept
{
    taking.store(true, std::memory_order_relaxed);
}

bool pushNvtxOp(std::string_view text) noexcept
{
    if (!taking.load(std::memory_order_relaxed))
        return false;
    try {
        NvtxOp op;
        if (!readNvtxOp(text, op))
            return false;
        trace::ThreadLog* log = trace::HostLogs::mine();
        if (!log)
            return false;
        isOp.push_back(true);
        log->openOp(op.name, op.sequence, op.isBackward ? OpScope::Backward : OpScope::Function,
                    op.shapes.empty() ? trace::kNone : trace::ThreadLog::numberOf(op.shapes));
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
