#include "core/model/rank_seat.h"

#include <algorithm>
#include <cassert>

namespace tilescope {

RankSeat RankSeat::inPart(const std::vector<int>& partMembers, int number) const
{
    assert(members.empty() && number > 0);
    RankSeat seat = *this;
    seat.rank = static_cast<int>(std::ranges::find(partMembers, rank) - partMembers.begin());
    seat.size = static_cast<int>(partMembers.size());
    seat.wholeMeeting = meeting;
    seat.meeting += "-" + std::to_string(number) + "-" + std::to_string(partMembers.front());
    seat.members = partMembers;
    seat.wholeSize = size;
    seat.part = number;
    return seat;
}

} // namespace tilescope
