#include "core/analysis/waiting/host_cause.h"

#include "core/analysis/memory/library_frame.h"
#include "core/base/number_text.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>

namespace tilescope::analysis {

namespace {

constexpr std::array<std::string_view, kHostCauses> kWords{
    "python",          "native",     "backward",        "optimizer",          "data-loading",
    "compilation",     "logging",    "import",          "garbage-collection", "gil",
    "allocator",       "cuda-calls", "synchronization", "other-ranks",        "off-core",
    "other-processes", "launching",  "queued",          "unexplained"};

bool isIn(std::string_view file, std::initializer_list<std::string_view> folders)
{
    return std::ranges::any_of(folders, [file](std::string_view folder) {
        const std::size_t at = file.find(folder);
        return at == 0 || (at != std::string_view::npos && file[at - 1] == '/');
    });
}

/// Also an op, which has no file.
bool isOfLibrary(std::string_view function)
{
    return partsOf(function).file.empty() || isLibraryFrame(function);
}

/// The cause that a call sets for what it calls; Python: none.
HostCause causeOf(std::string_view function)
{
    const FunctionParts parts = partsOf(function);
    const std::string_view file = parts.file;
    if (isIn(file, {"torch/utils/data/"}))
        return HostCause::DataLoading;
    if (isIn(file,
             {"torch/_dynamo/", "torch/_inductor/", "torch/_functorch/", "torch/fx/", "triton/compiler/"}))
        return HostCause::Compilation;
    if (isIn(file, {"logging/", "tqdm/", "wandb/", "tensorboardX/", "torch/utils/tensorboard/", "mlflow/"}))
        return HostCause::Logging;
    if (isIn(file, {"torch/optim/", "bitsandbytes/optim/", "apex/optimizers/"}))
        return HostCause::Optimizer;
    if (isIn(file, {"torch/distributed/distributed_c10d.py", "torch/distributed/rendezvous.py"}))
        return HostCause::OtherRanks;
    if (file == "<frozen importlib._bootstrap>" || isIn(file, {"importlib/_bootstrap.py"}))
        return HostCause::Import;
    if (isIn(file, {"torch/autograd/"}) && (parts.name == "_engine_run_backward" || parts.name == "backward"))
        return HostCause::Backward;
    return HostCause::Python;
}

} // namespace

std::string_view wordOf(HostCause cause)
{
    return kWords[static_cast<std::size_t>(cause)];
}

std::optional<HostCause> hostCauseOf(std::string_view word)
{
    const auto* const known = std::ranges::find(kWords, word);
    return known == kWords.end() ? std::nullopt
                                 : std::optional(static_cast<HostCause>(known - kWords.begin()));
}

HostCause causeOfCall(std::string_view call, bool synchronizes)
{
    if (synchronizes)
        return HostCause::Synchronization;
    // cudaMalloc, cudaMallocAsync, cudaHostAlloc, cuMemAlloc_v2, cuMemCreate, cuMemMap and their counterparts.
    constexpr std::string_view kOfMemory[] = {
        "cudaMalloc",     "cudaFree",     "cudaHostAlloc", "cudaHostRegister", "cuMemAlloc",
        "cuMemFree",      "cuMemCreate",  "cuMemRelease",  "cuMemMap",         "cuMemUnmap",
        "cuMemSetAccess", "cuMemAddress", "cuMemHostAlloc"};
    const bool isOfMemory = std::ranges::any_of(
        kOfMemory, [call](std::string_view beginning) { return call.starts_with(beginning); });
    return isOfMemory ? HostCause::Allocator : HostCause::CudaCalls;
}

HostCauses::HostCauses(std::span<const HostStack> stacks)
{
    causes_.reserve(stacks.size());
    for (const HostStack& stack : stacks) {
        const HostCause outer = stack.caller == kNoStack ? HostCause::Python : causes_[stack.caller];
        // torch.compile's wrappers call the model, optimizers a closure, and a module that is imported may train: what runs
        // below them may be anything.
        const HostCause own = causeOf(stack.function);
        const bool isClosure =
            outer == HostCause::Optimizer && isIn(partsOf(stack.function).file, {"torch/nn/modules/"});
        const bool isOfProgram = own == HostCause::Python && !isOfLibrary(stack.function);
        const bool isLeft =
            isClosure || (outer == HostCause::Compilation && isOfProgram) ||
            (outer == HostCause::Import && isOfProgram && partsOf(stack.function).name != "<module>");
        causes_.push_back(own != HostCause::Python || isLeft ? own : outer);
    }
}

HostCause HostCauses::of(const HostSample& sample) const
{
    const bool isNative = (sample.state & SampleState::kInNative) == SampleState::kInNative;
    if (!isNative && (sample.state & SampleState::kInCall) != 0)
        return HostCause::CudaCalls;
    if ((sample.state & SampleState::kCollects) != 0)
        return HostCause::GarbageCollection;
    if ((sample.state & SampleState::kLock) != 0)
        return HostCause::InterpreterLock;
    if ((sample.state & SampleState::kCoreless) != 0)
        return HostCause::OtherProcesses;
    const HostCause cause = sample.stack == kNoStack ? HostCause::Unexplained : causes_[sample.stack];
    // Backward and data loading are waited for.
    const bool ran = (sample.state & SampleState::kRan) != 0;
    if (ran && (cause == HostCause::Python || cause == HostCause::OtherRanks))
        return isNative ? HostCause::Native : HostCause::Python;
    const bool waits =
        !ran && (cause == HostCause::Python || cause == HostCause::Optimizer || cause == HostCause::Logging);
    return waits ? HostCause::OffCore : cause;
}

FunctionParts partsOf(std::string_view function)
{
    constexpr std::string_view kEnd = "): ";
    const std::size_t end = function.rfind(kEnd);
    const std::size_t file = end == std::string_view::npos ? end : function.rfind('(', end);
    if (file == std::string_view::npos)
        return {.file = {}, .name = function};
    return {.file = function.substr(0, file),
            .name = function.substr(end + kEnd.size()),
            .firstLine = parseNumber<std::int64_t>(function.substr(file + 1, end - file - 1)).value_or(0)};
}

std::vector<std::uint32_t> programCalls(std::span<const HostStack> stacks)
{
    std::vector<std::uint32_t> calls;
    std::vector<bool> isOwn; // whether the call found is the program's
    calls.reserve(stacks.size());
    for (std::uint32_t i = 0; i < stacks.size(); ++i) {
        const std::uint32_t caller = stacks[i].caller;
        const bool own = !isOfLibrary(stacks[i].function);
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

std::vector<std::uint32_t> pythonCalls(std::span<const HostStack> stacks)
{
    std::vector<std::uint32_t> calls;
    calls.reserve(stacks.size());
    for (std::uint32_t i = 0; i < stacks.size(); ++i) {
        const std::uint32_t caller = stacks[i].caller;
        const bool isOp = caller != kNoStack && partsOf(stacks[i].function).file.empty();
        calls.push_back(isOp ? calls[caller] : i);
    }
    return calls;
}

} // namespace tilescope::analysis
