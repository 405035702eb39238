#include "app/cli/compare.h"

#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/span_argument.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/exchange/compare_sections.h"
#include "core/exchange/import/import_cache.h"
#include "core/query/runs/selection.h"
#include "core/query/tables/compare_tables.h"
#include "core/report/comparison_page.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <utility>

namespace tilescope::cli {

namespace {

/// Parses `0.3%` or `0.003`.
double fractionOf(std::string_view text, std::string_view where)
{
    const bool percent = text.ends_with('%');
    const std::string_view number = percent ? text.substr(0, text.size() - 1) : text;
    const auto parsed = parseNumber<double>(number);
    if (!parsed || !(*parsed >= 0))
        throw Error{.what = "'" + std::string(text) + "' is not a fraction",
                    .where = std::string(where),
                    .remedy = "write it like 0.3% or 0.003"};
    const double value = percent ? *parsed / 100 : *parsed;
    if (value > 1)
        throw Error{.what = "'" + std::string(text) + "' is more than 100%",
                    .where = std::string(where),
                    .remedy = "write at most 100% or 1"};
    return value;
}

int exitCodeOf(analysis::GateOutcome outcome)
{
    switch (outcome) {
    case analysis::GateOutcome::Passed:
        return 0;
    case analysis::GateOutcome::Exceeded:
        return 1;
    case analysis::GateOutcome::Undecided:
        break;
    }
    return 5;
}

/// \throws Error  Usage: an option that is about whole steps
void refuseWithSpan(const CompareRequest& request)
{
    const std::array<std::pair<const char*, bool>, 4> options{{{"--gate", !request.gate.empty()},
                                                               {"--run-to-run", !request.runToRun.empty()},
                                                               {"--rank", !request.rank.empty()},
                                                               {"--at", request.at != "auto"}}};
    for (const auto& [option, isGiven] : options)
        if (isGiven)
            throw Error{.what = "is about whole steps",
                        .where = option,
                        .remedy = "leave out --from and --to, or " + std::string(option)};
}

} // namespace

std::vector<std::filesystem::path> RunAddress::inputs() const
{
    std::vector<std::filesystem::path> files{recording.file};
    if (recording.import)
        std::ranges::copy(recording.import->sources, std::back_inserter(files));
    return files;
}

RunAddress runAddressOf(std::string_view text)
{
    std::error_code ignored;
    if (std::filesystem::exists(text, ignored))
        return {.named = text, .recording = recordingOf(text)};
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0)
        throw Error{.what = "no such file", .where = std::string(text), .remedy = "check the path"};
    const std::filesystem::path file = text.substr(0, colon);
    if (!std::filesystem::exists(file, ignored))
        throw Error{.what = "no such file", .where = file.string(), .remedy = "check the path"};
    const RunId run = runNumber(text.substr(colon + 1), text);
    return {.named = file, .recording = recordingOf(file), .run = run};
}

int compare(const CompareRequest& request, std::ostream& out)
{
    const RunAddress first = runAddressOf(request.a);
    const RunAddress second = runAddressOf(request.b);
    std::optional<double> runToRun;
    if (!request.runToRun.empty())
        runToRun = fractionOf(request.runToRun, "--run-to-run");
    std::optional<double> allowed;
    if (!request.gate.empty())
        allowed = fractionOf(request.gate, "--gate");
    const store::RunReader a(first.recording.file);
    const store::RunReader b(second.recording.file);
    query::PartyQuery parties;
    if (!request.rank.empty())
        parties.rank = static_cast<std::int32_t>(wholeNumber(request.rank, "--rank"));
    const auto spans = spansOf(request.from, request.to);
    const bool isLimited = spans[0] || spans[1];
    if (isLimited)
        refuseWithSpan(request);
    query::Comparison compared = isLimited ? query::compareSpans(a, first.run, b, second.run, spans)
                                           : query::compare(a, first.run, b, second.run, runToRun, parties);
    // The path that the user gave. It may represent a recording in the import cache.
    compared.a.file = first.named.string();
    compared.b.file = second.named.string();
    std::optional<query::MemoryMoment> moment;
    if (request.at != "auto")
        moment = request.at == "peak" ? query::MemoryMoment::Peak : query::MemoryMoment::End;
    if (!isLimited)
        compared.held = query::memoryDifference(a, compared.a.run.run, b, compared.b.run.run, moment);
    const auto comparison = std::make_shared<const query::Comparison>(std::move(compared));
    std::optional<analysis::Gate> gate;
    if (allowed)
        gate = analysis::gateOf(comparison->step(), *allowed);
    exchange::TerminalStyle style = exchange::styleOfStandardOutput();
    style.limit = static_cast<std::size_t>(wholeNumber(request.limit, "--limit"));
    if (request.format == "json") {
        exchange::writeComparisonJson(out, comparison, gate);
    } else if (request.format == "md") {
        report::writeComparisonMarkdown(out, comparison, gate, style.limit);
    } else {
        exchange::writeComparisonTerminal(out, comparison, style, request.memoryBy);
        if (gate)
            out << '\n' << sentenceOf(*gate) << '\n';
    }
    return gate ? exitCodeOf(gate->outcome) : 0;
}

int compareCommand(int argc, char** argv)
{
    CompareRequest request;
    Arguments arguments(
        "compare A[:RUN] B[:RUN] [--gate P%] [--format table|json|md]",
        "Compares B with A: times with 95 % intervals, causes, memory, kernels, families and ranges.\n"
        "Each side is a run with all repeats of its point; without RUN, the file's only point.",
        "tilescope compare t.tscope:1 t.tscope:2");
    arguments.positional("A", request.a, "the baseline: a file and one of its runs");
    arguments.positional("B", request.b, "the candidate");
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
    arguments.option("--limit", request.limit, "maximum number of rows of a table; 0: all (30)");
    if (!arguments.parse(argc, argv))
        return 0;
    if (request.a.empty() || request.b.empty())
        throw Error{
            .what = "needs two runs", .where = "compare", .remedy = "tilescope compare A[:RUN] B[:RUN]"};
    return compare(request, std::cout);
}

} // namespace tilescope::cli
