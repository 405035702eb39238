#pragma once

#include "core/trace/assembly/graph_description.h"

#include <cupti.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace tilescope::record {

/// The nodes of a graph, from the driver that the process has loaded, in the order in which they were created.
/// \param idOf  CUPTI's number of a node
/// \return      none if the driver lacks the functions
std::vector<trace::GraphNodeFacts> nodesOfGraph(CUgraph graph,
                                                const std::function<std::uint64_t(CUgraphNode node)>& idOf);

} // namespace tilescope::record
