// Collectives of ranks with fake clocks: matching, transfer, waiting, and who was late by how much.

#include "core/analysis/ranks/lateness.h"

#include "core/analysis/ranks/straggler.h"
#include "core/model/strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

namespace tilescope::analysis {

namespace {

using namespace tilescope::literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kTransfer = 40'000;

TopologyIndex topologyOf(int ranks)
{
    RunTopology topology;
    for (std::int32_t rank = 0; rank < ranks; ++rank)
        topology.processes.push_back({.id = ProcessIndex{rank}, .pid = 100 + rank, .rank = rank});
    return {std::move(topology), {}};
}

/// A training of several ranks: in each step the ranks work, start collectives that the last one lets begin, and meet at
/// the end or not.
class FakeTraining {
public:
    explicit FakeTraining(int ranks) : ranks_(ranks), topology_(topologyOf(ranks)), clocks_(ranks, 1'000'000)
    {
        for (int rank = 0; rank < ranks; ++rank)
            all_ += (rank > 0 ? "," : "") + std::to_string(rank);
    }

    /// A step with a collective after each pause.
    /// \param rank, before, delay  this rank is delayed before that collective
    void step(const std::vector<std::int64_t>& pauses, int rank, std::size_t before, std::int64_t delay)
    {
        for (int r = 0; r < ranks_; ++r)
            starts_[{ProcessIndex{r}, step_}] = timestampAt(clocks_[r]);
        for (std::size_t i = 0; i < pauses.size(); ++i) {
            std::vector<std::int64_t> starts;
            for (int r = 0; r < ranks_; ++r) {
                clocks_[r] += pauses[i] + (r == rank && i == before ? delay : 0);
                // Collectives of a rank run one after the other.
                starts.push_back(std::max(clocks_[r], free_));
            }
            free_ = *std::ranges::max_element(starts) + kTransfer;
            for (int r = 0; r < ranks_; ++r)
                add(r, sequence_, starts[r], free_);
            ++sequence_;
        }
        ++step_;
    }
    /// All ranks wait for the last collective.
    void meet() { clocks_.assign(ranks_, std::max(free_, *std::ranges::max_element(clocks_))); }

    void add(int rank, std::int64_t sequence, std::int64_t start, std::int64_t end)
    {
        Collective record;
        record.process = ProcessIndex{rank};
        record.op = strings_.intern("all_reduce");
        record.group = strings_.intern("0");
        record.ranks = strings_.intern(all_);
        record.sequence = sequence;
        record.bytes = 1 << 20;
        record.groupSize = ranks_;
        record.step = step_;
        record.start = timestampAt(start);
        record.end = timestampAt(end);
        records_.push_back(record);
    }

