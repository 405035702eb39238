#include "core/config/study.h"

#include "core/base/error.h"
#include "core/config/device_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tilescope::config {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

namespace {

constexpr const char* kTwoParts = R"(study: mine
title: A title
asks: What?
took: {NVIDIA H200: 12.5}
parts:
  grid: {about: The grid., quick: {seq_len: [64, 128]}}
---
name: grid
workload: attention
steps: 20
sweep: {seq_len: [1024, 4096]}
---
name: models
workload: lm
size: small
context: 512
)";

std::string sentenceOf(std::string_view yaml, const Overrides& overrides = {})
{
    try {
        parseStudy(yaml, "mine.yaml", "mine", Edition::Full, overrides);
    } catch (const Error& error) {
        return error.sentence();
    }
    return "accepted";
}

std::vector<std::int64_t> lengthsOf(const StudyPart& part)
{
    std::vector<std::int64_t> lengths;
    for (const ExperimentSpec& spec : part.specs)
        lengths.push_back(spec.seqLen);
    return lengths;
}

} // namespace

TEST(Study, HasItsPartsAsSpecsNamedAfterBoth)
{
    const Study study = parseStudy(kTwoParts, "mine.yaml", "mine", Edition::Full);
    ASSERT_EQ(study.parts.size(), 2U);
    EXPECT_EQ(study.points(), 3U);
    EXPECT_EQ(study.parts[0].about, "The grid.");
    EXPECT_EQ(study.parts[0].specs[1].name, "mine: grid");
    EXPECT_EQ(parseSpec(study.parts[0].yaml, "part"), study.parts[0].specs) << study.parts[0].yaml;
    EXPECT_THAT(lengthsOf(study.parts[0]), ElementsAre(1024, 4096));
    EXPECT_EQ(study.parts[1].workload, Workload::Lm);
    EXPECT_EQ(study.took, (std::vector<std::pair<std::string, double>>{{"NVIDIA H200", 12.5}}));
}

TEST(Study, QuickTakesThePartsOwnSmallerKeysAndMakesTheRestSmall)
{
    const Study study = parseStudy(kTwoParts, "mine.yaml", "mine", Edition::Quick);
    EXPECT_THAT(lengthsOf(study.parts[0]), ElementsAre(64, 128));
    EXPECT_EQ(study.parts[0].specs[0].steps, 3);
    EXPECT_EQ(study.parts[1].specs[0].size, "tiny");
    EXPECT_EQ(study.parts[1].specs[0].context, 128);
}

TEST(Study, QuickReplacesTheWholeSweep)
{
    std::string yaml = kTwoParts;
    const std::string keys = "seq_len: [64, 128]";
    yaml.replace(yaml.find(keys), keys.size(), "sweep: [{seq_len: 64, heads: 2}, {seq_len: 32, heads: 1}]");
    const Study study = parseStudy(yaml, "mine.yaml", "mine", Edition::Quick);
    EXPECT_THAT(lengthsOf(study.parts[0]), ElementsAre(64, 32));
    EXPECT_EQ(study.parts[0].specs[0].heads, 2);
    EXPECT_THAT(lengthsOf(parseStudy(yaml, "mine.yaml", "mine", Edition::Full).parts[0]),
                ElementsAre(1024, 4096));
}

TEST(Study, OverridesReachThePartsThatHaveTheKey)
{
    const Study study =
        parseStudy(kTwoParts, "mine.yaml", "mine", Edition::Quick, {{"steps", "7"}, {"seq_len", "[1024]"}});
    EXPECT_THAT(lengthsOf(study.parts[0]), ElementsAre(1024));
    EXPECT_EQ(study.parts[0].specs[0].steps, 7);
    EXPECT_EQ(study.parts[1].specs[0].steps, 7);
    EXPECT_THAT(sentenceOf(kTwoParts, {{"tile_z", "7"}}),
                HasSubstr("no part of the study has the key 'tile_z'"));
}

