#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/compare.h"
#include "app/cli/compare_measure.h"
#include "app/cli/sweep_command.h"
#include "core/base/error.h"

#include <iostream>
#include <string>
#include <utility>

namespace tilescope::cli {

namespace {

/// \throws Error  Usage: an option that --measure lacks, or does not go with it
void requireFitting(bool measures, const CompareRequest& request, const std::string& repeat,
                    const std::string& file)
{
    const auto refuse = [](const char* option, const char* what, const char* remedy) {
        throw Error{.what = what, .where = option, .remedy = remedy};
    };
    if (!measures && !repeat.empty())
        refuse("--repeat", "is about --measure", "add --measure, or leave it out");
    if (!measures && !file.empty())
        refuse("--output", "is about --measure", "add --measure, or leave it out");
    if (measures && (!request.from.empty() || !request.to.empty()))
        refuse("--measure", "compares whole steps", "leave out --from and --to");
    if (measures && request.single)
        refuse("--single", "is about runs of a file", "leave out --measure or --single");
}

} // namespace

int compareCommand(int argc, char** argv)
{
    CompareRequest request;
    bool measures = false;
    std::string repeat;
    std::string file;
    Arguments arguments(
        "compare A[:RUN] B[:RUN] [--gate P%] [--format table|json|md]",
        "Compares B with A: times with 95 % intervals, causes, memory, kernels, families and ranges.\n"
        "Each side is a run with all repeats of its point: runs of the same spec or recorded command.\n"
        "Without RUN it is the file's only point, with RUN,RUN… these runs, with --single RUN alone.\n"
        "With --measure, each side is a spec file or a command in quotes, which are run first.",
        "tilescope compare t.tscope:1 t.tscope:2");
    arguments.positional("A", request.a, "the baseline: a file and one of its runs");
    arguments.positional("B", request.b, "the candidate");
    arguments.flag(
        "--measure", measures,
        "run A and B in turn (A B, B A, …), then compare them: .yaml files of one point, or commands, which "
        "are recorded or print lines step_ms: NUMBER");
    arguments.option("--repeat", repeat,
                     "with --measure: runs of each side (5; up to 20 of specs with short runs)");
    arguments.output(
        "-o,--output", file,
        "with --measure: the .tscope file to add the runs to (a temporary one, named at the end)");
    arguments.flag("--single", request.single,
                   "compare RUN of each side alone, without the repeats of its point");
    arguments.choice("--format", request.format, {"table", "json", "md"},
                     "output format; md: Markdown for a pull request");
    arguments.option(
        "--gate", request.gate,
        "the slowdown of the step that is allowed, such as 3%: exit 0 if the 95 % interval of the "
        "ratio ends at or below 1.03, 1 if it begins above, otherwise 5");
    arguments.option(
        "--run-to-run", request.runToRun,
        "standard deviation between the medians of runs of one program, such as 2% (default: from "
        "repeats)");
    arguments.choice("--memory-by", request.memoryBy, {"category", "op", "module", "range", "size"},
                     "grouping of allocated blocks, in addition to category (range)");
    arguments.choice("--at", request.at, {"auto", "peak", "end"},
                     "when to compare blocks; auto: at the peak of a run, at the end of a snapshot (auto)");
    arguments.option(
        "--from", request.from,
        "compare only what happens from this time on, in ns after each run's first event; A,B: for each "
        "run its own");
    arguments.option("--to", request.to, "compare only what happens before this time");
    arguments.option(
        "--rank", request.rank,
        "the rank whose step the causes are about, of runs of several processes (the mean of all)");
    arguments.flag("--all-steps", request.allSteps,
                   "means of recordings are of all steps, also of those that start up or compile");
    arguments.option("--limit", request.limit, "maximum number of rows of a table; 0: all (30)");
    if (!arguments.parse(argc, argv))
        return 0;
    if (request.a.empty() || request.b.empty())
        throw Error{.what = measures ? "needs two specs or commands" : "needs two runs",
                    .where = "compare",
                    .remedy = measures ? "tilescope compare --measure A.yaml B.yaml"
                                       : "tilescope compare A[:RUN] B[:RUN]"};
    requireFitting(measures, request, repeat, file);
    if (!request.gate.empty())
        fractionOf(request.gate, "--gate");
    if (!measures)
        return compare(request, std::cout);
    MeasureRequest measure{
        .a = request.a,
        .b = request.b,
        .repeats = repeat.empty() ? std::nullopt : std::optional(wholeNumber(repeat, "--repeat", 2, 1000)),
        .file = file,
        .commandLine = commandLineOf(argc, argv)};
    const auto measured = measureInTurn(measure, std::cerr);
    if (!measured)
        return 130;
    request.a = measured->a();
    request.b = measured->b();
    const int outcome = compare(request, std::cout);
    std::cout.flush();
    sayWhereKept(std::cerr, *measured);
    return outcome;
}

} // namespace tilescope::cli
