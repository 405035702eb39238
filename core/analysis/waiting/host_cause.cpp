#include "core/analysis/waiting/host_cause.h"

#include "core/analysis/memory/library_frame.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>

namespace tilescope::analysis {

namespace {

bool isIn(std::string_view file, std::initializer_list<std::string_view> folders)
{
    return std::ranges::any_of(folders, [file](std::string_view folder) {
        const std::size_t at = file.find(folder);
        return at == 0 || (at != std::string_view::npos && file[at - 1] == '/');
    });
}

/// The cause that a call sets for what it calls; Python: none.
HostCause causeOf(std::string_view function)
{
    const auto [file, name] = partsOf(function);
    if (isIn(file, {"torch/utils/data/"}))
        return HostCause::DataLoading;
    if (isIn(file,
             {"torch/_dynamo/", "torch/_inductor/", "torch/_functorch/", "torch/fx/", "triton/compiler/"}))
        return HostCause::Compilation;
    if (isIn(file, {"torch/optim/", "bitsandbytes/optim/", "apex/optimizers/"}))
        return HostCause::Optimizer;
    if (isIn(file, {"torch/autograd/"}) && (name == "_engine_run_backward" || name == "backward"))
        return HostCause::Backward;
    return HostCause::Python;
}

} // namespace

std::string_view wordOf(HostCause cause)
{
    constexpr std::string_view kWords[] = {"python",      "backward",   "optimizer",       "data-loading",
                                           "compilation", "cuda-calls", "synchronization", "off-core",
                                           "launching",   "queued",     "unexplained"};
    return kWords[static_cast<std::size_t>(cause)];
}

HostCauses::HostCauses(std::span<const HostStack> stacks)
{
    causes_.reserve(stacks.size());
    for (const HostStack& stack : stacks) {
        const HostCause outer = stack.caller == kNoStack ? HostCause::Python : causes_[stack.caller];
        // torch.compile's wrappers call the model, and optimizers a closure: what runs below them may be anything.
        const HostCause own = causeOf(stack.function);
        const bool isClosure =
            outer == HostCause::Optimizer && isIn(partsOf(stack.function).file, {"torch/nn/modules/"});
        const bool isLeft = isClosure || (outer == HostCause::Compilation && own == HostCause::Python &&
                                          !isLibraryFrame(stack.function));
        causes_.push_back(own != HostCause::Python || isLeft ? own : outer);
    }
}

HostCause HostCauses::of(const HostSample& sample) const
{
    if ((sample.state & SampleState::kInCall) != 0)
        return HostCause::CudaCalls;
    const HostCause cause = sample.stack == kNoStack ? HostCause::Unexplained : causes_[sample.stack];
    // Backward and data loading are waited for.
    const bool ran = (sample.state & SampleState::kRan) != 0;
    return !ran && (cause == HostCause::Python || cause == HostCause::Optimizer) ? HostCause::OffCore : cause;
}

FunctionParts partsOf(std::string_view function)
{
    constexpr std::string_view kEnd = "): ";
    const std::size_t end = function.rfind(kEnd);
    const std::size_t file = end == std::string_view::npos ? end : function.rfind('(', end);
    if (file == std::string_view::npos)
        return {.file = {}, .name = function};
    return {.file = function.substr(0, file), .name = function.substr(end + kEnd.size())};
}

std::vector<std::uint32_t> programCalls(std::span<const HostStack> stacks)
{
    std::vector<std::uint32_t> calls;
    std::vector<bool> isOwn; // whether the call found is the program's
    calls.reserve(stacks.size());
    for (std::uint32_t i = 0; i < stacks.size(); ++i) {
        const std::uint32_t caller = stacks[i].caller;
        const bool own = !isLibraryFrame(stacks[i].function);
        if (own || caller == kNoStack || !isOwn[caller]) {
            calls.push_back(i);
            isOwn.push_back(own);
        } else {
            calls.push_back(calls[caller]);
            isOwn.push_back(true);
        }
    }
    return calls;
}

} // namespace tilescope::analysis
