#include "core/model/rank_seat.h"

#include <algorithm>

namespace tilescope {

RankSeat RankSeat::inPart(const std::vector<int>& members, int number) const
{
    RankSeat seat = *this;
    seat.rank = static_cast<int>(std::ranges::find(members, rank) - members.begin());
    seat.size = static_cast<int>(members.size());
    seat.meeting += "-" + std::to_string(number) + "-" + std::to_string(members.front());
    return seat;
}

} // namespace tilescope
