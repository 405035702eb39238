#include "core/machine/examine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace tilescope::machine {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Examine, EveryThingThatIsMissingHasARemedyAndWhatIsOkNone)
{
    const std::vector<Finding> findings = examine();
    ASSERT_FALSE(findings.empty());
    for (const Finding& finding : findings) {
        EXPECT_FALSE(finding.topic.empty());
        EXPECT_FALSE(finding.finding.empty()) << finding.topic;
        EXPECT_EQ(finding.remedy.empty(), finding.verdict == Finding::Verdict::Ok) << finding.topic;
    }
}

TEST(Examine, LooksAtEveryPartOfTheMachine)
{
    std::vector<std::string> topics;
    for (const Finding& finding : examine())
        topics.push_back(finding.topic);
    for (const char* topic : {"C library", "CPU", "governor", "memory", "disk", "window"})
        EXPECT_THAT(topics, ::testing::Contains(topic));
}

TEST(RivalProfilers, AreNamedByProgramAndByVariable)
{
    const std::map<std::string, std::string> variables{{"CUDA_INJECTION64_PATH", "/opt/nsys/lib.so"}};
    const auto environment = [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? std::string() : found->second;
    };
    EXPECT_THAT(rivalProfilers({"bash", "ncu", "nv-hostengine", "ncurses"}, environment),
                ElementsAre("ncu", "nv-hostengine", "CUDA_INJECTION64_PATH=/opt/nsys/lib.so"));
    EXPECT_THAT(rivalProfilers({"bash", "nsysd"}, [](const char*) { return std::string(); }), IsEmpty());
}

TEST(CountersAreRestricted, ReadsTheDriversParameters)
{
    EXPECT_EQ(countersAreRestricted("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\nFoo: 0\n"), true);
    EXPECT_EQ(countersAreRestricted("RmProfilingAdminOnly: 0\n"), false);
    EXPECT_EQ(countersAreRestricted(""), std::nullopt);
}

} // namespace tilescope::machine
