#include "core/report/template.h"

#include "core/base/error.h"
#include "core/config/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string_view>

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

/// All prose of a study.
std::vector<std::string> proseOf(const std::string& study)
{
    const config::Study read = config::loadStudy(study);
    const Template wanted = loadTemplate(study);
    std::vector<std::string> prose{read.title, read.asks};
    for (const config::StudyPart& part : read.parts)
        prose.push_back(part.about);
    for (const TableTemplate& table : wanted.tables)
        prose.push_back(table.caption);
    for (const FigureTemplate& figure : wanted.figures)
        prose.push_back(figure.caption);
    for (const FindingTemplate& finding : wanted.findings)
        prose.push_back(finding.say);
    return prose;
}

/// The first number of a text that no run can have changed: in digits, or in words of what keys count; empty: none.
std::string fixedNumber(std::string text)
{
    // Facts of a workload, of a format, or of the key that selects the runs of a figure or a finding.
    constexpr const char* kFacts[] = {"0.01",
                                      "near 8",
                                      "1/128",
                                      "values of 4 bytes",
                                      "4,096 values around 8",
                                      "8 bits",
                                      "become 0",
                                      "rank 0",
                                      "(1 is ideal)",
                                      "from 0 to 1",
                                      "2^-20 to 2^20",
                                      "1 / gpus",
                                      "head dim 64",
                                      "FlashAttention-2",
                                      "1,024 terms",
                                      "sums of 64 and of 16,384 terms",
                                      "three lengths of sums",
                                      "after five warm-up steps"};
    for (const std::string_view fact : kFacts)
        for (std::size_t at = text.find(fact); at != std::string::npos; at = text.find(fact))
            text.erase(at, fact.size());
    text = std::regex_replace(text, std::regex("\\{[^}]*\\}"), "");
    const std::regex number(
        "(^|[^A-Za-z0-9])([0-9][0-9.,]*|(two|three|four|five|six|eight|ten) "
        "(model |warm-up |timed )?(sizes|models|steps|lengths|ranks|points|layers|heads))");
    std::smatch found;
    return std::regex_search(text, found, number) ? found[2].str() : std::string();
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

TEST(Template, ProseTakesItsNumbersFromTheRuns)
{
    EXPECT_EQ(fixedNumber("100 timed steps of {size}"), "100");
    EXPECT_EQ(fixedNumber("for each of five model sizes"), "five model sizes");
    for (const std::string& name : config::studyNames())
        for (const std::string& text : proseOf(name))
            EXPECT_EQ(fixedNumber(text), "") << name << ": " << text;
}

} // namespace tilescope::report
