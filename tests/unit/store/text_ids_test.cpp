// Texts of a file are found by their hashes and compared whole.

#include "core/store/rows/text_ids.h"

#include "core/store/file/schema.h"
#include "core/store/maintenance/maintenance.h"
#include "store_fixture.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <array>

namespace tilescope::store {

using namespace testing;

namespace {

std::size_t sameForAll(std::string_view)
{
    return 1;
}

class TextIdsTest : public ::testing::Test {
protected:
    TextIdsTest() { migrate(database, 0, embeddedMigrations()); }

    void insert(std::int64_t id, const std::string& text)
    {
        SQLite::Statement row(database, "insert into string (id, text) values (?, ?)");
        row.bind(1, id);
        row.bind(2, text);
        row.exec();
    }

    SQLite::Database database{":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
};

} // namespace

TEST_F(TextIdsTest, AreThoseOfTheFile)
{
    insert(3, "aten::mm");
    insert(7, "");
    const std::string withZero("a\0b", 3);
    insert(9, withZero);
    TextIds ids(database);
    EXPECT_EQ(ids.find("aten::mm"), 3);
    EXPECT_EQ(ids.find(""), 7);
    EXPECT_EQ(ids.find(withZero), 9);
    EXPECT_FALSE(ids.find("a"));
    EXPECT_FALSE(ids.find("aten::m"));
    insert(10, "added");
    EXPECT_FALSE(ids.find("added"));
    ids.add("added", 10);
    EXPECT_EQ(ids.find("added"), 10);
}

TEST_F(TextIdsTest, DifferWhereHashesAreTheSame)
{
    insert(1, "one");
    TextIds ids(database, sameForAll);
    EXPECT_FALSE(ids.find("two"));
    insert(2, "two");
    ids.add("two", 2);
    EXPECT_EQ(ids.find("one"), 1);
    EXPECT_EQ(ids.find("two"), 2);
    EXPECT_FALSE(ids.find("three"));
}

// What a unique index would have refused.
TEST(TextsOfAFile, AreStoredOnceByWritersMergesAndCompaction)
{
    const TemporaryFolder folder;
    StringTable strings;
    Builder make(strings);
    const auto write = [&](const std::filesystem::path& file) {
        RunWriter writer(file, strings);
        writer.beginRun(header("run"));
        TraceBatch batch;
        batch.ranges.push_back(make.range(0, "step/forward/layers.0", 0, 10));
        writer.write(batch);
        writer.endRun({});
    };
    const std::filesystem::path first = folder / "first.tscope";
    const std::filesystem::path second = folder / "second.tscope";
    write(first);
    write(first);
    write(second);
    const std::filesystem::path merged = folder / "merged.tscope";
    EXPECT_EQ(merge(std::array{first, second}, merged).added, 3);
    compact(merged);
    for (const std::filesystem::path& file : {first, second, merged}) {
        SQLite::Database database(file.string());
        SQLite::Statement row(database, "select count(*), count(distinct text) from string");
        ASSERT_TRUE(row.executeStep());
        EXPECT_GT(row.getColumn(0).getInt(), 1);
        EXPECT_EQ(row.getColumn(0).getInt(), row.getColumn(1).getInt()) << file;
        EXPECT_TRUE(verify(file).ok());
    }
}

} // namespace tilescope::store
