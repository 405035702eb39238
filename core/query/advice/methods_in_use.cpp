#include "core/query/advice/methods_in_use.h"

#include "core/base/quantity.h"
#include "core/query/advice/advice_words.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace tilescope::query {

using analysis::AdviceRule;
using analysis::KernelFamily;
using Framework = MethodsInUse::Framework;

namespace {

bool isProductOf(const ActivityKind& kind)
{
    return kind.event == DeviceEventKind::Kernel &&
           (kind.family == KernelFamily::Matmul || kind.family == KernelFamily::Convolution ||
            kind.family == KernelFamily::Attention);
}

bool hasWord(std::string_view text, std::string_view word)
{
    return text.find(word) != std::string_view::npos;
}

/// triton_poi_fused_add_0, triton_red_…, triton_per_…: the names that TorchInductor gives.
bool isOfInductor(std::string_view name)
{
    constexpr std::string_view kPrefix = "triton_";
    constexpr std::array<std::string_view, 6> kKinds{"poi_", "red_", "per_", "tem_", "for_", "mm_"};
    return name.starts_with(kPrefix) &&
           std::ranges::any_of(kKinds, [rest = name.substr(kPrefix.size())](std::string_view kind) {
               return rest.starts_with(kind);
           });
}

/// loop_multiply_fusion, input_reduce_fusion_3, gemm_fusion_dot_7, wrapped_subtract.
bool isOfXla(std::string_view name)
{
    return !hasWord(name, "::") && !hasWord(name, "triton_") &&
           (hasWord(name, "_fusion") || name.starts_with("wrapped_") || name.starts_with("fusion"));
}

bool isOfPyTorch(std::string_view name)
{
    return hasWord(name, "at::native") || hasWord(name, "at6native") || isOfInductor(name);
}

/// "CUDA graphs replay 91.2 % of the GPU's work already: …"
std::string moreInGraphs(const MethodsInUse& methods)
{
    return "CUDA graphs replay " + quantity::withUnit(100 * methods.replayed, quantity::Unit::Percent) +
           " of the GPU's work already: capture more of the step in one graph" +
           (methods.compiles ? " (fewer graph breaks: TORCH_LOGS=graph_breaks)" : "") +
           ", and let the host do less between replays.";
}

std::string launchRemedy(const MethodsInUse& methods)
{
    if (methods.replays())
        return moreInGraphs(methods);
    switch (methods.framework) {
    case Framework::Jax:
        return "Put the whole step into one function for jax.jit, the update too, or several steps "
               "(jax.lax.scan): the host "
               "launches what is in it at once.";
    case Framework::PyTorch:
        if (methods.compiles)
            return "The program is compiled already: let it replay CUDA graphs, too (mode reduce-overhead), "
                   "and look for "
                   "graph breaks (TORCH_LOGS=graph_breaks), between which the host runs Python.";
        return std::string(remedyOf(AdviceRule::LaunchBound));
    case Framework::Unknown:
        break;
    }
    return "Replay the step as a CUDA graph, or launch fewer and larger kernels.";
}

} // namespace

KernelOrigin originOf(const ActivityKind& kind)
{
    if (isOfInductor(kind.fullName) || isOfXla(kind.fullName))
        return KernelOrigin::Compiler;
    if (hasWord(kind.fullName, "FusedAdam") || hasWord(kind.fullName, "FusedSgd") ||
        hasWord(kind.fullName, "FusedOptimizer"))
        return KernelOrigin::FusedOptimizer;
    if (kind.family == KernelFamily::Optimizer || hasWord(kind.fullName, "multi_tensor_apply"))
        return KernelOrigin::Optimizer;
    return isProductOf(kind) ? KernelOrigin::Product : KernelOrigin::Eager;
}

MethodsInUse methodsInUse(const AdviceTraces& traces)
{
    MethodsInUse methods;
    Nanoseconds all{0};
    Nanoseconds replayed{0};
    bool ofXla = false;
    bool copies = false;
    bool shared = false; // streams of copies and kernels
    for (const AdviceTrace& trace : traces.processes) {
        std::set<std::pair<DeviceIndex, StreamId>> kernelStreams;
        std::set<std::pair<DeviceIndex, StreamId>> copyStreams;
        std::vector<char> seen(trace.kinds.size());
        for (const AdviceTrace::Activity& activity : trace.activities) {
            const ActivityKind& kind = trace.kinds[activity.kind];
            all += activity.time.length();
            if (kind.event == DeviceEventKind::Kernel)
                kernelStreams.emplace(activity.device, activity.stream);
            else if (kind.isBetweenHostAndDevice())
                copyStreams.emplace(activity.device, activity.stream);
            if (std::exchange(seen[activity.kind], 1) != 0 || kind.event != DeviceEventKind::Kernel)
                continue;
            methods.compiles = methods.compiles || isOfInductor(kind.fullName);
            if (isOfPyTorch(kind.fullName))
                methods.framework = Framework::PyTorch;
            ofXla = ofXla || isOfXla(kind.fullName);
            methods.fusesOptimizer = methods.fusesOptimizer || originOf(kind) == KernelOrigin::FusedOptimizer;
            methods.hasFixedCache = methods.hasFixedCache || hasWord(kind.fullName, "index_copy_kernel") ||
                                    hasWord(kind.fullName, "reshape_and_cache");
            methods.usesTf32 = methods.usesTf32 || (isProductOf(kind) && hasWord(kind.fullName, "tf32"));
            methods.usesLowPrecision = methods.usesLowPrecision || kind.isLowPrecisionProduct();
        }
        for (const std::uint32_t activity : trace.replayed)
            replayed += trace.activities[activity].time.length();
        copies = copies || !copyStreams.empty();
        shared = shared || std::ranges::any_of(copyStreams, [&](const auto& stream) {
                     return kernelStreams.contains(stream);
                 });
    }
    if (methods.framework == Framework::Unknown)
        methods.framework = ofXla                              ? Framework::Jax
                            : traces.any(&AdviceTrace::hasOps) ? Framework::PyTorch
                                                               : Framework::Unknown;
    methods.replayed =
        all.count() > 0 ? static_cast<double>(replayed.count()) / static_cast<double>(all.count()) : 0;
    methods.copiesOnOwnStream = copies && !shared;
    for (std::uint32_t i = 0; i < traces.sources.size(); ++i)
        methods.loadsInWorkers =
            methods.loadsInWorkers || hasWord(traces.sources[i].name, "_MultiProcessingDataLoaderIter");
    return methods;
}

