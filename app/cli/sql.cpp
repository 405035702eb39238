// sql: the rows of a SELECT statement over a recording.

#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/recording.h"
#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/exchange/sql_section.h"

#include <charconv>
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
    std::size_t limit = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
    if (error != std::errc{} || end != text.data() + text.size() || limit > all)
        throw Error{.what = "'" + text + "' is not a number of rows",
                    .where = "--limit",
                    .mend = "write a whole number up to 1000000; 0: that many"};
    return limit == 0 ? all : limit;
}

std::string statementFrom(std::string sql)
{
    if (sql == "-")
        sql.assign(std::istreambuf_iterator<char>(std::cin), {});
    return sql;
}

void write(const exchange::Table& table, const std::string& format)
{
    if (format == "json")
        return writeJson(std::cout, table);
    if (format == "csv")
        return writeCsv(std::cout, table);
    writeTerminal(std::cout, table, exchange::styleOfStandardOutput());
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
        "most 1,000,000 rows and 512 MiB, a value 64 MiB; what is left out is said. help/store.md explains\n"
        "the columns.",
        "tilescope sql a.tscope 'select short_name, sum(duration) from kernels group by 1'");
    arguments.positional("FILE", file, "a .tscope file, or a trace that Tilescope can import");
    arguments.positional("STATEMENT", sql, "one SELECT statement; -: read it from standard input");
    arguments.choice("--format", format, {"table", "json", "csv"}, "output format");
    arguments.option("--limit", limit,
                     "at most N rows; 0: up to 1,000,000 (default: 200 in a table, otherwise 0)");
    if (!arguments.parse(argc, argv))
        return 0;
    if (file.empty())
        throw Error{.what = "no file was named", .where = "tilescope sql", .mend = "see --help"};
    const std::size_t rows = limitFrom(limit, format == "table");
    const Recording recording = recordingOf(file);
    if (sql.empty()) {
        const auto sources =
            std::make_shared<const std::vector<store::SqlSource>>(store::sqlSources(recording.file));
        write(exchange::tableOf(sources), format);
        return 0;
    }
    const auto result = std::make_shared<const store::SqlResult>(
        store::runSql(recording.file, statementFrom(sql), {.rows = rows}));
    write(exchange::tableOf(result), format);
    if (!result->isComplete)
        std::cerr << "the statement has more than these "
                  << counted(static_cast<std::int64_t>(result->rows()), "row")
                  << "; --limit sets how many are read" << std::endl;
    return 0;
}

} // namespace tilescope::cli
