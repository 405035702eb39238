#include "core/exchange/generation/generation_section.h"

#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/exchange/generation/generation_columns.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/sections.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace tilescope::exchange {

namespace {

using query::BytesSource;
using query::GenerationGroup;
using query::GenerationPart;
using query::GenerationRow;
using query::GenerationSummary;
using query::GenerationTable;
using query::IterationSource;

std::string nsText(double time)
{
    return quantity::withUnit(time, quantity::Unit::Nanoseconds);
}

std::string percentText(double percent)
{
    return quantity::withUnit(percent, quantity::Unit::Percent);
}

std::string figuresText(const query::TimeFigures& figures)
{
    return figures.n == 1 ? nsText(figures.p50) + ", n 1"
                          : "p50 " + nsText(figures.p50) + ", p90 " + nsText(figures.p90) + ", p99 " +
                                nsText(figures.p99) + ", n " + std::to_string(figures.n);
}

/// "A decode iteration takes 62.0 ms on average: GPU 1.20 % (products 0.4 %, …), the rest waits for the host."
std::string partsText(const GenerationSummary& summary)
{
    const std::string begin = "A " + std::string(wordOf(summary.type)) + " iteration takes " +
                              nsText(summary.wall.mean) + " on average";
    if (!summary.onGpu || summary.wall.mean <= 0)
        return begin + ".";
    std::vector<std::pair<double, GenerationPart>> parts;
    for (std::size_t i = 0; i < query::kGenerationParts; ++i)
        parts.emplace_back(summary.parts[i], static_cast<GenerationPart>(i));
    std::ranges::sort(parts, std::greater{});
    std::string list;
    for (const auto& [time, part] : parts)
        if (100 * time >= summary.gpuBusy && time > 0)
            list += (list.empty() ? "" : ", ") + std::string(wordOf(part)) + " " + nsText(time);
    return begin + ": the GPU works for " + nsText(summary.gpuBusy) + " of it (" +
           percentText(100 * summary.gpuBusy / summary.wall.mean) + ")" + (list.empty() ? "" : ": " + list) +
           "; it waits for " + nsText(summary.gpuIdle) +
           (summary.unrecorded > 0
                ? ", of which " + nsText(summary.unrecorded) +
                      " are due to what was not recorded: the iteration itself may be shorter."
                : ".");
}

std::string timedText(const analysis::Statistics& times, const std::optional<double>& p99)
{
    constexpr double kNsOfMs = 1e6;
    return "median " + nsText(times.median * kNsOfMs) + (p99 ? ", p99 " + nsText(*p99 * kNsOfMs) : "") +
           ", n " + std::to_string(times.n) + ": ";
}

/// Of runs whose steps were timed without tracing, those times.
void addTimes(const GenerationTable& generation, std::vector<std::string>& notes)
{
    const query::GenerationFigures timed = generation.timed.value_or(query::GenerationFigures{});
    if (timed.firstTokenMs)
        notes.push_back("Time to first token: " + timedText(*timed.firstTokenMs, {}) + "timed generations.");
    else if (generation.firstToken)
        notes.push_back("Time to first token: " + figuresText(*generation.firstToken) +
                        (generation.source == IterationSource::Steps ? ": a traced prefill step."
                         : generation.source == IterationSource::Marks
                             ? ": a marked prefill iteration."
                             : ": a prefill iteration, from the call "
                               "of the model until the next call."));
    else if (const GenerationSummary* const prefill = generation.of(StepType::Prefill))
        notes.push_back("A prefill iteration takes " + figuresText(prefill->wall) +
                        "; how long requests wait before it was not recorded.");
    if (timed.perTokenMs) {
        notes.push_back("Time per output token: " + timedText(*timed.perTokenMs, timed.perTokenP99Ms) +
                        "timed steps. The rows are traced steps: tracing takes time as well.");
    } else if (generation.perToken) {
        const std::string_view words = generation.perTokenWords();
        notes.push_back("T" + std::string(words.substr(1)) + ": " + figuresText(*generation.perToken) +
                        (words == "time per output token"
                             ? ": a decode iteration makes a token of each sequence."
                             : ": a speculative one makes one token or more of each sequence; how many was "
                               "not recorded."));
    }
}

std::string wordOfBytes(const GenerationTable& table, BytesSource source)
{
    if (source == BytesSource::Metrics)
        return "samples of the GPU's memory counters";
    return table.weightBytes
               ? "all parameters (" +
                     quantity::withUnit(static_cast<double>(*table.weightBytes), quantity::Unit::Bytes) +
                     ") and the cache, once"
               : "all parameters and the cache, once";
}

std::string bandwidthText(const GenerationTable& table)
{
    const GenerationSummary* const decode = table.of(StepType::Decode);
    if (!decode || !decode->onGpu)
        return {};
    if (!decode->bytes)
        return table.whyNoBytes.empty() ? std::string()
                                        : "Bandwidth use is not known: " + table.whyNoBytes + ".";
    const std::string bytes = "A decode iteration moves " +
                              quantity::withUnit(*decode->bytes, quantity::Unit::Bytes) + " (" +
                              wordOfBytes(table, decode->bytesSource) + ")";
    const std::optional<double> percent = table.bandwidthPercent(*decode);
    if (!percent)
        return bytes + "; what the memory reaches is not known: " + table.bandwidthFrom + ".";
    const double busy = decode->gpuBusy > 0 ? *percent * decode->wall.mean / decode->gpuBusy : 0;
    return bytes + ": " + percentText(*percent) + " of " +
           quantity::withUnit(*table.bandwidth, quantity::Unit::BytesPerSecond) + " (" + table.bandwidthFrom +
           ")" + (busy > 0 ? ", " + percentText(busy) + " while the GPU works" : "") + ".";
}

std::string heading(const GenerationTable& table)
{
    return describeRun(table.run) + "; " + sourceText(table);
}

Table iterationsOf(const std::shared_ptr<const GenerationTable>& table)
{
    using Row = GenerationRow;
    const auto column = columnsOf(table);
    const auto part = [&column](std::string key, std::string title, GenerationPart which, int keep = 1) {
        return column(
            std::move(key), std::move(title),
            [which](const Row& row) { return row.onGpu ? std::optional(row.part(which)) : std::nullopt; },
            {.keep = keep, .unitGroup = 1});
    };
    const auto of = [](auto member) { return memberOf(&Row::iteration, member); };
    using query::Iteration;
    Table made{.rows = table->rows.size()};
    made.columns = {column.programs("run", [run = table->run.run](const Row&) { return run.value; }),
                    column.programs("rank", &Row::rank)};
    addProcessNumbers<Row>(made, column);
    if (table->hasProcesses)
        made.columns.push_back(column.people("process", &Row::title, {.keep = 2}));
    for (Column& each : std::vector<Column>{
             column("iteration", "iteration", of(&Iteration::number), {.keep = 2}),
             column.programs("step", of(&Iteration::step)),
             column("type", "type", [](const Row& row) { return std::string(wordOf(row.iteration.type)); },
                    {.keep = 2}),
             column.programs("why", [](const Row& row) { return cellOrNull(row.iteration.why); }),
             column("generation", "call", of(&Iteration::generation), {.keep = 0}),
             column("batch", "batch", of(&Iteration::sequences), {.keep = 2}),
             column.programs("prompts", of(&Iteration::prompts)),
             column("context", "context", [](const Row& row) { return wholeTokens(row.iteration.context); },
                    {.keep = 2}),
             column("tokens", "tokens", of(&Iteration::newTokens), {.keep = 0}),
             column.programs("chunked", of(&Iteration::isChunked)),
             column.programs("speculative", of(&Iteration::isSpeculative)),
             column.programs("mixed", of(&Iteration::isMixed)),
             column.programs("start_ns", [origin = table->run.clockOrigin](
                                             const Row& row) { return row.iteration.wall.start - origin; }),
             column("wall_ns", "wall", [](const Row& row) { return row.wall(); },
                    {.keep = 2, .unitGroup = 1}),
             column("gpu_ns", "GPU busy",
                    [](const Row& row) { return row.onGpu ? std::optional(row.gpuBusy()) : std::nullopt; },
                    {.keep = 2, .unitGroup = 1}),
             column("host_ns", "GPU waits",
                    [](const Row& row) { return row.onGpu ? std::optional(row.gpuIdle()) : std::nullopt; },
                    {.keep = 2, .unitGroup = 1}),
             column.programs("unrecorded_ns",
                             [](const Row& row) {
                                 return row.onGpu ? std::optional(row.iteration.unrecorded) : std::nullopt;
                             }),
             part("attention_ns", "attention", GenerationPart::Attention),
             part("products_ns", "products", GenerationPart::Products),
             part("sampling_ns", "sampling", GenerationPart::Sampling),
             part("other_ns", "other", GenerationPart::Other, 0),
             part("communication_ns", "communication", GenerationPart::Communication),
             part("copies_ns", "copies", GenerationPart::Copies, 0),
             column("tokens_per_second", "tokens/s", [](const Row& row) { return row.tokensPerSecond(); }),
             column.programs("bytes", [](const Row& row) { return row.bytes; }),
             column.programs("bytes_source",
                             [](const Row& row) { return cellOrNull(wordOf(row.bytesSource)); }),
             column("bandwidth_percent", "bandwidth",
                    [snapshot = table.get()](const Row& row) { return snapshot->bandwidthPercent(row); },
                    {.unit = Unit::Percent}),
             column.people("marked",
                           [](const Row& row) {
                               const Iteration& each = row.iteration;
                               std::string words;
                               for (const auto& [is, word] : {std::pair(each.isMixed, "decodes too"),
                                                              std::pair(each.isChunked, "part of prompts"),
                                                              std::pair(each.isSpeculative, "speculative")})
                                   if (is)
                                       words += (words.empty() ? "" : ", ") + std::string(word);
                               return cellOrNull(words.empty() ? each.why : words);
                           },
                           {.keep = 0, .elidable = true})})
        made.columns.push_back(std::move(each));
    return made;
}

Table summariesOf(const std::shared_ptr<const GenerationTable>& table, GenerationGroup group)
{
    using Row = GenerationSummary;
    const std::vector<Row>& rows = group == GenerationGroup::Type ? table->types : table->batches;
    const ColumnsOf column(table, rows);
    const GenerationColumns of(*table);
    const auto part = [&column](GenerationPart which, int keep = 1) {
        return column(std::string(wordOf(which)) + "_ns", std::string(wordOf(which)),
                      [which](const Row& row) {
                          return row.onGpu ? std::optional(row.parts[static_cast<std::size_t>(which)])
                                           : std::nullopt;
                      },
                      {.unit = Unit::Nanoseconds, .keep = keep, .unitGroup = 1});
    };
    Table made{.rows = rows.size()};
    made.columns = {column.programs("run", [run = table->run.run](const Row&) { return run.value; })};
    for (const auto* each : {&of.type, &of.batch, &of.contextFrom, &of.contextTo, &of.iterations, &of.mean,
                             &of.p50, &of.p90, &of.p99, &of.gpuBusy, &of.gpuWaits})
        made.columns.push_back(column(*each));
    for (Column& each : std::vector<Column>{
             part(GenerationPart::Attention), part(GenerationPart::Products), part(GenerationPart::Sampling),
             part(GenerationPart::Other, 0), part(GenerationPart::Communication),
             part(GenerationPart::Copies, 0), column(of.tokensPerSecond),
             column.programs("bytes", &Row::bytes),
             column.programs("bytes_source",
                             [](const Row& row) { return cellOrNull(wordOf(row.bytesSource)); }),
             column(of.bandwidth)})
        made.columns.push_back(std::move(each));
    return made;
}

} // namespace

