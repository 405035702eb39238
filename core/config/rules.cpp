#include "core/config/rules.h"

#include "core/base/plural.h"
#include "core/config/device_rules.h"
#include "core/config/spec_file.h"
#include "core/config/wording.h"
#include "core/model/attention_backend.h"
#include "core/model/parallelism.h"
#include "core/model/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilescope::config {

namespace {

using Broken = std::optional<BrokenRule>;

/// The backends that support any head dim on any device: `a, b and c`.
std::string backendsOfAnyHeadDim()
{
    std::vector<std::string> names;
    for (const BackendTraits& traits : kBackendTraits)
        if (traits.headDims == HeadDims{} && traits.onCuda.headDims == HeadDims{})
            names.emplace_back(traits.name);
    const std::string last = names.back();
    names.pop_back();
    return joined(names) + " and " + last;
}

Broken headWidthRule(const ExperimentSpec& spec, std::int64_t width,
                     std::initializer_list<std::string_view> widthKeys)
{
    const HeadDims& limits = traitsOf(spec.backend).headDims;
    const bool half = spec.precision == Precision::Bf16 || spec.precision == Precision::Fp16 ||
                      spec.precision == Precision::Fp8;
    const std::int64_t multiple = half ? limits.halfMultiple : limits.multiple;
    if (limits.take(width, half))
        return {};
    std::vector<std::string_view> keys(widthKeys);
    keys.insert(keys.end(), {"backend", "precision"});
    if (width > limits.maximum)
        return BrokenRule{
            fmt::format("backend {} does not support head width {}", wordOf(spec.backend), width),
            fmt::format("it supports up to {}; {} support any", limits.maximum, backendsOfAnyHeadDim()),
            std::move(keys)};
    return BrokenRule{fmt::format("backend {} in {} does not support head width {}", wordOf(spec.backend),
                                  wordOf(spec.precision), width),
                      fmt::format("it supports multiples of {}", multiple), std::move(keys)};
}

Broken attentionRule(const ExperimentSpec& spec)
{
    if (spec.mode == Mode::Train)
        return BrokenRule{"mode train is for workload lm: attention has nothing to train",
                          "allowed: forward, backward, both",
                          {"mode"}};
    if (spec.mode == Mode::Generate)
        return BrokenRule{"mode generate is for workload lm: attention has no tokens to generate",
                          "allowed: forward, backward, both",
                          {"mode"}};
    if (spec.loss == LossKind::CrossEntropy)
        return BrokenRule{
            "loss cross_entropy is for workload lm: attention gives no logits", "allowed: sum", {"loss"}};
    if (spec.precision == Precision::Fp32x6)
        return BrokenRule{"precision fp32x6 is for workload lm: it computes products with weights",
                          "allowed: fp32, tf32, bf16, fp16",
                          {"precision"}};
    if (spec.precision == Precision::Fp8)
        return BrokenRule{"precision fp8 is for workload lm: it computes products with weights",
                          "allowed: fp32, tf32, bf16, fp16",
                          {"precision"}};
    if (spec.heads % spec.kvHeads != 0)
        return BrokenRule{fmt::format("kv_heads {} does not divide heads {}", spec.kvHeads, spec.heads),
                          "every key and value head serves the same number of query heads",
                          {"kv_heads", "heads"}};
    if (spec.compile.kind == CompileRequest::Kind::Fused ||
        spec.compile.kind == CompileRequest::Kind::Inductor)
        return BrokenRule{fmt::format("compile {} is for workload lm", toText(spec.compile)),
                          "allowed: none, graph, package:FILE.pt2",
                          {"compile"}};
    return headWidthRule(spec, spec.headDim, {"d_head"});
}

/// The rule for precision: fp8.
Broken fp8Rule(const ExperimentSpec& spec)
{
    constexpr std::int64_t kMultiple = 16;
    constexpr std::int64_t kWidestRow = 32'768; // of gate and up side by side
    if (spec.precision != Precision::Fp8)
        return {};
    if (spec.compile.kind != CompileRequest::Kind::Fused)
        return BrokenRule{fmt::format("precision fp8 is for compile: fused, and compile is {}",
                                      spec.compile.kind == CompileRequest::Kind::Package
                                          ? "package"
                                          : toText(spec.compile)),
                          "write compile: fused or precision: bf16",
                          {"precision", "compile"}};
    if (spec.device.kind == DeviceRequest::Kind::Cpu)
        return {};
    if (spec.dModel % kMultiple != 0 || spec.dFf % kMultiple != 0)
        return BrokenRule{
            fmt::format("precision fp8 does not support d_model {} and d_ff {}", spec.dModel, spec.dFf),
            fmt::format("choose multiples of {}", kMultiple),
            {"precision", "d_model", "d_ff", "size"}};
    if (2 * spec.dFf > kWidestRow)
        return BrokenRule{fmt::format("precision fp8 does not support d_ff {}", spec.dFf),
                          fmt::format("it supports up to {}", kWidestRow / 2),
                          {"precision", "d_ff", "size"}};
    return {};
}

/// The names of the backends with a trait: `naive or sdpa`.
std::string backendsWith(bool BackendTraits::*trait)
{
    std::string names;
    for (const BackendTraits& traits : kBackendTraits)
        if (traits.*trait)
            names.append(names.empty() ? "" : " or ").append(traits.name);
    return names;
}

/// The rule for compile: fused.
Broken fusedRule(const ExperimentSpec& spec)
{
    constexpr std::int64_t kMultiple = 8;
    constexpr std::int64_t kWidest = 8192;
    if (spec.compile.kind != CompileRequest::Kind::Fused)
        return {};
    if (spec.precision == Precision::Fp16)
        return BrokenRule{"compile fused does not scale the loss, which precision fp16 needs",
                          "write precision: bf16",
                          {"compile", "precision"}};
    if (!traitsOf(spec.backend).runsInFusedStep)
        return BrokenRule{
            fmt::format("compile fused has its own attention, and backend is {}", wordOf(spec.backend)),
            "write backend: " + backendsWith(&BackendTraits::runsInFusedStep),
            {"compile", "backend"}};
    if (spec.parallel != Parallel::None && spec.parallel != Parallel::Fsdp)
        return BrokenRule{fmt::format("compile fused supports no parallel but fsdp, and parallel is {}",
                                      wordOf(spec.parallel)),
                          "write compile: none or parallel: fsdp",
                          {"compile", "parallel"}};
    if (spec.device.kind == DeviceRequest::Kind::Cpu)
        return {};
    if (spec.dModel / spec.heads % kMultiple != 0 || spec.dFf % kMultiple != 0)
        return BrokenRule{fmt::format("compile fused does not support heads {} wide and d_ff {}",
                                      spec.dModel / spec.heads, spec.dFf),
                          fmt::format("choose multiples of {}", kMultiple),
                          {"compile", "heads", "d_model", "d_ff", "size"}};
    if (spec.dModel > kWidest)
        return BrokenRule{fmt::format("compile fused does not support d_model {}", spec.dModel),
                          fmt::format("it supports up to {}", kWidest),
                          {"compile", "d_model", "size"}};
    return {};
}

/// The rule for compile: inductor. parallelRule() covers ranks.
Broken inductorRule(const ExperimentSpec& spec)
{
    if (spec.compile.kind != CompileRequest::Kind::Inductor)
        return {};
    if (spec.precision == Precision::Fp32x6)
        return BrokenRule{"compile inductor has the products of LibTorch, and precision is fp32x6",
                          "write precision: fp32 or compile: fused",
                          {"compile", "precision"}};
    if (!traitsOf(spec.backend).inductorCompiles)
        return BrokenRule{
            fmt::format("compile inductor compiles attention too, and backend is {}", wordOf(spec.backend)),
            "write backend: " + backendsWith(&BackendTraits::inductorCompiles),
            {"compile", "backend"}};
    if (spec.checkpointing.kind != Checkpointing::Kind::None)
        return BrokenRule{
            fmt::format("compile inductor chooses itself what it recomputes, and checkpointing is {}",
                        toText(spec.checkpointing)),
            "write checkpointing: none",
            {"compile", "checkpointing"}};
    return {};
}

/// The rule for the keys that mode generate shares with the others.
Broken sharedByGenerationRule(const ExperimentSpec& spec)
{
    using enum CompileRequest::Kind;
    constexpr std::int64_t kMostGraphs = 1024;
    const bool isFused = spec.compile.kind == Fused;
    const bool isCaptured =
        spec.compile.kind == Graph || (isFused && spec.device.kind != DeviceRequest::Kind::Cpu);
    if (isCaptured && spec.newTokens > kMostGraphs)
        return BrokenRule{fmt::format("compile {} captures graphs for every new token, and new_tokens is {}",
                                      toText(spec.compile), spec.newTokens),
                          fmt::format("choose at most {}", kMostGraphs),
                          {"new_tokens", "compile"}};
    if (!isCaptured && !isFused && spec.compile.kind != None)
        return BrokenRule{fmt::format("compile {} does not support mode generate",
                                      spec.compile.kind == Package ? "package" : toText(spec.compile)),
                          "write compile: none, graph or fused",
                          {"compile", "mode"}};
    if (spec.parallel != Parallel::None || spec.gpus != 1)
        return BrokenRule{"mode generate runs on one rank",
                          "write gpus: 1 and parallel: none",
                          {"gpus", "parallel", "mode"}};
    if (spec.checkpointing.kind != Checkpointing::Kind::None)
        return BrokenRule{"mode generate has no backward, and checkpointing is " + toText(spec.checkpointing),
                          "write checkpointing: none",
                          {"checkpointing", "mode"}};
    if (spec.loss != LossKind::Sum)
        return BrokenRule{
            "mode generate computes no loss, and loss is cross_entropy", "remove loss", {"loss", "mode"}};
    if (spec.timing != StepTiming::Phase)
        return BrokenRule{
            "mode generate times its phases, and timing is step", "write timing: phase", {"timing", "mode"}};
    return {};
}

/// The rule for mode: generate.
Broken generationRule(const ExperimentSpec& spec)
{
    if (spec.mode != Mode::Generate) {
        if (spec.kvHeads == spec.heads || spec.kvHeads == 1) // 1: not given
            return {};
        return BrokenRule{
            fmt::format("kv_heads {} is for mode generate, and mode is {}", spec.kvHeads, wordOf(spec.mode)),
            fmt::format("remove kv_heads: the other modes have as many as heads, {}", spec.heads),
            {"kv_heads", "mode"}};
    }
    if (spec.heads % spec.kvHeads != 0)
        return BrokenRule{fmt::format("kv_heads {} does not divide heads {}", spec.kvHeads, spec.heads),
                          "every key and value head serves the same number of query heads",
                          {"kv_heads", "heads", "size"}};
    if (spec.steps != spec.newTokens)
        return BrokenRule{fmt::format("mode generate times every one of new_tokens {}, and steps is {}",
                                      spec.newTokens, spec.steps),
                          "remove steps",
                          {"steps", "new_tokens", "mode"}};
    if (spec.precision != Precision::Fp32 && spec.precision != Precision::Bf16)
        return BrokenRule{fmt::format("mode generate does not support precision {}", wordOf(spec.precision)),
                          "write precision: fp32 or bf16",
                          {"precision", "mode"}};
    if (!traitsOf(spec.backend).generates)
        return BrokenRule{fmt::format("mode generate does not support backend {}", wordOf(spec.backend)),
                          "write backend: " + backendsWith(&BackendTraits::generates),
                          {"backend", "mode"}};
    if (spec.weights == WeightFormat::Fp8 && spec.precision != Precision::Bf16)
        return BrokenRule{fmt::format("weights fp8 multiply activations in bf16, and precision is {}",
                                      wordOf(spec.precision)),
                          "write precision: bf16",
                          {"weights", "precision"}};
    return sharedByGenerationRule(spec);
}

Broken lmRule(const ExperimentSpec& spec)
{
    if (spec.dModel % spec.heads != 0)
        return BrokenRule{fmt::format("heads {} does not divide d_model {}", spec.heads, spec.dModel),
                          "every head takes the same share of the model's width",
                          {"heads", "d_model", "size"}};
    const std::int64_t width = spec.dModel / spec.heads;
    if (width % 2 != 0)
        return BrokenRule{
            fmt::format("a head is {} wide (d_model {} / heads {})", width, spec.dModel, spec.heads),
            "rotary embedding rotates pairs, so the width must be even",
            {"heads", "d_model", "size"}};
    // The K of nested is 2 even for a single block.
    const bool isNested = spec.checkpointing.kind == Checkpointing::Kind::Nested;
    if (spec.checkpointing.kept > 0 && spec.checkpointing.every + spec.checkpointing.kept > spec.layers)
        return BrokenRule{fmt::format("checkpointing {} with {}", toText(spec.checkpointing),
                                      counted(spec.layers, "layer")),
                          fmt::format("K+N is at most {}", spec.layers),
                          {"checkpointing", "layers", "size"}};
    if (spec.checkpointing.every >
        (isNested ? std::max<std::int64_t>(spec.layers, kNestedSegments) : spec.layers))
        return BrokenRule{fmt::format("checkpointing {} with {}", toText(spec.checkpointing),
                                      counted(spec.layers, "layer")),
                          fmt::format("K is at most {}", spec.layers),
                          {"checkpointing", "layers", "size"}};
    if (Broken broken = generationRule(spec))
        return broken;
    if (Broken broken = fusedRule(spec))
        return broken;
    if (Broken broken = fp8Rule(spec))
        return broken;
    if (Broken broken = inductorRule(spec))
        return broken;
    return headWidthRule(spec, width, {"heads", "d_model", "size"});
}

/// Rank r uses GPU r.
Broken rankDeviceRule(const ExperimentSpec& spec)
{
    if (spec.gpus == 1 || !spec.device.index)
        return {};
    return BrokenRule{
        fmt::format("gpus {} uses the GPUs from 0 on, and device is {}", spec.gpus, toText(spec.device)),
        "write device: cuda",
        {"device", "gpus"}};
}

Broken tensorRule(const ExperimentSpec& spec, const std::string& parallel)
{
    const RankGrid grid = gridOf(spec);
    if (spec.parallel == Parallel::FsdpTp && grid.tensor == 1)
        return BrokenRule{
            fmt::format("{} arranges the ranks in rows and columns, which gpus {} does not allow", parallel,
                        spec.gpus),
            "choose a product of two numbers above 1: 4, 6, 8, …",
            {"gpus", "parallel"}};
    if (spec.heads % grid.tensor != 0)
        return BrokenRule{fmt::format("{} divides each layer among {} ranks, and heads is {}", parallel,
                                      grid.tensor, spec.heads),
                          "choose a number of ranks that divides heads",
                          {"gpus", "heads", "size", "parallel"}};
    if (spec.dFf % grid.tensor != 0)
        return BrokenRule{fmt::format("{} divides each layer among {} ranks, and d_ff is {}", parallel,
                                      grid.tensor, spec.dFf),
                          "choose a number of ranks that divides d_ff",
                          {"gpus", "d_ff", "size", "parallel"}};
    return {};
}

Broken parallelModeRule(const ExperimentSpec& spec, const std::string& parallel)
{
    using enum Parallel;
    if (shardsOptimizerOnly(spec.parallel) && spec.mode != Mode::Train)
        return BrokenRule{
            fmt::format("{} divides the optimizer, and mode {} has none", parallel, wordOf(spec.mode)),
            "write mode: train",
            {"parallel", "mode"}};
    const bool onlyGradients = spec.parallel == DdpNaive || spec.parallel == DdpFlat || spec.parallel == Ddp;
    if (onlyGradients && spec.mode == Mode::Forward)
        return BrokenRule{parallel + " combines gradients, and mode forward has none",
                          "write mode: backward, both or train",
                          {"parallel", "mode"}};
    return {};
}

Broken parallelRule(const ExperimentSpec& spec)
{
    if (spec.parallel == Parallel::None) {
        if (spec.gpus == 1)
            return {};
        return BrokenRule{fmt::format("gpus {} without parallel", spec.gpus),
                          "write how they share a step, for example parallel: ddp",
                          {"gpus", "parallel"}};
    }
    const std::string parallel = fmt::format("parallel {}", wordOf(spec.parallel));
    if (Broken broken = parallelModeRule(spec, parallel))
        return broken;
    const bool divides = spec.compile.kind == CompileRequest::Kind::Fused; // see fusedRule()
    if (spec.compile.kind != CompileRequest::Kind::None && !divides)
        return BrokenRule{
            fmt::format("compile {} is for one process, and {} has ranks",
                        spec.compile.kind == CompileRequest::Kind::Package ? "package" : toText(spec.compile),
                        parallel),
            "write compile: none or parallel: none",
            {"compile", "parallel"}};
    if (Broken broken = tensorRule(spec, parallel))
        return broken;
    return rankDeviceRule(spec);
}

/// A message must consist of whole elements, and divide into equal parts for the ranks where it is divided.
Broken collectiveRule(const ExperimentSpec& spec)
{
    const bool isDivided = spec.op == CollectiveOp::ReduceScatter || spec.op == CollectiveOp::AllToAll;
    const std::int64_t unit = bytesOf(spec.messageDtype) * (isDivided ? spec.gpus : 1);
    if (spec.bytes.count % unit != 0)
        return BrokenRule{isDivided ? fmt::format("{} divides bytes {} among {} ranks in elements of {}",
                                                  wordOf(spec.op), spec.bytes.count, spec.gpus,
                                                  wordOf(spec.messageDtype))
                                    : fmt::format("bytes {} is no whole number of elements of {}",
                                                  spec.bytes.count, wordOf(spec.messageDtype)),
                          fmt::format("write a multiple of {} B", unit),
                          {"bytes", "gpus", "dtype", "op"}};
    return rankDeviceRule(spec);
}

/// Features that require a GPU.
Broken cpuRule(const ExperimentSpec& spec)
{
    if (spec.precision == Precision::Tf32)
        return BrokenRule{"precision tf32 is a format of GPUs, and device is cpu",
                          "write precision: fp32 or device: cuda",
                          {"precision", "device"}};
    if (spec.compile.kind == CompileRequest::Kind::Graph)
        return BrokenRule{"compile graph is a CUDA graph, and device is cpu",
                          "write compile: none or device: cuda",
                          {"compile", "device"}};
    return {};
}

/// Backends without backward.
Broken backendRule(const ExperimentSpec& spec)
{
    if (!traitsOf(spec.backend).isForwardOnly)
        return {};
    const std::string backend = fmt::format("backend {} has no backward", wordOf(spec.backend));
    if (spec.mode != Mode::Forward)
        return BrokenRule{fmt::format("{}, and mode is {}", backend, wordOf(spec.mode)),
                          "write mode: forward",
                          {"backend", "mode"}};
    if (spec.grad)
        return BrokenRule{
            backend + ", and grad keeps the graph for one", "write grad: false", {"backend", "grad"}};
    return {};
}

Broken modeRule(const ExperimentSpec& spec)
{
    if (spec.grad && spec.mode != Mode::Forward)
        return BrokenRule{fmt::format("grad is for mode forward, and mode is {}", wordOf(spec.mode)),
                          "the other modes always keep the graph; remove grad or write mode: forward",
                          {"grad", "mode"}};
    if (spec.compile.kind == CompileRequest::Kind::Package && (spec.mode != Mode::Forward || spec.grad))
        return BrokenRule{"compile package runs a forward pass without a graph",
                          "write mode: forward and grad: false",
                          {"compile", "mode", "grad"}};
    if (spec.compile.kind == CompileRequest::Kind::Package && spec.precision == Precision::Fp32x6)
        return BrokenRule{"compile package computes products as it was compiled, and precision is fp32x6",
                          "write precision: fp32 or compile: none",
                          {"compile", "precision"}};
    if (spec.compile.kind == CompileRequest::Kind::Inductor && spec.grad)
        return BrokenRule{"compile inductor keeps what backward needs only where there is a backward",
                          "write mode: both, or grad: false",
                          {"compile", "mode", "grad"}};
    if (spec.timing == StepTiming::Step && spec.mode == Mode::Backward)
        return BrokenRule{"timing step measures whole steps, and mode backward a part",
                          "write mode: both or timing: phase",
                          {"timing", "mode"}};
    return {};
}

Broken insideRule(const ExperimentSpec& spec)
{
    if (!spec.inside)
        return {};
    if (!spec.counters.empty())
        return BrokenRule{"counters and inside need the GPU's profiler for themselves",
                          "keep one of the two, or give each a point of its own",
                          {"inside", "counters"}};
    if (spec.compile.isCaptured())
        return BrokenRule{
            "inside does not see the kernels of CUDA graphs that were captured before the traced "
            "steps, and compile is " +
                toText(spec.compile),
            "remove inside or write compile: none",
            {"inside", "compile"}};
    if (spec.trace == TraceLevel::Off)
        return BrokenRule{"inside samples the traced steps, and trace is off",
                          "remove inside or write trace: kernels",
                          {"inside", "trace"}};
    if (spec.traceSteps == 0)
        return BrokenRule{"inside samples the traced steps, and trace_steps is 0",
                          "remove inside or write trace_steps: 3",
                          {"inside", "trace_steps"}};
    return {};
}

const SizePreset& presetOf(const ExperimentSpec& spec)
{
    return *std::ranges::find(sizePresets(), spec.size, &SizePreset::name);
}

void applyPreset(ExperimentSpec& spec, const GivenKeys& given)
{
    for (const auto& [key, text] : presetOf(spec).defaults)
        if (const std::size_t row = rowOf(key); !given[row]) {
            SpecValue value;
            value.text = text;
            keyRows()[row].set(spec, parseValue(keyRows()[row].info, value));
        }
}

} // namespace

