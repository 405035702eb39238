#include "core/engine/ranks/collectives.h"

#include "core/trace/host/host_log.h"
#include "core/trace/host/range.h"
#include "core/trace/host/tensor_text.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tilescope::engine {

namespace {

using Tensors = std::vector<at::Tensor>;

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

void requireParts(at::TensorList wholes, at::TensorList parts, int count)
{
    TORCH_CHECK(wholes.size() == parts.size(), "a collective needs as many outputs as inputs");
    for (std::size_t i = 0; i < wholes.size(); ++i)
        requireParts(wholes[i], parts[i], count);
}

Tensors joined(at::TensorList one, at::TensorList other)
{
    Tensors all = one.vec();
    all.insert(all.end(), other.begin(), other.end());
    return all;
}

std::string listOf(const std::vector<int>& numbers)
{
    std::string text;
    for (const int number : numbers)
        text += c10::str(text.empty() ? "" : ",", number);
    return text;
}

const at::Tensor& largestOf(at::TensorList tensors)
{
    return *std::ranges::max_element(tensors, {}, [](const at::Tensor& tensor) { return tensor.nbytes(); });
}

/// The path of the caller's range.
std::string pathHere()
{
    const trace::HostContext here = trace::HostLogs::here();
    return here.path != trace::kNone ? trace::PathTree::instance().node(here.path)->path : std::string();
}

} // namespace

void Ranks::Log::add(CollectiveRecord record)
{
    const MutexLock lock(mutex_);
    records_.push_back(std::move(record));
}

std::vector<CollectiveRecord> Ranks::Log::take()
{
    const MutexLock lock(mutex_);
    return std::exchange(records_, {});
}

std::string Ranks::Call::title() const
{
    return c10::str(op, " ", sequence);
}

void Ranks::Call::run(Log& log)
{
    if (!record)
        return work();
    const trace::ScopedRange range(op);
    trace::HostLogs::here(); // gives this thread its number
    record->thread = trace::HostLogs::hereThread();
    record->start = TraceClock::now();
    work();
    record->end = TraceClock::now();
    log.add(std::move(*record));
}

Ranks::Ranks(int rank, std::vector<int> members, std::string name)
    : Ranks(rank, std::move(members), std::move(name), std::make_shared<Log>())
{
}

Ranks::Ranks(int rank, std::vector<int> members, std::string name, std::shared_ptr<Log> log)
    : rank_(rank), members_(std::move(members)), name_(std::move(name)), log_(std::move(log))
{
}

std::vector<int> Ranks::numbersOf(const std::vector<int>& members) const
{
    std::vector<int> numbers;
    for (const int member : members)
        numbers.push_back(members_.at(static_cast<std::size_t>(member)));
    return numbers;
}

Started Ranks::allReduce(at::TensorList tensors)
{
    for (const at::Tensor& tensor : tensors)
        requireDense(tensor);
    return startRecorded("all_reduce", tensors, tensors.vec(), [this, all = tensors.vec()] {
        for (const at::Tensor& tensor : all)
            doAllReduce(tensor);
    });
}

Started Ranks::allGather(at::TensorList outputs, at::TensorList inputs)
{
    requireParts(outputs, inputs, size());
    return startRecorded("all_gather", inputs, joined(outputs, inputs),
                         [this, to = outputs.vec(), from = inputs.vec()] {
                             for (std::size_t i = 0; i < to.size(); ++i)
                                 doAllGather(to[i], from[i]);
                         });
}

Started Ranks::reduceScatter(at::TensorList outputs, at::TensorList inputs)
{
    requireParts(inputs, outputs, size());
    return startRecorded("reduce_scatter", inputs, joined(outputs, inputs),
                         [this, to = outputs.vec(), from = inputs.vec()] {
                             for (std::size_t i = 0; i < to.size(); ++i)
                                 doReduceScatter(to[i], from[i]);
                         });
}

Started Ranks::broadcast(at::TensorList tensors, int root)
{
    for (const at::Tensor& tensor : tensors)
        requireDense(tensor);
    return startRecorded("broadcast", tensors, tensors.vec(), [this, all = tensors.vec(), root] {
        for (const at::Tensor& tensor : all)
            doBroadcast(tensor, root);
    });
}

Started Ranks::allToAll(const at::Tensor& output, const at::Tensor& input)
{
    requireParts(output, input, 1);
    TORCH_CHECK(input.numel() % size() == 0, "all_to_all of ", size(), " ranks needs as many equal parts");
    return startRecorded("all_to_all", input, joined(output, input),
                         [this, output, input] { doAllToAll(output, input); });
}

void Ranks::barrier()
{
    doBarrier();
}

void Ranks::startTogether()
{
    synchronize();
    barrier();
}

std::vector<CollectiveRecord> Ranks::takeRecords()
{
    return log_->take();
}

Started Ranks::startRecorded(const char* op, at::TensorList message, Tensors tensors,
                             std::function<void()> work)
{
    Call call{.op = op,
              .sequence = ++sequence_,
              .tensors = std::move(tensors),
              .work = std::move(work),
              .record = {}};
    const std::int32_t step = trace::HostLogs::instance().step();
    if (trace::HostLogs::recording() && step != kNoStep && !message.empty()) {
        const std::int64_t bytes = std::accumulate(message.begin(), message.end(), std::int64_t{0},
                                                   [](std::int64_t sum, const at::Tensor& each) {
                                                       return sum + static_cast<std::int64_t>(each.nbytes());
                                                   });
        const std::string path = pathHere();
        call.record = CollectiveRecord{.op = op,
                                       .group = name_,
                                       .ranks = listOf(members_),
                                       .groupSize = size(),
                                       .dtype = trace::dtypeText(largestOf(message).scalar_type()),
                                       .sequence = sequence_,
                                       .bytes = bytes,
                                       .thread = 0,
                                       .path = path.empty() ? op : c10::str(path, "/", op),
                                       .step = step};
    }
    return start(std::move(call));
}

} // namespace tilescope::engine
