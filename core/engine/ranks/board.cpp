#include "core/engine/ranks/board.h"

#include "core/engine/common/failure.h"
#include "core/engine/ranks/network_board.h"
#include "core/engine/ranks/shared_board.h"

#include <c10/util/StringUtil.h>

#include <algorithm>

namespace tilescope::engine {

namespace {

using Clock = std::chrono::steady_clock;

/// Interval at which waiting ranks check whether others were killed; a killed rank cannot announce that it
/// leaves.
constexpr std::chrono::milliseconds kLook{100};

} // namespace

std::unique_ptr<Board> Board::open(const RankInfo& rankInfo)
{
    if (rankInfo.hub.isKnown())
        return std::make_unique<NetworkBoard>(rankInfo);
    return std::make_unique<SharedBoard>(rankInfo);
}

void Board::begin()
{
    meet([] { return "the start of the group"; }, {});
}

std::string Board::below(std::int64_t least, const std::function<std::int64_t(int)>& count,
                         bool& hasLeft) const
{
    std::string ranks;
    int found = 0;
    for (int rank = 0; rank < rankInfo_.size; ++rank) {
        if (count(rank) >= least)
            continue;
        hasLeft = hasLeft || this->hasLeft(rank);
        ranks += c10::str(found++ > 0 ? ", " : "", rank);
    }
    return found == 0 ? ranks : c10::str(found > 1 ? "ranks " : "rank ", ranks);
}

void Board::meet(const std::function<std::string()>& doing, Filled filled)
{
    arrive(++rounds_, filled);
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(rankInfo_.timeout);
    for (;;) {
        const std::uint32_t known = news();
        if (left_)
            throw LostRank(c10::str("rank ", rankInfo_.rank, " left its group before ", doing()));
        bool hasLeft = false;
        const std::string absent = below(
            rounds_, [this](int rank) { return roundsOf(rank); }, hasLeft);
        if (absent.empty())
            return;
        const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        if (hasLeft || time.count() <= 0) {
            leave();
            throw LostRank(hasLeft ? c10::str(absent, " ended before ", doing())
                                   : c10::str(absent, " did not take part in ", doing(), " within ",
                                              rankInfo_.timeout.count(), " s"));
        }
        waitForNews(known, std::min(time, kLook));
    }
}

void Board::leave()
{
    if (!left_.exchange(true))
        announceExit();
}

} // namespace tilescope::engine
