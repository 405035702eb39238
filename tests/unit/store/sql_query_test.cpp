#include "core/store/sql_query.h"

#include "core/base/error.h"
#include "store_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace tilescope::store {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SqlQuery : public ::testing::Test {
protected:
    SqlQuery() { writeSmallFile(file, strings, make); }

    std::string errorOf(std::string_view sql, const std::stop_token& stop = {})
    {
        try {
            runSql(file, sql, {}, stop);
        } catch (const Error& error) {
            return error.sentence();
        }
        return "no error";
    }

    TemporaryFolder folder;
    std::filesystem::path file = folder / "a.tscope";
    StringTable strings;
    Builder make{strings};
};

TEST_F(SqlQuery, GivesNamesAndValuesOfEachType)
{
    const SqlResult result =
        runSql(file, "select count(*) as n, 0.5 as half, null as unknown, name as text, x'00ff' as bytes "
                     "from ops -- a comment\n;");
    EXPECT_THAT(result.columns, ElementsAre("n", "half", "unknown", "text", "bytes"));
    ASSERT_EQ(result.rows(), 1u);
    EXPECT_EQ(std::get<std::int64_t>(result.at(0, 0)), 1000);
    EXPECT_EQ(std::get<double>(result.at(0, 1)), 0.5);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(result.at(0, 2)));
    EXPECT_EQ(std::get<std::string>(result.at(0, 3)), "aten::mm");
    EXPECT_EQ(std::get<std::string>(result.at(0, 4)), "x'00ff'");
    EXPECT_TRUE(result.isComplete);
}

TEST_F(SqlQuery, ReadsWindowFunctionsAndRecursion)
{
    EXPECT_EQ(runSql(file, "select id, row_number() over (order by start desc) from ops").rows(), 1000u);
    EXPECT_EQ(runSql(file, "with recursive n(i) as (values (1) union all select i + 1 from n where i < 9) "
                           "select * from n")
                  .rows(),
              9u);
}

int called = 0;

std::string doubled(std::string_view text)
{
    ++called;
    if (text == "fails")
        throw Error{.what = "no such text", .remedy = "write another"};
    return std::string(text) + std::string(text);
}

TEST_F(SqlQuery, CallsTheFunctionsThatItIsGivenOnceForEachText)
{
    constexpr std::array kFunctions{SqlTextFunction{"doubled", doubled}};
    called = 0;
    const auto run = [this, &kFunctions](std::string_view sql) {
        return runSql(file, sql, {}, {}, kFunctions);
    };
    const SqlResult result = run("select doubled(name) as twice, count(*) from ops group by 1");
    ASSERT_EQ(result.rows(), 1U);
    EXPECT_EQ(std::get<std::string>(result.at(0, 0)), "aten::mmaten::mm");
    EXPECT_EQ(called, 1);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(run("select doubled(null)").at(0, 0)));
    EXPECT_THAT(errorOf("select doubled('a')"), HasSubstr("no such function: doubled")) << "it was not given";
    try {
        run("select doubled('fails')");
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("no such text; write another"));
    }
}

TEST_F(SqlQuery, StopsAtItsLimitsAndSaysSo)
{
    const SqlResult few = runSql(file, "select id from ops", {.rows = 3});
    EXPECT_EQ(few.rows(), 3u);
    EXPECT_FALSE(few.isComplete);
    EXPECT_TRUE(runSql(file, "select id from ops limit 3", {.rows = 3}).isComplete);
    const SqlResult small = runSql(file, "select id from ops", {.values = Bytes{1000}});
    EXPECT_LT(small.rows(), 1000u);
    EXPECT_FALSE(small.isComplete);
}

TEST_F(SqlQuery, RefusesWhateverDoesNotOnlyRead)
{
    for (const std::string_view sql :
         {"delete from run", "update run set note = 'x'", "insert into string values (99, 'x')",
          "drop table run", "create table t (x)", "create temp table t (x)", "attach 'b' as b", "begin",
          "pragma user_version = 3", "pragma journal_mode = delete", "savepoint s", "reindex", "analyze"})
        EXPECT_THAT(errorOf(sql), HasSubstr("only a statement that reads is possible")) << sql;
    EXPECT_EQ(runSql(file, "select count(*) from run").at(0, 0), SqlResult::Value(std::int64_t{1}));
    EXPECT_THAT(errorOf("vacuum into '" + (folder / "c").string() + "'"), HasSubstr("cannot VACUUM"));
    EXPECT_FALSE(std::filesystem::exists(folder / "c"));
}

TEST_F(SqlQuery, NamesThePlaceOfAMistakeAndTheSimilarName)
{
    EXPECT_THAT(errorOf("select *\nfrom ops wherre id = 1 1"), HasSubstr("SQL:2:"));
    EXPECT_THAT(errorOf("select * from kernal"), HasSubstr("did you mean 'kernel'?"));
    EXPECT_THAT(errorOf("select o.durration from ops o"), HasSubstr("did you mean 'duration'?"));
    // A column of another view.
    EXPECT_THAT(errorOf("select process from kernels"), ::testing::Not(HasSubstr("did you mean")));
    EXPECT_THAT(errorOf(""), HasSubstr("there is no statement"));
    EXPECT_THAT(errorOf("select 1; select 2"), HasSubstr("SQL:1:10: there is more than one statement"));
    EXPECT_THAT(errorOf("select ?1"), HasSubstr("the parameter ?1 has no value"));
    EXPECT_THAT(errorOf("select zeroblob(100000000)"), HasSubstr("too long"));
    EXPECT_THAT(errorOf("select '" + std::string(2'000'000, 'x') + "'"), HasSubstr("too long"));
}

TEST_F(SqlQuery, EndsWhenItIsStopped)
{
    std::stop_source source;
    source.request_stop();
    EXPECT_THAT(
        errorOf("with recursive n(i) as (values (1) union all select i + 1 from n) select max(i) from n",
                source.get_token()),
        HasSubstr("the statement was stopped"));
}

TEST_F(SqlQuery, EndsWhenItSortsMoreThanTheLimit)
{
    const std::string numbers = "with recursive n(i) as (values (1) union all select i + 1 from n) ";
    for (const char* query : {"select i from n order by -i", "select distinct i from n",
                              "select i % 1000000007, count(*) from n group by 1"})
        try {
            runSql(file, numbers + query, {.work = Bytes{8 << 20}});
            ADD_FAILURE() << query;
        } catch (const Error& error) {
            EXPECT_THAT(error.sentence(), HasSubstr("sorts or groups more than 8 MiB of rows")) << query;
        }
    EXPECT_EQ(runSql(file, "select id from ops order by -id", {.work = Bytes{8 << 20}}).rows(), 1000u);
}

TEST_F(SqlQuery, ListsViewsBeforeTables)
{
    const std::vector<SqlSource> sources = sqlSources(file);
    const auto runs = std::ranges::find(sources, "runs", &SqlSource::name);
    const auto run = std::ranges::find(sources, "run", &SqlSource::name);
    ASSERT_NE(runs, sources.end());
    ASSERT_NE(run, sources.end());
    EXPECT_TRUE(runs->isView);
    EXPECT_FALSE(run->isView);
    EXPECT_LT(runs, run);
    EXPECT_EQ(runs->columns.front(), "run");
}

TEST_F(SqlQuery, RefusesOtherFiles)
{
    file = folder / "missing.tscope";
    EXPECT_THAT(errorOf("select 1"), HasSubstr("missing.tscope"));
}

} // namespace tilescope::store
