#include "app/cli/show.h"

#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/compare.h"
#include "app/cli/recording.h"
#include "app/cli/span_argument.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/base/terminal_text.h"
#include "core/exchange/advice_section.h"
#include "core/exchange/answer_sections.h"
#include "core/exchange/counter_section.h"
#include "core/exchange/inside_section.h"
#include "core/exchange/metrics_section.h"
#include "core/exchange/sections.h"
#include "core/exchange/waiting_section.h"
#include "core/model/party_index.h"
#include "core/query/memory/memory_tables.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/run_tables.h"
#include "core/query/tables/call_tree_filter.h"
#include "core/query/tables/kernel_tables.h"
#include "core/query/tables/rank_tables.h"
#include "core/query/tables/step_tables.h"
#include "core/report/escape.h"
#include "core/report/markdown_table.h"

#include <iostream>
#include <limits>
#include <optional>

namespace tilescope::cli {

namespace {

using exchange::Table;
using exchange::tableOf;
using query::Grouping;

constexpr std::size_t kEvidenceRows = 5; // of a finding, unless --limit is given
constexpr std::int64_t kMostNumber = std::numeric_limits<std::int32_t>::max();

constexpr std::string_view kHelp = R"(usage: tilescope show FILE [SECTION] [options]
Prints tables of a .tscope file.

sections
  runs          every run: parameters, status, step and phase times, memory (the default)
                    tilescope show a.tscope runs --format json
  samples       every measured step, including warm-up and traced steps
                    tilescope show a.tscope samples --run 2 --format csv
  steps         the parts of the wall time of each traced step, and what it waits for
                    tilescope show a.tscope steps
  ranks         the parts of the wall time of each step and rank, how late it was, and whether one rank always is
                    tilescope show a.tscope ranks --format json
  collectives   each collective of several ranks: transfer time, who was late, waiting, bandwidth, overlap, and
                whether an all-gather ended before it was needed
                    tilescope show a.tscope collectives --step 1
  path          the critical path of each step: host, launch, compute, memory, communication, data loading,
                synchronization and unexplained add up to the wall time; with --step its segments
                    tilescope show a.tscope path
                    tilescope show a.tscope path --step 1 --format json
  waiting       which line of Python a GPU without work waits for: the time between two launches is exact, and samples
                of the stacks share it out; with --group function, place (between which launches), cause or thread
                    tilescope show a.tscope waiting
                    tilescope show a.tscope waiting --group cause --step 1
  inside        what the warps of kernels wait for, by samples of tilescope record --inside: kernels, and of them lines,
                functions, instructions or reasons with the usual remedy (--group)
                    tilescope show a.tscope inside
                    tilescope show a.tscope inside --kernel flash_fwd --group reason
                    tilescope show a.tscope inside --run 2 --kernel flash_fwd --against a.tscope:1
  metrics       how busy the GPU was inside each kernel, family or step, by samples of `record --metrics`:
                multiprocessors, tensor pipe, device memory, PCIe and NVLink, with bytes beside those of the ops
                    tilescope show a.tscope metrics
                    tilescope show a.tscope metrics --group step --format json
  what-if       the step if work took another time, by simulation of the recorded order and dependencies;
                first example: if softmax took half its time; second: attention half its time, and no softmax
                    tilescope show a.tscope what-if --scale softmax=0.5
                    tilescope show a.tscope what-if --scale '**/attention/**=0.5' --remove softmax
  kernels       total times of GPU kernels, copies and memsets in the traced steps
                    tilescope show a.tscope kernels --group family --range '**/attention/**'
  ops           the host's ops with their self time (the finest level on a CPU)
                    tilescope show a.tscope ops --range step/forward
  ranges        steps, phases and modules as a tree, with wall and GPU time
                    tilescope show a.tscope ranges --range 'step/*'
  tree          GPU time by rank, Python frame, module, op and kernel, as a tree; on a CPU the self time of ops
                    tilescope show a.tscope tree --range 'step/forward/**' --limit 40
                    tilescope show a.tscope tree --run 2 --against a.tscope:1 --invert
  memory        allocation events; totals with --group; allocated blocks with --at
                    tilescope show a.tscope memory --group category
                    tilescope show a.tscope memory --at peak
                    tilescope show a.tscope memory --names              # an attention step, tensor by tensor
                    tilescope show a.tscope memory --group step
  saved         tensors that forward keeps for backward, with op, module and lifetime
                    tilescope show a.tscope saved --group layer
  oom           why a run ran out of memory: the request, its op and module, and the use of the rest
                    tilescope show a.tscope oom --run 3
  roofline      FLOPs, bytes and rates of the traced steps, against ceilings measured here and the data sheet
                    tilescope show a.tscope roofline --group range --range 'step/forward/**'
                    tilescope show a.tscope roofline --group shape      # each op by its arguments
  mfu           model FLOPs of each timed step against the peak of the device
                    tilescope show a.tscope mfu --run 1
  answers       answers to common questions about a trace, with figures and the command behind them:
                matmul-share, top-kernel, other-kernels, softmax-in-attention, phase-time, instances
                    tilescope show a.tscope answers softmax-in-attention
  advice        what would make a step faster, and by how many milliseconds at most, with the rows behind it
                and a remedy; of a run of several ranks the mean of all, or --rank R
                    tilescope show a.tscope advice
  ceilings      ceilings of devices, measured by `tilescope doctor --ceilings -o FILE`
                    tilescope show a.tscope ceilings
  counters      clocks, power, temperature, utilisation, traffic, CPU use and memory in the traced steps
                    tilescope show a.tscope counters
  losses        lost trace records of all runs
                    tilescope show a.tscope losses
  environment   machine, versions and settings of a run
                    tilescope show a.tscope environment --run 1

options
  --run N       the run with that number; default: all for runs, samples, steps and losses, otherwise the last
  --rank R      only this rank of a run of several processes: kernels, ops, ranges, steps, ranks, collectives, path,
                waiting, metrics, what-if, tree, roofline, memory, answers (the lowest rank) and advice (the mean of all)
  --process PID likewise, by the number of the process
  --device N    only this GPU: kernels, metrics, tree, roofline and memory; default of memory: the one with the highest peak
  --all-steps   path, what-if, waiting and advice: means of a recording are of all steps, also of those that start up or
                compile, which are left out otherwise; show steps says which
  --step N      only this step: kernels, ranks, collectives, path, waiting and metrics
  --range GLOB  only events in matching ranges: * within a component, ** across; show ranges: whole paths
  --group BY    kernels: name, family, range, phase, module, op; ops: name, range, phase, module;
                memory: category, range, phase, module, op, step; saved: layer, module, range, phase;
                roofline: family, op, shape, range, phase, module; waiting: line, function, place, cause, thread;
                inside: kernel, line, function, instruction, reason; metrics: kernel, family, step
  --kernel NAME inside: only kernels with this part in their name, or that a glob matches
  --scale K=F   what-if: the work K takes F times as long; K: a family, a path with / such as '**/attention/**', or
                the name of a kernel or, on a CPU, an op; may be repeated
  --remove K    what-if: the program leaves out the work K, and its host the time that launches it; may be repeated
  --free WHAT   what-if: launches (the host takes no time, as with a CUDA graph) or communication; may be repeated
  --at WHEN     memory: blocks allocated at the peak, or that many ns after the run's first event; ever: all
                allocations of the traced steps, largest first
  --weight W    tree: time (of the GPU, the default), host (self time of ops), allocated (bytes), flops, or bytes (that
                ops read and write)
  --from NS, --to NS
                steps, kernels, ops, ranges, ranks, collectives, tree, counters: only what happens in this time
                span, in ns after the run's first event; what is only partly in it counts with that part
  --invert      tree: kernels and ops outermost, their callers inside
  --filter F    tree: keep=NAME only stacks with that call, hide=NAME without it, callers=NAME the call and below it its
                callers; NAME is whole; may be repeated, in order
  --against A   tree: the difference from another run, the baseline: FILE or FILE:RUN; a mean traced step of each;
                inside: which lines or states of kernels changed
  --names       memory: which tensor of attention each block holds (Q, K, V, S, P, O, dO, dP, dS, dQ, dK, dV,
                workspaces) and which memory it reuses, in the first traced step; also with --at peak or --at NS
  --format F    table (the default), json (the stable interface for programs), csv or md (Markdown)
  --limit N     at most N rows of a table; 0: all (default 200, advice 5 a finding; json and csv are complete)
  --color WHEN  auto (the default: on a terminal), always or never
  -q, --quiet   accepted as by every verb; results, warnings and errors are printed all the same
  --help        print this text
)";

enum class ShowFormat { Table, Json, Csv, Markdown };

struct Request {
    std::string file;
    std::string section = "runs";
    query::EventQuery query;
    std::optional<std::string> group;
    std::optional<std::string> at;
    std::optional<std::string> question;
    std::string kernel;
    std::optional<std::int32_t> step;
    query::CallTreeOptions tree;
    bool invert = false;
    std::string against;
    bool names = false;
    std::vector<query::WorkScale> scales;
    std::vector<std::string> removed;
    bool freeLaunches = false;
    bool freeCommunication = false;
    ShowFormat format = ShowFormat::Table;
    std::size_t limit = 200;
    bool hasLimit = false; ///< --limit was given
};

struct Section {
    std::string_view name;
    std::vector<Grouping> groupings; ///< values of --group; empty: no grouping
    bool takesRange = false;
    bool takesAt = false;
    Table (*table)(const store::RunReader&, const Request&);
    /// Writes the output for people if it is not a table.
    void (*text)(const store::RunReader&, const Request&, std::ostream&) = nullptr;
};

template <class Snapshot> std::shared_ptr<const Snapshot> shared(Snapshot snapshot)
{
    return std::make_shared<const Snapshot>(std::move(snapshot));
}

Table runsTable(const store::RunReader& reader, const Request& request)
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
Table namesTable(const store::RunReader& reader, const Request& request)
{
    const RunId run = query::chooseRun(reader, request.query.run).run;
    auto history = query::memoryHistory(reader, run, {}, query::MemoryParts::All, request.query.parties);
    std::optional<std::int64_t> at;
    if (request.at)
        at = *request.at == "peak" ? history->peakTime : wholeNumber(*request.at, "--at");
    return tableOf(shared(query::namedMemory(std::move(history), at, request.query.rangeGlob)));
}

query::AdviceTable adviceOf(const store::RunReader& reader, const Request& request)
{
    query::AdviceTable table = query::advice(reader, request.query.run, request.query.parties);
    for (query::Advice& finding : table.rows)
        finding.command = asNamed(finding.command);
    return table;
}

query::AnswersTable answersOf(const store::RunReader& reader, const Request& request)
{
    query::AnswersTable table = query::answers(reader, request.query, request.question);
    for (query::Answer& answer : table.rows)
        answer.command = asNamed(answer.command);
    return table;
}

Table memoryTable(const store::RunReader& reader, const Request& request)
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

Table treeTable(const store::RunReader& reader, const Request& request)
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

Table insideTable(const store::RunReader& reader, const Request& request)
{
    const query::InsideQuery query{.run = request.query.run,
                                   .parties = request.query.parties,
                                   .kernel = request.kernel,
                                   .group = request.group            ? query::insideGroupOf(*request.group)
                                            : request.kernel.empty() ? query::InsideGroup::Kernel
                                                                     : query::InsideGroup::Line};
    if (request.against.empty())
        return tableOf(shared(query::inside(reader, query)));
    const RunAddress baseline = runAddressOf(request.against);
    query::InsideQuery queryA = query;
    queryA.run = baseline.run;
    const store::RunReader readerA(baseline.recording.file);
    return tableOf(shared(query::insideDifference(readerA, queryA, reader, query)));
}

std::shared_ptr<const query::RanksTable> ranksOf(const store::RunReader& reader, const Request& request)
{
    return shared(query::ranks(reader, {.run = request.query.run,
                                        .parties = request.query.parties,
                                        .step = request.step,
                                        .span = request.tree.span}));
}

const std::vector<Section>& sections()
{
    static const std::vector<Section> all{
        {"runs", {}, false, false, runsTable},
        {"samples",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request& request) {
             return tableOf(shared(query::samples(reader, request.query.run)));
         }},
        {"steps",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request& request) {
             query::StepsTable table = query::steps(reader, request.query, request.tree.span);
             if (table.last && !table.rows.empty() && !request.tree.span)
                 table.start = query::startPhase(reader, table.last->run);
             return tableOf(shared(std::move(table)));
         }},
        {"ranks",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request& request) {
             return exchange::ranksOf(ranksOf(reader, request));
         }},
        {"collectives",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request& request) {
             return exchange::collectivesOf(ranksOf(reader, request));
         }},
        {"path",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request& request) {
             const auto paths = shared(query::criticalPaths(
                 reader, {.run = request.query.run, .parties = request.query.parties, .step = request.step}));
             return request.step ? exchange::pathSegmentsOf(paths) : exchange::pathsOf(paths);
         }},
        {"waiting",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request& request) {
             return tableOf(
                 shared(query::waiting(reader, {.run = request.query.run,
                                                .parties = request.query.parties,
                                                .step = request.step,
                                                .group = request.group ? query::waitingGroupOf(*request.group)
                                                                       : query::WaitingGroup::Line})));
         }},
        {"inside",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request& request) { return insideTable(reader, request); }},
        {"metrics",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request& request) {
             auto metrics =
                 shared(query::metrics(reader, {.run = request.query.run,
                                                .parties = request.query.parties,
                                                .step = request.step,
                                                .group = request.group ? query::metricsGroupOf(*request.group)
                                                                       : query::MetricsGroup::Kernel}));
             const bool isForPeople =
                 request.format == ShowFormat::Table || request.format == ShowFormat::Markdown;
             return isForPeople ? tableOf(std::move(metrics)) : exchange::valuesOf(std::move(metrics));
         }},
        {"what-if",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request& request) {
             return tableOf(shared(query::whatIf(reader, {.run = request.query.run,
                                                          .parties = request.query.parties,
                                                          .scales = request.scales,
                                                          .removed = request.removed,
                                                          .freeLaunches = request.freeLaunches,
                                                          .freeCommunication = request.freeCommunication})));
         }},
        {"kernels",
         {Grouping::Name, Grouping::Family, Grouping::Range, Grouping::Phase, Grouping::Module, Grouping::Op},
         true,
         false,
         [](const store::RunReader& reader, const Request& request) {
             return tableOf(shared(query::kernels(
                 reader, {.run = request.query.run,
                          .rangeGlob = request.query.rangeGlob,
                          .grouping = request.query.grouping == Grouping::None ? Grouping::Name
                                                                               : request.query.grouping,
                          .step = request.step,
                          .parties = request.query.parties,
                          .span = request.tree.span,
                          .countSteps = true})));
         }},
        {"ops",
         {Grouping::Name, Grouping::Range, Grouping::Phase, Grouping::Module},
         true,
         false,
         [](const store::RunReader& reader, const Request& request) {
             return tableOf(shared(query::ops(reader, request.query, request.tree.span)));
         }},
        {"ranges",
         {},
         true,
         false,
         [](const store::RunReader& reader, const Request& request) {
             return tableOf(shared(query::ranges(reader, request.query, request.tree.span)));
         }},
        {"tree", {}, true, false, treeTable},
        {"memory",
         {Grouping::Category, Grouping::Range, Grouping::Phase, Grouping::Module, Grouping::Op,
          Grouping::Step},
         true,
         true,
         memoryTable},
        {"saved",
         {Grouping::Layer, Grouping::Module, Grouping::Range, Grouping::Phase},
         true,
         false,
         [](const store::RunReader& reader, const Request& request) {
             auto saved = shared(query::saved(reader, request.query));
             return request.group ? exchange::totalsOf(saved) : tableOf(saved);
         }},
        {"oom",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request& request) {
             return tableOf(shared(query::oomReport(reader, request.query.run)));
         },
         [](const store::RunReader& reader, const Request& request, std::ostream& out) {
             exchange::writeOom(out, query::oomReport(reader, request.query.run));
         }},
        {"roofline",
         {Grouping::Family, Grouping::Op, Grouping::Shape, Grouping::Range, Grouping::Phase,
          Grouping::Module},
         true,
         false,
         [](const store::RunReader& reader, const Request& request) {
             return tableOf(shared(query::roofline(reader, request.query)));
         }},
        {"mfu",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request& request) {
             return tableOf(shared(query::mfu(reader, request.query)));
         }},
        {"answers",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request& request) {
             return tableOf(shared(answersOf(reader, request)));
         },
         [](const store::RunReader& reader, const Request& request, std::ostream& out) {
             exchange::writeAnswers(out, answersOf(reader, request));
         }},
        {"advice",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request& request) {
             return tableOf(shared(adviceOf(reader, request)));
         },
         [](const store::RunReader& reader, const Request& request, std::ostream& out) {
             exchange::writeAdvice(out, adviceOf(reader, request),
                                   request.hasLimit ? request.limit : kEvidenceRows);
         }},
        {"ceilings",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request&) { return tableOf(shared(reader.ceilings())); }},
        {"counters",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request& request) {
             return tableOf(shared(query::counters(reader, request.query.run, request.tree.span)));
         }},
        {"losses",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request& request) {
             return tableOf(shared(query::losses(reader, request.query.run)));
         }},
        {"environment",
         {},
         false,
         false,
         [](const store::RunReader& reader, const Request& request) {
             return tableOf(shared(query::environment(reader, request.query.run)));
         }},
    };
    return all;
}

