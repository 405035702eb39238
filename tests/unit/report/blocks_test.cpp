#include "core/report/blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tilescope::report {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

const std::string kGeneral = "tilescope show a.tscope runs --format json";

Section studySection(const std::string& study)
{
    Section section{.study = study, .title = "Title of " + study, .asks = "What about " + study + "?"};
    section.setting = {{"GPU", "NVIDIA H200"}, {"threads used", "8"}};
    section.cautions = {{.text = "This is the quick edition"},
                        {.text = "Only " + study + " is slow", .runs = 2}};
    section.figures = {{.id = study + "-time", .number = 1, .caption = "Time", .command = "draw " + study}};
    section.findings = {{.text = study + " is fast", .rule = "Counted.", .commands = {kGeneral}}};
    section.tables = {{.id = study + "-table",
                       .number = 1,
                       .columns = {{.heading = "size", .isKey = true}, {.heading = "time"}},
                       .rows = {{{.text = "small"}, {.text = "1"}}}}};
    return section;
}

Document reportOf(std::vector<Section> sections)
{
    return {
        .title = "Title", .program = "Tilescope", .sources = {"a.tscope"}, .sections = std::move(sections)};
}

/// The name of each block's kind, and of a heading or a paragraph its text.
struct Outline {
    std::string operator()(const Heading& heading) const { return "# " + heading.text; }
    std::string operator()(const Paragraph& paragraph) const { return paragraph.text; }
    std::string operator()(const Bullets& bullets) const
    {
        std::string text = "findings";
        for (const Bullet& item : bullets.items)
            text += " " + item.text;
        return text;
    }
    std::string operator()(const Facts& facts) const
    {
        std::string text = "facts";
        for (const auto& [key, value] : facts.items)
            text += " " + key + " " + value;
        return text;
    }
    std::string operator()(const Figures& figures) const
    {
        return figures.small ? "small figures" : "figure";
    }
    std::string operator()(const TablePart&) const { return "table"; }
    std::string operator()(const Commands& commands) const
    {
        std::string text = "commands";
        for (const std::string& command : commands.items)
            text += " " + command;
        return text;
    }
    std::string operator()(const Contents&) const { return "contents"; }
    std::string operator()(const PageBreak&) const { return "page"; }
};

std::vector<std::string> outlineOf(const Document& document, CommandPlace place = CommandPlace::Section)
{
    std::vector<std::string> outline;
    for (const Block& block : blocksOf(document, place))
        outline.push_back(std::visit(Outline{}, block));
    return outline;
}

std::ptrdiff_t timesIn(const std::vector<std::string>& outline, const std::string& text)
{
    return std::ranges::count_if(
        outline, [&](const std::string& block) { return block.find(text) != std::string::npos; });
}

} // namespace

TEST(Blocks, AStudyHasItsFigureThenItsFindingThenItsTable)
{
    Document document = reportOf({studySection("flash")});
    document.summary = {{0, 0}};
    EXPECT_THAT(outlineOf(document),
                ElementsAre("# Summary", "findings flash is fast", "small figures", "page",
                            "# Machine, versions and method", "facts GPU NVIDIA H200 threads used 8",
                            "Rules of the findings: Counted.", "page", "# Title of flash",
                            "What about flash?", "0 points: 0 ok.",
                            "This is the quick edition. Only flash is slow (2 runs).", "figure",
                            "findings flash is fast", "table", "commands draw flash " + kGeneral,
                            "Made by Tilescope from a.tscope."));
}

TEST(Blocks, AFindingFollowsTheFigureThatShowsIt)
{
    Section section = studySection("flash");
    section.figures.push_back({.id = "flash-memory", .number = 2});
    section.findings.push_back({.text = "flash is small", .figure = "flash-memory"});
    const std::vector<std::string> outline = outlineOf(reportOf({section}));
    const auto first = std::ranges::find(outline, "figure");
    ASSERT_GE(outline.end() - first, 4);
    EXPECT_THAT(std::vector<std::string>(first, first + 4),
                ElementsAre("figure", "findings flash is fast", "figure", "findings flash is small"));
}

TEST(Blocks, WhatHoldsForAllStudiesStandsOnce)
{
    for (const CommandPlace place : {CommandPlace::Section, CommandPlace::Appendix}) {
        const std::vector<std::string> outline =
            outlineOf(reportOf({studySection("flash"), studySection("memory")}), place);
        for (const std::string& once :
             {std::string("NVIDIA H200"), std::string("quick edition"), kGeneral, std::string("draw flash"),
              std::string("draw memory"), std::string("Only flash is slow"), std::string("Counted.")})
            EXPECT_EQ(timesIn(outline, once), 1) << once;
        EXPECT_EQ(timesIn(outline, "All studies: This is the quick edition."), 1);
    }
}

TEST(Blocks, WhatHoldsForSomeStudiesIsNumberedInTheSummary)
{
    std::vector<Section> sections{studySection("flash"), studySection("memory"), studySection("scaling")};
    sections[0].cautions = {{.text = "throttled", .runs = 3}};
    sections[1].cautions = {{.text = "throttled", .runs = 1}};
    sections[2].cautions = {};
    sections[2].setting[1].second = "4";
    const std::vector<std::string> outline = outlineOf(reportOf(sections));
    EXPECT_EQ(timesIn(outline, "(1) throttled."), 1);
    EXPECT_EQ(timesIn(outline, "throttled"), 1);
    EXPECT_EQ(timesIn(outline, "(1) of the summary (3 runs)."), 1);
    EXPECT_EQ(timesIn(outline, "(1) of the summary (1 run)."), 1);
    EXPECT_EQ(timesIn(outline, "Measured with threads used: 4."), 1);
}

TEST(Blocks, CommandsAreAnAppendixWhereAFormatCannotFoldThem)
{
    const std::vector<std::string> outline =
        outlineOf(reportOf({studySection("flash")}), CommandPlace::Appendix);
    const auto heading = std::ranges::find(outline, "# Commands");
    ASSERT_NE(heading, outline.end());
    EXPECT_EQ(std::ranges::find_if(outline.begin(), heading,
                                   [](const std::string& block) { return block.starts_with("commands"); }),
              heading);
    EXPECT_THAT(*(heading + 2), HasSubstr("draw flash"));
}

} // namespace tilescope::report
