#include "core/base/error.h"
#include "core/store/maintenance/maintenance.h"
#include "store_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>

namespace tilescope::store {

using namespace testing;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& file, const std::string& contents)
{
    std::ofstream(file, std::ios::binary) << contents;
}

/// Runs SQL on any database, like a user with sqlite3.
void sql(const fs::path& file, const std::string& statements)
{
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
    char* message = nullptr;
    const int code = sqlite3_exec(database, statements.c_str(), nullptr, nullptr, &message);
    const std::string error = message ? message : "";
    sqlite3_free(message);
    sqlite3_close(database);
    ASSERT_EQ(code, SQLITE_OK) << error;
}

std::vector<std::string> namesIn(const fs::path& folder)
{
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
        names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
}

} // namespace

class Opening : public ::testing::Test {
protected:
    /// Reader and writer refuse the file in one sentence, as a user's mistake, and leave it and its folder as
    /// they were.
    void expectRefused(const std::string& saying, bool writerToo = true)
    {
        const std::string before = fs::is_regular_file(file) ? contentsOf(file) : "";
        const auto names = namesIn(folder.path());
        const auto expectError = [&](auto&& open) {
            try {
                open();
                ADD_FAILURE() << "it was opened";
            } catch (const Error& error) {
                EXPECT_EQ(error.exitCode(), 2) << error.sentence();
                EXPECT_THAT(error.sentence(), HasSubstr(saying));
                EXPECT_THAT(error.sentence(), HasSubstr(file.string()));
                EXPECT_EQ(error.sentence().find('\n'), std::string::npos);
            }
        };
        expectError([this] { RunReader reader(file); });
        if (writerToo)
            expectError([this] { RunWriter writer(file, strings); });
        EXPECT_EQ(namesIn(folder.path()), names);
        if (fs::is_regular_file(file)) {
            EXPECT_EQ(contentsOf(file), before);
        }
    }

    TemporaryFolder folder;
    fs::path file = folder / "a.tscope";
    StringTable strings;
    Builder make{strings};
};

TEST_F(Opening, RefusesAFolder)
{
    fs::create_directory(file);
    expectRefused("is a folder");
}

TEST_F(Opening, RefusesWhatIsNotThere)
{
    expectRefused("no such file", false);
}

TEST_F(Opening, RefusesAPipe)
{
    ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
    expectRefused("not a regular file");
}