const Section& sectionOf(const std::string& name)
{
    std::vector<std::string_view> names;
    for (const Section& section : sections()) {
        if (section.name == name)
            return section;
        names.push_back(section.name);
    }
    throw Error{
        .what = "there is no section '" + name + "'", .where = "show", .remedy = didYouMean(name, names)};
}

query::CallWeight weightOf(std::string_view word)
{
    for (const auto weight : {query::CallWeight::Host, query::CallWeight::Allocated, query::CallWeight::Flops,
                              query::CallWeight::Moved})
        if (word == wordOf(weight))
            return weight;
    return query::CallWeight::Time;
}

/// The change that `show what-if` applies.
void readChange(Request& request, const std::vector<std::string>& scales,
                const std::vector<std::string>& free)
{
    for (const std::string& scale : scales)
        request.scales.push_back(query::workScaleOf(scale));
    for (const std::string& what : free) {
        if (what != "launches" && what != "communication")
            throw Error{.what = "'" + what + "' cannot be free",
                        .where = "--free",
                        .remedy = "allowed: launches, communication"};
        (what == "launches" ? request.freeLaunches : request.freeCommunication) = true;
    }
}

/// The parsed arguments; none if help was printed.
std::optional<Request> parse(std::span<const std::string> words, std::ostream& out)
{
    Request request;
    std::string run;
    std::string rank;
    std::string process;
    std::string device;
    std::string group;
    std::string at;
    std::string step;
    std::string question;
    std::string limit;
    std::string weight = "time";
    std::string from;
    std::string to;
    std::vector<std::string> scales;
    std::vector<std::string> filters;
    std::vector<std::string> free;
    std::string format = "table";
    Arguments arguments(kHelp);
    arguments.positional("FILE", request.file, "");
    arguments.positional("SECTION", request.section, "");
    arguments.positional("QUESTION", question, "");
    arguments.option("--run", run, "");
    arguments.option("--range", request.query.rangeGlob, "");
    arguments.option("--rank", rank, "");
    arguments.option("--process", process, "");
    arguments.option("--device", device, "");
    arguments.flag("--all-steps", request.query.parties.allSteps, "");
    arguments.option("--step", step, "");
    arguments.option("--group", group, "");
    arguments.option("--at", at, "");
    arguments.option("--kernel", request.kernel, "");
    arguments.choice("--weight", weight, {"time", "host", "allocated", "flops", "bytes"}, "");
    arguments.option("--from", from, "");
    arguments.option("--to", to, "");
    arguments.flag("--invert", request.invert, "");
    arguments.repeated("--filter", filters, "");
    arguments.option("--against", request.against, "");
    arguments.flag("--names", request.names, "");
    arguments.repeated("--scale", scales, "");
    arguments.repeated("--remove", request.removed, "");
    arguments.repeated("--free", free, "");
    arguments.choice("--format", format, {"table", "json", "csv", "md"}, "");
    arguments.option("--limit", limit, "");
    if (!arguments.parse({words.begin(), words.end()}, out))
        return {};
    if (!question.empty() && request.section != "answers")
        throw Error{.what = "unexpected argument",
                    .where = question,
                    .remedy = "usage: tilescope show FILE [SECTION] [options]"};
    const auto ifGiven = [](std::string& text) {
        return text.empty() ? std::nullopt : std::optional(std::move(text));
    };
    request.group = ifGiven(group);
    request.at = ifGiven(at);
    request.question = ifGiven(question);
    if (!run.empty())
        request.query.run = runNumber(run, "--run");
    request.tree.weight = weightOf(weight);
    request.tree.span = spanOf(from, to);
    query::PartyQuery& parties = request.query.parties;
    if (!rank.empty())
        parties.rank = static_cast<std::int32_t>(wholeNumber(rank, "--rank", 0, kMostNumber));
    if (!process.empty())
        parties.pid = wholeNumber(process, "--process");
    if (!device.empty())
        parties.device = static_cast<std::int32_t>(wholeNumber(device, "--device", 0, kMostNumber));
    if (!step.empty())
        request.step = static_cast<std::int32_t>(wholeNumber(step, "--step", 0, kMostNumber));
    readChange(request, scales, free);
    for (const std::string& filter : filters)
        request.tree.filters.push_back(query::callFilter(filter));
    request.hasLimit = !limit.empty();
    if (request.hasLimit)
        request.limit = static_cast<std::size_t>(wholeNumber(limit, "--limit"));
    request.format = format == "json"  ? ShowFormat::Json
                     : format == "csv" ? ShowFormat::Csv
                     : format == "md"  ? ShowFormat::Markdown
                                       : ShowFormat::Table;
    return request;
}

