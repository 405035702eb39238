// Rows read from the pages of a file are those that SQLite finds.

#include "core/base/error.h"
#include "core/store/rows/event_rows.h"
#include "core/store/rows/row_digest.h"
#include "core/store/rows/table_pages.h"
#include "store_fixture.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace tilescope::store {

using namespace testing;

namespace {

constexpr std::size_t kColumns = 5;
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
using Rows = std::vector<std::vector<std::int64_t>>;

class PagesOfTable : public ::testing::Test {
protected:
    /// Ids with gaps, from below 0 on; values of every length, and nulls.
    void make(int pageSize, int rows, std::uint64_t seed)
    {
        SQLite::Database database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        database.exec("pragma page_size = " + std::to_string(pageSize));
        database.exec("create table other (x); create table t (id integer primary key, a integer, b integer, "
                      "c integer, d integer)");
        std::mt19937_64 random(seed);
        SQLite::Transaction all(database);
        SQLite::Statement insert(database, "insert into t values (?, ?, ?, ?, ?)");
        std::int64_t id = -50;
        for (int i = 0; i < rows; ++i) {
            id += 1 + static_cast<std::int64_t>(random() % 3);
            insert.bind(1, id);
            for (int column = 2; column <= static_cast<int>(kColumns); ++column) {
                const auto bits = static_cast<std::int64_t>(random()) >> (random() % 64);
                if (random() % 6 == 0 || bits == kNull)
                    insert.bind(column);
                else
                    insert.bind(column, bits);
            }
            insert.exec();
            insert.reset();
        }
        all.commit();
    }

    Rows byQuery(std::int64_t first, std::int64_t last) const
    {
        const SQLite::Database database(file.string());
        SQLite::Statement query(database, "select * from t where id between ? and ?");
        query.bind(1, first);
        query.bind(2, last);
        Rows rows;
        while (query.executeStep()) {
            std::vector<std::int64_t>& row = rows.emplace_back();
            for (int column = 0; column < static_cast<int>(kColumns); ++column)
                row.push_back(query.isColumnNull(column) ? kNull : query.getColumn(column).getInt64());
        }
        return rows;
    }

    Rows byPages(std::int64_t first, std::int64_t last) const
    {
        SQLite::Database database(file.string());
        database.exec("begin; select count(*) from sqlite_schema");
        std::optional<TablePages> pages = TablePages::of(database.getHandle(), "t", kColumns);
        if (!pages)
            throw std::runtime_error("the pages cannot be read");
        pages->seek(first);
        Rows rows;
        std::vector<std::int64_t> row(kColumns);
        while (pages->next(last, row.data()))
            rows.push_back(row);
        return rows;
    }

    TemporaryFolder folder;
    const std::filesystem::path file = folder / "pages.sqlite";
};

} // namespace

TEST_F(PagesOfTable, HoldTheRowsThatAQueryFinds)
{
    std::mt19937_64 random(7);
    for (const int pageSize : {512, 4096, 65'536})
        for (const int rows : {0, 1, 100, 20'000}) {
            std::filesystem::remove(file);
            make(pageSize, rows, random());
            EXPECT_EQ(byPages(-kHighest, kHighest), byQuery(-kHighest, kHighest)) << pageSize << ' ' << rows;
            for (int i = 0; i < 20; ++i) {
                const std::int64_t first = static_cast<std::int64_t>(random() % (2 * rows + 100)) - 80;
                const std::int64_t last = first + static_cast<std::int64_t>(random() % 700);
                EXPECT_EQ(byPages(first, last), byQuery(first, last)) << pageSize << ' ' << first;
            }
        }
}

TEST_F(PagesOfTable, HoldRowsAfterDeletionsAndInsertions)
{
    make(512, 5'000, 1);
    {
        SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
        database.exec("delete from t where id % 5 < 3; insert into t (id, a) select id + 100000, b from t;"
                      "delete from t where id between 1000 and 4000");
    }
    EXPECT_EQ(byPages(-kHighest, kHighest), byQuery(-kHighest, kHighest));
}

TEST_F(PagesOfTable, AreNotReadBesideAWriteAheadLog)
{
    make(4096, 10, 1);
    SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
    database.exec("pragma journal_mode = wal; insert into t (a) values (1)");
    database.exec("begin; select count(*) from t");
    EXPECT_FALSE(TablePages::of(database.getHandle(), "t", kColumns));
}

TEST_F(PagesOfTable, AreNotThoseOfAViewOrAMissingTable)
{
    make(4096, 10, 1);
    SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
    database.exec("create view v as select * from t; begin; select count(*) from t");
    EXPECT_FALSE(TablePages::of(database.getHandle(), "v", kColumns));
    EXPECT_FALSE(TablePages::of(database.getHandle(), "missing", kColumns));
}

/// Values on pages have the order of the table's columns.
TEST(EventTables, ListTheirColumnsInTheOrderOfTheSchema)
{
    const TemporaryFolder folder;
    const std::filesystem::path file = folder / "a.tscope";
    {
        const StringTable strings;
        const RunWriter writer(file, strings);
    }
    const SQLite::Database database(file.string());
    for (std::size_t kind = 0; kind < kEventKinds; ++kind) {
        const EventTable& table = eventTable(static_cast<EventKind>(kind));
        SQLite::Statement query(database, "select name from pragma_table_info(?)");
        query.bind(1, std::string(table.name));
        std::vector<std::string> columns;
        while (query.executeStep())
            columns.push_back(query.getColumn(0).getString());
        EXPECT_TRUE(std::ranges::equal(columns, table.columns)) << table.name;
    }
}

TEST_F(PagesOfTable, OtherValuesThanIntegersAreRefused)
{
    for (const char* value : {"'text'", "1.5", "x'00'", "zeroblob(100000)"}) {
        std::filesystem::remove(file);
        make(512, 10, 1);
        SQLite::Database(file.string(), SQLite::OPEN_READWRITE)
            .exec(std::string("insert into t (c) values (") + value + ")");
        EXPECT_THROW(byPages(-kHighest, kHighest), Error) << value;
    }
}

/// Whatever the bytes are, reading ends, within the page and without undefined behaviour.
TEST_F(PagesOfTable, DamageEndsWithAnErrorOrWithRowsInOrder)
{
    make(512, 2'000, 3);
    const std::string whole = contentsOf(file);
    std::mt19937_64 random(11);
    int refused = 0;
    for (int i = 0; i < 600; ++i) {
        std::string bytes = whole;
        for (int k = 0; k < 8; ++k) // the first page is SQLite's own
            bytes[512 + random() % (bytes.size() - 512)] = static_cast<char>(random());
        if (i % 3 == 0) // a page takes the place of another
            bytes.replace(512 * (1 + random() % (bytes.size() / 512 - 1)), 512, bytes,
                          512 * (bytes.size() / 1024), 512);
        std::ofstream(file, std::ios::binary) << bytes;
        try {
            const Rows rows = byPages(-kHighest, kHighest);
            EXPECT_TRUE(std::ranges::is_sorted(rows, {}, [](const auto& row) { return row.front(); }));
        } catch (const Error& error) {
            EXPECT_NE(error.sentence().find("the file is damaged"), std::string::npos) << error.sentence();
            ++refused;
        }
    }
    EXPECT_GT(refused, 100);
}

} // namespace tilescope::store
