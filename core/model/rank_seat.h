#pragma once

#include <chrono>
#include <string>

namespace tilescope {

/// The place of a process in a group of ranks that run one point together.
struct RankSeat {
    int rank = 0;                               ///< from 0
    int size = 1;                               ///< ranks of the group
    std::string meeting = {};                   ///< name under which the ranks of this point find each other
    std::chrono::duration<double> patience{60}; ///< maximum wait for another rank in a collective

    bool operator==(const RankSeat&) const = default;
};

} // namespace tilescope
