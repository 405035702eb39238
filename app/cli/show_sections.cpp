// The sections of `tilescope show`.

#include "app/cli/show_sections.h"

#include "app/cli/arguments.h"
#include "app/cli/compare.h"
#include "app/cli/recording.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/exchange/advice/advice_section.h"
#include "core/exchange/advice/answer_sections.h"
#include "core/exchange/generation/generation_section.h"
#include "core/exchange/kernels/counter_section.h"
#include "core/exchange/kernels/inside_section.h"
#include "core/exchange/kernels/metrics_section.h"
#include "core/exchange/tables/sections.h"
#include "core/exchange/waiting/waiting_section.h"
#include "core/query/calls/call_tree_filter.h"
#include "core/query/kernels/kernel_tables.h"
#include "core/query/memory/memory_tables.h"
#include "core/query/ranks/rank_tables.h"
#include "core/query/runs/run_tables.h"
#include "core/query/steps/step_tables.h"

#include <memory>
#include <ostream>

namespace tilescope::cli {

namespace {

using exchange::Table;
using exchange::tableOf;
using query::Grouping;

constexpr std::size_t kEvidenceRows = 5; // of a finding, unless --limit is given

template <class Snapshot> std::shared_ptr<const Snapshot> shared(Snapshot snapshot)
{
    return std::make_shared<const Snapshot>(std::move(snapshot));
}

Table runsTable(const store::RunReader& reader, const ShowRequest& request)
{
    using query::RunList;
    const auto runs = std::make_shared<const RunList>(
        reader, request.query.run,
        request.format == ShowFormat::Table ? RunList::Survey::Whole : RunList::Survey::None);
    // A single run is shown as a sheet, several as a table.
    if (request.format == ShowFormat::Table && runs->size() == 1)
        return exchange::sheetOf((*runs)[0]);
    return tableOf(runs);
}

/// Allocated blocks with the tensors that they hold.
Table namesTable(const store::RunReader& reader, const ShowRequest& request)
{
    const RunId run = query::chooseRun(reader, request.query.run).run;
    auto history = query::memoryHistory(reader, run, {}, query::MemoryParts::All, request.query.topology);
    std::optional<std::int64_t> at;
    if (request.at)
        at = *request.at == "peak" ? history->peakTime : wholeNumber(*request.at, "--at");
    return tableOf(shared(query::namedMemory(std::move(history), at, request.query.rangeGlob)));
}

query::AdviceTable adviceOf(const store::RunReader& reader, const ShowRequest& request)
{
    query::AdviceTable table = query::advice(reader, request.query.run, request.query.topology);
    for (query::Advice& finding : table.rows)
        finding.command = asNamed(finding.command);
    return table;
}

query::AnswersTable answersOf(const store::RunReader& reader, const ShowRequest& request)
{
    query::AnswersTable table = query::answers(reader, request.query, request.question);
    for (query::Answer& answer : table.rows)
        answer.command = asNamed(answer.command);
    return table;
}

Table memoryTable(const store::RunReader& reader, const ShowRequest& request)
{
    if (request.names)
        return namesTable(reader, request);
    if (request.at) {
        if (*request.at == "ever")
            return tableOf(shared(query::everAllocated(reader, request.query)));
        std::optional<Nanoseconds> at;
        if (*request.at != "peak")
            at = Nanoseconds(wholeNumber(*request.at, "--at"));
        return tableOf(shared(query::liveMemory(reader, request.query, at)));
    }
    if (request.group)
        return tableOf(shared(query::memoryGroupsTable(reader, request.query)));
    return tableOf(shared(query::memoryEvents(reader, request.query)));
}

Table treeTable(const store::RunReader& reader, const ShowRequest& request)
{
    const std::size_t most = request.format == ShowFormat::Table ? request.limit : 0;
    if (!request.against.empty()) {
        const RunAddress baseline = runAddressOf(request.against);
        query::EventQuery queryA = request.query;
        queryA.run = baseline.run;
        const store::RunReader readerA(baseline.recording.file);
        return tableOf(shared(query::callTreeDifference(readerA, queryA, reader, request.query, request.tree,
                                                        request.invert)),
                       most);
    }
    query::CallTreeTable tree = query::callTree(reader, request.query, request.tree);
    if (request.invert)
        tree.tree = query::inverted(tree.tree);
    return tableOf(shared(std::move(tree)), most);
}

Table insideTable(const store::RunReader& reader, const ShowRequest& request)
{
    const query::InsideQuery query{.run = request.query.run,
                                   .topology = request.query.topology,
                                   .kernel = request.kernel,
                                   .group = request.group            ? query::insideGroupOf(*request.group)
                                            : request.kernel.empty() ? query::InsideGroup::Kernel
                                                                     : query::InsideGroup::Line,
                                   .step = request.step};
    if (request.against.empty())
        return tableOf(shared(query::inside(reader, query)));
    const RunAddress baseline = runAddressOf(request.against);
    query::InsideQuery queryA = query;
    queryA.run = baseline.run;
    const store::RunReader readerA(baseline.recording.file);
    return tableOf(shared(query::insideDifference(readerA, queryA, reader, query)));
}

std::shared_ptr<const query::RanksTable> ranksOf(const store::RunReader& reader, const ShowRequest& request)
{
    return shared(query::ranks(reader, {.run = request.query.run,
                                        .topology = request.query.topology,
                                        .step = request.step,
                                        .span = request.tree.span}));
}

} // namespace

std::span<const ShowSection> showSections()
{
    static const std::vector<ShowSection> all{
        {.name = "runs",
         .help = "every run: parameters, status, step and phase times, memory (the default)",
         .examples = {"--format json"},
         .table = runsTable},
        {.name = "samples",
         .help = "every measured step, including warm-up and traced steps",
         .examples = {"--run 2 --format csv"},
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 return tableOf(shared(query::samples(reader, request.query.run)));
             }},
        {.name = "steps",
         .help = "the parts of the wall time of each traced step, and what it waits for",
         .examples = {""},
         .takes = Takes::Process | Takes::Device | Takes::Span,
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 query::StepsTable table = query::steps(reader, request.query, request.tree.span);
                 if (table.last && !table.rows.empty() && !request.tree.span)
                     table.start = query::startPhase(reader, table.last->run);
                 return tableOf(shared(std::move(table)));
             }},
        {.name = "generation",
         .help =
             "iterations of prefill and decode of a program that generates text: batch, context, what the "
             "GPU does, tokens a second, use of its memory's bandwidth; time to first token and per "
             "output token",
         .examples = {"", "--group batch"},
         .takes = Takes::Process | Takes::Device,
         .groups = {"iteration", "type", "batch"},
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 return exchange::tableOf(
                     shared(query::generation(reader, request.query.run, request.query.topology)),
                     request.group ? query::generationGroupOf(*request.group)
                                   : query::GenerationGroup::Iteration);
             }},
        {.name = "ranks",
         .help = "the parts of the wall time of each step and rank, how late it was, and whether one rank "
                 "always is",
         .examples = {"--format json"},
         .takes = Takes::Process | Takes::Step | Takes::Span,
         .table = [](const store::RunReader& reader,
                     const ShowRequest& request) { return exchange::ranksOf(ranksOf(reader, request)); }},
        {.name = "collectives",
         .help = "each collective of several ranks: transfer time, who was late, waiting, bandwidth, "
                 "overlap, and whether an all-gather ended before it was needed",
         .examples = {"--step 1"},
         .takes = Takes::Process | Takes::Step | Takes::Span,
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 return exchange::collectivesOf(ranksOf(reader, request));
             }},
        {.name = "path",
         .help = "the critical path of each step: host, launch, compute, memory, communication, data "
                 "loading, synchronization and unexplained add up to the wall time; with --step its "
                 "segments, with --range those in matching ranges",
         .examples = {"", "--step 1 --format json", "--range 'step/forward/**'"},
         .takes = Takes::Range | Takes::Process | Takes::Step | Takes::Span | Takes::AllSteps,
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 const auto paths =
                     shared(query::criticalPaths(reader, {.run = request.query.run,
                                                          .topology = request.query.topology,
                                                          .step = request.step,
                                                          .span = request.tree.span,
                                                          .rangeGlob = request.query.rangeGlob}));
                 return request.step ? exchange::pathSegmentsOf(paths) : exchange::pathsOf(paths);
             }},
        {.name = "waiting",
         .help = "which line of Python a GPU without work waits for: the time between two launches is "
                 "exact, and samples of the stacks share it out; with --group innermost (lines also of "
                 "libraries), "
                 "function, place (between which launches), cause or thread",
         .examples = {"", "--group cause --step 1"},
         .takes = Takes::Process | Takes::Step | Takes::Span | Takes::AllSteps,
         .groups = {"line", "innermost", "function", "place", "cause", "thread"},
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 return tableOf(shared(query::waiting(reader,
                                                      {.run = request.query.run,
                                                       .topology = request.query.topology,
                                                       .step = request.step,
                                                       .span = request.tree.span},
                                                      request.group ? query::waitingGroupOf(*request.group)
                                                                    : query::WaitingGroup::Line)));
             }},
        {.name = "inside",
         .help = "what the warps of kernels wait for, by samples of tilescope record --inside: kernels, and "
                 "of them "
                 "lines, functions, instructions or reasons with the usual remedy (--group)",
         .examples = {"", "--kernel flash_fwd --group reason",
                      "--run 2 --kernel flash_fwd --against a.tscope:1"},
         .takes = Takes::Process | Takes::Device | Takes::Kernel | Takes::Against | Takes::Step,
         .groups = {"kernel", "line", "function", "instruction", "reason"},
         .table = insideTable},
        {.name = "metrics",
         .help = "how busy the GPU was inside each kernel, family or step, by samples of `record --metrics`: "
                 "multiprocessors, tensor pipe, device memory, PCIe and NVLink, with bytes beside those of "
                 "the ops",
         .examples = {"", "--group step --format json"},
         .takes = Takes::Process | Takes::Device | Takes::Step,
         .groups = {"kernel", "family", "step"},
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 auto metrics = shared(
                     query::metrics(reader, {.run = request.query.run,
                                             .topology = request.query.topology,
                                             .step = request.step,
                                             .group = request.group ? query::metricsGroupOf(*request.group)
                                                                    : query::MetricsGroup::Kernel}));
                 const bool isForPeople =
                     request.format == ShowFormat::Table || request.format == ShowFormat::Markdown;
                 return isForPeople ? tableOf(std::move(metrics)) : exchange::valuesOf(std::move(metrics));
             }},
        {.name = "what-if",
         .help = "the step if work took another time, by simulation of the recorded order and "
                 "dependencies; first example: if softmax took half its time; second: attention half its "
                 "time, and no softmax",
         .examples = {"--scale softmax=0.5", "--scale '**/attention/**=0.5' --remove softmax"},
         .takes = Takes::Process | Takes::Change | Takes::AllSteps,
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 return tableOf(
                     shared(query::whatIf(reader, {.run = request.query.run,
                                                   .topology = request.query.topology,
                                                   .scales = request.scales,
                                                   .removed = request.removed,
                                                   .freeLaunches = request.freeLaunches,
                                                   .freeCommunication = request.freeCommunication})));
             }},
        {.name = "kernels",
         .help = "total times of GPU kernels, copies and memsets in the traced steps",
         .examples = {"--group family --range '**/attention/**'"},
         .takes = Takes::Range | Takes::Process | Takes::Device | Takes::Step | Takes::Span,
         .groups = {"name", "family", "range", "phase", "module", "op"},
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 return tableOf(shared(query::kernels(
                     reader, {.run = request.query.run,
                              .rangeGlob = request.query.rangeGlob,
                              .grouping = request.query.grouping == Grouping::None ? Grouping::Name
                                                                                   : request.query.grouping,
                              .step = request.step,
                              .topology = request.query.topology,
                              .span = request.tree.span,
                              .countSteps = true})));
             }},
        {.name = "ops",
         .help = "the host's ops with their self time (the finest level on a CPU)",
         .examples = {"--range step/forward"},
         .takes = Takes::Range | Takes::Process | Takes::Device | Takes::Span,
         .groups = {"name", "range", "phase", "module"},
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 return tableOf(shared(query::ops(reader, request.query, request.tree.span)));
             }},
        {.name = "ranges",
         .help = "steps, phases and modules as a tree, with wall and GPU time",
         .examples = {"--range 'step/*'"},
         .takes = Takes::Range | Takes::Process | Takes::Span,
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 return tableOf(shared(query::ranges(reader, request.query, request.tree.span)));
             }},
        {.name = "tree",
         .help = "GPU time by rank, Python frame, module, op and kernel, as a tree; on a CPU the self time "
                 "of ops",
         .examples = {"--range 'step/forward/**' --limit 40", "--run 2 --against a.tscope:1 --invert"},
         .takes = Takes::Range | Takes::Process | Takes::Device | Takes::Span | Takes::Tree | Takes::Against,
         .table = treeTable},
        {.name = "memory",
         .help = "allocation events; totals with --group; allocated blocks with --at",
         .examples = {"--group category", "--at peak",
                      "--names              # an attention step, tensor by tensor", "--group step"},
         .takes = Takes::Range | Takes::Process | Takes::Device | Takes::Blocks,
         .groups = {"category", "range", "phase", "module", "op", "step"},
         .table = memoryTable},
        {.name = "saved",
         .help = "tensors that forward keeps for backward, with op, module and lifetime",
         .examples = {"--group layer"},
         .takes = Takes::Range,
         .groups = {"layer", "module", "range", "phase"},
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 auto saved = shared(query::saved(reader, request.query));
                 return request.group ? exchange::totalsOf(saved) : tableOf(saved);
             }},
        {.name = "oom",
         .help = "why a run ran out of memory: the request, its op and module, and the use of the rest",
         .examples = {"--run 3"},
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 return tableOf(shared(query::oomReport(reader, request.query.run)));
             },
         .text =
             [](const store::RunReader& reader, const ShowRequest& request, std::ostream& out) {
                 exchange::writeOom(out, query::oomReport(reader, request.query.run));
             }},
        {.name = "roofline",
         .help = "FLOPs, bytes and rates of the traced steps, against ceilings measured here and the data "
                 "sheet",
         .examples = {"--group range --range 'step/forward/**'",
                      "--group shape      # each op by its arguments"},
         .takes = Takes::Range | Takes::Process | Takes::Device,
         .groups = {"family", "op", "shape", "range", "phase", "module"},
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 return tableOf(shared(query::roofline(reader, request.query)));
             }},
        {.name = "mfu",
         .help = "model FLOPs of each timed step against the peak of the device",
         .examples = {"--run 1"},
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 return tableOf(shared(query::mfu(reader, request.query)));
             }},
        {.name = "answers",
         .help = "answers to common questions about a trace, with figures and the command behind them: "
                 "matmul-share, top-kernel, other-kernels, softmax-in-attention, phase-time, instances",
         .examples = {"softmax-in-attention"},
         .takes = Takes::Process | Takes::Device,
         .table = [](const store::RunReader& reader,
                     const ShowRequest& request) { return tableOf(shared(answersOf(reader, request))); },
         .text = [](const store::RunReader& reader, const ShowRequest& request,
                    std::ostream& out) { exchange::writeAnswers(out, answersOf(reader, request)); }},
        {.name = "advice",
         .help = "what would make a step faster, and by how many milliseconds at most, with the rows "
                 "behind it and a remedy; of a run of several ranks the mean of all, or --rank R",
         .examples = {""},
         .takes = Takes::Process | Takes::AllSteps,
         .table = [](const store::RunReader& reader,
                     const ShowRequest& request) { return tableOf(shared(adviceOf(reader, request))); },
         .text =
             [](const store::RunReader& reader, const ShowRequest& request, std::ostream& out) {
                 exchange::writeAdvice(out, adviceOf(reader, request),
                                       request.hasLimit ? request.limit : kEvidenceRows);
             }},
        {.name = "ceilings",
         .help = "ceilings of devices, measured by `tilescope doctor --ceilings -o FILE`",
         .examples = {""},
         .table = [](const store::RunReader& reader,
                     const ShowRequest&) { return tableOf(shared(reader.ceilings())); }},
        {.name = "counters",
         .help = "clocks, power, temperature, utilisation, traffic, CPU use and memory in the traced steps",
         .examples = {""},
         .takes = Takes::Span,
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 return tableOf(shared(query::counters(reader, request.query.run, request.tree.span)));
             }},
        {.name = "losses",
         .help = "lost trace records of all runs",
         .examples = {""},
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 return tableOf(shared(query::losses(reader, request.query.run)));
             }},
        {.name = "environment",
         .help = "machine, versions and settings of a run",
         .examples = {"--run 1"},
         .table =
             [](const store::RunReader& reader, const ShowRequest& request) {
                 return tableOf(shared(query::environment(reader, request.query.run)));
             }},
    };
    return all;
}

const ShowSection& showSectionOf(std::string_view name)
{
    std::vector<std::string_view> names;
    for (const ShowSection& section : showSections()) {
        if (section.name == name)
            return section;
        names.push_back(section.name);
    }
    throw Error{.what = "there is no section '" + std::string(name) + "'",
                .where = "show",
                .remedy = didYouMean(name, names)};
}

} // namespace tilescope::cli
