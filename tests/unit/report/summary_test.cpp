#include "core/report/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::report {

using ::testing::ElementsAre;

namespace {

Section sectionWith(std::vector<Finding> findings)
{
    Section section{.study = "study", .findings = std::move(findings)};
    section.figures = {{.id = "first"}, {.id = "second"}};
    return section;
}

} // namespace

TEST(Summary, TakesTheStrongestFindingOfEachStudy)
{
    const std::vector<Section> sections{sectionWith({{.text = "a", .effect = 1}, {.text = "b", .effect = 2}}),
                                        sectionWith({{.text = "c"}, {.text = "d"}}),
                                        sectionWith({{.text = "e", .effect = 3}})};
    EXPECT_THAT(highlightsOf(sections), ElementsAre(Highlight{2, 0}, Highlight{0, 1}, Highlight{1, 0}));
}

TEST(Summary, OfASingleStudyHasSeveralFindings)
{
    EXPECT_THAT(highlightsOf({sectionWith({{.text = "a"}, {.text = "b", .effect = 2}, {.text = "c"}})}),
                ElementsAre(Highlight{0, 1}, Highlight{0, 0}, Highlight{0, 2}));
}

TEST(Summary, PassesOverInconclusiveAndLongFindings)
{
    const Finding inconclusive{.text = "a", .conclusive = false, .effect = 3};
    const Finding longOne{.text = std::string(1000, 'x'), .effect = 2};
    EXPECT_THAT(highlightsOf({sectionWith({inconclusive, longOne, {.text = "c"}})}),
                ElementsAre(Highlight{0, 2}));
}

TEST(Summary, FitsOnAPage)
{
    const std::vector<Section> sections(30, sectionWith({{.text = "a"}}));
    const Document document{.summary = highlightsOf(sections), .sections = sections};
    EXPECT_EQ(document.summary.size(), kMostHighlights);
    EXPECT_EQ(summaryFigures(document).size(), kMostSummaryFigures);
}

TEST(Summary, ShowsTheFigureOfEachFindingOnce)
{
    Document document{
        .sections = {sectionWith({{.text = "a", .figure = "second"}, {.text = "b"}, {.text = "c"}})}};
    document.summary = {{0, 0}, {0, 1}, {0, 2}};
    EXPECT_THAT(summaryFigures(document),
                ElementsAre(&document.sections[0].figures[1], &document.sections[0].figures[0]));
}

TEST(Summary, ShowsAChartInPlaceOfATimeline)
{
    Document document{.sections = {sectionWith({{.text = "a"}})}};
    document.summary = {{0, 0}};
    document.sections[0].figures[0].isTimeline = true;
    EXPECT_THAT(summaryFigures(document), ElementsAre(&document.sections[0].figures[1]));
    document.sections[0].figures[1].isTimeline = true;
    EXPECT_THAT(summaryFigures(document), ElementsAre(&document.sections[0].figures[0]));
}

} // namespace tilescope::report
