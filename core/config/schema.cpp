#include "core/config/schema.h"

#include "core/base/error.h"
#include "core/config/field.h"
#include "core/config/spec_file.h"
#include "core/config/value.h"
#include "core/config/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

namespace tilescope::config {

namespace {

constexpr double kMaximumSeed = 9223372036854775807.0;
constexpr double kLongest = 1'048'576;
constexpr double kMostNewTokens = 65'536;
constexpr double kSmallestLimit = 1 << 20;
constexpr double kSmallestMessage = 4;
constexpr double kLargestLimit = static_cast<double>(std::int64_t{1} << 60);

template <class E> std::vector<std::string> words()
{
    std::vector<std::string> list;
    for (const EnumWord<E>& entry : enumWords<E>())
        list.emplace_back(entry.word);
    return list;
}

std::vector<std::string> sizeNames()
{
    std::vector<std::string> names;
    for (const SizePreset& preset : sizePresets())
        names.push_back(preset.name);
    return names;
}

template <auto Member> KeyRow row(KeyInfo info)
{
    return {.info = std::move(info),
            .get = [](const ExperimentSpec& spec) { return toValue(spec.*Member); },
            .set = [](ExperimentSpec& spec, const Value& value) { assign(spec.*Member, value); }};
}

using Spec = ExperimentSpec;

void addExperiment(std::vector<KeyRow>& rows)
{
    using enum ValueType;
    rows.push_back(row<&Spec::name>({.name = "name",
                                     .label = "Name",
                                     .type = Text,
                                     .minimum = 1,
                                     .maximum = 80,
                                     .defaultText = "the file's name",
                                     .help = "label of the runs; not a path; does not affect measurements",
                                     .example = "my first sweep",
                                     .common = true,
                                     .studies = true,
                                     .sweepable = false,
                                     .use = {.ofRecording = true}}));
    rows.push_back(row<&Spec::workload>(
        {.name = "workload",
         .label = "Workload",
         .type = Choice,
         .choices = words<Workload>(),
         .defaultText = "required",
         .help = "one attention operator, a language model, a collective of ranks, or a study of number "
                 "formats",
         .example = "lm",
         .common = true,
         .studies = true,
         .sweepable = false,
         .use = {.details = 10, .filter = 10, .caption = 10}}));
    rows.push_back(row<&Spec::device>({.name = "device",
                                       .label = "Device",
                                       .type = Device,
                                       .choices = {"auto", "cpu", "cuda"},
                                       .defaultText = "auto",
                                       .help = "device; auto is the first GPU, or the CPU if there is none",
                                       .example = "cuda:1",
                                       .common = true,
                                       .studies = true,
                                       .use = {.filter = 150}}));
    rows.push_back(row<&Spec::seed>(
        {.name = "seed",
         .label = "Random seed",
         .type = Integer,
         .minimum = 0,
         .maximum = kMaximumSeed,
         .defaultText = "0",
         .help = "random seed of weights and inputs; the same seed and device give the same losses",
         .example = "42",
         .studies = true,
         .use = {.title = 170, .letters = "s", .details = 210, .ofRecording = true}}));
    rows.push_back(
        row<&Spec::mode>({.name = "mode",
                          .label = "Mode",
                          .type = Choice,
                          .choices = words<Mode>(),
                          .defaultText = "both",
                          .help = "work of a step; backward runs the forward pass untimed; of the lm, train "
                                  "adds the optimizer and "
                                  "generate makes new tokens one by one",
                          .example = "forward",
                          .common = true,
                          .lmChoices = {"train", "generate"},
                          .use = {.title = 110, .details = 120, .filter = 50, .series = 70, .caption = 70}}));
    rows.push_back(
        row<&Spec::grad>({.name = "grad",
                          .label = "Keep the graph",
                          .type = Boolean,
                          .defaultText = "false",
                          .help = "in mode forward, keep the graph that a backward pass would need",
                          .example = "true",
                          .use = {.title = 120}}));
    rows.push_back(row<&Spec::loss>({.name = "loss",
                                     .label = "Loss",
                                     .type = Choice,
                                     .choices = words<LossKind>(),
                                     .defaultText = "sum; cross_entropy for train",
                                     .help = "loss that backward starts from; cross_entropy is for the lm",
                                     .example = "cross_entropy",
                                     .lmChoices = {"cross_entropy"},
                                     .use = {.leader = "mode"}}));
    rows.push_back(
        row<&Spec::precision>({.name = "precision",
                               .label = "Precision",
                               .type = Choice,
                               .choices = words<Precision>(),
                               .defaultText = "fp32",
                               .help = "number format of the inputs; autocast for the lm, where fp16 "
                                       "also scales the loss, fp32x6 is fp32 with products from six "
                                       "bf16 products, and fp8 is bf16 with the products of layers in "
                                       "E4M3 (compile: fused)",
                               .example = "bf16",
                               .common = true,
                               .use = {.details = 60, .filter = 40, .series = 20, .caption = 20}}));
    rows.push_back(
        row<&Spec::backend>({.name = "backend",
                             .label = "Attention",
                             .type = Choice,
                             .choices = words<Backend>(),
                             .defaultText = "naive; flash for compile: fused, sdpa for inductor",
                             .help = "which attention kernel; naive keeps all scores in memory, sdpa "
                                     "lets LibTorch choose",
                             .example = "flash-torch",
                             .common = true,
                             .use = {.details = 50, .filter = 20, .series = 10}}));
    rows.push_back(row<&Spec::batch>({.name = "batch",
                                      .label = "Batch size",
                                      .type = Integer,
                                      .minimum = 1,
                                      .maximum = 65'536,
                                      .defaultText = "8 (attention), 4 (lm)",
                                      .help = "sequences in a step",
                                      .example = "16",
                                      .common = true,
                                      .use = {.title = 90,
                                              .letters = "b",
                                              .details = 70,
                                              .filter = 80,
                                              .alongX = 40,
                                              .series = 110,
                                              .caption = 30}}));
}

void addMeasurement(std::vector<KeyRow>& rows)
{
    using enum ValueType;
    using enum KeyGroup;
    rows.push_back(
        row<&Spec::warmup>({.name = "warmup",
                            .label = "Warm-up steps",
                            .type = Integer,
                            .group = Measurement,
                            .minimum = 0,
                            .maximum = 10'000,
                            .defaultText = "5; 1 for mode generate",
                            .help = "steps before the timed ones; stored, but not in the statistics; in mode "
                                    "generate whole generations",
                            .example = "0",
                            .common = true,
                            .studies = true,
                            .use = {.title = 230, .letters = "w", .details = 170, .ofRecording = true}}));
    rows.push_back(row<&Spec::steps>({.name = "steps",
                                      .label = "Timed steps",
                                      .type = Integer,
                                      .group = Measurement,
                                      .minimum = 1,
                                      .maximum = 1'000'000,
                                      .defaultText = "10; new_tokens for mode generate",
                                      .help = "timed steps, never traced; in mode generate each is a token",
                                      .example = "100",
                                      .common = true,
                                      .studies = true,
                                      .use = {.details = 180, .ofRecording = true}}));
    rows.push_back(row<&Spec::repeat>({.name = "repeat",
                                       .label = "Repeats",
                                       .type = Integer,
                                       .group = Measurement,
                                       .minimum = 1,
                                       .maximum = 1'000,
                                       .defaultText = "1",
                                       .help = "runs of every point, interleaved over the sweep; compare "
                                               "estimates from them how much runs differ",
                                       .example = "5",
                                       .studies = true,
                                       .sweepable = false,
                                       .use = {.ofRecording = true}}));
    rows.push_back(row<&Spec::timing>(
        {.name = "timing",
         .label = "Timing",
         .type = Choice,
         .group = Measurement,
         .choices = words<StepTiming>(),
         .defaultText = "phase",
         .help = "when a step waits for the GPU: after each phase, or once at its end; then the times of its "
                 "phases are between CUDA events, and compile: graph makes one graph of the step",
         .example = "step"}));
    rows.push_back(
        row<&Spec::traceSteps>({.name = "trace_steps",
                                .label = "Traced steps",
                                .type = Integer,
                                .group = Tracing,
                                .minimum = 0,
                                .maximum = 10'000,
                                .defaultText = "3; 1 for mode generate",
                                .help = "traced steps after the timed ones; in mode generate whole "
                                        "generations",
                                .example = "1",
                                .studies = true,
                                .use = {.ofRecording = true}}));
    rows.push_back(
        row<&Spec::trace>({.name = "trace",
                           .label = "Trace",
                           .type = Choice,
                           .group = Tracing,
                           .choices = words<TraceLevel>(),
                           .defaultText = "kernels",
                           .help = "what the traced steps record; full adds the host's calls; on a CPU "
                                   "kernels records ops",
                           .example = "full",
                           .common = true,
                           .studies = true,
                           .use = {.details = 190, .ofRecording = true}}));
    rows.push_back(row<&Spec::memory>({.name = "memory",
                                       .label = "Allocations",
                                       .type = Boolean,
                                       .group = Tracing,
                                       .defaultText = "true",
                                       .help = "record every allocation of the traced steps",
                                       .example = "false",
                                       .studies = true,
                                       .use = {.ofRecording = true}}));
    rows.push_back(
        row<&Spec::shapes>({.name = "shapes",
                            .label = "Op shapes",
                            .type = Boolean,
                            .group = Tracing,
                            .defaultText = "false",
                            .help = "record the shapes of every op's inputs, in one extra traced step",
                            .example = "true",
                            .studies = true,
                            .use = {.ofRecording = true}}));
    rows.push_back(row<&Spec::counters>({.name = "counters",
                                         .label = "GPU counters",
                                         .type = List,
                                         .group = Tracing,
                                         .minimum = 0,
                                         .maximum = 64,
                                         .defaultText = "[]",
                                         .help = "hardware counters of the GPU, read in extra passes",
                                         .example = "[dram__bytes.sum, sm__cycles_active.avg]",
                                         .studies = true,
                                         .use = {.ofRecording = true}}));
}

void addExecution(std::vector<KeyRow>& rows)
{
    using enum ValueType;
    using enum KeyGroup;
    rows.push_back(row<&Spec::compile>(
        {.name = "compile",
         .label = "Compile",
         .type = Compile,
         .choices = {"none", "graph", "fused", "inductor"},
         .defaultText = "none",
         .help =
             "graph replays the step from CUDA graphs; fused runs the lm by fused kernels, without "
             "autograd, and inductor as TorchInductor compiles it, both on a GPU from graphs; package runs a "
             "package of AOTInductor",
         .example = "graph",
         .lmChoices = {"fused", "inductor"},
         .use = {.title = 130, .details = 200, .filter = 140, .series = 40}}));
    rows.push_back(row<&Spec::deterministic>({.name = "deterministic",
                                              .label = "Deterministic",
                                              .type = Boolean,
                                              .defaultText = "false",
                                              .help = "only kernels with bitwise reproducible results",
                                              .example = "true",
                                              .studies = true,
                                              .use = {.ofRecording = true}}));
    rows.push_back(row<&Spec::isolate>(
        {.name = "isolate",
         .label = "Isolation",
         .type = Choice,
         .group = Process,
         .choices = words<Isolation>(),
         .defaultText = "sweep",
         .help = "one engine process for the sweep, or one per point, which shows start-up effects",
         .example = "process",
         .studies = true,
         .sweepable = false,
         .use = {.ofRecording = true}}));
    rows.push_back(row<&Spec::timeoutSeconds>({.name = "timeout",
                                               .label = "Time limit",
                                               .type = Duration,
                                               .group = Process,
                                               .minimum = 0.001,
                                               .maximum = 31'536'000,
                                               .defaultText = "600",
                                               .help = "time limit of a point in seconds",
                                               .example = "60",
                                               .studies = true,
                                               .use = {.ofRecording = true}}));
    rows.push_back(row<&Spec::memoryLimit>(
        {.name = "memory_limit",
         .label = "Memory limit",
         .type = Size,
         .group = Process,
         .choices = {"auto"},
         .minimum = kSmallestLimit,
         .maximum = kLargestLimit,
         .defaultText = "auto",
         .help = "memory limit of a point; auto is the GPU's memory, or 80 % of the host's available memory",
         .example = "8 GiB",
         .studies = true,
         .use = {.ofRecording = true}}));
    rows.push_back(row<&Spec::threads>({.name = "threads",
                                        .label = "CPU threads",
                                        .type = Integer,
                                        .group = Process,
                                        .choices = {"auto"},
                                        .minimum = 1,
                                        .maximum = 4'096,
                                        .defaultText = "auto",
                                        .help = "number of CPU threads of LibTorch",
                                        .example = "4",
                                        .studies = true,
                                        .use = {.title = 180, .letters = "t"}}));
    rows.push_back(
        row<&Spec::annotateAttention>({.name = "annotate_attention",
                                       .label = "Attention parts",
                                       .type = Boolean,
                                       .group = Tracing,
                                       .defaultText = "false",
                                       .help = "add the ranges scores, softmax and output within attention",
                                       .example = "true",
                                       .use = {.ofRecording = true}}));
}

/// Makes integer keys of one workload.
auto integerOf(Workload workload)
{
    using enum ValueType;
    using enum KeyGroup;
    const bool isLm = workload == Workload::Lm;
    return [isLm](std::string_view name, std::string_view label, double minimum, double maximum,
                  std::string_view defaultText, std::string_view help, std::string_view example,
                  bool common = false) {
        return KeyInfo{.name = name,
                       .label = label,
                       .type = Integer,
                       .group = isLm ? Model : Attention,
                       .minimum = minimum,
                       .maximum = maximum,
                       .defaultText = defaultText,
                       .help = help,
                       .example = example,
                       .common = common,
                       .attention = !isLm,
                       .lm = isLm};
    };
}

KeyInfo used(KeyInfo info, KeyUse use)
{
    info.use = use;
    return info;
}

void addAttention(std::vector<KeyRow>& rows)
{
    using enum ValueType;
    using enum KeyGroup;
    const auto integer = integerOf(Workload::Attention);
    KeyInfo heads = used(integer("heads", "Heads", 1, 65'536, "1 (attention), that of size (lm)",
                                 "attention heads; in the lm they divide d_model", "16", true),
                         {.title = 60,
                          .letters = "h",
                          .details = 90,
                          .filter = 90,
                          .alongX = 80,
                          .series = 100,
                          .caption = 40,
                          .leader = "size"});
    heads.lm = true;
    rows.push_back(row<&Spec::heads>(heads));
    KeyInfo kvHeads =
        used(integer("kv_heads", "Key/value heads", 1, 65'536, "heads",
                     "heads of keys and values; they divide heads; in the lm for mode generate", "2"),
             {.title = 70, .letters = "kv", .leader = "heads", .equalsLeader = true});
    kvHeads.lm = true;
    rows.push_back(row<&Spec::kvHeads>(kvHeads));
    rows.push_back(row<&Spec::headDim>(
        used(integer("d_head", "Head dim", 1, 256, "64",
                     "width of a head; some backends support only certain widths", "128", true),
             {.title = 80,
              .letters = "d",
              .details = 100,
              .filter = 100,
              .alongX = 50,
              .series = 90,
              .caption = 50})));
    rows.push_back(row<&Spec::seqLen>(used(
        integer("seq_len", "Sequence length", 1, kLongest, "1024", "queries in a sequence", "4096", true),
        {.details = 110, .filter = 60, .alongX = 10})));
    rows.push_back(
        row<&Spec::kvLen>(used(integer("kv_len", "Keys", 1, kLongest, "seq_len",
                                       "keys in a sequence; a causal mask is aligned bottom right", "2048"),
                               {.alongX = 30, .leader = "seq_len", .equalsLeader = true})));
    rows.push_back(row<&Spec::causal>({.name = "causal",
                                       .label = "Causal mask",
                                       .type = Boolean,
                                       .group = Attention,
                                       .defaultText = "true",
                                       .help = "a query does not see later keys",
                                       .example = "false",
                                       .common = true,
                                       .lm = false,
                                       .use = {.title = 140, .details = 160, .series = 80, .caption = 60}}));
    rows.push_back(row<&Spec::tileQ>(
        used(integer("tile_q", "Q tile", 16, 1024, "64", "rows of Q in a tile of flash-torch", "128"),
             {.title = 150, .letters = "tq"})));
    rows.push_back(row<&Spec::tileK>(
        used(integer("tile_k", "K tile", 16, 1024, "64", "rows of K and V in a tile of flash-torch", "128"),
             {.title = 160, .letters = "tk"})));
}

void addModel(std::vector<KeyRow>& rows)
{
    using enum ValueType;
    using enum KeyGroup;
    const auto integer = integerOf(Workload::Lm);
    rows.push_back(
        row<&Spec::size>({.name = "size",
                          .label = "Model size",
                          .type = Choice,
                          .group = Model,
                          .choices = sizeNames(),
                          .defaultText = "small",
                          .help = "preset that sets d_model, d_ff, layers and heads",
                          .example = "tiny",
                          .common = true,
                          .attention = false,
                          .use = {.title = 30, .details = 40, .filter = 30, .series = 30, .caption = 80}}));
    rows.push_back(row<&Spec::dModel>(used(
        integer("d_model", "Model width", 1, 65'536, "that of size", "width of the residual stream", "512"),
        {.title = 50, .letters = "m", .alongX = 60, .leader = "size"})));
    rows.push_back(row<&Spec::dFf>(used(integer("d_ff", "Feed-forward", 1, 262'144, "that of size",
                                                "width inside the feed-forward block", "2048"),
                                        {.leader = "size"})));
    rows.push_back(row<&Spec::layers>(
        used(integer("layers", "Layers", 1, 1'024, "that of size", "transformer blocks", "6"),
             {.title = 40, .letters = "l", .alongX = 70, .leader = "size"})));
    rows.push_back(row<&Spec::vocab>(
        integer("vocab", "Vocabulary", 2, kLongest, "10000", "size of the vocabulary", "50257")));
    rows.push_back(row<&Spec::context>(
        used(integer("context", "Context length", 1, kLongest, "128", "tokens in a sequence", "512", true),
             {.title = 100, .letters = "c", .details = 80, .filter = 70, .alongX = 20})));
    rows.push_back(
        row<&Spec::data>({.name = "data",
                          .label = "Token data",
                          .type = Choice,
                          .group = Model,
                          .choices = words<TokenData>(),
                          .defaultText = "random",
                          .help = "tokens: uniform and independent, or a Markov chain whose entropy, "
                                  "the least cross entropy, is known",
                          .example = "markov",
                          .attention = false}));
    rows.push_back(row<&Spec::ropeTheta>({.name = "rope_theta",
                                          .label = "RoPE base",
                                          .type = Real,
                                          .group = Model,
                                          .minimum = 1,
                                          .maximum = 1e12,
                                          .defaultText = "10000",
                                          .help = "base of the rotary position embedding's wavelengths",
                                          .example = "500000",
                                          .attention = false}));
    rows.push_back(row<&Spec::checkpointing>(
        {.name = "checkpointing",
         .label = "Checkpointing",
         .type = ValueType::Checkpointing,
         .group = Model,
         .choices = {"none", "block", "nested", "attention"},
         .minimum = 1,
         .maximum = 1'024,
         .defaultText = "none",
         .help = "activations recomputed in backward; block:K keeps the input "
                 "of every K-th block, block:K+N besides all activations of the last "
                 "N blocks, nested:K divides the blocks into K segments and each "
                 "segment again",
         .example = "block:2",
         .attention = false,
         .use = {.title = 190, .series = 50}}));
}

/// Keys of the lm's mode generate.
void addGeneration(std::vector<KeyRow>& rows)
{
    using enum ValueType;
    using enum KeyGroup;
    const auto integer = integerOf(Workload::Lm);
    rows.push_back(row<&Spec::newTokens>(
        used(integer("new_tokens", "New tokens", 1, kMostNewTokens, "32",
                     "tokens that mode generate makes per sequence, each a timed step", "128", true),
             {.title = 103, .letters = "n", .details = 83, .filter = 73, .alongX = 23})));
    rows.push_back(
        row<&Spec::cache>({.name = "cache",
                           .label = "KV cache",
                           .type = Choice,
                           .group = Model,
                           .choices = words<CacheKind>(),
                           .defaultText = "contiguous",
                           .help = "how mode generate keeps the keys and values of earlier tokens: one "
                                   "block of memory, or pages that are gathered before attention",
                           .example = "paged",
                           .attention = false,
                           .use = {.title = 193, .series = 53}}));
    rows.push_back(row<&Spec::page>(
        used(integer("page", "Page", 1, 65'536, "16", "tokens of a page of cache: paged", "64"),
             {.title = 196, .letters = "pg"})));
    rows.push_back(row<&Spec::sampling>({.name = "sampling",
                                         .label = "Sampling",
                                         .type = Choice,
                                         .group = Model,
                                         .choices = words<Sampling>(),
                                         .defaultText = "greedy",
                                         .help = "the next token: the most probable one, or drawn from the "
                                                 "probabilities with the random seed",
                                         .example = "seeded",
                                         .attention = false}));
    rows.push_back(
        row<&Spec::weights>({.name = "weights",
                             .label = "Weights",
                             .type = Choice,
                             .group = Model,
                             .choices = words<WeightFormat>(),
                             .defaultText = "as_precision",
                             .help = "number format of the weights in mode generate; fp8 is E4M3 with one "
                                     "scale per output",
                             .example = "fp8",
                             .attention = false,
                             .use = {.title = 198, .series = 56}}));
    rows.push_back(
        row<&Spec::check>({.name = "check",
                           .label = "Check logits",
                           .type = Boolean,
                           .group = Measurement,
                           .defaultText = "false",
                           .help = "compare the logits of each generated token with those of a forward "
                                   "pass in fp64 over the whole sequence",
                           .example = "true",
                           .attention = false,
                           .use = {.ofRecording = true}}));
}

void addRanks(std::vector<KeyRow>& rows)
{
    using enum ValueType;
    using enum KeyGroup;
    rows.push_back(row<&Spec::gpus>(
        {.name = "gpus",
         .label = "Ranks",
         .type = Integer,
         .group = Ranks,
         .minimum = 1,
         .maximum = 64,
         .defaultText = "1 (lm), 2 (collective)",
         .help = "ranks that share a step, each a process with its own GPU; "
                 "on a CPU they communicate through shared memory",
         .example = "4",
         .common = true,
         .attention = false,
         .collective = true,
         .use = {.title = 20, .letters = "g", .details = 140, .filter = 120, .alongX = 90}}));
    rows.push_back(row<&Spec::parallel>(
        {.name = "parallel",
         .label = "Parallelism",
         .type = Choice,
         .group = Ranks,
         .choices = words<Parallel>(),
         .defaultText = "none",
         .help =
             "how ranks share a step: they have their own batches and combine gradients (ddp), divide the "
             "optimizer (optimizer-sharding, zero1) or all state (fsdp), or divide each layer (tp)",
         .example = "ddp",
         .common = true,
         .attention = false,
         .use = {.title = 10, .details = 130, .filter = 110, .series = 60}}));
    rows.push_back(row<&Spec::bucket>(
        {.name = "bucket",
         .label = "Bucket",
         .type = Size,
         .group = Ranks,
         .minimum = kSmallestLimit,
         .maximum = kLargestLimit,
         .defaultText = "25 MiB",
         .help = "gradients that ddp, optimizer-sharding and zero1 combine in one collective",
         .example = "1 MiB",
         .attention = false,
         .use = {.title = 220, .letters = "bk", .details = 150}}));
    rows.push_back(row<&Spec::op>({.name = "op",
                                   .label = "Collective",
                                   .type = Choice,
                                   .group = Ranks,
                                   .choices = words<CollectiveOp>(),
                                   .defaultText = "all_reduce",
                                   .help = "the collective that a step executes once",
                                   .example = "all_gather",
                                   .common = true,
                                   .attention = false,
                                   .lm = false,
                                   .collective = true,
                                   .use = {.title = 200, .details = 20, .filter = 130}}));
    rows.push_back(row<&Spec::bytes>({.name = "bytes",
                                      .label = "Message size",
                                      .type = Size,
                                      .group = Ranks,
                                      .minimum = kSmallestMessage,
                                      .maximum = kLargestLimit,
                                      .defaultText = "1 MiB",
                                      .help = "what one rank contributes to the collective",
                                      .example = "64 MiB",
                                      .common = true,
                                      .attention = false,
                                      .lm = false,
                                      .collective = true,
                                      .use = {.title = 210, .details = 30}}));
    rows.push_back(row<&Spec::messageDtype>({.name = "dtype",
                                             .label = "Number format",
                                             .type = Choice,
                                             .group = Ranks,
                                             .choices = words<MessageDtype>(),
                                             .defaultText = "fp32",
                                             .help = "number format of the collective's elements",
                                             .example = "bf16",
                                             .attention = false,
                                             .lm = false,
                                             .collective = true}));
}

std::vector<KeyInfo> makeKeys()
{
    std::vector<KeyInfo> infos;
    for (const KeyRow& row : keyRows())
        infos.push_back(row.info);
    return infos;
}

} // namespace

const std::vector<KeyRow>& keyRows()
{
    static const std::vector<KeyRow> rows = [] {
        std::vector<KeyRow> all;
        addExperiment(all);
        addMeasurement(all);
        addExecution(all);
        addAttention(all);
        addModel(all);
        addGeneration(all);
        addRanks(all);
        return all;
    }();
    return rows;
}

std::size_t rowOf(std::string_view name)
{
    const std::vector<KeyRow>& rows = keyRows();
    const auto found = std::ranges::find(rows, name, [](const KeyRow& row) { return row.info.name; });
    assert(found != rows.end());
    return static_cast<std::size_t>(found - rows.begin());
}

std::span<const KeyInfo> keys()
{
    static const std::vector<KeyInfo> infos = makeKeys();
    return infos;
}

bool isOfGeneration(std::string_view key)
{
    constexpr std::array<std::string_view, 6> kKeys{"new_tokens", "cache",   "page",
                                                    "sampling",   "weights", "check"};
    return std::ranges::find(kKeys, key) != kKeys.end();
}

const KeyInfo* findKey(std::string_view name)
{
    std::string canonical(name);
    std::ranges::replace(canonical, '-', '_');
    const auto found = std::ranges::find(keys(), canonical, &KeyInfo::name);
    return found == keys().end() ? nullptr : &*found;
}

std::vector<std::string_view> keysBy(std::uint8_t KeyUse::*rank)
{
    std::vector<const KeyInfo*> ranked;
    for (const KeyInfo& key : keys())
        if (key.use.*rank > 0)
            ranked.push_back(&key);
    std::ranges::stable_sort(ranked, {}, [rank](const KeyInfo* key) { return key->use.*rank; });
    std::vector<std::string_view> names;
    for (const KeyInfo* key : ranked)
        names.push_back(key->name);
    return names;
}

std::string_view title(KeyGroup group)
{
    using enum KeyGroup;
    switch (group) {
    case Experiment:
        return "Experiment";
    case Measurement:
        return "Measurement";
    case Tracing:
        return "Tracing";
    case Process:
        return "Processes and limits";
    case Attention:
        return "Attention";
    case Model:
        return "Language model";
    case Ranks:
        return "Ranks";
    }
    return {};
}

std::string KeyInfo::defaultFor(Workload workload) const
{
    // A text for each workload: "8 (attention), 4 (lm)".
    const std::string mark = fmt::format(" ({})", wordOf(workload));
    const std::size_t end = defaultText.find(mark);
    if (end == std::string_view::npos)
        return std::string(defaultText);
    const std::size_t comma = defaultText.rfind(", ", end);
    const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 2;
    return std::string(defaultText.substr(begin, end - begin));
}

bool KeyInfo::appliesTo(Workload workload) const
{
    switch (workload) {
    case Workload::Attention:
        return attention;
    case Workload::Lm:
        return lm;
    case Workload::Accumulation:
    case Workload::Dtypes:
    case Workload::Products:
        return studies;
    case Workload::Collective:
        return studies || collective;
    }
    return false;
}

std::string KeyInfo::allowed() const
{
    using enum ValueType;
    const std::string range = groupedText(minimum) + " to " + groupedText(maximum);
    switch (type) {
    case Text:
        return range + " printable characters, no path";
    case Integer:
        return choices.empty() ? range : range + ", or " + joined(choices);
    case Real:
    case Duration:
        return range;
    case Boolean:
        return "true, false";
    case Choice:
        return joined(choices);
    case Device:
        return joined(choices) + ", cuda:N";
    case Size:
        return "an amount with its unit (512 MiB, 1.5 GB, 8 GiB)" +
               (choices.empty() ? std::string() : ", or " + joined(choices));
    case Compile:
        return joined(choices) + ", package:FILE.pt2";
    case ValueType::Checkpointing:
        return "none, block, block:K, block:K+N, nested, nested:K, attention";
    case List:
        return "a list of up to " + groupedText(maximum) + " names";
    }
    return {};
}

std::string KeyInfo::allowed(Workload workload) const
{
    if (workload == Workload::Lm || lmChoices.empty())
        return allowed();
    KeyInfo here = *this;
    std::erase_if(here.choices, [this](const std::string& word) {
        return std::ranges::find(lmChoices, word) != lmChoices.end();
    });
    return here.allowed();
}

} // namespace tilescope::config
