#include "core/report/report.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/report/writers.h"
#include "tests/support/json_schema.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/report/study_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace tilescope::report {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

/// The largest lengths of the attention grid run out of memory.
FakeResult gridOf(const ExperimentSpec& spec)
{
    const auto length = static_cast<double>(spec.seqLen);
    FakeResult result{
        .forwardMs = length / 1000, .backwardMs = length / 400, .peak = Bytes{spec.seqLen * 4096}};
    if (spec.seqLen == 16384)
        result.status = RunStatus::Oom;
    if (spec.seqLen == 8192)
        result.flags = {"throttled: power cap"};
    return result;
}

class Report : public ::testing::Test {
protected:
    void SetUp() override
    {
        writeStudyFile(folder / "grid.tscope", "attention-grid", config::Edition::Full, gridOf);
    }

    Document document(const ReportOptions& options = {}) const
    {
        return makeReport({folder / "grid.tscope"}, options);
    }

    template <class Writer> std::string written(const Document& document, Writer writer) const
    {
        std::ostringstream out;
        writer(out, document, Drawings{.whyNone = "no window"});
        return out.str();
    }

    testing::TemporaryFolder folder;
};

} // namespace

TEST_F(Report, FindsTheStudyByItsPointsAndUsesTheirValues)
{
    const Document made = document();
    ASSERT_EQ(made.sections.size(), 1U);
    const Table& grid = made.sections[0].tables.at(0);
    EXPECT_EQ(grid.id, "attention-grid-grid");
    EXPECT_EQ(grid.rows.size(), 20U);
    const std::vector<Cell>& row = grid.rows[2]; // d_head 16, seq_len 4096
    EXPECT_EQ(row[1].text, "4096");
    EXPECT_EQ(row[2].text, "4.12"); // its interval is narrower than a tenth
    EXPECT_NEAR(row[2].value.value(), 4.096 * 1.005, 1e-6);
    EXPECT_EQ(row[2].n, 10);
    EXPECT_EQ(grid.columns[2].unit, "ms");
    EXPECT_EQ(grid.columns[3].unit, "ms"); // backward, in the same unit as forward beside it
    EXPECT_THAT(grid.caption, HasSubstr("n = 10"));
}

TEST_F(Report, OutOfMemoryIsShownInItsCellWithItsBytes)
{
    const Document made = document();
    const Table& grid = made.sections[0].tables.at(0);
    const Cell& cell = grid.rows[4][2];
    EXPECT_EQ(cell.kind, Cell::Kind::OutOfMemory);
    EXPECT_EQ(cell.text, "OOM");
    EXPECT_EQ(grid.notes.at(cell.note.value()),
              "Out of memory in forward: 4.00 GiB asked, 6.00 GiB allocated.");
}

TEST_F(Report, ASkippedRunIsNamedOnceInItsRow)
{
    writeStudyFile(folder / "skipped.tscope", "attention-grid", config::Edition::Full,
                   [](const ExperimentSpec& spec) {
                       FakeResult result = gridOf(spec);
                       if (spec.seqLen == 4096)
                           result.status = RunStatus::Skipped;
                       return result;
                   });
    const Document made = makeReport({folder / "skipped.tscope"}, {});
    const Table& grid = made.sections[0].tables.at(0);
    const std::vector<Cell>& row = grid.rows[2]; // d_head 16, seq_len 4096
    EXPECT_EQ(row[2].text, "skipped");
    EXPECT_EQ(grid.notes.at(row[2].note.value()), "Skipped: it did not fit.");
    for (std::size_t i = 3; i < row.size(); ++i) {
        EXPECT_EQ(row[i].kind, Cell::Kind::Skipped);
        EXPECT_EQ(row[i].text, "");
        EXPECT_FALSE(row[i].note);
    }
}

TEST_F(Report, DoubtfulRunsAreMarked)
{
    EXPECT_THAT(document().sections[0].cautions,
                Contains(Caution{"The GPU reduced its clocks during the timed steps", 4}));
}

TEST_F(Report, PointsThatWereNotRunAreCounted)
{
    writeStudyFile(folder / "part.tscope", "flash", config::Edition::Quick, gridOf);
    const Document made = makeReport({folder / "part.tscope"}, {.study = "flash"});
    EXPECT_THAT(made.sections[0].cautions, Contains(Field(&Caution::text, HasSubstr("the quick edition"))));
}

