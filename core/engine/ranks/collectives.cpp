#include "core/engine/ranks/collectives.h"

#include "core/trace/host/host_log.h"
#include "core/trace/host/range.h"
#include "core/trace/host/tensor_text.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <utility>

namespace tilescope::engine {

namespace {

void requireDense(const at::Tensor& tensor)
{
    TORCH_CHECK(tensor.is_non_overlapping_and_dense(), "a collective needs a dense tensor");
}

void requireParts(const at::Tensor& whole, const at::Tensor& part, int parts)
{
    requireDense(whole);
    requireDense(part);
    TORCH_CHECK(whole.numel() == part.numel() * parts && whole.scalar_type() == part.scalar_type(),
                "a collective of ", parts, " ranks needs as many equal parts");
}

} // namespace

void Ranks::allReduce(const at::Tensor& tensor)
{
    requireDense(tensor);
    recorded("all_reduce", tensor, [&] { doAllReduce(tensor); });
}

void Ranks::allGather(const at::Tensor& output, const at::Tensor& input)
{
    requireParts(output, input, size_);
    recorded("all_gather", input, [&] { doAllGather(output, input); });
}

void Ranks::reduceScatter(const at::Tensor& output, const at::Tensor& input)
{
    requireParts(input, output, size_);
    recorded("reduce_scatter", input, [&] { doReduceScatter(output, input); });
}

void Ranks::broadcast(const at::Tensor& tensor, int root)
{
    requireDense(tensor);
    recorded("broadcast", tensor, [&] { doBroadcast(tensor, root); });
}

void Ranks::allToAll(const at::Tensor& output, const at::Tensor& input)
{
    requireParts(output, output, 1);
    requireParts(output, input, 1);
    TORCH_CHECK(input.numel() % size_ == 0, "all_to_all of ", size_, " ranks needs as many equal parts");
    recorded("all_to_all", input, [&] { doAllToAll(output, input); });
}

void Ranks::barrier()
{
    recorded("barrier", {}, [&] { doBarrier(); });
}

std::vector<CollectiveRecord> Ranks::takeRecords()
{
    return std::exchange(records_, {});
}

std::string Ranks::current() const
{
    return c10::str(op_, " ", sequence_);
}

void Ranks::recorded(const char* op, const at::Tensor& message, const std::function<void()>& work)
{
    op_ = op;
    ++sequence_;
    const std::int32_t step = trace::HostLogs::instance().step();
    if (!trace::HostLogs::recording() || step == kNoStep)
        return work();
    const trace::ScopedRange range(op);
    const trace::HostContext here = trace::HostLogs::here();
    CollectiveRecord record{.op = op,
                            .dtype = {},
                            .sequence = sequence_,
                            .bytes = message.defined() ? static_cast<std::int64_t>(message.nbytes()) : 0,
                            .thread = trace::HostLogs::hereThread(),
                            .path = {},
                            .step = step,
                            .start = TraceClock::now(),
                            .end = {}};
    work();
    record.end = TraceClock::now();
    if (message.defined())
        record.dtype = trace::dtypeText(message.scalar_type());
    if (here.path != trace::kNone)
        record.path = trace::PathTree::instance().node(here.path)->path;
    records_.push_back(std::move(record));
}

} // namespace tilescope::engine
