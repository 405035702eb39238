#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace tilescope {

/// Where the ranks of several hosts meet: the RankHub (core/rendezvous) of the supervisor.
struct HubAddress {
    std::vector<std::string> hosts =
        {}; ///< names or numbers of the hub's host, tried in order; empty: no hub
    int port = 0;
    std::string secret = {}; ///< known to the hub and the ranks only

    bool isKnown() const { return !hosts.empty(); }
    bool operator==(const HubAddress&) const = default;
};

/// The place of a process in a group of ranks that run one point together.
struct RankInfo {
    int rank = 0;            ///< from 0
    int size = 1;            ///< ranks of the group
    std::string group = {};  ///< name under which the ranks of this point find each other
    std::string memory = {}; ///< where the supervisor's shared memory of that name can be opened
    std::chrono::duration<double> timeout{60}; ///< maximum wait for another rank in a collective
    int node = 0;                              ///< host of the rank, by its number in the Slurm job
    int localRank = 0;                         ///< among the ranks of the point on its node
    int localSize = 1;                         ///< ranks of the point on its node
    HubAddress hub = {};                       ///< if the ranks are on several nodes
    std::vector<int> members = {}; ///< of a part of the group: its ranks in the whole group, ascending
    std::string wholeGroup = {};   ///< of a part: that of the whole group
    int wholeSize = 0;             ///< of a part: ranks of the whole group
    int part = 0;                  ///< of a part: number of the call that made it, from 1

    /// The description of this rank in a part of the group, which is not a part itself.
    /// \param partMembers  ranks of the part, this one among them, ascending
    /// \param number       of the call that makes the part, from 1, so that no two parts meet in one place
    RankInfo inPart(const std::vector<int>& partMembers, int number) const;

    bool operator==(const RankInfo&) const = default;
};

} // namespace tilescope
