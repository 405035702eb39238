#include "core/report/template.h"

#include "core/base/error.h"
#include "core/config/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::report {

using ::testing::HasSubstr;

namespace {

std::string sentenceOf(std::string_view yaml)
{
    try {
        parseTemplate(yaml, "t.yaml");
    } catch (const Error& error) {
        return error.sentence();
    }
    return "accepted";
}

} // namespace

TEST(Template, HoldsTablesFiguresAndFindings)
{
    const Template read = parseTemplate(R"(
tables:
  - id: grid
    rows: [d_head, seq_len]
    columns: [{heading: forward, value: forward, from: {mode: both}, over: step, over_from: {mode: train}}]
figures: [{id: time, x: seq_len, y: "step, wall", log_y: false}]
findings: [{rule: spread, value: peak, by: [d_head], say: "{range}"}]
)",
                                        "t.yaml");
    ASSERT_EQ(read.tables.size(), 1U);
    EXPECT_EQ(read.tables[0].columns[0].quantity.overFrom, (Where{{"mode", "train"}}));
    EXPECT_FALSE(read.figures[0].logY);
    EXPECT_EQ(read.findings[0].quantity.value, "peak");
}

TEST(Template, ErrorsNameTheirPosition)
{
    EXPECT_THAT(sentenceOf("tabels: []"),
                HasSubstr("t.yaml:1:1: unknown key 'tabels'; did you mean 'tables'?"));
    EXPECT_THAT(sentenceOf("findings: [{rule: spraed}]"),
                HasSubstr("unknown rule 'spraed'; did you mean 'spread'?"));
    EXPECT_THAT(sentenceOf("findings: [{rule: spread, value: fowrard}]"), HasSubstr("no metric 'fowrard'"));
    EXPECT_THAT(sentenceOf("tables: [{id: x, rows: [size]}]"),
                HasSubstr("a table needs an id, rows and columns"));
    EXPECT_THAT(sentenceOf("figures: {}"), HasSubstr("'figures' is not a list"));
    EXPECT_THAT(sentenceOf("figures: [{id: x, timelines: [{mode: both}], x: size, y: peak}]"),
                HasSubstr("either x and y or timelines"));
    EXPECT_THAT(sentenceOf("figures: [{id: x, timelines: [naive]}]"), HasSubstr("not a map of keys"));
    EXPECT_THAT(sentenceOf("[]"), HasSubstr("not a report's template"));
}

TEST(Template, EveryStudyHasOneWithMatchingParts)
{
    for (const std::string& name : config::studyNames()) {
        SCOPED_TRACE(name);
        const Template read = loadTemplate(name);
        EXPECT_FALSE(read.tables.empty());
        std::vector<std::string> parts{""};
        for (const config::StudyPart& part : config::loadStudy(name).parts)
            parts.push_back(part.name);
        for (const TableTemplate& table : read.tables)
            EXPECT_THAT(parts, ::testing::Contains(table.part));
        for (const FigureTemplate& figure : read.figures)
            EXPECT_THAT(parts, ::testing::Contains(figure.part));
        for (const FindingTemplate& finding : read.findings)
            EXPECT_THAT(parts, ::testing::Contains(finding.part));
    }
}

} // namespace tilescope::report
