#include "core/store/maintenance/maintenance.h"

#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/store/file/database.h"
#include "core/store/file/file_check.h"
#include "core/store/file/schema.h"
#include "core/store/rows/columns.h"
#include "core/store/rows/row_ledger.h"

#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <ranges>
#include <sstream>

namespace tilescope::store {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostProblems = 100;

std::string writtenAndFound(std::int64_t written, std::int64_t found)
{
    return counted(written, "row") + plural(written, " was", " were") + " written, " + std::to_string(found) +
           plural(found, " is", " are") + " there";
}

/// Chunks with overlapping ids. Only the sum of all their rows can be checked.
struct Group {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t rows = 0;
    std::uint64_t checksum = 0;
};

class Verifier {
public:
    Verifier(SQLite::Database& database, VerifyReport& report)
        : database_(database), rule_(digestRuleOf(database)), report_(report)
    {
    }

    void checkStructure()
    {
        guarded("its structure", [this] {
            SQLite::Statement row(database_, "pragma integrity_check(20)");
            while (row.executeStep())
                addFindings(store::text(row, "integrity_check"));
        });
    }

    void checkTable(Source source)
    {
        const std::string table(nameOf(source));
        guarded("table " + table, [&] { readTable(source, table); });
    }

    /// The rows that describe all others.
    void checkBooks()
    {
        guarded("tables file, chunk and tally", [this] {
            // A writer that was killed before its first commit leaves three empty tables.
            if (rule_ == DigestRule::Typed && storedBooks(database_).value_or(0) != sumOfBooks(database_))
                problem("tables file, chunk and tally: the rows are not as they were written");
        });
    }

private:
    /// One finding a line; SQLite heads those of a database with a line that names it.
    void addFindings(const std::string& text)
    {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);)
            if (!line.empty() && line != "ok" && !line.starts_with("***"))
                problem("SQLite finds: " + line);
    }

    /// Runs one check; an error that ends it becomes a finding.
    template <class Work> void guarded(const std::string& what, Work&& work)
    {
        try {
            work();
        } catch (const SQLite::Exception& exception) {
            problem(what + " cannot be read: " + sqlite3_errstr(exception.getErrorCode() & 0xff));
        }
    }

    void problem(std::string text)
    {
        if (report_.problems.size() < kMostProblems)
            report_.problems.push_back(std::move(text));
        else if (report_.problems.size() == kMostProblems)
            report_.problems.emplace_back("and more");
    }

    std::vector<Group> groupsOf(const std::string& table)
    {
        std::vector<Group> groups;
        SQLite::Statement row(
            database_, "select first, last, rows, checksum from chunk where source = ? order by first");
        row.bind(1, table);
        while (row.executeStep()) {
            const Group chunk{row.getColumn(0).getInt64(), row.getColumn(1).getInt64(),
                              row.getColumn(2).getInt64(),
                              static_cast<std::uint64_t>(row.getColumn(3).getInt64())};
            if (groups.empty() || chunk.first > groups.back().last) {
                groups.push_back(chunk);
                continue;
            }
            Group& group = groups.back();
            group.last = std::max(group.last, chunk.last);
            group.rows += chunk.rows;
            group.checksum += chunk.checksum;
        }
        return groups;
    }

    void readTable(Source source, const std::string& table)
    {
        const std::vector<Group> groups = groupsOf(table);
        sqlite3_stmt* row = nullptr;
        check(database_.getHandle(),
              sqlite3_prepare_v2(database_.getHandle(), ("select * from " + table + " order by id").c_str(),
                                 -1, &row, nullptr));
        const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> owner(row, &sqlite3_finalize);
        auto group = groups.begin();
        std::int64_t rows = 0;
        std::int64_t strangers = 0;
        Group found;
        int code = 0;
        while ((code = sqlite3_step(row)) == SQLITE_ROW) {
            const std::int64_t id = sqlite3_column_int64(row, 0);
            for (; group != groups.end() && id > group->last; ++group) {
                compare(table, *group, found);
                found = {};
            }
            ++rows;
            if (group == groups.end() || id < group->first) {
                ++strangers;
                continue;
            }
            ++found.rows;
            found.checksum += digestOf(row, source, rule_).value();
        }
        for (; group != groups.end(); ++group) {
            compare(table, *group, found);
            found = {};
        }
        if (strangers > 0)
            problem("table " + table + ": " + counted(strangers, "row") + plural(strangers, " is", " are") +
                    " in no chunk");
        report_.rows += rows;
        if (source == Source::Run)
            report_.runs = rows;
        compareTally(table, rows);
        check(database_.getHandle(), code);
    }

    void compare(const std::string& table, const Group& expected, const Group& found)
    {
        const std::string where = "table " + table + ", ids " + std::to_string(expected.first) + " to " +
                                  std::to_string(expected.last) + ": ";
        if (found.rows != expected.rows)
            problem(where + writtenAndFound(expected.rows, found.rows));
        else if (found.checksum != expected.checksum)
            problem(where + "the rows are not as they were written");
    }

    void compareTally(const std::string& table, std::int64_t rows)
    {
        SQLite::Statement row(database_, "select rows from tally where source = ?");
        row.bind(1, table);
        const std::int64_t expected = row.executeStep() ? row.getColumn(0).getInt64() : 0;
        if (expected != rows)
            problem("table " + table + ": " + writtenAndFound(expected, rows));
    }

    SQLite::Database& database_;
    const DigestRule rule_;
    VerifyReport& report_;
};

} // namespace

namespace {

/// The findings of a reader, from one snapshot, because a writer may be active.
void verifyWith(SQLite::Database& database, const fs::path& file, int version, VerifyReport& report)
{
    const auto migrations = embeddedMigrations();
    database.exec("begin");
    requireOurSchema(database, file, version, migrations);
    prepareForReading(database, version, migrations);
    Verifier verifier(database, report);
    verifier.checkStructure();
    for (std::size_t i = 0; i < kSources; ++i)
        verifier.checkTable(static_cast<Source>(i));
    verifier.checkBooks();
}

} // namespace

VerifyReport verify(const fs::path& file)
{
    return translating(file, [&] {
        const FileHeader header = requireTilescopeHeader(file, static_cast<int>(embeddedMigrations().size()));
        const auto database = openForReading(file, header);
        VerifyReport report;
        if (header.size < header.wholeSize)
            report.problems.push_back("the file is damaged: it was cut to " + std::to_string(header.size) +
                                      " of its " + std::to_string(header.wholeSize) + " bytes");
        try {
            verifyWith(*database, file, header.version, report);
        } catch (const SQLite::Exception& exception) {
            // SQLite reads nothing of a file that lacks whole pages. A report instead of SQLite's error, whose
            // remedy is to verify the file.
            if ((exception.getErrorCode() & 0xff) != SQLITE_CORRUPT)
                throw;
            report.problems.emplace_back(report.ok() ? "the file is damaged: not all of it can be read"
                                                     : "none of it can be read");
        }
        return report;
    });
}

} // namespace tilescope::store