TEST_F(Report, TimelinesShowOneTracedRunForEachRequest)
{
    writeStudyFile(folder / "flash.tscope", "flash", config::Edition::Full, gridOf);
    const Document made = makeReport({folder / "flash.tscope"}, {.study = "flash"});
    const auto found = std::ranges::find(made.sections[0].figures, "flash-side-by-side", &Figure::id);
    ASSERT_NE(found, made.sections[0].figures.end());
    const auto recipe = nlohmann::json::parse(found->recipe);
    EXPECT_EQ(recipe["tilescope_timeline"], 1);
    EXPECT_EQ(recipe["runs"].size(), 2U);
    EXPECT_THAT(found->files, Contains((folder / "flash.tscope").string()));
    // A study that requests no figures has none.
    const Document grid = document();
    for (const Figure& figure : grid.sections[0].figures)
        EXPECT_THAT(figure.recipe, Not(HasSubstr("tilescope_timeline")));
}

TEST_F(Report, AnonymousNamesNoHostAndNoFolder)
{
    const Document made = document({.anonymous = true});
    for (const std::string& text :
         {written(made, writeHtml), written(made, writeMarkdown), written(made, writeLatex)}) {
        EXPECT_THAT(text, Not(HasSubstr("my-laptop")));
        EXPECT_THAT(text, Not(HasSubstr(folder.path().string())));
        EXPECT_THAT(text, HasSubstr("grid.tscope"));
    }
    EXPECT_THAT(written(document(), writeMarkdown), HasSubstr("my-laptop"));
}

TEST_F(Report, NamesTitleAndAuthor)
{
    const Document made = document({.title = "Assignment 2", .author = "A. Student", .anonymous = true});
    for (const std::string& text :
         {written(made, writeHtml), written(made, writeMarkdown), written(made, writeLatex)}) {
        EXPECT_THAT(text, HasSubstr("Assignment 2"));
        EXPECT_THAT(text, HasSubstr("A. Student"));
    }
    EXPECT_EQ(document().title, "Naive attention by head dimension and length");
}

TEST_F(Report, EveryFormatHoldsQuestionTableAndFinding)
{
    const Document made = document();
    for (const std::string& text :
         {written(made, writeHtml), written(made, writeMarkdown), written(made, writeLatex)}) {
        EXPECT_THAT(text, HasSubstr("How do time and memory of naive attention grow"));
        EXPECT_THAT(text, HasSubstr("4.12"));
        EXPECT_THAT(text, HasSubstr("4 of 20 points ran out of memory"));
        EXPECT_THAT(text, HasSubstr("no window"));
    }
}

TEST_F(Report, HtmlNeedsNothingFromOutside)
{
    const std::string html = written(document(), writeHtml);
    EXPECT_THAT(html, Not(AnyOf(HasSubstr("http:"), HasSubstr("https:"), HasSubstr("src=\"figures"))));
    EXPECT_THAT(html, HasSubstr("name=\"viewport\""));
}

TEST_F(Report, JsonAndCsvHaveBaseUnits)
{
    const Document made = document();
    std::ostringstream json;
    writeJson(json, made);
    EXPECT_THAT(testing::schemaOffences(json.str(), resourcesDirectory() / "schema/report.schema.json"),
                ::testing::IsEmpty());
    const auto read = nlohmann::json::parse(json.str());
    EXPECT_EQ(read["sections"][0]["tables"][0]["columns"][5]["unit"], "B");
    const auto forward = read["sections"][0]["tables"][0]["rows"][2][2];
    EXPECT_LT(forward["ci95"][0], forward["value"]);
    EXPECT_GT(forward["ci95"][1], forward["value"]);
    EXPECT_EQ(read["sections"][0]["tables"][0]["rows"][2][5]["value"], 4096 * 4096);
    std::ostringstream csv;
    writeCsv(csv, made.sections[0].tables[0]);
    EXPECT_THAT(
        csv.str(),
        HasSubstr("d_head,seq_len,\"forward, ms\",\"forward low, ms\",\"forward high, ms\",forward n,"));
    EXPECT_THAT(csv.str(), HasSubstr("\r\n16,16384,OOM,,,,OOM,,,,OOM,OOM\r\n"));
}

TEST_F(Report, AFileWithoutStudiesIsAnErrorThatExplainsHowToRunOne)
{
    StringTable strings;
    {
        store::RunWriter writer(folder / "empty.tscope", strings);
    }
    try {
        makeReport({folder / "empty.tscope"}, {});
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("no run of any study"));
    }
}

} // namespace tilescope::report
