#include "core/store/maintenance.h"

#include "core/base/error.h"
#include "core/store/columns.h"
#include "core/store/database.h"
#include "core/store/file_check.h"
#include "core/store/row_ledger.h"
#include "core/store/schema.h"

#include <sqlite3.h>

#include <algorithm>
#include <memory>

namespace tilescope::store {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostProblems = 100;

/// Chunks whose ids overlap, together: their rows cannot be told apart, their sum can.
struct Group {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t rows = 0;
    std::uint64_t checksum = 0;
};

class Verifier {
public:
    Verifier(SQLite::Database& database, VerifyReport& report) : database_(database), report_(report) {}

    void checkStructure()
    {
        guarded("its structure", [this] {
            SQLite::Statement row(database_, "pragma integrity_check(20)");
            while (row.executeStep())
                if (const std::string line = store::text(row, "integrity_check"); line != "ok")
                    problem("SQLite finds: " + line);
        });
    }

    void checkTable(Source source)
    {
        const std::string table(nameOf(source));
        guarded("table " + table, [&] { readTable(source, table); });
    }

private:
    /// What stops the reading of one thing is a finding like any other.
    template <class Work> void guarded(const std::string& what, Work&& work)
    {
        try {
            work();
        } catch (const SQLite::Exception& exception) {
            problem(what + " cannot be read: " + exception.what());
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
            found.checksum += digestOf(row, source).value();
        }
        for (; group != groups.end(); ++group) {
            compare(table, *group, found);
            found = {};
        }
        if (strangers > 0)
            problem("table " + table + ": " + std::to_string(strangers) + " rows are in no chunk");
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
            problem(where + std::to_string(expected.rows) + " rows were written, " +
                    std::to_string(found.rows) + " are there");
        else if (found.checksum != expected.checksum)
            problem(where + "the rows are not as they were written");
    }

    void compareTally(const std::string& table, std::int64_t rows)
    {
        SQLite::Statement row(database_, "select rows from tally where source = ?");
        row.bind(1, table);
        const std::int64_t expected = row.executeStep() ? row.getColumn(0).getInt64() : 0;
        if (expected != rows)
            problem("table " + table + ": " + std::to_string(expected) + " rows were written in all, " +
                    std::to_string(rows) + " are there");
    }

    SQLite::Database& database_;
    VerifyReport& report_;
};

} // namespace

VerifyReport verify(const fs::path& file)
{
    return translating(file, [&] {
        const auto migrations = embeddedMigrations();
        const FileHeader header = requireTilescopeFile(file, static_cast<int>(migrations.size()));
        const auto database = openForReading(file, header);
        // One snapshot: a writer may be at work.
        database->exec("begin");
        requireOurSchema(*database, file, header.version, migrations);
        prepareForReading(*database, header.version, migrations);
        VerifyReport report;
        Verifier verifier(*database, report);
        verifier.checkStructure();
        for (std::size_t i = 0; i < kSources; ++i)
            verifier.checkTable(static_cast<Source>(i));
        return report;
    });
}

} // namespace tilescope::store