    std::vector<MatchedCollective> matched() const
    {
        return matchCollectives(records_, {}, topology_, [this](StringId id) { return strings_.text(id); });
    }
    std::vector<CollectiveTiming> timings() const { return timeCollectives(matched(), starts_); }
    std::vector<StepLateness> lateness() const { return latenessOfSteps(matched(), timings()); }
    Collective& record(std::size_t i) { return records_[i]; }
    std::vector<Collective>& records() { return records_; }
    StringTable& strings() { return strings_; }

private:
    int ranks_;
    TopologyIndex topology_;
    std::string all_;
    StringTable strings_;
    std::vector<std::int64_t> clocks_;
    std::int64_t free_ = 0;
    std::int64_t sequence_ = 0;
    std::int32_t step_ = 0;
    StepStarts starts_;
    std::vector<Collective> records_;
};

const std::vector<std::int64_t> kPauses{3'000'000, 700'000, 1'700'000, 500'000, 900'000};

/// The lateness of each rank in a step.
std::vector<std::int64_t> lateIn(const StepLateness& step)
{
    std::vector<std::int64_t> late;
    for (const auto& [process, time] : step.late)
        late.push_back(time.count());
    return late;
}

} // namespace

TEST(MatchedCollectives, AreThoseOfOneGroupAndNumber)
{
    FakeTraining training(2);
    training.add(0, 0, 100, 200);
    training.add(1, 1, 310, 400);
    training.add(1, 0, 120, 200);
    training.add(0, 1, 300, 400);
    training.add(0, 2, 500, 600);
    const std::vector<MatchedCollective> matched = training.matched();
    ASSERT_EQ(matched.size(), 3U);
    EXPECT_EQ(matched[0].sequence, 0);
    EXPECT_EQ(matched[0].parts.size(), 2U);
    EXPECT_EQ(matched[0].parts[1].rank, 1);
    EXPECT_TRUE(matched[1].isComplete());
    EXPECT_FALSE(matched[2].isComplete());
    EXPECT_THAT(matched[2].missing, ElementsAre(1));
    EXPECT_EQ(matched[2].missingCount, 1);
}

TEST(MatchedCollectives, AreSeparateWhereOpOrGroupDiffer)
{
    FakeTraining training(2);
    training.add(0, 0, 100, 200);
    training.add(1, 0, 100, 200);
    training.record(1).op = training.strings().intern("all_gather");
    EXPECT_EQ(training.matched().size(), 2U);
    training.record(1).op = training.record(0).op;
    training.record(1).ranks = training.strings().intern("1,2");
    EXPECT_EQ(training.matched().size(), 2U);
}

TEST(MatchedCollectives, LeaveOutPointToPointAndKeepRepeatedNumbers)
{
    FakeTraining training(2);
    for (int i = 0; i < 2; ++i)
        for (int rank = 0; rank < 2; ++rank)
            training.add(rank, 0, 100 + 200 * i, 200 + 200 * i);
    training.add(0, 0, 900, 950);
    training.records().back().peer = 1;
    const std::vector<MatchedCollective> matched = training.matched();
    ASSERT_EQ(matched.size(), 2U);
    EXPECT_EQ(matched[1].parts[1].time.start, timestampAt(300));
}

TEST(MatchedCollectives, HaveNoSizeWhereRanksDisagree)
{
    FakeTraining training(2);
    training.add(0, 0, 100, 200);
    training.add(1, 0, 100, 200);
    training.record(1).bytes = 7;
    EXPECT_EQ(training.matched()[0].bytes, -1);
}

TEST(CollectiveTiming, TransferIsTheShortestAndOthersWaitForTheLast)
{
    FakeTraining training(3);
    training.add(0, 0, 1000, 1500);
    training.add(1, 0, 1400, 1502);
    training.add(2, 0, 1100, 1501);
    const std::vector<CollectiveTiming> timings = training.timings();
    ASSERT_EQ(timings.size(), 1U);
    EXPECT_EQ(timings[0].transfer, 102_ns);
    EXPECT_EQ(timings[0].last, 1U);
    EXPECT_EQ(timings[0].behind, 300_ns);
    EXPECT_EQ(timings[0].late, 300_ns);
    EXPECT_THAT(timings[0].waits, ElementsAre(400_ns, 0_ns, 300_ns));
    EXPECT_EQ(timings[0].wait(), 700_ns);
}

TEST(CollectiveTiming, NamesNobodyWhereARankIsMissingOrTimesDoNotOverlap)
{
    FakeTraining training(3);
    training.add(0, 0, 1000, 1500);
    training.add(1, 0, 1400, 1500);
    for (int rank = 0; rank < 3; ++rank)
        training.add(rank, 1, 2000 + 200 * rank, 2100 + 200 * rank);
    training.add(0, 2, 3000, 3100);
    const std::vector<CollectiveTiming> timings = training.timings();
    ASSERT_EQ(timings.size(), 3U);
    EXPECT_EQ(timings[0].transfer, 100_ns);
    EXPECT_FALSE(timings[0].last);
    EXPECT_FALSE(timings[1].transfer);
    EXPECT_FALSE(timings[1].last);
    EXPECT_FALSE(timings[2].transfer) << "of one rank, waiting cannot be told from transfer";
    EXPECT_THAT(training.lateness(), IsEmpty());
}

TEST(CollectiveTiming, APlantedDelayIsFoundExactlyWhereItBegan)
{
    for (unsigned seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const int ranks = std::uniform_int_distribution<int>(2, 8)(random);
        const int late = std::uniform_int_distribution<int>(0, ranks - 1)(random);
        const auto before = std::uniform_int_distribution<std::size_t>(0, 9)(random);
        const auto delay = std::uniform_int_distribution<std::int64_t>(1, 5'000'000)(random);
        std::vector<std::int64_t> pauses;
        for (int i = 0; i < 10; ++i)
            pauses.push_back(std::uniform_int_distribution<std::int64_t>(60'000, 2'000'000)(random));
        FakeTraining training(ranks);
        training.step(pauses, late, before, delay);
        std::vector<std::int64_t> expected(static_cast<std::size_t>(ranks), 0);
        expected[static_cast<std::size_t>(late)] = delay;
        ASSERT_EQ(training.lateness().size(), 1U);
        EXPECT_EQ(lateIn(training.lateness()[0]), expected);
        const std::vector<CollectiveTiming> timings = training.timings();
        EXPECT_EQ(timings[before].late, Nanoseconds(delay));
        EXPECT_EQ(timings[before].last, static_cast<std::size_t>(late));
        for (const CollectiveTiming& timing : timings)
            EXPECT_EQ(timing.transfer, Nanoseconds(kTransfer));
    }
}

TEST(CollectiveTiming, ADelayInEveryStepIsFoundInEveryStepWhereRanksMeet)
{
    FakeTraining training(4);
    for (int step = 0; step < 10; ++step) {
        training.step(kPauses, 3, 2, 2'000'000);
        training.meet();
    }
    for (const StepLateness& step : training.lateness())
        EXPECT_THAT(lateIn(step), ElementsAre(0, 0, 0, 2'000'000));
    const StragglerVerdict verdict = stragglerOf(training.lateness());
    EXPECT_EQ(verdict.kind, StragglerVerdict::Kind::Straggler);
    EXPECT_EQ(verdict.process, ProcessIndex{3});
    EXPECT_EQ(verdict.lastIn, 10);
    EXPECT_EQ(verdict.median, 2'000'000_ns);
    EXPECT_NEAR(verdict.chance, 4 * std::pow(0.25, 10), 1e-15);
}

TEST(CollectiveTiming, ADelayThatRanksCarryIntoTheNextStepCountsOnce)
{
    FakeTraining training(2);
    training.step(kPauses, 1, 2, 2'000'000);
    training.step(kPauses, 0, 0, 0);
    ASSERT_EQ(training.lateness().size(), 2U);
    EXPECT_THAT(lateIn(training.lateness()[0]), ElementsAre(0, 2'000'000));
    EXPECT_THAT(lateIn(training.lateness()[1]), ElementsAre(0, 0));
}

TEST(CollectiveTiming, AQueueDoesNotHideHowLateARankAlreadyWas)
{
    // Rank 1 is 2 ms late throughout; rank 0 has queued the second collective, whose start therefore says 0.5 ms.
    FakeTraining training(2);
    const std::int64_t starts[] = {0, 2'040'000, 2'700'000};
    const std::int64_t lateStarts[] = {2'000'000, 2'540'000, 4'700'000};
    for (int i = 0; i < 3; ++i) {
        training.add(0, i, starts[i], lateStarts[i] + kTransfer);
        training.add(1, i, lateStarts[i], lateStarts[i] + kTransfer);
    }
    const std::vector<CollectiveTiming> timings = training.timings();
    EXPECT_EQ(timings[0].late, 2'000'000_ns);
    EXPECT_EQ(timings[1].behind, 500'000_ns);
    EXPECT_EQ(timings[1].late, 0_ns);
    EXPECT_EQ(timings[2].behind, 2'000'000_ns);
    EXPECT_EQ(timings[2].late, 0_ns);
}

TEST(CollectiveTiming, WithoutADelayNobodyIsLate)
{
    FakeTraining training(3);
    for (int step = 0; step < 8; ++step) {
        training.step(kPauses, 0, 0, 0);
        training.meet();
    }
    for (const CollectiveTiming& timing : training.timings()) {
        EXPECT_FALSE(timing.last);
        EXPECT_EQ(timing.wait(), 0_ns);
    }
    const StragglerVerdict verdict = stragglerOf(training.lateness());
    EXPECT_EQ(verdict.kind, StragglerVerdict::Kind::TooFewSteps);
    EXPECT_EQ(verdict.steps, 0);
}

} // namespace tilescope::analysis
