#include "core/config/spec_document.h"

#include "core/base/error.h"
#include "core/config/schema.h"
#include "core/config/spec_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::config {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool same(const SpecDocument& a, const SpecDocument& b)
{
    return a.fixed == b.fixed && a.axes == b.axes && a.points == b.points;
}

/// Written, read and written again: the same text, and the same document in between.
void expectRoundTrip(std::string_view yaml)
{
    const SpecDocument document = parseDocument(yaml, "s.yaml");
    const std::string written = toYaml(document);
    const SpecDocument again = parseDocument(written, "s.yaml");
    EXPECT_TRUE(same(document, again)) << written;
    EXPECT_EQ(toYaml(again), written);
}

constexpr std::string_view kCommented = R"(# What tiles change.
# Takes an hour.

name: tiles  # short
workload: attention

# long enough to be steady
steps: 100
fixed:
  # as in the paper
  batch: 8
# the question
sweep:
  backend: [naive, flash-torch]  # the rivals
  # powers of two
  seq_len: [256, 1024]
# the end
)";

TEST(SpecDocument, RemembersWhatStandsWhere)
{
    const SpecDocument document = parseDocument(kCommented, "s.yaml");
    ASSERT_EQ(document.fixed.size(), 4);
    EXPECT_EQ(document.fixed[2].key, "steps");
    EXPECT_EQ(document.fixed[2].position, (Position{8, 1}));
    EXPECT_FALSE(document.fixed[2].underFixed);
    EXPECT_TRUE(document.fixed[3].underFixed);
    ASSERT_EQ(document.axes.size(), 2);
    EXPECT_EQ(document.axes[1].values[1].position, (Position{16, 18}));
    EXPECT_EQ(document.pointCount(), 4);
    EXPECT_EQ(document.findAxis("seq_len"), &document.axes[1]);
    EXPECT_EQ(document.findFixed("seq_len"), nullptr);
    EXPECT_EQ(document.findFixed("batch"), &document.fixed[3]);
}

TEST(SpecDocument, KeepsCommentsThroughAnEdit)
{
    SpecDocument document = parseDocument(kCommented, "s.yaml");
    document.set("steps", "50");
    document.set("seq-len", "[256, 2048]");
    document.set("causal", "false");
    EXPECT_EQ(toYaml(document), R"(# What tiles change.
# Takes an hour.
name: tiles  # short
workload: attention
# long enough to be steady
steps: 50
causal: false
fixed:
  # as in the paper
  batch: 8
# the question
sweep:
  backend: [naive, flash-torch]  # the rivals
  # powers of two
  seq_len: [256, 2048]
# the end
)");
}

TEST(SpecDocument, TakesNoHashInAWordOrInQuotesForAComment)
{
    const SpecDocument document = parseDocument(
        "workload: lm\nname: \"a # b\"\nfixed: {compile: package:it's#1.pt2, loss: 'sum'} # yes\n", "s");
    EXPECT_EQ(document.fixed[1].remark, "");
    EXPECT_EQ(document.fixed[1].value.text, "a # b");
    EXPECT_EQ(document.fixed[2].value.text, "package:it's#1.pt2");
    EXPECT_EQ(document.fixed[3].remark, "# yes");
}

TEST(SpecDocument, IsWrittenAsItWasRead)
{
    expectRoundTrip(kCommented);
    expectRoundTrip("workload: lm\n");
    expectRoundTrip(
        "workload: lm\nname: \"8\"\nmemory_limit: 8 GiB\ndevice: cuda:1\ntimeout: 0.5\nseed: -3\n");
    expectRoundTrip("workload: lm\nname: \"a: \\\"b\\\" # [c], {d} \\\\ \\x1b \u00e9\"\nbatch:\n");
    expectRoundTrip("workload: lm\nfixed: {counters: [a, 'b c'], trace: off, compile: 'package:x, y.pt2'}\n");
    expectRoundTrip("fixed: {workload: lm}\nsweep: {batch: [1, 2]}\nname: last\n");
    expectRoundTrip("workload: lm\nsweep:\n- {size: tiny, batch: 3} # small\n# big\n- {size: xl}\n- {}\n");
    expectRoundTrip("workload: lm\nsweep: {counters: [[], a, [b, c]], mode: both}\n");
    expectRoundTrip("workload: lm\nunknown: 3\nsweep: {'odd key: [': [1, ~, 'null', '~', '-', '---', '']}\n");
}

TEST(SpecDocument, WritesPointsAndAxesAsTheirProduct)
{
    SpecDocument document =
        parseDocument("workload: attention\nsweep:\n- {seq_len: 1}\n- {seq_len: 2}\n", "s.yaml");
    document.set("backend", "[naive, sdpa]");
    EXPECT_EQ(toYaml(document), "workload: attention\nsweep:\n"
                                "  - {seq_len: 1, backend: naive}\n  - {seq_len: 1, backend: sdpa}\n"
                                "  - {seq_len: 2, backend: naive}\n  - {seq_len: 2, backend: sdpa}\n");
    EXPECT_EQ(expand(document), expand(parseDocument(toYaml(document), "s.yaml")));
}

TEST(SpecDocument, RemovesAKeyFromWhereverItStands)
{
    SpecDocument document = parseDocument(
        "workload: attention\nbatch: 1\nfixed: {heads: 2}\nsweep: {seq_len: [1, 2]}\n", "s.yaml");
    EXPECT_TRUE(document.remove("batch"));
    EXPECT_TRUE(document.remove("heads"));
    EXPECT_TRUE(document.remove("seq_len"));
    EXPECT_FALSE(document.remove("seq_len"));
    EXPECT_EQ(toYaml(document), "workload: attention\n");
}

TEST(SpecDocument, HoldsWhatIsNotYetRight)
{
    SpecDocument document;
    document.set("batch", "many");
    document.set("no-such", "1");
    EXPECT_EQ(toYaml(document), "batch: many\nno-such: 1\n");
    EXPECT_THROW(expand(document), Error);
}

TEST(ProblemsOf, MarksEveryFieldThatIsWrong)
{
    const SpecDocument document = parseDocument(
        "workload: lm\nbatch: 0\nfixed: {modes: both}\nsweep: {size: [tiny, huge], heads: [2, 2]}\n",
        "s.yaml");
    std::vector<std::string> keys;
    for (const SpecProblem& problem : problemsOf(document))
        keys.push_back(problem.key + " @ " + problem.where);
    EXPECT_THAT(keys, ElementsAre("batch @ s.yaml:2:8", "modes @ s.yaml:3:9", "size @ s.yaml:4:22",
                                  "heads @ s.yaml:4:40"));
    EXPECT_EQ(problemsOf(document)[0].sentence, "batch is 0, out of range; allowed: 1 to 65,536");
}

TEST(ProblemsOf, BlamesTheKeyThatBreaksARule)
{
    const auto problems =
        problemsOf(parseDocument("workload: lm\nsize: tiny\nsweep: {heads: [2, 3]}\n", "s.yaml"));
    ASSERT_EQ(problems.size(), 1);
    EXPECT_EQ(problems[0].key, "heads");
    EXPECT_EQ(problems[0].where, "s.yaml:3:20");
}

TEST(ProblemsOf, FindsNoneInWhatCanBeRun)
{
    EXPECT_THAT(problemsOf(parseDocument(kCommented, "s.yaml")), IsEmpty());
    EXPECT_EQ(problemsOf(SpecDocument()).front().key, "workload");
}

} // namespace

} // namespace tilescope::config
