// sql: the rows of a SELECT statement over a recording.

#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/print_table.h"
#include "app/cli/recording.h"
#include "app/cli/shared_options.h"
#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/exchange/runs/sql_section.h"
#include "core/exchange/tables/text.h"
#include "core/query/runs/run_tables.h"
#include "core/store/run_reader.h"

#include <iostream>
#include <iterator>

namespace tilescope::cli {

namespace {

constexpr std::size_t kRowsForPeople = 200;

/// \param text  of --limit; empty: not given
std::size_t limitFrom(const std::string& text, bool forPeople)
{
    const std::size_t all = store::SqlLimits{}.rows;
    if (text.empty())
        return forPeople ? kRowsForPeople : all;
    const auto limit = wholeNumber(text, "--limit", 0, static_cast<std::int64_t>(all));
    return limit == 0 ? all : static_cast<std::size_t>(limit);
}

std::string statementFrom(std::string sql)
{
    if (sql == "-")
        sql.assign(std::istreambuf_iterator<char>(std::cin), {});
    return sql;
}

/// Names the file in errors that do not say where they are.
store::SqlResult resultOf(const std::filesystem::path& recording, const std::string& named,
                          const std::string& statement, const store::SqlLimits& limits)
{
    try {
        return store::runSql(recording, statement, limits, {}, exchange::sqlFunctions());
    } catch (Error& error) {
        if (error.where.empty())
            error.where = named;
        throw;
    }
}

} // namespace

int sqlCommand(int argc, char** argv)
{
    std::string file;
    std::string sql;
    std::string format = "table";
    std::string limit;
    Arguments arguments(
        "sql FILE [STATEMENT] [--format table|json|csv] [--limit N]",
        "Prints the rows of a SELECT statement over a recording or a trace of another program. Without a\n"
        "statement, lists views, tables and their columns. The recording is read-only. A result has at\n"
        "most 1,000,000 rows and 512 MiB, a value 64 MiB; a message states what is left out. help/store.md\n"
        "explains the columns.",
        "tilescope sql a.tscope 'select short_name, sum(duration) from kernels group by 1'");
    arguments.positional("FILE", file, "a .tscope file, or a trace that Tilescope can import");
    arguments.positional("STATEMENT", sql, "one SELECT statement; -: read it from standard input");
    tableFormatOption(arguments, format);
    arguments.option("--limit", limit,
                     "at most N rows; 0: up to 1,000,000 (default: 200 in a table, otherwise 0)");
    if (!arguments.parse(argc, argv))
        return 0;
    if (file.empty())
        throw Error{.what = "no file was named", .where = "tilescope sql", .remedy = "see --help"};
    const std::size_t rows = limitFrom(limit, format == "table");
    const Recording recording = recordingOf(file);
    if (sql.empty()) {
        const auto sources =
            std::make_shared<const std::vector<store::SqlSource>>(store::sqlSources(recording.file));
        printTable(exchange::tableOf(sources), format);
        return 0;
    }
    const auto result = std::make_shared<const store::SqlResult>(
        resultOf(recording.file, file, statementFrom(sql), {.rows = rows}));
    printTable(exchange::tableOf(result), format);
    if (!result->isComplete)
        std::cerr << "the statement has more than these "
                  << counted(static_cast<std::int64_t>(result->rows()), "row")
                  << "; --limit sets how many are read" << std::endl;
    if (const std::string lost = query::lossSentence(store::RunReader(recording.file)); !lost.empty())
        std::cerr << escapeForTerminal(lost) << " List them: tilescope show FILE losses." << std::endl;
    return 0;
}

} // namespace tilescope::cli
