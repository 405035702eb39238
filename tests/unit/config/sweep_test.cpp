#include "sentence.h"

#include "core/config/spec_document.h"
#include "core/model/text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::config {

namespace {

using ::testing::ElementsAre;

/// What a sweep turns, one text a point: "naive/256".
std::vector<std::string> points(std::string_view yaml, const Overrides& overrides = {})
{
    std::vector<std::string> list;
    for (const ExperimentSpec& spec : parseSpec(yaml, "s.yaml", overrides))
        list.push_back(fmt::format("{}/{}", wordOf(spec.backend), spec.seqLen));
    return list;
}

TEST(Sweep, IsOnePointWhereNothingIsSwept)
{
    EXPECT_THAT(points("workload: attention\nseq_len: 32\n"), ElementsAre("naive/32"));
    EXPECT_THAT(points("workload: attention\nfixed: {seq_len: 32}\nsweep:\n"), ElementsAre("naive/32"));
    EXPECT_THAT(points("workload: attention\nfixed:\nsweep: {}\n"), ElementsAre("naive/1024"));
}

TEST(Sweep, OfAMapIsAProductWhoseLastKeyTurnsFastest)
{
    EXPECT_THAT(points("workload: attention\nsweep:\n  backend: [naive, sdpa]\n  seq_len: [64, 32, 128]\n"),
                ElementsAre("naive/64", "naive/32", "naive/128", "sdpa/64", "sdpa/32", "sdpa/128"));
    EXPECT_THAT(points("workload: attention\nsweep:\n  seq_len: [64, 32]\n  backend: [naive, sdpa]\n"),
                ElementsAre("naive/64", "sdpa/64", "naive/32", "sdpa/32"));
}

TEST(Sweep, TakesASingleValueAsAListOfOne)
{
    EXPECT_THAT(points("workload: attention\nsweep: {backend: sdpa, seq_len: [1, 2]}\n"),
                ElementsAre("sdpa/1", "sdpa/2"));
}

TEST(Sweep, OfAListIsThatListOfPoints)
{
    EXPECT_THAT(points("workload: attention\nseq_len: 8\nsweep:\n- {backend: sdpa}\n- {backend: naive}\n"),
                ElementsAre("sdpa/8", "naive/8"));
    EXPECT_THAT(points("workload: attention\nsweep:\n- {backend: sdpa, seq_len: 7}\n- {seq_len: 9}\n- {}\n"),
                ElementsAre("sdpa/7", "naive/9", "naive/1024"));
}

TEST(Sweep, MayShareAListByAnAlias)
{
    EXPECT_THAT(points("workload: attention\nsweep:\n  seq_len: &lengths [1, 2]\n  batch: *lengths\n"),
                ElementsAre("naive/1", "naive/1", "naive/2", "naive/2"));
}

TEST(Sweep, ResolvesDefaultsPointByPoint)
{
    const auto specs =
        parseSpec("workload: lm\nsweep:\n  size: [tiny, xl]\n  mode: [both, train]\n", "s.yaml");
    ASSERT_EQ(specs.size(), 4);
    EXPECT_EQ(specs[1].loss, LossKind::CrossEntropy);
    EXPECT_EQ(specs[2].loss, LossKind::Sum);
    EXPECT_EQ(specs[1].heads, 4);
    EXPECT_EQ(specs[2].heads, 25);
    EXPECT_EQ(specs[3].dModel, 1600);
}

TEST(Sweep, ForgetsWhatTheLastPointGave)
{
    const auto specs = parseSpec(
        "workload: attention\nsweep:\n- {heads: 8, kv_heads: 2, kv_len: 5}\n- {heads: 4}\n", "s.yaml");
    EXPECT_EQ(specs[0].kvHeads, 2);
    EXPECT_EQ(specs[1].kvHeads, 4);
    EXPECT_EQ(specs[1].kvLen, 1024);
}

TEST(Sweep, OfAListValuedKeyTurnsThroughLists)
{
    const auto specs = parseSpec("workload: lm\nsweep: {counters: [[], a, [b, c]]}\n", "s.yaml");
    ASSERT_EQ(specs.size(), 3);
    EXPECT_THAT(specs[0].counters, ElementsAre());
    EXPECT_THAT(specs[1].counters, ElementsAre("a"));
    EXPECT_THAT(specs[2].counters, ElementsAre("b", "c"));
}

TEST(Sweep, HasAtMostAHundredThousandPoints)
{
    std::string thousand;
    for (int i = 1; i <= 1000; ++i)
        thousand += (i > 1 ? "," : "") + std::to_string(i);
    const std::string hundred = thousand.substr(0, thousand.find(",101"));
    const std::string head = "workload: attention\nsweep:\n  seq_len: [" + thousand + "]\n";
    EXPECT_EQ(parseSpec(head + "  batch: [" + hundred + "]\n", "s.yaml").size(), 100'000);
    EXPECT_EQ(sentenceOf(head + "  batch: [" + hundred + ",101]\n"),
              "s.yaml:4:3: the sweep has 101,000 points; at most 100,000; split it into several specs");
}

// Refused by counting: ten keys of a thousand values could not be listed in the life of the universe.
TEST(Sweep, IsCountedBeforeItIsExpanded)
{
    std::string yaml = "workload: attention\nsweep:\n";
    for (const char* key : {"seed", "batch", "seq_len", "kv_len", "heads", "steps", "warmup", "trace_steps",
                            "timeout", "threads"}) {
        yaml += std::string("  ") + key + ": [1";
        for (int i = 2; i <= 1000; ++i)
            yaml += "," + std::to_string(i);
        yaml += "]\n";
    }
    EXPECT_EQ(parseDocument(yaml, "s.yaml").pointCount(), std::numeric_limits<std::int64_t>::max());
    EXPECT_TRUE(matches(sentenceOf(yaml), "s.yaml:12:3: the sweep has 2^63-1 points; …"));
}

TEST(Set, ReplacesAKeyWhereverItStands)
{
    constexpr std::string_view swept = "workload: attention\nseq_len: 1\nsweep: {backend: [naive, sdpa]}\n";
    EXPECT_THAT(points(swept, {{"seq_len", "5"}}), ElementsAre("naive/5", "sdpa/5"));
    EXPECT_THAT(points(swept, {{"backend", "sdpa-math"}}), ElementsAre("sdpa-math/1"));
    EXPECT_THAT(points("workload: attention\nfixed: {seq_len: 1}\n", {{"seq-len", "6"}}),
                ElementsAre("naive/6"));
}

TEST(Set, SweepsAKeyOverAList)
{
    EXPECT_THAT(
        points("workload: attention\nseq_len: 1\nsweep: {backend: [naive, sdpa]}\n", {{"seq_len", "[5, 6]"}}),
        ElementsAre("naive/5", "naive/6", "sdpa/5", "sdpa/6"));
}

TEST(Set, LeavesASweptKeyItsPlaceInTheOrder)
{
    EXPECT_THAT(points("workload: attention\nsweep: {backend: [naive, sdpa], seq_len: [1, 2]}\n",
                       {{"backend", "[sdpa, sdpa-math]"}}),
                ElementsAre("sdpa/1", "sdpa/2", "sdpa-math/1", "sdpa-math/2"));
}

TEST(Set, TakesAKeyOutOfEveryPoint)
{
    constexpr std::string_view listed = "workload: attention\nsweep:\n- {backend: sdpa, seq_len: 1}\n"
                                        "- {backend: naive, seq_len: 2}\n- {backend: sdpa, seq_len: 3}\n";
    EXPECT_THAT(points(listed, {{"seq_len", "9"}}), ElementsAre("sdpa/9", "naive/9"));
    EXPECT_THAT(points(listed, {{"seq_len", "[8, 9]"}}),
                ElementsAre("sdpa/8", "sdpa/9", "naive/8", "naive/9"));
    EXPECT_THAT(points(listed, {{"seq_len", "9"}, {"backend", "sdpa"}}), ElementsAre("sdpa/9"));
}

TEST(Set, LetsTheLastOfSeveralCount)
{
    EXPECT_THAT(points("workload: attention\n", {{"seq_len", "1"}, {"seq_len", "[2, 3]"}, {"seq_len", "4"}}),
                ElementsAre("naive/4"));
}

TEST(Set, NamesItselfAsThePlaceOfAnError)
{
    constexpr std::string_view lm = "workload: lm\nsize: tiny\n";
    EXPECT_TRUE(matches(sentenceOf(lm, {{"bacth", "1"}}),
                        "--set bacth: unknown key 'bacth'; did you mean 'batch'? allowed here: name, …"));
    EXPECT_EQ(sentenceOf(lm, {{"batch", "none"}}),
              "--set batch: batch takes an integer, not 'none'; allowed: 1 to 65,536");
    EXPECT_EQ(sentenceOf(lm, {{"batch", ""}}), "--set batch: batch has no value; allowed: 1 to 65,536");
    EXPECT_EQ(sentenceOf(lm, {{"batch", "[1, 2, 2]"}}),
              "--set batch: sweep gives batch the value 2 twice; remove one");
    EXPECT_EQ(sentenceOf(lm, {{"batch", "[]"}}),
              "--set batch: no value in the list for batch; write one value, or [a, b] to sweep");
    EXPECT_TRUE(matches(sentenceOf(lm, {{"batch", "[1, 2"}}),
                        "--set batch: a key is a list or a map; keys are words; is a bracket not closed, …"));
    EXPECT_EQ(sentenceOf(lm, {{"heads", "3"}}),
              "--set heads: heads 3 does not divide d_model 128; every head takes "
              "the same share of the model's width");
    EXPECT_TRUE(matches(sentenceOf(lm, {{"workload", "attention"}}),
                        "s.yaml:2:1: the key 'size' is not for workload attention; …"));
}

TEST(Flags, MakeASpecWithoutAFile)
{
    const auto specs =
        specFromOverrides(Workload::Lm, {{"size", "tiny"}, {"rope-theta", "5e5"}, {"name", "a: [b]"}});
    ASSERT_EQ(specs.size(), 1);
    EXPECT_EQ(specs[0].workload, Workload::Lm);
    EXPECT_EQ(specs[0].ropeTheta, 5e5);
    EXPECT_EQ(specs[0].name, "a: [b]");
    EXPECT_EQ(specFromOverrides(Workload::Attention, {{"seq_len", "[1, 2]"}}).size(), 2);
    EXPECT_EQ(specFromOverrides(Workload::Attention, {}).front().name, "attention");
}

TEST(Flags, AreThePlaceOfAnError)
{
    try {
        specFromOverrides(Workload::Lm, {{"d-head", "64"}});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.where, "--d-head");
        EXPECT_EQ(error.what, "the key 'd_head' is not for workload lm");
    }
}

} // namespace

} // namespace tilescope::config
