#include "core/report/study_runs.h"

#include "tests/support/temporary_folder.h"
#include "tests/unit/report/study_file.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tilescope::report {

namespace {

/// A study as a handout asks for it.
config::Study askedBy(std::string_view handout, std::string_view study)
{
    const config::Handout wanted = config::loadHandout(handout);
    const auto entry = std::ranges::find(wanted.entries, study, &config::Handout::Entry::study);
    return config::loadStudy(study, config::Edition::Full, entry->overrides);
}

/// A file in which a point of several studies was run once, with the name of the first, as `--resume` does it.
void runOnce(const std::filesystem::path& file, config::Study first, config::Study second)
{
    const auto ok = [](const ExperimentSpec&) { return FakeResult{}; };
    config::Study both = std::move(first);
    std::vector<std::string> known;
    for (const config::StudyPart& part : both.parts)
        for (const ExperimentSpec& spec : part.specs)
            known.push_back(config::specHash(spec));
    for (config::StudyPart& part : second.parts) {
        std::erase_if(part.specs, [&](const ExperimentSpec& spec) {
            return std::ranges::find(known, config::specHash(spec)) != known.end();
        });
        both.parts.push_back(std::move(part));
    }
    writeStudyFile(file, both, ok);
}

} // namespace

TEST(StudyRuns, OfAHandoutHaveThePointsThatAnotherStudyRan)
{
    testing::TemporaryFolder folder;
    const config::Study benchmarking = askedBy("cs336-2026", "benchmarking");
    const config::Study precision = askedBy("cs336-2026", "mixed-precision");
    runOnce(folder / "h.tscope", benchmarking, precision);
    for (const std::string_view only : {"mixed-precision", "cs336-2026", ""}) {
        const std::vector<StudyRuns> studies =
            studyRuns(openRecordings({folder / "h.tscope"}), std::string(only));
        const auto found = std::ranges::find(studies, "mixed-precision",
                                             [](const StudyRuns& each) { return each.study.name; });
        ASSERT_NE(found, studies.end()) << only;
        EXPECT_EQ(found->runs(), precision.parts.at(0).specs.size()) << only;
        EXPECT_EQ(found->parts.at(0).points, precision.parts.at(0).specs.size()) << only;
    }
}

TEST(StudyRuns, OfAStudyThatIsRunAsItIsAreItsOwn)
{
    testing::TemporaryFolder folder;
    writeStudyFile(folder / "s.tscope", "mixed-precision", config::Edition::Full,
                   [](const ExperimentSpec&) { return FakeResult{}; });
    const std::vector<StudyRuns> studies =
        studyRuns(openRecordings({folder / "s.tscope"}), "mixed-precision");
    ASSERT_EQ(studies.size(), 1U);
    EXPECT_EQ(studies[0].runs(), config::loadStudy("mixed-precision").parts.at(0).specs.size());
}

} // namespace tilescope::report
