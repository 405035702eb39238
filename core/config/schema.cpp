#include "core/config/schema.h"

#include "core/base/error.h"
#include "core/config/schema_rows.h"
#include "core/config/value.h"
#include "core/config/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace tilescope::config {

namespace {

using namespace schema_rows;

constexpr double kMaximumSeed = 9223372036854775807.0;

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
         .example = "step",
         .addedLater = true}));
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
    rows.push_back(
        row<&Spec::inside>({.name = "inside",
                            .label = "Inside kernels",
                            .type = Boolean,
                            .group = Tracing,
                            .defaultText = "false",
                            .help = "sample the instructions of the GPU's kernels in the traced steps: "
                                    "what their lines wait for",
                            .example = "true",
                            .studies = true,
                            .addedLater = true,
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
