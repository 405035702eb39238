#include "app/cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace tilescope::cli {

using namespace session;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

std::vector<SweepPoint> sweepOf(std::initializer_list<std::int64_t> lengths)
{
    std::vector<ExperimentSpec> specs;
    for (const std::int64_t length : lengths) {
        ExperimentSpec spec;
        spec.name = "scaling";
        spec.seqLen = spec.kvLen = length;
        specs.push_back(spec);
    }
    return numbered(specs);
}

struct Shown {
    std::string out;
    std::string err;
};

Shown show(const std::vector<SweepPoint>& points, const std::vector<Event>& events, ProgressStyle style = {})
{
    std::ostringstream out;
    std::ostringstream err;
    Progress progress(points, style, out, err);
    for (const Event& event : events)
        progress.take(event);
    return {out.str(), err.str()};
}

} // namespace

TEST(Progress, GivesEachPointALineWithItsFiguresAndWhatTellsItApart)
{
    const Shown shown = show(
        sweepOf({256, 512}),
        {HelloEvent{1, "tilescope", "0", "a.tscope", 2}, PointEvent{0, 2, 1, "{}"},
         ResultEvent{1, "ok", "", 12.345, 0.4, 10, 3 << 20, 100}, PointEvent{1, 2, 2, "{}"},
         ResultEvent{2, "oom", "out of memory in forward", {}, {}, 0, {}, 50}, DoneEvent{1, 1, 0, 0, 0, 75}});
    EXPECT_THAT(shown.out, HasSubstr("1/2  ok         12.3 ± 0.400 ms (10)"));
    EXPECT_THAT(shown.out, HasSubstr("peak  3.00 MiB  seq_len=256"));
    EXPECT_THAT(shown.out, HasSubstr("2/2  oom"));
    EXPECT_THAT(shown.out, HasSubstr("seq_len=512  out of memory in forward"));
    EXPECT_THAT(shown.out, HasSubstr("Nothing lost (150 records checked)\n"));
    EXPECT_THAT(shown.out, HasSubstr("2 of 2 points: 1 ok, 1 out of memory in 1m15s -> a.tscope"));
}

TEST(Progress, TellsLossesOfAllRunsAddedUp)
{
    const Shown shown = show(sweepOf({256, 512}), {LossEvent{1, "ring_overflow", "warning", 5},
                                                   LossEvent{2, "ring_overflow", "warning", 7},
                                                   LossEvent{2, "unnamed_thread", "info", 1}, DoneEvent{}});
    EXPECT_THAT(shown.out, HasSubstr("Lost: 12 ring_overflow (warning)\n"));
    EXPECT_THAT(shown.out, Not(HasSubstr("Nothing lost")));
}

TEST(Progress, DoesNotCallNothingLostWhereNothingWasTraced)
{
    const Shown shown =
        show(sweepOf({256}), {ResultEvent{1, "ok", "", 12.3, 0.4, 10, {}, 0}, DoneEvent{1, 0, 0, 0, 0, 1}});
    EXPECT_THAT(shown.out, HasSubstr("Nothing was traced\n"));
    EXPECT_THAT(shown.out, Not(HasSubstr("Nothing lost")));
}

TEST(Progress, NeverSendsAReasonsControlCharactersToTheTerminal)
{
    const Shown shown =
        show(sweepOf({256}), {ResultEvent{1, "error", "evil \033[2J text", {}, {}, 0, {}, 0}});
    EXPECT_THAT(shown.out, Not(HasSubstr("\033")));
    EXPECT_THAT(shown.out, HasSubstr("evil"));
}

TEST(Progress, DrawsABarThatFitsTheTerminalAndClearsItForLines)
{
    const auto points = sweepOf({256, 512});
    const Shown shown = show(points,
                             {HelloEvent{1, "tilescope", "0", "a.tscope", 2}, PointEvent{0, 2, 1, "{}"},
                              StateEvent{1, "measure"}, ResultEvent{1, "ok", "", 1.0, {}, 1, {}, 0}},
                             {.bar = true, .colour = true, .width = 60});
    EXPECT_THAT(shown.err, HasSubstr("1/2"));
    EXPECT_THAT(shown.err, HasSubstr("measure"));
    EXPECT_THAT(shown.err, HasSubstr("\r\033[K"));
    EXPECT_THAT(shown.out, HasSubstr("\033[32mok"));
    EXPECT_TRUE(show(points, {HelloEvent{}}).err.empty()) << "no bar where nobody watches";
}

TEST(PointLabels, NameOnlyTheKeysThatVary)
{
    EXPECT_THAT(pointLabels(sweepOf({256, 512})), ElementsAre("seq_len=256", "seq_len=512"));
    EXPECT_THAT(pointLabels(sweepOf({256})), ElementsAre(""));
}

TEST(DurationText, ChoosesItsUnits)
{
    EXPECT_EQ(durationText(4.21), "4.2 s");
    EXPECT_EQ(durationText(42.4), "42 s");
    EXPECT_EQ(durationText(80), "1m20s");
    EXPECT_EQ(durationText(11100), "3h05m");
}

} // namespace tilescope::cli
