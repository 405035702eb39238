#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::session {

// Points with ranks in a Slurm job of several nodes.
//
// A single tilescope runs in the batch script on the first node. Ranks take the tasks of the job in Slurm's order: those of
// the first node, then those of the second, and so on. Rank 0 is on the first node and writes the file. The supervisor starts
// engines on other nodes through srun, which forwards their standard streams, so that it can watch and stop them like local
// engines. The ranks meet at its RankHub. Each rank writes a working file beside the output, and rank 0 joins the files.

/// The place of a rank in a job.
struct RankPlace {
    int node = 0; ///< from 0; rank 0 is on node 0
    int localRank = 0;
    int localSize = 1; ///< ranks of the point on the node

    bool operator==(const RankPlace&) const = default;
};

/// The value of an environment variable; empty if it is not set.
using Variable = std::function<std::string(const char* name)>;

/// The places of the ranks of a point: all on node 0 outside a Slurm job of several nodes.
/// \throws Error (Usage)  the job has fewer tasks than the point has ranks, or this process is not on its first node
std::vector<RankPlace> placesOf(int ranks, const Variable& variable);

/// The command that starts a program on a node of the job.
std::vector<std::string> srunOn(int node);

/// The numbers in `4(x2),3`: 4, 4, 3. None if the text is something else, or more than 100,000 numbers.
std::optional<std::vector<int>> tasksPerNode(std::string_view text);

} // namespace tilescope::session