void applyDefaults(ExperimentSpec& spec, const GivenKeys& given)
{
    static const std::size_t batch = rowOf("batch"), backend = rowOf("backend"), loss = rowOf("loss"),
                             heads = rowOf("heads"), kvHeads = rowOf("kv_heads"), kvLen = rowOf("kv_len"),
                             dModel = rowOf("d_model"), dFf = rowOf("d_ff"), layers = rowOf("layers"),
                             gpus = rowOf("gpus"), warmup = rowOf("warmup"), steps = rowOf("steps"),
                             traceSteps = rowOf("trace_steps");
    if (spec.workload == Workload::Lm) {
        if (!given[batch])
            spec.batch = 4;
        if (!given[backend] && spec.compile.kind == CompileRequest::Kind::Fused)
            spec.backend = Backend::Flash;
        if (!given[backend] && spec.compile.kind == CompileRequest::Kind::Inductor)
            spec.backend = Backend::Sdpa;
        applyPreset(spec, given);
    }
    if (!given[loss] && spec.mode == Mode::Train)
        spec.loss = LossKind::CrossEntropy;
    if (spec.workload == Workload::Attention) {
        if (!given[kvHeads])
            spec.kvHeads = spec.heads;
        if (!given[kvLen])
            spec.kvLen = spec.seqLen;
    } else if (spec.workload == Workload::Lm) {
        const SizePreset& preset = presetOf(spec);
        if (!given[heads])
            spec.heads = preset.heads;
        if (!given[dModel])
            spec.dModel = preset.dModel;
        if (!given[dFf])
            spec.dFf = preset.dFf;
        if (!given[layers])
            spec.layers = preset.layers;
        if (spec.mode == Mode::Generate) {
            if (!given[kvHeads])
                spec.kvHeads = spec.heads;
            if (!given[warmup])
                spec.warmup = 1;
            if (!given[steps])
                spec.steps = static_cast<int>(spec.newTokens);
            if (!given[traceSteps])
                spec.traceSteps = 1;
        }
    } else if (spec.workload == Workload::Collective && !given[gpus]) {
        spec.gpus = 2;
    }
}

