#include "app/cli/show_request.h"

#include "app/cli/arguments.h"
#include "app/cli/span_argument.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/query/calls/call_tree_filter.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tilescope::cli {

namespace {

constexpr std::int64_t kMostNumber = std::numeric_limits<std::int32_t>::max();

/// "a", "a and b", "a, b and c".
std::string listOf(const std::vector<std::string_view>& words)
{
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i)
        text += std::string(i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + std::string(words[i]);
    return text;
}

/// The names of the sections that take an option.
std::string takersOf(Takes option)
{
    std::vector<std::string_view> names;
    for (const ShowSection& section : showSections())
        if (section.has(option))
            names.push_back(section.name);
    return listOf(names);
}

std::string groupsHelp()
{
    std::string text;
    for (const ShowSection& section : showSections()) {
        if (section.groups.empty())
            continue;
        text += (text.empty() ? "" : "; ") + std::string(section.name) + ": ";
        for (const std::string_view word : section.groups)
            text += (word == section.groups.front() ? "" : ", ") + std::string(word);
    }
    return text;
}

std::vector<Arguments::Topic> topics()
{
    std::vector<Arguments::Topic> all;
    for (const ShowSection& section : showSections()) {
        Arguments::Topic topic{.name = std::string(section.name), .help = std::string(section.help)};
        for (const std::string_view example : section.examples)
            topic.examples.push_back("tilescope show a.tscope " + topic.name + (example.empty() ? "" : " ") +
                                     std::string(example));
        all.push_back(std::move(topic));
    }
    return all;
}

/// The change that `show what-if` applies.
void readChange(ShowRequest& request, const std::vector<std::string>& scales,
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

/// \throws Error (Usage)  the section does not take an option that is given
void requireTaken(const ShowSection& section, Takes option, bool isGiven, std::string_view names)
{
    if (!isGiven || section.has(option))
        return;
    const std::string takers = takersOf(option);
    const std::string here = "show " + std::string(section.name);
    if (takers.find(' ') == std::string::npos) // one section
        throw Error{.what = "only show " + takers + " supports " + std::string(names),
                    .where = here,
                    .remedy = "tilescope show FILE " + takers};
    throw Error{.what = here + " does not support " + std::string(names),
                .where = here,
                .remedy = option == Takes::Device && section.has(Takes::Process)
                              ? "choose a process: --rank or --process"
                              : takers + " do"};
}

void readGroup(ShowRequest& request, const ShowSection& section)
{
    if (!request.group)
        return;
    if (section.groups.empty()) {
        std::vector<std::string_view> names;
        for (const ShowSection& other : showSections())
            if (!other.groups.empty())
                names.push_back(other.name);
        throw Error{.what = "show " + std::string(section.name) + " cannot be grouped",
                    .where = "--group",
                    .remedy = listOf(names) + " can"};
    }
    if (std::ranges::find(section.groups, *request.group) == section.groups.end())
        throw Error{.what = "show " + std::string(section.name) + " cannot be grouped by '" + *request.group +
                            "'",
                    .where = "--group",
                    .remedy = didYouMean(*request.group, section.groups)};
    if (const auto grouping = query::groupingNamed(*request.group))
        request.query.grouping = *grouping;
}

void requireOneQuestionOfMemory(const ShowRequest& request)
{
    if (request.names && request.group)
        throw Error{.what = "--names and --group exclude each other",
                    .where = "--names",
                    .remedy = "give one of them"};
    if (request.names && request.at == "ever")
        throw Error{
            .what = "--names without --at shows a whole step", .where = "--at", .remedy = "omit --at ever"};
    if (request.at && request.group)
        throw Error{.what = "--at and --group exclude each other",
                    .where = "show memory",
                    .remedy = "--group already shows each group's bytes at the peak"};
}

} // namespace

/// The parsed arguments; none if help was printed.
std::optional<ShowRequest> parsedRequest(std::span<const std::string> words, std::ostream& out)
{
    ShowRequest request;
    std::string run;
    std::string rank;
    std::string process;
    std::string device;
    std::string thread;
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
    Arguments arguments("show FILE [SECTION] [options]", "Prints tables of a .tscope file.", "");
    arguments.positional(
        "FILE", request.file,
        "a .tscope file, a trace that Tilescope can import, or HOST:PATH on another machine");
    arguments.positional("SECTION", request.section, "one of the sections above; default runs");
    arguments.positional("QUESTION", question, "answers: only this question");
    arguments.topics("SECTION", "sections", topics());
    arguments.option(
        "--run N", run,
        "the run with that number; default: all for runs, samples, steps and losses, otherwise the "
        "last");
    arguments.option(
        "--rank R", rank,
        "only this rank of a run of several processes; answers: default the lowest rank; advice: "
        "default the mean of all. For " +
            takersOf(Takes::Process));
    arguments.option("--process PID", process, "likewise, by the number of the process");
    arguments.option("--device N", device,
                     "only this GPU; memory: default the one with the highest peak. For " +
                         takersOf(Takes::Device));
    arguments.flag(
        "--all-steps", request.query.topology.allSteps,
        "means of a recording are of all steps, also of those that start up or compile, which are left "
        "out otherwise; show steps says which. For " +
            takersOf(Takes::AllSteps));
    arguments.option("--step N", step, "only this step. For " + takersOf(Takes::Step));
    arguments.option("--range GLOB", request.query.rangeGlob,
                     "only events in matching ranges: * within a component, ** across; show ranges: whole "
                     "paths. For " +
                         takersOf(Takes::Range));
    arguments.option("--group BY", group, groupsHelp());
    arguments.option("--kernel NAME", request.kernel,
                     "inside: only kernels with this part in their name, or that a glob matches");
    arguments.repeated("--scale K=F", scales,
                       "what-if: the work K takes F times as long; K: a family, a path with / such as "
                       "'**/attention/**', or the name of a kernel or, on a CPU, an op; may be repeated");
    arguments.repeated("--remove K", request.removed,
                       "what-if: the program leaves out the work K, and its host the time that launches it; "
                       "may be repeated");
    arguments.repeated("--free WHAT", free,
                       "what-if: launches (the host takes no time, as with a CUDA graph) or communication; "
                       "may be repeated");
    arguments.option("--at WHEN", at,
                     "memory: blocks allocated at the peak, or that many ns after the run's first event; "
                     "ever: all allocations of the traced steps, largest first");
    arguments.choice(
        "--weight W", weight, {"time", "host", "allocated", "flops", "bytes", "idle", "samples"},
        "tree: time (of the GPU, the default), host (self time of ops), allocated (bytes), flops, "
        "bytes (that ops read and write), idle (of the GPU, by the stacks of the host), or samples (of the "
        "instructions of kernels, with the lines of their source)");
    arguments.option("--from NS", from,
                     "only what happens in this time span, in ns after the run's first event; what is only "
                     "partly in it counts with that part. For " +
                         takersOf(Takes::Span));
    arguments.option("--to NS", to, "the end of that span");
    arguments.flag("--invert", request.invert, "tree: kernels and ops outermost, their callers inside");
    arguments.option(
        "--thread N", thread,
        "tree: only what this thread launched, or ran on the host; its number as on the timeline");
    arguments.repeated("--filter F", filters,
                       "tree: keep=NAME only stacks with that call, hide=NAME without it, callers=NAME the "
                       "call and below it its callers, callees=NAME the call and what it calls; NAME is "
                       "whole; may be repeated, in order");
    arguments.option(
        "--against A", request.against,
        "tree: the difference from another run, the baseline: FILE or FILE:RUN; a mean traced step "
        "of each; inside: which lines or states of kernels changed");
    arguments.flag(
        "--names", request.names,
        "memory: which tensor of attention each block holds (Q, K, V, S, P, O, dO, dP, dS, dQ, dK, "
        "dV, workspaces) and which memory it reuses, in the first traced step; also with --at peak "
        "or --at NS");
    arguments.choice("--format F", format, {"table", "json", "csv", "md"},
                     "table (the default), json (the stable interface for programs), csv or md (Markdown)");
    arguments.option("--limit N", limit,
                     "at most N rows of a table; 0: all (default 200, advice 5 a finding; json and csv are "
                     "complete)");
    arguments.suggest("--group", [&request] {
        std::vector<std::string> words;
        for (const ShowSection& section : showSections())
            if (section.name == request.section)
                words.assign(section.groups.begin(), section.groups.end());
        return words;
    });
    arguments.suggest("--free", [] { return std::vector<std::string>{"launches", "communication"}; });
    arguments.suggest("--at", [] { return std::vector<std::string>{"peak", "ever"}; });
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
    request.tree.weight = query::callWeightOf(weight);
    request.tree.span = spanOf(from, to);
    query::ProcessQuery& topology = request.query.topology;
    if (!rank.empty())
        topology.rank = static_cast<std::int32_t>(wholeNumber(rank, "--rank", 0, kMostNumber));
    if (!process.empty())
        topology.pid = wholeNumber(process, "--process");
    if (!device.empty())
        topology.device = static_cast<std::int32_t>(wholeNumber(device, "--device", 0, kMostNumber));
    if (!step.empty())
        request.step = static_cast<std::int32_t>(wholeNumber(step, "--step", 0, kMostNumber));
    readChange(request, scales, free);
    if (!thread.empty())
        request.tree.thread = wholeNumber(thread, "--thread", 0);
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

const ShowSection& checkedSection(ShowRequest& request)
{
    const ShowSection& section = showSectionOf(request.section);
    readGroup(request, section);
    const query::ProcessQuery& topology = request.query.topology;
    const query::CallTreeOptions& tree = request.tree;
    const bool isChanged = !request.scales.empty() || !request.removed.empty() || request.freeLaunches ||
                           request.freeCommunication;
    requireTaken(section, Takes::Range, !request.query.rangeGlob.empty(), "--range");
    requireTaken(section, Takes::Process, topology.rank || topology.pid, "--rank or --process");
    requireTaken(section, Takes::Device, topology.device.has_value(), "--device");
    requireTaken(section, Takes::AllSteps, topology.allSteps, "--all-steps");
    requireTaken(section, Takes::Step, request.step.has_value(), "--step");
    requireTaken(section, Takes::Span, tree.span.has_value(), "--from or --to");
    if (request.tree.span && request.step && section.name == "waiting")
        throw Error{
            .what = "--step excludes --from and --to", .where = "show waiting", .remedy = "give one of them"};
    requireTaken(section, Takes::Tree,
                 tree.weight != query::CallWeight::Time || request.invert || !tree.filters.empty() ||
                     tree.thread.has_value(),
                 "--weight, --invert, --filter or --thread");
    requireTaken(section, Takes::Against, !request.against.empty(), "--against");
    requireTaken(section, Takes::Change, isChanged, "--scale, --remove or --free");
    requireTaken(section, Takes::Kernel, !request.kernel.empty(), "--kernel");
    requireTaken(section, Takes::Blocks, request.at || request.names, "--at or --names");
    if (section.has(Takes::Change) && !isChanged)
        throw Error{.what = "no change is given",
                    .where = "show " + request.section,
                    .remedy = "give --scale KEY=FACTOR, --remove KEY or --free launches"};
    requireOneQuestionOfMemory(request);
    return section;
}

} // namespace tilescope::cli
