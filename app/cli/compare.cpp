#include "app/cli/compare.h"

#include "app/cli/arguments.h"
#include "app/cli/on_host.h"
#include "app/cli/span_argument.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/exchange/compare/compare_sections.h"
#include "core/exchange/import/import_cache.h"
#include "core/query/compare/compare_tables.h"
#include "core/query/runs/selection.h"
#include "core/report/comparison_page.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <utility>

namespace tilescope::cli {

namespace {

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

/// \param numbers  makes the runs of what follows the colon
template <class Numbers> RunAddress addressOf(std::string_view text, const Numbers& numbers)
{
    std::error_code ignored;
    if (std::filesystem::exists(text, ignored))
        return {.named = text, .recording = recordingOf(text)};
    const std::size_t colon = text.rfind(':');
    if (const std::optional<std::string_view> remote = fileOnHost(text)) {
        RunAddress address{.named = *remote, .recording = recordingOf(*remote)};
        if (remote->size() < text.size()) {
            std::vector<RunId> runs = numbers(text.substr(colon + 1), text);
            address.run = runs.front();
            if (runs.size() > 1)
                address.runs = std::move(runs);
        }
        return address;
    }
    refuseUnknownHost(text);
    if (colon == std::string_view::npos || colon == 0)
        throw Error{.what = "no such file", .where = std::string(text), .remedy = "check the path"};
    const std::filesystem::path file = text.substr(0, colon);
    if (!std::filesystem::exists(file, ignored))
        throw Error{.what = "no such file", .where = file.string(), .remedy = "check the path"};
    std::vector<RunId> runs = numbers(text.substr(colon + 1), text);
    RunAddress address{.named = file, .recording = recordingOf(file), .run = runs.front()};
    if (runs.size() > 1)
        address.runs = std::move(runs);
    return address;
}

/// \throws Error  Usage: no single run is named, although it is to be compared alone
query::ComparedRuns comparedRuns(const RunAddress& address, bool single)
{
    if (single && (!address.run || !address.runs.empty()))
        throw Error{.what = address.run ? "names several runs" : "names no run",
                    .where = address.named.string(),
                    .remedy = "with --single name one run of each side: FILE:RUN"};
    if (!address.runs.empty() || !address.run)
        return {.named = address.runs};
    return {.named = {*address.run}, .withRepeats = !single};
}

/// \throws Error  Usage: several runs of a side
void refuseSeveral(const RunAddress& address)
{
    if (!address.runs.empty())
        throw Error{.what = "names several runs, and a time span is of one",
                    .where = address.named.string(),
                    .remedy = "name one run of each side, or leave out --from and --to"};
}

} // namespace

std::vector<std::filesystem::path> RunAddress::inputs() const
{
    std::vector<std::filesystem::path> files{recording.file};
    if (recording.import)
        std::ranges::copy(recording.import->sources, std::back_inserter(files));
    return files;
}

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

RunAddress runAddressOf(std::string_view text)
{
    return addressOf(text, [](std::string_view runs, std::string_view whole) {
        return std::vector{runNumber(runs, whole)};
    });
}

RunAddress runsAddressOf(std::string_view text)
{
    return addressOf(text, [](std::string_view runs, std::string_view whole) {
        std::vector<RunId> numbers;
        for (std::size_t begin = 0; begin <= runs.size();) {
            const std::size_t end = std::min(runs.find(',', begin), runs.size());
            numbers.push_back(runNumber(runs.substr(begin, end - begin), whole));
            begin = end + 1;
        }
        return numbers;
    });
}

int compare(const CompareRequest& request, std::ostream& out)
{
    const RunAddress first = runsAddressOf(request.a);
    const RunAddress second = runsAddressOf(request.b);
    std::optional<double> runToRun;
    if (!request.runToRun.empty())
        runToRun = fractionOf(request.runToRun, "--run-to-run");
    std::optional<double> allowed;
    if (!request.gate.empty())
        allowed = fractionOf(request.gate, "--gate");
    const store::RunReader a(first.recording.file);
    const store::RunReader b(second.recording.file);
    query::ProcessQuery topology{.allSteps = request.allSteps};
    if (!request.rank.empty())
        topology.rank = static_cast<std::int32_t>(wholeNumber(request.rank, "--rank"));
    const auto spans = spansOf(request.from, request.to);
    const bool isLimited = spans[0] || spans[1];
    if (isLimited) {
        refuseWithSpan(request);
        refuseSeveral(first);
        refuseSeveral(second);
    }
    const auto runsOf = [&request](const RunAddress& address) {
        return comparedRuns(address, request.single);
    };
    query::Comparison compared =
        isLimited ? query::compareSpans(a, first.run, b, second.run, spans)
                  : query::compare(a, runsOf(first), b, runsOf(second), runToRun, topology);
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
        gate = analysis::gateOf(comparison->judged(), *allowed);
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

} // namespace tilescope::cli
