#include "app/cli/progress.h"

#include "core/exchange/tables/text.h"

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

Shown show(const std::vector<SweepPoint>& points, const std::vector<Event>& events, ProgressStyle style = {},
           std::size_t present = 0)
{
    std::ostringstream out;
    std::ostringstream err;
    Progress progress(points, style, out, err, present);
    for (const Event& event : events)
        progress.take(event);
    return {out.str(), err.str()};
}

} // namespace

TEST(Progress, PrintsALinePerPointWithItsFiguresAndLabel)
{
    const Shown shown = show(
        sweepOf({256, 512}),
        {HelloEvent{1, "tilescope", "0", "a.tscope", 2}, PointEvent{0, 2, 1, "{}"},
         ResultEvent{1, "ok", "", 12.345, {{12.1, 12.9}}, 10, 3 << 20, 100}, PointEvent{1, 2, 2, "{}"},
         ResultEvent{2, "oom", "out of memory in forward", {}, {}, 0, {}, 50}, DoneEvent{1, 1, 0, 0, 0, 75}});
    EXPECT_THAT(shown.out, HasSubstr("1/2  ok         12.3 [12.1, 12.9] ms (10)"));
    EXPECT_THAT(shown.out, HasSubstr("peak  3.00 MiB  seq_len=256"));
    EXPECT_THAT(shown.out, HasSubstr("2/2  oom"));
    EXPECT_THAT(shown.out, HasSubstr("seq_len=512  out of memory in forward"));
    EXPECT_THAT(shown.out, HasSubstr("Nothing lost (150 records checked)\n"));
    EXPECT_THAT(shown.out, HasSubstr("2 of 2 points: 1 ok, 1 out of memory in 1m15s -> a.tscope"));
}

TEST(Progress, PrintsTheTotalLossesOfAllRuns)
{
    const Shown shown = show(sweepOf({256, 512}), {LossEvent{1, "ring_overflow", "warning", 5},
                                                   LossEvent{2, "ring_overflow", "warning", 7},
                                                   LossEvent{2, "unnamed_thread", "info", 1}, DoneEvent{}});
    EXPECT_THAT(shown.out, HasSubstr("Lost: 12 ring_overflow (warning)\n"));
    EXPECT_THAT(shown.out, Not(HasSubstr("Nothing lost")));
}

TEST(Progress, DoesNotReportNothingLostIfNothingWasTraced)
{
    const Shown shown = show(sweepOf({256}), {ResultEvent{1, "ok", "", 12.3, {{12.1, 12.9}}, 10, {}, 0},
                                              DoneEvent{1, 0, 0, 0, 0, 1}});
    EXPECT_THAT(shown.out, HasSubstr("Nothing was traced\n"));
    EXPECT_THAT(shown.out, Not(HasSubstr("Nothing lost")));
}

TEST(Progress, PrintsAFlagOfEveryPointOnce)
{
    ResultEvent result{1, "ok", "", 12.3, {{12.1, 12.9}}, 10, {}, 0};
    result.flags = {"drift: +2.1 %", "debug-build"};
    const std::string out = show(sweepOf({256, 512}), {result, result}).out;
    const auto times = [&out](std::string_view text) {
        std::size_t count = 0;
        for (std::size_t at = out.find(text); at != std::string::npos; at = out.find(text, at + 1))
            ++count;
        return count;
    };
    EXPECT_EQ(times("flagged  drift: +2.1 %\n"), 2u);
    EXPECT_EQ(times("flagged  debug-build: Made by a development build"), 1u);
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
    EXPECT_TRUE(show(points, {HelloEvent{}}).err.empty()) << "no bar without a terminal";
}

TEST(Progress, PrintsTheNumberOfExistingPoints)
{
    const Shown all = show({}, {HelloEvent{1, "tilescope", "0", "a.tscope", 0}, DoneEvent{}}, {}, 100);
    EXPECT_EQ(all.out, "100 of 100 points already in the file; nothing was run -> a.tscope\n");
    const Shown some = show(sweepOf({256}),
                            {HelloEvent{1, "tilescope", "0", "a.tscope", 1},
                             ResultEvent{1, "ok", "", 1.0, {}, 1, {}, 5}, DoneEvent{1, 0, 0, 0, 0, 1}},
                            {}, 99);
    EXPECT_THAT(some.out,
                HasSubstr("1 of 1 point: 1 ok in 1.0 s; 99 more already in the file -> a.tscope\n"));
}