void check(Request& request, const Section& section)
{
    const std::string name(section.name);
    if (request.group && name != "waiting" && name != "inside" && name != "metrics") {
        if (section.groupings.empty())
            throw Error{.what = "show " + name + " cannot be grouped",
                        .where = "--group",
                        .remedy = "kernels, ops, roofline, memory, saved, waiting, inside and metrics can"};
        request.query.grouping = query::groupingOf(*request.group, section.groupings);
    }
    if (!request.query.rangeGlob.empty() && !section.takesRange)
        throw Error{.what = "show " + name + " does not support --range",
                    .where = "--range",
                    .remedy = "kernels, ops, ranges, tree, roofline, memory and saved do"};
    constexpr std::string_view kByParty[] = {
        "what-if", "roofline", "kernels", "ops",     "ranges", "steps",   "ranks",  "collectives",
        "path",    "tree",     "memory",  "answers", "advice", "waiting", "inside", "metrics"};
    if (!request.query.parties.empty() && std::ranges::find(kByParty, section.name) == std::end(kByParty))
        throw Error{.what = "show " + name + " does not support --rank, --process or --device",
                    .where = "show " + name,
                    .remedy = "kernels, ops, ranges, steps, ranks, collectives, path, waiting, inside, "
                              "metrics, what-if, tree, "
                              "roofline, memory, answers and advice do"};
    const bool isOfRanks = name == "ranks" || name == "collectives" || name == "path" || name == "waiting";
    if ((isOfRanks || name == "ranges" || name == "advice" || name == "what-if") &&
        request.query.parties.device)
        throw Error{.what = "show " + name + " does not support --device",
                    .where = "--device",
                    .remedy = "choose a process: --rank or --process"};
    if (request.step && name == "inside")
        throw Error{.what = "the samples of a run are sums over the recording, not of single steps",
                    .where = "--step",
                    .remedy = "record that step alone: tilescope record --inside --steps " +
                              std::to_string(*request.step)};
    if (request.step && !isOfRanks && name != "kernels" && name != "metrics")
        throw Error{.what = "show " + name + " does not support --step",
                    .where = "--step",
                    .remedy = "kernels, ranks, collectives, path, waiting and metrics do"};
    constexpr std::string_view kBySpan[] = {"steps", "kernels",     "ops",  "ranges",
                                            "ranks", "collectives", "tree", "counters"};
    if (request.tree.span && std::ranges::find(kBySpan, section.name) == std::end(kBySpan))
        throw Error{.what = "show " + name + " does not support --from or --to",
                    .where = "show " + name,
                    .remedy = "steps, kernels, ops, ranges, ranks, collectives, tree and counters do"};
    const bool isOfTree = request.tree.weight != query::CallWeight::Time || request.invert ||
                          (!request.against.empty() && name != "inside") || !request.tree.filters.empty();
    if (isOfTree && name != "tree")
        throw Error{.what = "show " + name + " does not support --weight, --invert, --filter or --against",
                    .where = "show " + name,
                    .remedy = "tilescope show FILE tree"};
    const bool isChanged = !request.scales.empty() || !request.removed.empty() || request.freeLaunches ||
                           request.freeCommunication;
    if (isChanged != (name == "what-if"))
        throw Error{.what = isChanged ? "show " + name + " does not support --scale, --remove or --free"
                                      : "no change is given",
                    .where = "show " + name,
                    .remedy = isChanged ? "what-if does"
                                        : "give --scale KEY=FACTOR, --remove KEY or --free launches"};
    if (!request.kernel.empty() && name != "inside")
        throw Error{.what = "show " + name + " does not support --kernel",
                    .where = "--kernel",
                    .remedy = "tilescope show FILE inside --kernel " + request.kernel};
    if (request.at && !section.takesAt)
        throw Error{.what = "only show memory supports --at",
                    .where = "--at",
                    .remedy = "tilescope show FILE memory --at " + *request.at};
    if (request.names && (!section.takesAt || request.group))
        throw Error{.what = section.takesAt ? "--names and --group exclude each other"
                                            : "only show memory supports --names",
                    .where = "--names",
                    .remedy = section.takesAt ? "give one of them" : "tilescope show FILE memory --names"};
    if (request.names && request.at == "ever")
        throw Error{
            .what = "--names without --at shows a whole step", .where = "--at", .remedy = "omit --at ever"};
    if (request.at && request.group)
        throw Error{.what = "--at and --group exclude each other",
                    .where = "show memory",
                    .remedy = "--group already shows each group's bytes at the peak"};
}