TEST_F(Opening, RefusesTextAndShortFiles)
{
    put(file, "warmup: 5\nsteps: 100\n");
    expectRefused("not a Tilescope file");
    put(file, std::string(100'000, 'x'));
    expectRefused("not a Tilescope file");
}

TEST_F(Opening, OfAnotherFileHasARemedyThatFitsItsName)
{
    const auto remedyFor = [](const fs::path& named) {
        put(named, "warmup: 5\nsteps: 100\n");
        try {
            RunReader reader(named);
        } catch (const Error& error) {
            return error.remedy;
        }
        return std::string();
    };
    EXPECT_EQ(remedyFor(folder / "text.txt"), "name a .tscope file");
    EXPECT_EQ(remedyFor(folder / "bad.tscope"), "name a file that Tilescope wrote, or a copy of it");
}

TEST_F(Opening, AnEmptyFileIsNothingToReadButMayBeWritten)
{
    put(file, "");
    expectRefused("is empty", false);
    writeSmallFile(file, strings, make);
    EXPECT_EQ(RunReader(file).runs().size(), 1u);
}

TEST_F(Opening, LeavesAForeignDatabaseAlone)
{
    sql(file, "create table experiments (id integer primary key); insert into experiments values (1)");
    expectRefused("not Tilescope's");
}

TEST_F(Opening, LeavesAForeignDatabaseWithALogAlone)
{
    // A log with committed pages, as a killed program leaves it.
    const fs::path other = folder / "other";
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(other.c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database,
                           "pragma journal_mode = wal; create table t (x); insert into t values (1)", nullptr,
                           nullptr, nullptr),
              SQLITE_OK);
    fs::copy_file(other, file);
    fs::copy_file(other.string() + "-wal", file.string() + "-wal");
    sqlite3_close(database);
    const std::string log = contentsOf(file.string() + "-wal");
    ASSERT_FALSE(log.empty());
    expectRefused("not Tilescope's");
    EXPECT_EQ(contentsOf(file.string() + "-wal"), log);
}

TEST_F(Opening, RefusesANewerVersion)
{
    writeSmallFile(file, strings, make);
    sql(file, "pragma user_version = 99");
    expectRefused("newer Tilescope");
}

TEST_F(Opening, RefusesATruncatedFile)
{
    writeSmallFile(file, strings, make);
    fs::resize_file(file, fs::file_size(file) / 2);
    expectRefused("damaged");
}

TEST_F(Opening, RefusesSchemasThatAreNotOurs)
{
    const char* const retyped =
        "pragma writable_schema = on; update sqlite_schema set sql = replace(sql, 'status text', 'status "
        "blob') "
        "where name = 'run'";
    const char* const changes[] = {
        "create table loot (x)",
        "create trigger spy after insert on run begin delete from sample; end",
        "drop view kernels; create view kernels as select load_extension('evil.so') as name",
        "drop view ops",
        "create index by_name on kernel (name)",
        retyped,
    };
    writeSmallFile(file, strings, make);
    const std::string ours = contentsOf(file);
    for (const char* change : changes) {
        put(file, ours);
        sql(file, change);
        SCOPED_TRACE(change);
        expectRefused("not a Tilescope schema");
    }
}

TEST_F(Opening, RefusesTablesThatLackRows)
{
    writeSmallFile(file, strings, make);
    const std::string ours = contentsOf(file);
    for (const char* change :
         {"delete from sample where id = 1", "delete from op where id = 700", "delete from run",
          "delete from chunk where source = 'op'", "insert into environment values (1, 1, '', '', '')"}) {
        put(file, ours);
        sql(file, change);
        SCOPED_TRACE(change);
        expectRefused("damaged", false);
    }
}

TEST_F(Opening, ReadingAndVerifyingFindWhatCountsCannot)
{
    writeSmallFile(file, strings, make);
    EXPECT_TRUE(verify(file).ok());
    EXPECT_EQ(verify(file).runs, 1);
    sql(file, "update op set duration = 7 where id = 700");
    EXPECT_THROW(RunReader(file).ops({.run = RunId{1}}), Error);
    const VerifyReport report = verify(file);
    ASSERT_EQ(report.problems.size(), 1u);
    EXPECT_THAT(report.problems[0], HasSubstr("table op"));
    EXPECT_THAT(report.problems[0], HasSubstr("not as they were written"));
    sql(file, "update op set duration = 1 where id = 700");
    EXPECT_TRUE(verify(file).ok());
    for (const char* change : {"update run set name = 'x'", "update sample set wall_ns = 1 where id = 1",
                               "update string set text = 'y' where id = 1"}) {
        sql(file, change);
        EXPECT_FALSE(verify(file).ok()) << change;
    }
}

TEST_F(Opening, AppendsToAFileThatIsThere)
{
    writeSmallFile(file, strings, make);
    writeSmallFile(file, strings, make);
    const RunReader reader(file);
    const auto runs = reader.runs();
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(runs[1].run, RunId{2});
    EXPECT_NE(runs[0].uid, runs[1].uid);
    EXPECT_EQ(reader.samples(RunId{1}).size(), 2u);
    EXPECT_EQ(reader.samples(RunId{2}).size(), 2u);
    EXPECT_TRUE(verify(file).ok());
}

TEST_F(Opening, AWriterInAFolderThatDoesNotExistSaysSo)
{
    try {
        RunWriter writer(folder / "nowhere/a.tscope", strings);
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.exitCode(), 2);
        EXPECT_THAT(error.sentence(), HasSubstr("No such file or directory"));
    }
}

TEST_F(Opening, ReadsAFileWhoseNameHasEverySpecialCharacter)
{
    file = folder / "a b%20?#&'\"ü\n.tscope";
    writeSmallFile(file, strings, make);
    EXPECT_EQ(RunReader(file).runs().size(), 1u);
    EXPECT_TRUE(verify(file).ok());
}

} // namespace tilescope::store