std::string whyNoGeneration(const GenerationTable& generation)
{
    return "Run " + std::to_string(generation.run.run.value) +
           " shows no generation: no range marks an iteration of prefill or decode, and no call of a model "
           "decodes with a cache.";
}

std::string sourceText(const GenerationTable& generation)
{
    switch (generation.source) {
    case IterationSource::Marks:
        return generation.marks.empty() ? "iterations are ranges of the program"
                                        : "iterations are marked by " + generation.marks;
    case IterationSource::Steps:
        return "iterations are steps with a phase prefill or decode";
    case IterationSource::ModelShapes:
        return "iterations are calls of " + generation.marks + ", by the shapes of its tensors";
    case IterationSource::ModelCache:
        return "iterations are calls of " + generation.marks + ", by what grows from call to call";
    case IterationSource::None:
        break;
    }
    return {};
}

std::vector<std::string> generationNotes(const GenerationTable& generation)
{
    std::vector<std::string> notes;
    if (std::ranges::any_of(generation.rows, [](const GenerationRow& row) { return row.onGpu; }))
        notes.emplace_back(
            "GPU busy and GPU waits add up to the wall; attention to copies add up to GPU busy.");
    addTimes(generation, notes);
    for (const GenerationSummary& summary : generation.types)
        if (summary.type != StepType::Other)
            notes.push_back(partsText(summary));
    if (std::string text = bandwidthText(generation); !text.empty())
        notes.push_back(std::move(text));
    if (const GenerationSummary* const other = generation.of(StepType::Other))
        notes.push_back(counted(other->wall.n, "iteration") + " of unknown type: " +
                        std::ranges::find(generation.rows, StepType::Other,
                                          [](const GenerationRow& row) { return row.iteration.type; })
                            ->iteration.why +
                        ".");
    Nanoseconds sum{0};
    for (const GenerationRow& row : generation.rows)
        sum += row.wall();
    if (generation.between * 100 > sum)
        notes.push_back("Between iterations: " + nsText(static_cast<double>(generation.between.count())) +
                        ", " +
                        percentText(100 * static_cast<double>(generation.between.count()) /
                                    static_cast<double>((sum + generation.between).count())) +
                        " of the time.");
    return notes;
}

Table tableOf(std::shared_ptr<const GenerationTable> generation, GenerationGroup group)
{
    Table table =
        group == GenerationGroup::Iteration ? iterationsOf(generation) : summariesOf(generation, group);
    table.whyEmpty = generation->run.run.value == 0 ? "The file has no runs." : whyNoGeneration(*generation);
    if (table.rows > 0) {
        table.heading = heading(*generation);
        table.notes = generationNotes(*generation);
    }
    return table;
}

} // namespace tilescope::exchange