void writeMarkdown(std::ostream& out, const Table& table, std::size_t limit)
{
    if (!table.heading.empty())
        out << "**" << report::escapeMarkdown(table.heading) << "**\n\n";
    if (table.rows == 0 && !table.whyEmpty.empty())
        out << report::escapeMarkdown(table.whyEmpty) << '\n';
    else
        report::writeMarkdownTable(out, table, limit);
}

/// Adds the process that the rows are of to a table of sums over the processes of a run; null: of several.
void addProcess(Table& table, const store::RunReader& reader, const Request& request)
{
    constexpr std::string_view kSums[] = {"kernels", "ops", "ranges", "roofline"};
    if (std::ranges::find(kSums, request.section) == std::end(kSums))
        return;
    const RunId run = query::chooseRun(reader, request.query.run).run;
    const PartyIndex parties(reader.parties(run), {});
    const query::PartyQuery& asked = request.query.parties;
    ProcessIndex process;
    if (asked.rank || asked.pid)
        for (const TracedProcess& each : parties.parties().processes)
            if ((!asked.rank || each.rank == asked.rank) && (!asked.pid || each.pid == *asked.pid))
                process = each.id;
    const query::ProcessNumbers numbers = query::numbersOf(parties, process);
    const auto add = [&table](std::string key, const auto& value) {
        const exchange::Cell cell = value ? exchange::Cell(std::int64_t{*value}) : exchange::Cell();
        table.columns.push_back({.key = std::move(key),
                                 .cell = [cell](std::size_t) { return cell; },
                                 .audience = exchange::Audience::Programs});
    };
    add("rank", numbers.process ? query::rankOf(parties, process) : std::nullopt);
    add("process", numbers.process);
    add("pid", numbers.pid);
}