std::optional<BrokenRule> brokenRule(const ExperimentSpec& spec)
{
    if (Broken broken = insideRule(spec))
        return broken;
    if (spec.workload == Workload::Collective)
        return collectiveRule(spec);
    if (spec.workload != Workload::Attention && spec.workload != Workload::Lm)
        return {};
    if (Broken broken = spec.workload == Workload::Attention ? attentionRule(spec) : lmRule(spec))
        return broken;
    if (Broken broken = parallelRule(spec))
        return broken;
    if (Broken broken = backendRule(spec))
        return broken;
    return modeRule(spec);
}

std::optional<BrokenRule> brokenDeviceRule(const ExperimentSpec& spec)
{
    if (spec.device.kind != DeviceRequest::Kind::Cpu)
        return {};
    if (Broken broken = cpuRule(spec))
        return broken;
    if (!spec.counters.empty())
        return BrokenRule{"counters need a GPU, and device is cpu",
                          "remove counters or write device: cuda",
                          {"counters", "device"}};
    if (spec.inside)
        return BrokenRule{"inside needs a GPU, and device is cpu",
                          "remove inside or write device: cuda",
                          {"inside", "device"}};
    return {};
}

std::optional<std::string> whyDeviceCannot(const ExperimentSpec& spec, bool isCuda)
{
    const Broken broken = isCuda ? Broken() : cpuRule(spec);
    return broken ? std::optional(broken->what) : std::nullopt;
}

} // namespace tilescope::config
