#include "core/trace/host/op_recorder.h"

#include "core/model/autograd_op.h"
#include "core/trace/host/argument_text.h"
#include "core/trace/host/host_log.h"
#include "core/trace/host/observed_views.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>

#include <string_view>

namespace tilescope::trace {

namespace {

std::uint64_t nextSequence() noexcept
{
    return at::sequence_number::peek();
}

std::uint64_t logicalThread() noexcept
{
    return at::RecordFunction::currentThreadId();
}

AutogradProbe::Node runningNode() noexcept
{
    const std::shared_ptr<torch::autograd::Node> node = torch::autograd::get_current_node();
    if (!node)
        return {};
    return {.identity = node.get(), .sequence = node->sequence_nr(), .thread = node->thread_id()};
}

std::uint32_t numberOfArguments(const at::RecordFunction& function)
{
    const std::string_view arguments = argumentsOf(function);
    return arguments.empty() ? kNone : ThreadLog::numberOf(arguments);
}

void begin(const at::RecordFunction& function, bool shapes)
{
    ThreadLog* log = HostLogs::mine();
    if (!log)
        return;
    const std::string_view name = function.name();
    // A node names itself to listeners of backward functions too, but finding its name again costs it more than
    // an op takes to record: its evaluation is enough.
    if (isEvaluation(name)) {
        log->openOp(withoutEvaluation(name), static_cast<std::int64_t>(runningNode().sequence),
                    OpScope::Backward, kNone);
        return;
    }
    log->openOp(name, function.seqNr(), OpScope::Function, shapes ? numberOfArguments(function) : kNone);
}

// State lives in the thread's log: an ObserverContext would be a heap allocation per op.
std::unique_ptr<at::ObserverContext> beginOp(const at::RecordFunction& function)
{
    begin(function, false);
    return nullptr;
}

std::unique_ptr<at::ObserverContext> beginOpWithShapes(const at::RecordFunction& function)
{
    begin(function, true);
    return nullptr;
}

void endOp(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/)
{
    if (ThreadLog* log = HostLogs::mineIfAny())
        log->closeOp();
}

at::CallbackHandle active = at::INVALID_CALLBACK_HANDLE;

} // namespace

void OpRecorder::installProbe()
{
    static const bool installed = [] {
        HostLogs::instance().setProbe(
            {.nextSequence = &nextSequence, .thread = &logicalThread, .running = &runningNode});
        return true;
    }();
    static_cast<void>(installed);
}

void OpRecorder::enable(bool shapes, bool views)
{
    disable();
    setViewsObserved(views);
    at::RecordFunctionCallback callback(shapes ? &beginOpWithShapes : &beginOp, &endOp);
    callback.needsInputs(shapes).scopes({at::RecordScope::FUNCTION});
    active = at::addGlobalCallback(callback);
}

void OpRecorder::disable()
{
    if (active != at::INVALID_CALLBACK_HANDLE)
        at::removeCallback(std::exchange(active, at::INVALID_CALLBACK_HANDLE));
}

} // namespace tilescope::trace