/// What the runs that the section is about lack; empty for the section that lists it.
std::string lossesOf(const store::RunReader& reader, const Request& request)
{
    constexpr std::string_view kOfAllRuns[] = {"runs", "samples", "steps"};
    if (request.section == "losses" || request.section == "ceilings" || reader.runIds().empty())
        return {};
    const bool isOfAll = std::ranges::find(kOfAllRuns, request.section) != std::end(kOfAllRuns);
    const std::string sentence = query::lossSentence(
        reader,
        request.query.run || isOfAll ? request.query.run : std::optional(query::chooseRun(reader, {}).run));
    return sentence.empty() ? sentence : sentence + " List them: tilescope show FILE losses.";
}

} // namespace

int show(std::span<const std::string> arguments, std::ostream& out)
{
    std::optional<Request> parsed = parse(arguments, out);
    if (!parsed)
        return 0;
    Request& request = *parsed;
    if (request.file.empty())
        throw Error{
            .what = "needs a file", .where = "show", .remedy = "tilescope show FILE [SECTION]; see --help"};
    const Section& section = sectionOf(request.section);
    check(request, section);
    const Recording recording = recordingOf(request.file);
    const store::RunReader reader(recording.file);
    if (request.format == ShowFormat::Table && section.text) {
        section.text(reader, request, out);
        if (const std::string lost = lossesOf(reader, request); !lost.empty())
            out << '\n' << escapeForTerminal(lost) << '\n';
        return 0;
    }
    Table table = section.table(reader, request);
    addProcess(table, reader, request);
    if (const std::string lost = lossesOf(reader, request); !lost.empty()) {
        if (request.format == ShowFormat::Table)
            table.notes.push_back(lost);
        else
            std::cerr << escapeForTerminal(lost) << '\n';
    }
    switch (request.format) {
    case ShowFormat::Table: {
        exchange::TerminalStyle style = exchange::styleOfStandardOutput();
        style.limit = request.limit;
        writeTerminal(out, table, style);
        break;
    }
    case ShowFormat::Json:
        writeJson(out, table);
        break;
    case ShowFormat::Csv:
        writeCsv(out, table);
        break;
    case ShowFormat::Markdown:
        writeMarkdown(out, table, request.limit);
        break;
    }
    return 0;
}

int showCommand(int argc, char** argv)
{
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    return show(arguments, std::cout);
}

} // namespace tilescope::cli
