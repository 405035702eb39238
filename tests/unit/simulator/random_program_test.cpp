#include "tests/support/simulator/random_program.h"

#include "tests/support/simulator/execution.h"
#include "tests/support/simulator/truth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace tilescope::simulator {
namespace {

Duration sumOf(const WorkTimes& times)
{
    return std::accumulate(times.begin(), times.end(), Duration(0));
}

Duration endOf(const Execution& execution)
{
    return std::ranges::max(execution.pieces, {}, &Piece::end).end;
}

/// Laws that hold for every program.
class RandomPrograms : public testing::TestWithParam<std::uint64_t> {
protected:
    const SimulatedProgram program = randomProgram(GetParam());
    const Execution execution = execute(program);
};

TEST_P(RandomPrograms, PartsAddUp)
{
    const Truth truth = truthOf(program, execution);
    ASSERT_GE(truth.steps.size(), 5U);
    for (const StepTruth& step : truth.steps) {
        EXPECT_EQ(sumOf(step.path), step.wall.length());
        EXPECT_EQ(sumOf(step.rivalPath), step.wall.length());
        for (const WorkTimes& near : step.nearPaths)
            EXPECT_EQ(sumOf(near), step.wall.length());
        EXPECT_EQ(sumOf(step.idle) + step.busy, step.wall.length());
        EXPECT_LE(step.exposedCommunication, step.busy);
    }
}

TEST_P(RandomPrograms, WorkOfAStreamRunsInOrderAfterItsCall)
{
    std::map<std::pair<std::size_t, std::int32_t>, std::vector<ExecutedWork>> streams;
    for (const ExecutedWork& work : execution.works) {
        streams[{work.rank, work.stream}].push_back(work);
        const auto call = std::ranges::find_if(execution.calls, [&](const ExecutedCall& each) {
            return each.correlation == work.correlation && program.threads[each.thread].rank == work.rank;
        });
        ASSERT_NE(call, execution.calls.end());
        EXPECT_GT(work.start, call->start);
    }
    for (auto& [key, works] : streams) {
        std::ranges::sort(works, {}, &ExecutedWork::start);
        for (std::size_t i = 1; i < works.size(); ++i)
            EXPECT_GE(works[i].start, works[i - 1].end);
    }
}

TEST_P(RandomPrograms, NoStreamHoldsMoreCommandsThanItsQueue)
{
    std::map<std::pair<std::size_t, std::int32_t>, std::vector<ExecutedWork>> streams;
    for (const ExecutedWork& work : execution.works)
        if (work.graphNode == 0)
            streams[{work.rank, work.stream}].push_back(work);
    for (const auto& stream : streams) {
        const std::vector<ExecutedWork>& works = stream.second;
        for (std::size_t i = program.queueDepth; i < works.size(); ++i) {
            const auto call = std::ranges::find_if(execution.calls, [&](const ExecutedCall& each) {
                return each.correlation == works[i].correlation &&
                       program.threads[each.thread].rank == works[i].rank;
            });
            EXPECT_GE(call->end, works[i - program.queueDepth].end);
        }
    }
}

TEST_P(RandomPrograms, ScalingNothingChangesNothing)
{
    const Execution again = execute(program, Scale{});
    ASSERT_EQ(again.pieces.size(), execution.pieces.size());
    for (std::size_t i = 0; i < again.pieces.size(); ++i)
        EXPECT_EQ(again.pieces[i].end, execution.pieces[i].end);
}

TEST_P(RandomPrograms, LessWorkNeverTakesLonger)
{
    for (const Work work : {Work::Matmul, Work::Copy, Work::Communication, Work::Host, Work::Latency}) {
        Scale half;
        half[work] = 0.5;
        EXPECT_LE(endOf(execute(program, half)), endOf(execution)) << wordOf(work);
    }
}

TEST_P(RandomPrograms, SurvivesItsDescription)
{
    const SimulatedProgram copy = programOf(jsonOf(program));
    EXPECT_EQ(jsonOf(copy), jsonOf(program));
    EXPECT_EQ(endOf(execute(copy)), endOf(execution));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Range<std::uint64_t>(0, 2 * kCases.size()));

/// Mean over all steps but the first of the share of the path that is spent on work for which `isCounted`
/// holds.
template <class Predicate> double shareOfPath(std::string_view name, Predicate isCounted)
{
    const auto seed = static_cast<std::uint64_t>(std::ranges::find(kCases, name) - kCases.begin());
    const SimulatedProgram program = randomProgram(seed);
    const Truth truth = truthOf(program, execute(program));
    Duration counted{0};
    Duration all{0};
    for (const StepTruth& step : truth.steps)
        for (std::size_t i = 0; i < kWorks && step.number > 0; ++i) {
            counted += isCounted(static_cast<Work>(i)) ? step.path[i] : Duration(0);
            all += step.path[i];
        }
    return static_cast<double>(counted.count()) / static_cast<double>(all.count());
}

TEST(RandomProgram, ItsCasesAreWhatTheirNamesSay)
{
    const auto is = [](Work wanted) { return [wanted](Work work) { return work == wanted; }; };
    EXPECT_GT(shareOfPath("slow-host", [](Work work) { return work == Work::Host || work == Work::Call; }),
              0.9);
    EXPECT_GT(shareOfPath("full-queue", [](Work work) { return isOnDevice(work) || work == Work::Order; }),
              0.9);
    EXPECT_GT(shareOfPath("slow-loader", is(Work::Loading)), 0.3);
    EXPECT_GT(shareOfPath("allocator", is(Work::Allocation)), 0.05);
    EXPECT_GT(shareOfPath("late-rank", is(Work::Communication)), 0.05);
}

} // namespace
} // namespace tilescope::simulator
