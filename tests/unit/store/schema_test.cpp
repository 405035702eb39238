// How files of other versions are read and upgraded, with a history of two made-up versions.

#include "core/store/file/schema.h"

#include "core/base/error.h"
#include "core/store/file/file_check.h"
#include "store_fixture.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

namespace tilescope::store {

using namespace testing;

namespace {

constexpr Migration kHistory[] = {
    {.upgrade = "create table sample (id integer primary key, wall integer);"},
    {.upgrade =
         "alter table sample add column gpu integer; create table mark (id integer primary key, text text);",
     .reading = "create temp view sample as select id, wall, null as gpu from main.sample;"
                "create temp view mark as select null as id, null as text where 0;"},
};
constexpr std::span<const Migration> kBoth{kHistory};

std::string rows(SQLite::Database& database, const char* sql)
{
    std::string text;
    SQLite::Statement row(database, sql);
    while (row.executeStep())
        for (int i = 0; i < row.getColumnCount(); ++i)
            text += (row.isColumnNull(i) ? "null" : row.getColumn(i).getString()) + " ";
    return text;
}

} // namespace

class Schema : public ::testing::Test {
protected:
    void SetUp() override
    {
        SQLite::Database old(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        migrate(old, 0, kBoth.first(1));
        old.exec("insert into sample values (1, 42)");
    }

    TemporaryFolder folder;
    std::filesystem::path file = folder / "old.tscope";
};

TEST_F(Schema, AnOlderFileIsReadAsItIs)
{
    const FileHeader header = requireTilescopeFile(file, 2);
    EXPECT_EQ(header.version, 1);
    const auto database = openForReading(file, header);
    requireOurSchema(*database, file, 1, kBoth);
    prepareForReading(*database, 1, kBoth);
    EXPECT_EQ(rows(*database, "select id, wall, gpu from sample"), "1 42 null ");
    EXPECT_EQ(rows(*database, "select id, text from mark"), "");
    EXPECT_EQ(readHeader(file).version, 1) << "reading changes nothing";
}

TEST_F(Schema, AnOlderFileIsUpgradedWhenItIsWritten)
{
    {
        SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
        migrate(database, 1, kBoth);
        requireOurSchema(database, file, 2, kBoth);
        EXPECT_EQ(rows(database, "select id, wall, gpu from sample"), "1 42 null ");
    }
    EXPECT_EQ(readHeader(file).version, 2);
    EXPECT_TRUE(readHeader(file).isTilescope);
}

TEST_F(Schema, AFailedUpgradeLeavesTheFileAsItWas)
{
    const Migration broken[] = {kHistory[0],
                                {.upgrade = "alter table sample add column gpu integer; nonsense;"}};
    {
        SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
        EXPECT_THROW(migrate(database, 1, broken), SQLite::Exception);
    }
    SQLite::Database database(file.string(), SQLite::OPEN_READONLY);
    EXPECT_NO_THROW(requireOurSchema(database, file, 1, kBoth));
    EXPECT_EQ(readHeader(file).version, 1);
}

TEST_F(Schema, EmbeddedHistoryMakesWhatItAccepts)
{
    SQLite::Database database(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    const auto migrations = embeddedMigrations();
    ASSERT_GE(migrations.size(), 1u);
    migrate(database, 0, migrations);
    EXPECT_EQ(schemaDigest(database), kSchemaDigest) << "of this schema it is the first value";
    EXPECT_NO_THROW(requireOurSchema(database, "new", static_cast<int>(migrations.size()), migrations));
    database.exec("drop view kernels");
    EXPECT_THROW(requireOurSchema(database, "new", static_cast<int>(migrations.size()), migrations), Error);
}

} // namespace tilescope::store