TEST(Progress, CountsOneThingAsOne)
{
    const Shown none = show({}, {HelloEvent{1, "tilescope", "0", "a.tscope", 0}, DoneEvent{}}, {}, 1);
    EXPECT_EQ(none.out, "1 of 1 point already in the file; nothing was run -> a.tscope\n");
}

TEST(Progress, CutsItsLinesToTheTerminal)
{
    const std::string reason(300, 'r');
    const std::vector<Event> events{
        HelloEvent{1, "tilescope", "0", "a.tscope", 2}, PointEvent{0, 2, 1, "{}"},
        ResultEvent{1, "error", reason, 12.3, std::array{12.1, 12.7}, 10, 3 << 20, 0, {reason}},
        PointEvent{1, 2, 2, "{}"}, ResultEvent{2, "ok", "", 12.3, std::array{12.1, 12.7}, 10, 3 << 20, 0}};
    for (const std::size_t width : {80, 100, 132}) {
        std::istringstream lines(show(sweepOf({256, 512}), events, {.lineWidth = width}).out);
        for (std::string line; std::getline(lines, line);)
            EXPECT_LE(exchange::displayWidth(line), width) << line;
    }
    const std::string narrow = show(sweepOf({256, 512}), events, {.lineWidth = 100}).out;
    EXPECT_THAT(narrow, HasSubstr("seq_len=512"));
    EXPECT_THAT(narrow, HasSubstr("rrr\u2026rrr"));
    EXPECT_THAT(show(sweepOf({256, 512}), events).out, HasSubstr(reason)) << "a pipe gets the complete text";
}

TEST(PointLabels, NameOnlyTheKeysThatVary)
{
    EXPECT_THAT(pointLabels(sweepOf({256, 512})), ElementsAre("seq_len=256", "seq_len=512"));
    EXPECT_THAT(pointLabels(sweepOf({256})), ElementsAre(""));
    std::vector<ExperimentSpec> specs(1);
    specs[0].repeat = 2;
    EXPECT_THAT(pointLabels(numbered(specs)), ElementsAre("repeat=1/2", "repeat=2/2"));
}

TEST(PointLabels, GiveSizesUnits)
{
    std::vector<ExperimentSpec> specs(2);
    for (ExperimentSpec& spec : specs) {
        spec.workload = Workload::Lm;
        spec.gpus = 2;
        spec.parallel = Parallel::Ddp;
    }
    specs[1].bucket = Bytes{1 << 20};
    EXPECT_THAT(pointLabels(numbered(specs)), ElementsAre("bucket=25 MiB", "bucket=1 MiB"));
}

TEST(PointLabels, OfSeveralNamesBeginWithTheNameAndLeaveOutWhatVariesOnlyBetweenNames)
{
    std::vector<ExperimentSpec> specs(4);
    specs[0].name = specs[1].name = "grid";
    specs[1].seqLen = specs[1].kvLen = 512;
    specs[2].name = specs[3].name = "steps";
    for (const std::size_t i : {2U, 3U}) {
        specs[i].steps = 50;
        specs[i].batch = 2;
    }
    specs[3].batch = 4;
    const auto points = numbered(specs);
    EXPECT_THAT(pointLabels(points),
                ElementsAre("grid seq_len=1024", "grid seq_len=512", "steps batch=2", "steps batch=4"));
    EXPECT_THAT(session::keyLabels(points), ElementsAre("seq_len=1024", "seq_len=512", "batch=2", "batch=4"));
    specs.erase(specs.begin() + 1);
    EXPECT_THAT(pointLabels(numbered(specs)), ElementsAre("grid", "steps batch=2", "steps batch=4"));
}

TEST(DurationText, ChoosesItsUnits)
{
    EXPECT_EQ(durationText(0), "0.0 s");
    EXPECT_EQ(durationText(0.00087), "870 µs");
    EXPECT_EQ(durationText(0.0246), "24.6 ms");
    EXPECT_EQ(durationText(0.12), "0.1 s");
    EXPECT_EQ(durationText(4.21), "4.2 s");
    EXPECT_EQ(durationText(42.4), "42 s");
    EXPECT_EQ(durationText(80), "1m20s");
    EXPECT_EQ(durationText(11100), "3h05m");
}

} // namespace tilescope::cli
