#include "app/cli/show.h"

#include "app/cli/commands.h"
#include "app/cli/recording.h"
#include "app/cli/show_request.h"
#include "core/base/error.h"
#include "core/base/terminal_text.h"
#include "core/exchange/tables/section_parts.h"
#include "core/model/topology_index.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/run_tables.h"
#include "core/report/escape.h"
#include "core/report/markdown_table.h"
#include "core/store/run_reader.h"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <optional>

namespace tilescope::cli {

namespace {

void writeMarkdown(std::ostream& out, const exchange::Table& table, std::size_t limit)
{
    if (!table.heading.empty())
        out << "**" << report::escapeMarkdown(table.heading) << "**\n\n";
    if (table.rows == 0 && !table.whyEmpty.empty())
        out << report::escapeMarkdown(table.whyEmpty) << '\n';
    else
        report::writeMarkdownTable(out, table, limit);
}

/// Adds the process that the rows are of to a table of sums over the processes of a run; null: of several.
void addProcess(exchange::Table& table, const store::RunReader& reader, const ShowRequest& request)
{
    constexpr std::string_view kSums[] = {"inside", "kernels", "ops", "ranges", "roofline"};
    if (std::ranges::find(kSums, request.section) == std::end(kSums) || !request.against.empty())
        return;
    const RunId run = query::chooseRun(reader, request.query.run).run;
    const TopologyIndex topology(reader.topology(run), {});
    const query::ProcessQuery& asked = request.query.topology;
    ProcessIndex process;
    if (asked.rank || asked.pid)
        for (const TracedProcess& each : topology.topology().processes)
            if ((!asked.rank || each.rank == asked.rank) && (!asked.pid || each.pid == *asked.pid))
                process = each.id;
    exchange::addRowProcess(table, query::rowProcess(topology, process));
}

/// What the runs that the section is about lack; empty for the section that lists it.
std::string lossesOf(const store::RunReader& reader, const ShowRequest& request)
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
    std::optional<ShowRequest> parsed = parsedRequest(arguments, out);
    if (!parsed)
        return 0;
    ShowRequest& request = *parsed;
    if (request.file.empty())
        throw Error{
            .what = "needs a file", .where = "show", .remedy = "tilescope show FILE [SECTION]; see --help"};
    const ShowSection& section = checkedSection(request);
    const Recording recording = recordingOf(request.file);
    const store::RunReader reader(recording.file);
    if (request.format == ShowFormat::Table && section.text) {
        section.text(reader, request, out);
        if (const std::string lost = lossesOf(reader, request); !lost.empty())
            out << '\n' << escapeForTerminal(lost) << '\n';
        return 0;
    }
    exchange::Table table = section.table(reader, request);
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
