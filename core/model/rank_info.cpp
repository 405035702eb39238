#include "core/model/rank_info.h"

#include <algorithm>
#include <cassert>

namespace tilescope {

RankInfo RankInfo::inPart(const std::vector<int>& partMembers, int number) const
{
    assert(members.empty() && number > 0);
    RankInfo rankInfo = *this;
    rankInfo.rank = static_cast<int>(std::ranges::find(partMembers, rank) - partMembers.begin());
    rankInfo.size = static_cast<int>(partMembers.size());
    rankInfo.wholeGroup = group;
    rankInfo.group += "-" + std::to_string(number) + "-" + std::to_string(partMembers.front());
    rankInfo.members = partMembers;
    rankInfo.wholeSize = size;
    rankInfo.part = number;
    return rankInfo;
}

} // namespace tilescope
