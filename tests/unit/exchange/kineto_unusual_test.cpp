// Traces that are valid, or nearly so, but written as no profiler of PyTorch writes them.

#include "core/query/ranks/rank_tables.h"
#include "core/query/steps/step_tables.h"
#include "tests/unit/exchange/kineto_fixture.h"

#include <gmock/gmock.h>

namespace tilescope::exchange {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

namespace {

std::string kernelOfCategory(const std::string& category)
{
    return interval(category, "gemm", kStream, "110", "5",
                    R"("device": 0, "context": 1, "stream": 7, "correlation": 1)");
}

std::string step(int number, const std::string& start)
{
    return interval("user_annotation", "ProfilerStep#" + std::to_string(number), kHost, start, "990");
}

} // namespace

TEST_F(Kineto, CategoriesMayBeListsAndOfAnyCase)
{
    for (const std::string category : {"kernel,gpu", "gpu,kernel", "KERNEL", "Kernel", ",kernel"})
        EXPECT_THAT(imported(trace({launch(1, "100"), kernelOfCategory(category)})).activities, SizeIs(1))
            << category;
    const ImportedRun run = imported(trace({interval("CPU_Op", "aten::mm", kHost, "1", "2")}));
    EXPECT_THAT(run.ops, SizeIs(1));
}

TEST_F(Kineto, WorkOfADeviceOfAnUnknownCategoryIsNamed)
{
    for (const std::string category : {"gpu_op", "musa_kernel", "some_kernel"}) {
        const ImportedRun run = imported(trace({launch(1, "100"), kernelOfCategory(category)}));
        EXPECT_EQ(run.loss("device_not_read"), 1) << category;
        EXPECT_THAT(run.details.at("device_not_read"), HasSubstr(category));
    }
    const ImportedRun host =
        imported(trace({launch(1, "100"), interval("my_category", "note", kHost, "1", "2")}));
    EXPECT_EQ(host.loss("device_not_read"), 0);
    EXPECT_EQ(host.loss("source_not_stored"), 1);
}

TEST_F(Kineto, ATraceWithoutKnownEventsSaysWhatItHolds)
{
    EXPECT_THAT(refusalOf(trace({interval("Op", "MatMul", kHost, "1", "2")})),
                HasSubstr("(it holds 1 of Op)"));
}

TEST_F(Kineto, RanksThatCannotBeTrueAreCounted)
{
    const auto infoOf = [this](const std::string& info) {
        return imported(trace({kernel(1, "10", "1")}, R"("distributedInfo": )" + info));
    };
    const ImportedRun beyond = infoOf(R"({"rank": 9, "world_size": 2})");
    EXPECT_EQ(beyond.loss("source_value"), 1);
    EXPECT_EQ(beyond.topology.processes.front().rank, 9);
    EXPECT_THAT(beyond.summary, Not(HasSubstr("of 2")));
    const ImportedRun number = infoOf(R"({"rank": 1.0, "world_size": 2.0})");
    EXPECT_EQ(number.topology.processes.front().rank, 1);
    EXPECT_EQ(number.loss("source_value"), 0);
    EXPECT_EQ(infoOf(R"({"rank": 1, "world_size": "two"})").loss("source_value"), 1);
    for (const std::string none : {R"({"rank": -1, "world_size": -1})", "null", "{}"})
        EXPECT_EQ(infoOf(none).loss("source_value"), 0) << none;
}

TEST_F(Kineto, TheBaseOfTimesMayBeAText)
{
    const ImportedRun run =
        imported(trace({kernel(1, "10", "1")}, R"("baseTimeNanoseconds": "1700000000000000000")"));
    EXPECT_EQ(run.loss("source_value"), 0);
    EXPECT_EQ(run.topology.clocks.front().offset, Nanoseconds(1'700'000'000'000'000'000));
}

TEST_F(Kineto, AKernelThatAppearsForTwoOpsIsOne)
{
    const auto ofOp = [](int op) {
        return kernel(1, "110", "5", R"(, "External id": )" + std::to_string(op));
    };
    const ImportedRun run = imported(trace({launch(1, "100"), ofOp(3), ofOp(4)}));
    EXPECT_THAT(run.activities, SizeIs(1));
    EXPECT_EQ(run.loss("duplicate_activity"), 1);
}

TEST_F(Kineto, KernelsBeforeTheirLaunchesAreCountedAndTheirStepsGetNoVerdict)
{
    std::vector<std::string> events;
    for (int i = 0; i < 4; ++i) {
        events.push_back(step(i, std::to_string(5000 + 1000 * i)));
        events.push_back(launch(i + 1, std::to_string(5010 + 1000 * i)));
        events.push_back(kernel(i + 1, std::to_string(i == 2 ? 5900 : 5030 + 1000 * i), "100"));
    }
    const ImportedRun run = imported(trace(events));
    EXPECT_EQ(run.loss("starts_before_launch"), 1);
    std::vector<std::int32_t> unjudged;
    for (const query::StepRow& row : query::steps(*run.reader, {}).rows)
        if (row.verdict() == analysis::StepVerdict::Unjudged)
            unjudged.push_back(row.step);
    EXPECT_THAT(unjudged, ::testing::ElementsAre(0, 1, 2));
    events[8] = kernel(3, "7009", "100"); // by a microsecond: clocks are converted
    EXPECT_EQ(imported(trace(events)).loss("starts_before_launch"), 0);
}

TEST_F(Kineto, TextBetweenEventsCostsNoEvent)
{
    const std::string events = "[" + kernel(1, "10", "1") + ", /* next */ " + kernel(2, "20", "1") +
                               ", +++ " + kernel(3, "30", "1") + "]";
    const ImportedRun run = imported(R"({"traceEvents": )" + events + "}");
    EXPECT_THAT(run.activities, SizeIs(3));
    EXPECT_EQ(run.loss("source_not_json"), 2);
    EXPECT_THAT(run.details.at("source_not_json"), HasSubstr("14 bytes"));
}

TEST_F(Kineto, AnEventThatTheEndOfTheFileCutsIsNotCalledDamaged)
{
    const std::string text = trace({kernel(1, "10", "1"), kernel(2, "20", "1")});
    const ImportedRun run = imported(text.substr(0, text.size() - 60));
    EXPECT_THAT(run.activities, SizeIs(1));
    EXPECT_EQ(run.loss("source_cut"), 1);
    EXPECT_EQ(run.loss("source_not_json"), 0);
}

TEST_F(Kineto, AnActivityThatSeveralLabelsMayHaveLaunchedCountsOnce)
{
    const auto of = [](const std::string& pid, const std::string& event) {
        std::string text = event;
        const std::size_t at = text.find("\"pid\": ");
        return text.replace(at, text.find(',', at) - at, "\"pid\": " + pid);
    };
    const ImportedRun run = imported(
        trace({of("100", launch(1, "100")), of("200", launch(1, "101")),
               of(R"("[TP00] 0")", kernel(1, "110", "5")), of(R"("[TP01] 0")", kernel(1, "111", "5"))}));
    EXPECT_THAT(run.activities, SizeIs(2));
    EXPECT_LE(run.loss("caller_ambiguous"), 2);
}

TEST_F(Kineto, RanksWithoutStepsAreDividedAsAWhole)
{
    const auto rank = [&](int number) {
        return written(
            trace({interval("user_annotation", "work", kHost, "0", "1000"), launch(1, "10"),
                   kernel(1, std::to_string(100 + 100 * number), "200")},
                  R"("distributedInfo": {"rank": )" + std::to_string(number) + R"(, "world_size": 2})"),
            "rank" + std::to_string(number) + ".json");
    };
    const ImportedRun run = importedFiles({rank(0), rank(1)});
    const query::RanksTable table = query::ranks(*run.reader, {});
    ASSERT_THAT(table.rows, SizeIs(2));
    EXPECT_THAT(table.sentence(), HasSubstr("No collective was recorded on all of its ranks"));
    for (const query::RankRow& row : table.rows) {
        EXPECT_EQ(row.step, kNoStep);
        EXPECT_EQ(row.parts.wall.length(), Nanoseconds(1'000'000));
        EXPECT_EQ(row.parts.compute, Nanoseconds(200'000));
        EXPECT_EQ(row.parts.compute + row.parts.exposedCommunication + row.parts.exposedCopies +
                      row.parts.host + row.parts.idle,
                  row.parts.wall.length());
    }
}

} // namespace tilescope::exchange
