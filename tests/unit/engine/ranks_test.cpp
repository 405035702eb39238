#include "core/engine/ranks/cpu_ranks.h"

#include "core/engine/common/failure.h"
#include "core/engine/ranks/collectives.h"
#include "core/engine/ranks/shared_board.h"
#include "core/rendezvous/rank_hub.h"
#include "core/rendezvous/rank_memory.h"
#include "tests/unit/engine/ranks_as_threads.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <tuple>
#include <utility>

namespace tilescope::engine {

using namespace std::chrono_literals;
using test::onRanks;
using test::Where;
using ::testing::HasSubstr;

namespace {

RankInfo rankInfoOf(int rank, int size, const rendezvous::RankMemory& memory,
                    std::chrono::duration<double> timeout = 10min)
{
    return {.rank = rank, .size = size, .group = memory.name(), .memory = memory.path(), .timeout = timeout};
}

/// Of several slots' length, and divisible by the number of ranks.
std::int64_t longCount(int ranks)
{
    return ranks * (static_cast<std::int64_t>(SharedBoard::kSlotBytes) / 4 + 1001);
}

at::Tensor dataOf(int rank, std::int64_t count)
{
    at::Generator seeded = at::detail::createCPUGenerator(static_cast<std::uint64_t>(rank) + 1);
    return at::randn({count}, seeded);
}

/// The sum over the ranks in their order, which is that of the collectives.
at::Tensor sumOf(int ranks, std::int64_t count)
{
    at::Tensor sum = dataOf(0, count);
    for (int rank = 1; rank < ranks; ++rank)
        sum += dataOf(rank, count);
    return sum;
}

std::string reasonOf(const std::function<void()>& work)
{
    try {
        work();
    } catch (const LostRank& lost) {
        return lost.reason;
    }
    return {};
}

class Collectives : public ::testing::TestWithParam<std::tuple<int, Where>> {
protected:
    static int size() { return std::get<int>(GetParam()); }
    static void onRanks(const std::function<void(Ranks&)>& work)
    {
        test::onRanks(size(), work, std::get<Where>(GetParam()));
    }
};

class PartOfRanks : public ::testing::TestWithParam<Where> {};

} // namespace

TEST_P(Collectives, AddUpTheSameBitsOnEachRank)
{
    const std::int64_t count = longCount(size());
    onRanks([&](Ranks& ranks) {
        const at::Tensor tensor = dataOf(ranks.rank(), count);
        ranks.allReduce(tensor).wait();
        EXPECT_TRUE(at::equal(tensor, sumOf(ranks.size(), count)));
        const at::Tensor few = at::full({1}, ranks.rank() + 0.5, at::kDouble); // fewer elements than ranks
        ranks.allReduce(few).wait();
        const int n = ranks.size();
        EXPECT_EQ(few.item<double>(), n * (n - 1) / 2.0 + 0.5 * n);
    });
}

TEST_P(Collectives, KeepTheirTensorsUntilTheWaitAndNoLonger)
{
    onRanks([](Ranks& ranks) {
        at::Tensor tensor = dataOf(ranks.rank(), 100);
        const c10::weak_intrusive_ptr<c10::TensorImpl> watched(tensor.getIntrusivePtr());
        Started started = ranks.allReduce(std::exchange(tensor, at::Tensor()));
        ranks.synchronize(); // the call has ended
        EXPECT_FALSE(watched.expired());
        started.wait();
        EXPECT_TRUE(watched.expired());
    });
}

TEST_P(Collectives, MoveEachPartToItsPlace)
{
    const std::int64_t count = longCount(size());
    const std::int64_t part = count / size();
    onRanks([&](Ranks& ranks) {
        const at::Tensor mine = dataOf(ranks.rank(), count);
        at::Tensor gathered = at::empty({count * ranks.size()});
        ranks.allGather(gathered, mine).wait();
        at::Tensor scattered = at::empty({part});
        ranks.reduceScatter(scattered, mine).wait();
        EXPECT_TRUE(at::equal(scattered, sumOf(ranks.size(), count).narrow(0, ranks.rank() * part, part)));
        at::Tensor exchanged = at::empty({count});
        ranks.allToAll(exchanged, mine).wait();
        for (int from = 0; from < ranks.size(); ++from) {
            EXPECT_TRUE(at::equal(gathered.narrow(0, from * count, count), dataOf(from, count)));
            EXPECT_TRUE(at::equal(exchanged.narrow(0, from * part, part),
                                  dataOf(from, count).narrow(0, ranks.rank() * part, part)));
        }
        ranks.barrier();
        ranks.broadcast(mine, ranks.size() - 1).wait();
        EXPECT_TRUE(at::equal(mine, dataOf(ranks.size() - 1, count)));
    });
}

TEST_P(Collectives, MoveSeveralTensorsInPlaceAsOneMessage)
{
    const int size = Collectives::size();
    onRanks([&](Ranks& ranks) {
        const at::Tensor one = at::full({3}, ranks.rank() + 1.0);
        const at::Tensor other = at::full({2, 2}, 10.0 * (ranks.rank() + 1), at::kDouble);
        ranks.allReduce({one, other}).wait();
        const double sum = size * (size + 1) / 2.0;
        EXPECT_TRUE(at::equal(one, at::full({3}, sum)));
        EXPECT_TRUE(at::equal(other, at::full({2, 2}, 10 * sum, at::kDouble)));
        const at::Tensor whole = at::full({5 * size}, ranks.rank() + 1.0);
        const at::Tensor mine = whole.narrow(0, 5 * ranks.rank(), 5);
        ranks.reduceScatter(mine, whole).wait();
        EXPECT_TRUE(at::equal(mine, at::full({5}, sum)));
        mine.add_(ranks.rank());
        ranks.allGather(whole, mine).wait();
        for (int rank = 0; rank < size; ++rank)
            EXPECT_TRUE(at::equal(whole.narrow(0, 5 * rank, 5), at::full({5}, sum + rank)));
    });
}

TEST_P(Collectives, RunBesideTheCallerUntilItWaits)
{
    onRanks([&](Ranks& ranks) {
        const at::Tensor first = at::ones({1000});
        const at::Tensor second = at::ones({10});
        Started one = ranks.allReduce(first);
        Started other = ranks.allReduce(second);
        other.wait(); // collectives end in their order
        EXPECT_EQ(first[999].item<float>(), ranks.size());
        one.wait();
        Started().wait();
        ranks.synchronize();
    });
}

TEST_P(PartOfRanks, ItsCollectivesReachItsMembersOnly)
{
    const auto work = [](Ranks& ranks) {
        const int row = ranks.rank() / 2;
        const std::vector<int> members{2 * row, 2 * row + 1};
        const auto part = ranks.part(members, "row " + std::to_string(row));
        EXPECT_EQ(part->size(), 2);
        EXPECT_EQ(part->rank(), ranks.rank() % 2);
        const at::Tensor sum = at::full({1}, ranks.rank() + 0.0);
        part->allReduce(sum).wait();
        EXPECT_EQ(sum.item<double>(), 4 * row + 1);
        ranks.allReduce(sum).wait();
        EXPECT_EQ(sum.item<double>(), 2 * (1 + 5));
    };
    onRanks(4, work, GetParam());
}

INSTANTIATE_TEST_SUITE_P(OfRanks, Collectives,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4),
                                            ::testing::Values(Where::Cpu, Where::CpuOfHosts)));
