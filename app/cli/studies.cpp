#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/print_table.h"
#include "app/cli/shared_options.h"
#include "core/config/study.h"

#include <fmt/format.h>

namespace tilescope::cli {

namespace {

struct Row {
    config::Study study;
    std::size_t quickPoints = 0;
};

/// `NVIDIA H200 42 s; 2 CPU cores, quick 9 s`.
std::string tookText(const config::Study& study)
{
    std::string text;
    for (const auto& [where, seconds] : study.took)
        text += fmt::format("{}{} {:.0f} s", text.empty() ? "" : "; ", where, seconds);
    return text;
}

} // namespace

int studiesCommand(int argc, char** argv)
{
    std::string format = "table";
    Arguments arguments(
        "studies [--format table|json|csv]",
        "Lists the ready-made sweeps: question, number of runs, and durations on known machines.",
        "tilescope --batch study:attention-grid --quick -o grid.tscope");
    tableFormatOption(arguments, format);
    if (!arguments.parse(argc, argv))
        return 0;

    std::vector<Row> rows;
    for (const std::string& name : config::studyNames())
        rows.push_back({config::loadStudy(name), config::loadStudy(name, config::Edition::Quick).points()});
    const auto column = [&rows](std::string key, std::string title, auto value) {
        return exchange::Column{
            .key = std::move(key), .title = std::move(title), .cell = [&rows, value](std::size_t row) {
                return exchange::Cell(value(rows[row]));
            }};
    };
    exchange::Table table{.rows = rows.size()};
    table.columns = {
        column("study", "study", [](const Row& row) { return row.study.name; }),
        column("asks", "asks", [](const Row& row) { return row.study.asks; }),
        column("runs", "runs", [](const Row& row) { return std::int64_t(row.study.points()); }),
        column("quick_runs", "quick runs", [](const Row& row) { return std::int64_t(row.quickPoints); }),
        column("took", "took", [](const Row& row) { return tookText(row.study); })};
    table.columns[1].elidable = true;
    table.whyEmpty = "No study is installed.";
    table.notes = {
        "Run one with tilescope --batch study:NAME -o FILE, all with study:all; --quick makes it small.",
        "tilescope report FILE -o DIR writes its tables, figures and findings."};
    for (const std::string& name : config::handoutNames())
        table.notes.push_back("study:" + name + ": " + config::loadHandout(name).title);
    printTable(table, format);
    return 0;
}

} // namespace tilescope::cli
