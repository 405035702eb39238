#include "core/store/maintenance/maintenance.h"

#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/store/file/database.h"
#include "core/store/file/file_check.h"
#include "core/store/file/schema.h"
#include "core/store/rows/chunks.h"
#include "core/store/rows/columns.h"

#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <vector>

namespace tilescope::store {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostProblems = 100;

std::string writtenAndFound(std::int64_t written, std::int64_t found)
{
    return counted(written, "row") + plural(written, " was", " were") + " written, " + std::to_string(found) +
           plural(found, " is", " are") + " there";
}

class Verifier {
public:
    Verifier(SQLite::Database& database, int version, VerifyReport& report)
        : database_(database), version_(version), report_(report)
    {
        report_.hasChecksums = version >= kFirstWithChecksums;
    }

    void checkStructure()
    {
        guarded("its structure", [this] {
            SQLite::Statement row(database_, "pragma integrity_check(20)");
            while (row.executeStep())
                addFindings(store::text(row, "integrity_check"));
        });
    }

    void checkTables()
    {
        std::vector<std::string> tables;
        guarded("its structure", [&] { tables = tablesInChunks(database_, version_); });
        for (const std::string& table : tables)
            guarded("table " + table, [&] { readTable(table); });
        guarded("table chunk", [&] { checkNames(tables); });
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

    /// What the chunks of a table say, in the order of their ids. Chunks whose ids overlap are one: only the sum of
    /// all their rows can be compared.
    std::vector<Chunk> chunksOf(const std::string& table)
    {
        std::vector<Chunk> chunks;
        SQLite::Statement row(database_, std::string("select ") + kChunkColumns +
                                             " from chunk where source = ? order by first");
        row.bind(1, table);
        while (row.executeStep()) {
            const Chunk chunk = chunkAt(row);
            if (chunks.empty() || chunk.first > chunks.back().last) {
                chunks.push_back(chunk);
                continue;
            }
            Chunk& joined = chunks.back();
            joined.last = std::max(joined.last, chunk.last);
            joined.rows += chunk.rows;
            joined.sum += chunk.sum;
        }
        return chunks;
    }

    void readTable(const std::string& table)
    {
        const std::vector<Chunk> chunks = report_.hasChecksums ? chunksOf(table) : std::vector<Chunk>();
        sqlite3_stmt* row = nullptr;
        check(database_.getHandle(),
              sqlite3_prepare_v2(database_.getHandle(), ("select * from " + table + " order by id").c_str(),
                                 -1, &row, nullptr));
        const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> owner(row, &sqlite3_finalize);
        const int columns = sqlite3_column_count(row);
        auto chunk = chunks.begin();
        std::int64_t rows = 0;
        std::int64_t strangers = 0;
        Chunk found;
        int code = 0;
        while ((code = sqlite3_step(row)) == SQLITE_ROW) {
            const std::int64_t id = sqlite3_column_int64(row, 0);
            for (; chunk != chunks.end() && id > chunk->last; ++chunk) {
                compare(table, *chunk, found);
                found = {};
            }
            ++rows;
            if (chunk == chunks.end() || id < chunk->first)
                ++strangers;
            else
                found.add(id, digestOf(row, columns));
        }
        for (; chunk != chunks.end(); ++chunk) {
            compare(table, *chunk, found);
            found = {};
        }
        if (strangers > 0 && report_.hasChecksums)
            problem("table " + table + ": " + counted(strangers, "row") + plural(strangers, " is", " are") +
                    " in no chunk");
        report_.rows += rows;
        if (table == "run")
            report_.runs = rows;
        if (!report_.hasChecksums)
            compareCount(table, rows);
        check(database_.getHandle(), code);
    }

    void compare(const std::string& table, const Chunk& written, const Chunk& found)
    {
        const std::string where = "table " + table + ", ids " + std::to_string(written.first) + " to " +
                                  std::to_string(written.last) + ": ";
        if (found.rows != written.rows)
            problem(where + writtenAndFound(written.rows, found.rows));
        else if (found.sum != written.sum)
            problem(where + "the rows are not as they were written");
    }

    /// Of a file whose checksums are not read.
    void compareCount(const std::string& table, std::int64_t found)
    {
        SQLite::Statement row(database_, "select coalesce(sum(rows), 0) from chunk where source = ?");
        row.bind(1, table);
        if (const std::int64_t written = integerOf(row); written != found)
            problem("table " + table + ": " + writtenAndFound(written, found));
    }

    void checkNames(const std::vector<std::string>& tables)
    {
        SQLite::Statement row(database_, "select distinct source from chunk");
        while (row.executeStep())
            if (!std::ranges::binary_search(tables, row.getColumn(0).getString()))
                problem("table chunk: it names an unknown table");
    }

    SQLite::Database& database_;
    const int version_;
    VerifyReport& report_;
};

} // namespace

void verifyTables(SQLite::Database& database, int version, VerifyReport& report)
{
    Verifier verifier(database, version, report);
    verifier.checkStructure();
    verifier.checkTables();
}

namespace {

/// The findings of a reader, from one snapshot, because a writer may be active.
void verifyWith(SQLite::Database& database, const fs::path& file, int version, VerifyReport& report)
{
    const auto migrations = embeddedMigrations();
    database.exec("begin");
    requireOurSchema(database, file, version, migrations);
    prepareForReading(database, version, migrations);
    verifyTables(database, version, report);
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