INSTANTIATE_TEST_SUITE_P(OfRanks, PartOfRanks, ::testing::Values(Where::Cpu, Where::CpuOfHosts));

TEST(Ranks, NameTheRankThatLeft)
{
    std::vector<std::string> reasons(3);
    onRanks(3, [&](Ranks& ranks) {
        if (ranks.rank() == 1)
            return ranks.leave();
        reasons[static_cast<std::size_t>(ranks.rank())] =
            reasonOf([&] { ranks.allReduce(at::ones({8})).wait(); });
    });
    // The first rank that notices sees rank 1 alone. It leaves then, which the other one may see too.
    const std::string alone = "rank 1 ended before all_reduce 1";
    EXPECT_TRUE(reasons[0] == alone || reasons[2] == alone) << reasons[0] << "; " << reasons[2];
    for (const int rank : {0, 2})
        EXPECT_THAT(reasons[static_cast<std::size_t>(rank)], HasSubstr("ended before all_reduce 1"));
}

TEST(Ranks, NameTheRankThatDoesNotArrive)
{
    // A busy machine may take longer than that to join, so the timeout grows until it suffices.
    std::string reason = "the start of the group";
    std::string afterwards;
    for (std::chrono::duration<double> timeout = 50ms; reason.find("the start") != std::string::npos;
         timeout *= 2) {
        const rendezvous::RankMemory memory;
        const auto rankInfo = [&](int rank) {
            return rankInfoOf(rank, 2, memory, rank == 0 ? timeout : 10min);
        };
        std::unique_ptr<Ranks> absent; // joins, then takes part in nothing
        std::thread joining([&] { reasonOf([&] { absent = joinOnCpu(rankInfo(1)); }); });
        std::unique_ptr<Ranks> present;
        reason = reasonOf([&] { present = joinOnCpu(rankInfo(0)); });
        joining.join();
        if (!present)
            continue;
        reason = reasonOf([&] { present->broadcast(at::ones({8}), 0).wait(); });
        afterwards = reasonOf([&] { present->barrier(); });
    }
    EXPECT_THAT(reason, ::testing::StartsWith("rank 1 did not take part in broadcast 1 within "));
    EXPECT_EQ(afterwards, "rank 0 left its group before a barrier");
}

TEST(Ranks, OnSeveralHostsNameTheRankThatLeft)
{
    std::string reason;
    onRanks(
        2,
        [&](Ranks& ranks) {
            if (ranks.rank() == 1)
                return ranks.leave();
            reason = reasonOf([&] { ranks.allReduce(at::ones({8})).wait(); });
        },
        Where::CpuOfHosts);
    EXPECT_EQ(reason, "rank 1 ended before all_reduce 1");
}

TEST(Ranks, OnSeveralHostsNameTheRanksThatDoNotJoin)
{
    const rendezvous::RankHub hub;
    RankInfo rankInfo = rankInfoOf(1, 3, rendezvous::RankMemory(), 50ms);
    rankInfo.hub = hub.address();
    EXPECT_EQ(reasonOf([&] { joinOnCpu(rankInfo); }),
              "ranks 0, 2 did not take part in the start of the group within 0.05 s");
}

TEST(Ranks, NameTheRanksThatDoNotJoin)
{
    const rendezvous::RankMemory memory;
    EXPECT_EQ(reasonOf([&] { joinOnCpu(rankInfoOf(1, 3, memory, 50ms)); }),
              "ranks 0, 2 did not take part in the start of the group within 0.05 s");
}

} // namespace tilescope::engine
