#include "core/base/error.h"
#include "core/store/file/foreign_database.h"
#include "core/store/file/foreign_integers.h"
#include "store_fixture.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <string>

namespace tilescope::store {

namespace {

class ForeignTable : public ::testing::Test {
protected:
    /// A table with `rows` rows; some values are null, texts or numbers with a fraction.
    void make(int rows) const
    {
        const std::string sql =
            "pragma page_size = 512; create table t (a integer, b, c integer);"
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < " +
            std::to_string(rows) +
            ") insert into t select case when i % 7 = 0 then null else i * 1000003 end, case i % 5 when 0 "
            "then "
            "'text' when 1 then i + 0.5 when 2 then -9223372036854775807 - 1 else -i end, i from n";
        execute(sql);
    }

    void execute(const std::string& sql) const
    {
        sqlite3* database = nullptr;
        ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
        ASSERT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
        sqlite3_close(database);
    }

    /// How many rows there are; each is that of ForeignDatabase::read().
    static int equalRows(const ForeignDatabase& database)
    {
        ForeignDatabase::Rows rows = database.read("t", {"a", "missing", "b", "c"});
        ForeignIntegers integers(database, "t", {"a", "missing", "b", "c"});
        int seen = 0;
        for (; rows.next(); ++seen) {
            EXPECT_TRUE(integers.next()) << seen;
            for (const int column : {0, 1, 2, 3})
                EXPECT_EQ(integers.integer(column), rows.integer(column)) << seen;
            EXPECT_EQ(integers.integerOr(1, 42), 42);
            if (::testing::Test::HasFailure())
                return seen;
        }
        EXPECT_FALSE(integers.next());
        EXPECT_FALSE(integers.next()) << "the end stays the end";
        return seen;
    }

    testing::TemporaryFolder folder;
    const std::filesystem::path file = folder / "foreign.sqlite";
};

} // namespace

TEST_F(ForeignTable, IntegersEqualThoseOfTheRowsWhateverTheirNumber)
{
    for (const int count : {1, 4095, 4096, 4097, 40'000}) {
        std::filesystem::remove(file);
        make(count);
        EXPECT_EQ(equalRows(ForeignDatabase(file)), count);
    }
}

TEST_F(ForeignTable, IntegersMayHaveAnyRowIds)
{
    make(40'000);
    // Around zero with gaps, dense in the middle, and the largest that there are.
    execute("update t set rowid = rowid * 1000003 - 9000500000 where rowid < 20000;"
            "update t set rowid = 9223372036854775807 - rowid where rowid between 30000 and 40000");
    EXPECT_EQ(equalRows(ForeignDatabase(file)), 40'000);
}

TEST_F(ForeignTable, IntegersMayHaveNoRowIds)
{
    make(40'000);
    execute("create table u (a integer, b, c integer, ROWID text); insert into u select a, b, c, 'x' from t; "
            "drop table t;"
            "alter table u rename to t");
    EXPECT_FALSE(ForeignDatabase(file).hasRowIds("t")) << "a column hides them";
    EXPECT_EQ(equalRows(ForeignDatabase(file)), 40'000);
    execute("create table v (a integer, b, c integer primary key) without rowid; insert into v select a, b, "
            "c from t;"
            "drop table t; alter table v rename to t");
    EXPECT_FALSE(ForeignDatabase(file).hasRowIds("t"));
    EXPECT_EQ(equalRows(ForeignDatabase(file)), 40'000);
}

TEST_F(ForeignTable, ATableThatTheFileLacksHasNoRows)
{
    make(1);
    const ForeignDatabase database(file);
    EXPECT_FALSE(ForeignIntegers(database, "other", {"a"}).next());
}

TEST_F(ForeignTable, DamageIsAnErrorAfterTheRowsBeforeIt)
{
    make(40'000);
    const auto size = static_cast<std::streamoff>(std::filesystem::file_size(file));
    {
        std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
        bytes.seekp(size / 512 * 9 / 10 * 512);
        bytes << std::string(512, '\x5a');
    }
    const ForeignDatabase database(file);
    const auto rowsBefore = [](auto& rows) {
        int count = 0;
        try {
            while (rows.next())
                ++count;
        } catch (const Error& error) {
            EXPECT_NE(error.sentence().find("cannot be read"), std::string::npos) << error.sentence();
            return count;
        }
        ADD_FAILURE() << "the damage was not noticed after " << count << " rows";
        return count;
    };
    ForeignDatabase::Rows rows = database.read("t", {"a", "b", "c"});
    ForeignIntegers integers(database, "t", {"a", "b", "c"});
    const int before = rowsBefore(rows);
    EXPECT_GT(before, 20'000);
    EXPECT_EQ(rowsBefore(integers), before);
}

TEST_F(ForeignTable, ReadingMayEndEarly)
{
    make(40'000);
    const ForeignDatabase database(file);
    ForeignIntegers integers(database, "t", {"c"});
    ASSERT_TRUE(integers.next());
    EXPECT_EQ(integers.integer(0), 1);
}

} // namespace tilescope::store