std::string remedyOf(AdviceRule rule, const MethodsInUse& methods)
{
    switch (rule) {
    case AdviceRule::LaunchBound:
        return launchRemedy(methods);
    case AdviceRule::HostBoundDecode:
        if (methods.framework == Framework::Jax)
            return "Put the decode iteration, or several of them (jax.lax.while_loop), into one function for "
                   "jax.jit.";
        if (methods.hasFixedCache && !methods.compiles)
            return "Replay the decode iteration, whose cache has a fixed size already, as a CUDA graph: "
                   "torch.compile(mode=\"reduce-overhead\"); in servers leave enforce_eager off.";
        if (methods.compiles && !methods.replays())
            return "The program is compiled already: let it replay the decode iteration as a CUDA graph with "
                   "a static cache "
                   "(cache_implementation=\"static\", mode reduce-overhead).";
        break;
    case AdviceRule::HostOptimizer:
        if (methods.fusesOptimizer)
            return "The optimizer is fused already: compile what is around it (torch.compile of a function "
                   "that calls its "
                   "step), or capture its step in a CUDA graph (capturable=True).";
        break;
    case AdviceRule::ExposedCopy:
        if (methods.copiesOnOwnStream)
            return "The copies have a stream of their own already: start those of the next batch one step "
                   "ahead.";
        break;
    case AdviceRule::DataLoading:
        if (methods.loadsInWorkers)
            return "Worker processes load the batches already: use more of them (num_workers), let each "
                   "prepare more ahead "
                   "(prefetch_factor), or do less for each sample.";
        break;
    case AdviceRule::TensorCores:
        if (methods.usesLowPrecision)
            return "Other products run in half precision: let these, too (torch.autocast around them), or "
                   "allow TF32 "
                   "(torch.set_float32_matmul_precision('high')).";
        if (methods.usesTf32)
            return "TF32 is allowed already, but not used for these: compute them in bf16 (torch.autocast), "
                   "or give them "
                   "sizes and strides in multiples of 16 bytes.";
        break;
    case AdviceRule::Conversions:
        if (methods.compiles || methods.framework == Framework::Jax)
            return "Keep weights and activations in the type in which they are used.";
        break;
    default:
        break;
    }
    return std::string(remedyOf(rule));
}

std::string remedyOfSmallKernels(const std::array<double, kKernelOrigins>& shares,
                                 const MethodsInUse& methods)
{
    constexpr double kMuch = 0.1;
    const auto isMuch = [&](KernelOrigin origin) {
        return shares[static_cast<std::size_t>(origin)] >= kMuch;
    };
    const bool isOfJax = methods.framework == Framework::Jax;
    std::vector<std::string_view> ways;
    if (isMuch(KernelOrigin::Eager))
        ways.push_back(methods.framework == Framework::Unknown ? "one kernel for a chain of element-wise work"
                       : isOfJax          ? "jax.jit around functions whose ops run one by one"
                       : methods.compiles ? "torch.compile for what runs outside of the compiled parts"
                                          : "torch.compile for chains of element-wise work");
    if (isMuch(KernelOrigin::Optimizer))
        ways.push_back("a fused optimizer");
    if (isMuch(KernelOrigin::Product))
        ways.push_back("one product instead of several");
    std::string text;
    for (const std::string_view way : ways)
        text += (text.empty() ? "Fuse them: " : ", ") + std::string(way);
    if (!text.empty())
        text += ".";
    if (isMuch(KernelOrigin::Compiler))
        text += std::string(text.empty() ? "" : " ") + (text.empty() ? "Most" : "Others") +
                (isOfJax ? " are of XLA" : " are of TorchInductor") +
                ", which has fused them already: a larger batch gives each more work" +
                (isOfJax ? "." : ", and fewer graph breaks more to fuse (TORCH_LOGS=graph_breaks).");
    return text.empty() ? "A larger batch gives each more work." : text;
}

} // namespace tilescope::query