TEST(Study, MistakesAreNamedWithTheirPlaceInTheFile)
{
    EXPECT_THAT(sentenceOf("study: other\ntitle: t\nasks: a\n---\nname: x\nworkload: lm\n"),
                HasSubstr("is named 'other'"));
    EXPECT_THAT(sentenceOf("study: mine\ntitle: t\nasks: a\n"),
                HasSubstr("a study has a title, a question and a part"));
    EXPECT_THAT(sentenceOf("study: mine\ntitle: t\nasks: a\nwhy: b\n"),
                HasSubstr("mine.yaml:4:1: unknown key 'why'"));
    EXPECT_THAT(sentenceOf("study: mine\ntitle: t\nasks: a\n---\nname: x\nworkload: lm\nbacth: 3\n"),
                HasSubstr("mine.yaml:7:1: unknown key 'bacth'; did you mean 'batch'?"));
    EXPECT_THAT(
        sentenceOf("study: mine\ntitle: t\nasks: a\nparts: {y: {about: z}}\n---\nname: x\nworkload: lm\n"),
        HasSubstr("there is no part 'y'"));
}

TEST(Study, ThatComeWithTilescopeAllExpandInBothEditions)
{
    EXPECT_THAT(studyNames(),
                IsSupersetOf({"accumulation", "activation-size", "attention-grid", "benchmarking",
                              "checkpointing", "compiled", "compilers", "dtypes", "flash", "memory",
                              "memory-decomposition", "mixed-precision", "oom-boundary", "products",
                              "profile", "roofline", "scaling", "warm-up"}));
    for (const std::string& name : studyNames()) {
        SCOPED_TRACE(name);
        const Study full = loadStudy(name);
        const Study quick = loadStudy(name, Edition::Quick);
        EXPECT_GE(full.points(), quick.points());
        for (const StudyPart& part : full.parts)
            EXPECT_FALSE(part.about.empty()) << part.name;
    }
}

TEST(Handout, RunsStudiesWithTheSizesOfItsYear)
{
    for (const std::string& name : handoutNames()) {
        SCOPED_TRACE(name);
        EXPECT_THAT(studyNames(), Not(Contains(name)));
        const std::vector<Study> full = loadStudies(name, Edition::Full);
        EXPECT_EQ(full.size(), loadHandout(name).entries.size());
        EXPECT_EQ(full.size(), loadStudies(name, Edition::Quick).size());
    }
    const std::vector<Study> studies = loadStudies("cs336-2026", Edition::Full);
    std::set<std::string> sizes;
    for (const StudyPart& part : studies.at(0).parts)
        for (const ExperimentSpec& spec : part.specs)
            sizes.insert(spec.size);
    EXPECT_EQ(sizes, (std::set<std::string>{"small", "medium", "large", "xl-2026", "10B"}));
    EXPECT_EQ(loadStudies("all", Edition::Quick).size(), studyNames().size());
    EXPECT_EQ(loadStudies("flash", Edition::Quick).at(0).name, "flash");
    EXPECT_THROW(loadStudies("cs336-1936", Edition::Full), Error);
}

TEST(Study, KeepsThePointsThatTheDeviceCannotRun)
{
    for (const Edition edition : {Edition::Full, Edition::Quick}) {
        std::size_t cannot = 0;
        for (const std::string& name : studyNames()) {
            SCOPED_TRACE(name);
            const Study anywhere = loadStudy(name, edition);
            const Study onCpu = loadStudy(name, edition, {{"device", "cpu"}});
            EXPECT_EQ(onCpu.points(), anywhere.points());
            for (const StudyPart& part : onCpu.parts)
                for (const ExperimentSpec& spec : part.specs)
                    cannot += whyDeviceCannot(spec, false) ? 1 : 0;
        }
        EXPECT_GT(cannot, 0u) << "no study has a point for GPUs alone: this test proves nothing";
    }
    ExperimentSpec graph;
    graph.compile.kind = CompileRequest::Kind::Graph;
    EXPECT_EQ(whyDeviceCannot(graph, false), "compile graph is a CUDA graph, and device is cpu");
    EXPECT_EQ(whyDeviceCannot(graph, true), std::nullopt);
    EXPECT_EQ(whyDeviceCannot(ExperimentSpec{}, false), std::nullopt);
}

TEST(Study, UnknownNamesGetASuggestion)
{
    try {
        loadStudy("falsh");
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("did you mean 'flash'?"));
    }
}

} // namespace tilescope::config
